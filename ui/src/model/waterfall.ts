// Where an entry lies in its turn. Pure: times in, percent of the turn out.
import type { TimelineEntry, TurnSum } from "../bindings/view";

export interface Bar {
  left: number;
  width: number;
  /** It goes on. */
  open: boolean;
}

/** The turn's span in milliseconds: told, or until now while it is under way. */
export function span(sum: TurnSum | null, now: number): number | null {
  const from = sum?.at == null ? NaN : Date.parse(sum.at);
  if (sum === null || Number.isNaN(from)) return null;
  return Math.max(1, sum.duration_ms ?? now - from);
}

export function bar(entry: TimelineEntry, sum: TurnSum | null, now: number): Bar | null {
  const all = span(sum, now);
  const at = entry.at === null ? NaN : Date.parse(entry.at);
  if (all === null || sum?.at == null || Number.isNaN(at)) return null;
  const open = entry.duration_ms === null && (entry.state === "running" || entry.state === "waiting");
  // A moment without a length, such as an error, is a post.
  const took = entry.duration_ms ?? (open ? Math.max(0, now - at) : 0);
  const left = Math.min(100, Math.max(0, (100 * (at - Date.parse(sum.at))) / all));
  return { left, width: Math.min(100 - left, (100 * took) / all), open };
}
