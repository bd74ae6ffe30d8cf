// The settings in force: asked once, followed by event, changed by merge patches. Rust checks every value.
import * as api from "../api";
import type { SettingsPatch } from "../api";
import type { ErrorView, SettingsView } from "../bindings/view";
import { Resource } from "./resource.svelte";

class SettingsModel {
  answer = new Resource<SettingsView>();
  readonly #muted = $derived(new Set(this.answer.value?.values.notifications.muted_lanes ?? []));
  /** Why the last change was not taken, by what was changed. */
  refused = $state.raw<{ field: string; error: ErrorView } | null>(null);

  /** Asks, and follows; returns what stops it. */
  start(): () => void {
    let stopped = false;
    let stop: (() => void) | null = null;
    api
      .onSettings((view) => (this.answer.value = view))
      .then((off) => (stopped ? off() : (stop = off)))
      .catch((thrown: unknown) => (this.answer.error = api.errorView(thrown)));
    void this.load();
    return () => {
      stopped = true;
      stop?.();
      this.refused = null;
    };
  }

  load(): Promise<void> {
    return this.answer.load(() => api.settings());
  }

  /** `field` names what was changed, so that a refusal stands beside it. */
  async set(field: string, patch: SettingsPatch): Promise<boolean> {
    try {
      this.answer.value = await api.setSettings(patch);
      if (this.refused?.field === field) this.refused = null;
      return true;
    } catch (thrown) {
      this.refused = { field, error: api.errorView(thrown) };
      // A control that was moved shows what is in force again.
      if (this.answer.value) this.answer.value = { ...this.answer.value };
      return false;
    }
  }

  /** Whether this lane makes no notifications, as far as is known yet. */
  isMuted(laneId: string): boolean {
    return this.#muted.has(laneId);
  }

  /** Throws what the shell shows. */
  async mute(laneId: string, mute: boolean): Promise<void> {
    this.answer.value = await api.muteLane(laneId, mute);
  }

  reset(): void {
    this.answer.clear();
    this.refused = null;
  }

  problem(field: string): string | null {
    return this.refused?.field === field ? this.refused.error.message : null;
  }
}

export const settings = new SettingsModel();
