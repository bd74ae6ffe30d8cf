// The hooks card: how the hooks stand, and a plan that is shown before it is written.
import * as api from "../api";
import type { ErrorView, HooksAction, HooksPlan, HooksStatus } from "../bindings/view";
import { Resource } from "./resource.svelte";
import { settings } from "./settings.svelte";

/** What another screen wants shown as soon as the card is there. */
export const wanted: { action: HooksAction | null } = { action: null };

export class HooksCard {
  status = new Resource<HooksStatus>();
  /** What is shown and may be written. */
  plan = $state.raw<HooksPlan | null>(null);
  /** The plan is another one than the person chose to write: the file changed meanwhile. */
  anew = $state(false);
  /** Why there is no plan, or why it was not written. */
  refused = $state.raw<ErrorView | null>(null);
  busy = $state.raw<"planning" | "writing" | null>(null);

  look(): Promise<void> {
    // A slow disk is not asked twice.
    return this.status.busy ? Promise.resolve() : this.status.load(() => api.hooksStatus());
  }

  async preview(action: HooksAction): Promise<void> {
    if (this.busy !== null) return;
    this.busy = "planning";
    this.anew = false;
    this.refused = null;
    await this.#plan(action);
    this.busy = null;
  }

  async #plan(action: HooksAction): Promise<void> {
    try {
      this.plan = await api.hooksPlan(action);
    } catch (thrown) {
      this.plan = null;
      this.refused = api.errorView(thrown);
    }
  }

  /** Writes what is shown; says what was done, or `null` when nothing was. */
  async write(): Promise<HooksPlan | null> {
    const plan = this.plan;
    if (plan === null || this.busy !== null) return null;
    this.busy = "writing";
    this.refused = null;
    try {
      const done = await api.hooksApply(plan.token);
      this.plan = null;
      this.anew = false;
      hooksHint.status.clear();
      return done;
    } catch (thrown) {
      const error = api.errorView(thrown);
      if (error.code === "ECHANGED") {
        await this.#plan(plan.action);
        this.anew = this.plan !== null;
      } else {
        this.refused = error;
      }
      return null;
    } finally {
      this.busy = null;
      await this.look();
    }
  }

  close(): void {
    this.plan = null;
    this.anew = false;
    this.refused = null;
  }
}

/** What Lanes says of hooks to somebody who has none: until it is dismissed, which the settings keep. */
class HooksHint {
  status = new Resource<HooksStatus>();
  /** Out of the way for as long as the window lives, whatever the settings could keep. */
  #closed = $state(false);

  /** The person was not told yet, as far as is known. */
  get wanted(): boolean {
    return !this.#closed && settings.answer.value?.values.hooks_hint === true;
  }
  get shown(): boolean {
    return this.wanted && this.status.value?.state === "not_installed";
  }
  look(): Promise<void> {
    return this.status.busy ? Promise.resolve() : this.status.load(() => api.hooksStatus());
  }
  /** Whether it was kept. A file that can't be read is put aside by whoever writes it: that is not asked for here. */
  async dismiss(): Promise<boolean> {
    this.#closed = true;
    return settings.answer.value?.file_problem != null || (await settings.set("hooks_hint", { hooks_hint: false }));
  }
  reset(): void {
    this.status.clear();
    this.#closed = false;
  }
}

/** One for the life of the window: whoever comes back to Lanes sees at once what is known. */
export const hooksHint = new HooksHint();
