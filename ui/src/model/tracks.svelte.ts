// The lanes' tracks: asked for while lanes are shown, again when the board changes, and never more than once a second.
import { SvelteMap } from "svelte/reactivity";
import * as api from "../api";
import type { ErrorView, LaneTrack, Tracks } from "../bindings/view";
import { throttled } from "./resource.svelte";
import { DEFAULT_SPAN, SPANS, type Span } from "./strip";

const KEY = "lanes.span";

function remembered(): Span {
  try {
    const kept = Number(localStorage.getItem(KEY));
    return SPANS.find((s) => s === kept) ?? DEFAULT_SPAN;
  } catch {
    return DEFAULT_SPAN;
  }
}

class LaneTracks {
  span = $state<Span>(remembered());
  /** When the newest answer was made, and for which span. */
  at = $state(0);
  error = $state.raw<ErrorView | null>(null);
  #byLane = new SvelteMap<string, LaneTrack>();
  #asked = 0;
  #fresh = throttled(() => void this.#ask(), 1000);

  of(laneId: string): LaneTrack | undefined {
    return this.#byLane.get(laneId);
  }

  setSpan(span: Span): void {
    if (span === this.span) return;
    this.span = span;
    try {
      localStorage.setItem(KEY, String(span));
    } catch {
      // Without storage the next window begins at an hour again.
    }
    void this.#ask();
  }

  /** The board changed, or the window came back into sight. */
  refresh(): void {
    if (!document.hidden) this.#fresh.call();
  }

  stop(): void {
    this.#fresh.stop();
    this.#asked++;
  }

  reset(): void {
    this.stop();
    this.#byLane.clear();
    this.at = 0;
    this.error = null;
    this.span = DEFAULT_SPAN;
  }

  async #ask(): Promise<void> {
    const mine = ++this.#asked;
    const since = new Date(Date.now() - this.span).toISOString();
    try {
      const tracks: Tracks = await api.tracks({ since, until: null, lanes: [] });
      if (mine !== this.#asked) return;
      const here = new Set(tracks.lanes.map((t) => t.lane_id));
      for (const id of this.#byLane.keys()) if (!here.has(id)) this.#byLane.delete(id);
      for (const track of tracks.lanes) this.#byLane.set(track.lane_id, track);
      this.at = tracks.until_ms;
      this.error = null;
    } catch (thrown) {
      if (mine === this.#asked) this.error = api.errorView(thrown);
    }
  }
}

export const tracks = new LaneTracks();
