// Settings → Tracing: how it stands, its switches, and what is shown before agy's hooks.json is written.
import * as api from "../api";
import type { ErrorView, HooksPlan, TracingPatch, TracingScreen, TracingTests, TracingWish } from "../bindings/view";
import { Resource } from "./resource.svelte";

/** What the plan that is shown carries out: its token goes with it. */
type Deed = { does: "install"; wish: Partial<TracingWish> } | { does: "remove" } | { does: "undo" };

export interface Shown {
  deed: Deed;
  plan: HooksPlan;
  notes: string[];
}
/** What was written, and what there is to know of it. */
export interface Done {
  plan: HooksPlan;
  notes: string[];
}

export class Tracing {
  status = new Resource<TracingScreen>();
  shown = $state.raw<Shown | null>(null);
  /** The plan is another one than the person chose to write: the file changed meanwhile. */
  anew = $state(false);
  /** Why something was not done, by what it was about. */
  refused = $state.raw<{ field: string; error: ErrorView } | null>(null);
  /** What was said about the last change. */
  notes = $state.raw<readonly string[]>([]);
  busy = $state.raw<"planning" | "writing" | null>(null);
  tests = $state.raw<TracingTests | null>(null);
  testing = $state(false);

  look(): Promise<void> {
    // A slow disk is not asked twice.
    return this.status.busy ? Promise.resolve() : this.status.load(() => api.tracingStatus());
  }

  problem(field: string): string | null {
    return this.refused?.field === field ? this.refused.error.message : null;
  }

  /** Changes what needs no look at agy's files first. */
  async set(field: string, patch: Partial<TracingPatch>): Promise<boolean> {
    try {
      this.notes = (await api.tracingSet(patch)).notes;
      if (this.refused?.field === field) this.refused = null;
      return true;
    } catch (thrown) {
      this.#refuse(field, thrown);
      return false;
    } finally {
      await this.status.load(() => api.tracingStatus());
    }
  }

  /** Shows what would be written. Where nothing of agy's changes, it is done at once: then it says what was done. */
  async preview(field: string, deed: Deed): Promise<Done | null> {
    if (this.busy !== null) return null;
    this.busy = "planning";
    this.anew = false;
    this.refused = null;
    this.notes = [];
    const shown = await this.#plan(field, deed);
    this.busy = null;
    if (shown !== null && !shown.plan.changes && deed.does === "install") return this.write(field);
    return null;
  }

  async #plan(field: string, deed: Deed): Promise<Shown | null> {
    try {
      if (deed.does === "undo") {
        this.shown = { deed, plan: await api.tracingUndo(null), notes: [] };
      } else {
        const change = deed.does === "install" ? await api.tracingInstall(deed.wish, true) : await api.tracingUninstall(false, true, null);
        this.shown = { deed, plan: change.plan, notes: change.notes };
      }
    } catch (thrown) {
      this.shown = null;
      this.#refuse(field, thrown);
    }
    return this.shown;
  }

  /** Writes what is shown, with its token; says what was done, or `null` when nothing was. */
  async write(field = "hook"): Promise<Done | null> {
    const shown = this.shown;
    if (shown === null || this.busy !== null) return null;
    this.busy = "writing";
    this.refused = null;
    const { deed, plan } = shown;
    try {
      let done: Done;
      if (deed.does === "undo") {
        done = { plan: await api.tracingUndo(plan.token), notes: [] };
      } else {
        const change = deed.does === "install" ? await api.tracingInstall({ ...deed.wish, token: plan.token }, false) : await api.tracingUninstall(false, false, plan.token);
        done = { plan: change.plan, notes: change.notes };
      }
      this.close();
      return done;
    } catch (thrown) {
      const error = api.errorView(thrown);
      if (error.code === "ECHANGED") {
        await this.#plan(field, deed);
        this.anew = this.shown !== null;
      } else {
        this.#refuse(field, thrown);
      }
      return null;
    } finally {
      this.busy = null;
      await this.status.load(() => api.tracingStatus());
    }
  }

  async test(): Promise<void> {
    this.testing = true;
    this.tests = null;
    try {
      this.tests = await api.tracingTest();
      if (this.refused?.field === "test") this.refused = null;
    } catch (thrown) {
      this.#refuse("test", thrown);
    } finally {
      this.testing = false;
      await this.status.load(() => api.tracingStatus());
    }
  }

  close(): void {
    this.shown = null;
    this.anew = false;
    this.refused = null;
  }

  #refuse(field: string, thrown: unknown): void {
    this.refused = { field, error: api.errorView(thrown) };
  }
}
