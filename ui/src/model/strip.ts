// A lane's track on the common axis. Pure: times in, places in percent out; the drawing is Strip.svelte's.
import type { BoardLane, LaneTrack, Segment } from "../bindings/view";
import { clock } from "./format";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Milliseconds. */
export type Span = number;
export const DEFAULT_SPAN: Span = HOUR;
export const SPANS: readonly Span[] = [15 * MINUTE, DEFAULT_SPAN, 8 * HOUR];

export interface Mark {
  kind: Segment["kind"] | "start";
  /** In percent of the span, from its beginning; may lie before it. */
  left: number;
  /** `null`: it goes on to *now*. */
  width: number | null;
  approximate: boolean;
}

/** Ticks on round moments of the person's clock, and where *now* is. */
export interface Tick {
  at: number;
  left: number;
  label: string;
  /** Left out in a narrow window. */
  alt: boolean;
}

/** How far apart the ticks are; in a narrow window every other one stays. */
const stepOf = (span: Span) => (span <= 15 * MINUTE ? 3 * MINUTE : span <= HOUR ? 10 * MINUTE : HOUR);

/** Ticks between the span's beginning and now; none so near to an end that its label would touch another. */
export function ticks(span: Span, now: number): Tick[] {
  const step = stepOf(span);
  // Round on the wall clock: zones may be off by a quarter of an hour.
  const offset = new Date(now).getTimezoneOffset() * MINUTE;
  const from = now - span;
  const out: Tick[] = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= now; at += step) {
    const left = (100 * (at - from)) / span;
    if (left < 5 || left > 90) continue;
    out.push({ at, left, label: clock(new Date(at).toISOString()), alt: (at - offset) % (2 * step) !== 0 });
  }
  return out;
}

/** The grid's lines repeat from the first round moment on: where that is, and how far apart they are, in percent. */
export function grid(span: Span, now: number): { offset: number; step: number } {
  const step = stepOf(span);
  const zone = new Date(now).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((now - span - zone) / step) * step + zone;
  return { offset: (100 * (first - (now - span))) / span, step: (100 * step) / span };
}

/** How far the axis has moved since the marks were placed, in percent; in steps that are no more than a quarter of a pixel. */
export function shift(span: Span, placedAt: number, now: number): number {
  const quarter = span / 1500;
  return (100 * Math.floor(Math.max(0, now - placedAt) / quarter) * quarter) / span;
}

/** In percent of the span: what is smaller is too small for a post beside it. Four pixels on the widest track. */
const APART = 1;

/** What a lane's track shows, placed for `at`. A lane at work shows it even before its track has come. */
export function marks(lane: BoardLane, track: LaneTrack | undefined, span: Span, at: number): Mark[] {
  const from = at - span;
  const place = (ms: number) => (100 * (ms - from)) / span;
  const out: Mark[] = [];
  const segments = track?.segments ?? [];
  /** Where the turn before ended. */
  let end = -Infinity;
  for (const s of segments) {
    const left = place(s.from_ms);
    const width = s.to_ms === null ? null : place(s.to_ms) - left;
    // A tool of less than a pixel can't be seen inside its turn.
    if (s.kind === "tool" && width !== null && width < 0.25) continue;
    out.push({ kind: s.kind, left, width, approximate: s.approximate });
    if (s.kind !== "turn") continue;
    // Where a turn began before the span, its beginning is not in sight. Turns that are small or hardly apart would be a
    // fence of posts: their bars alone tell more.
    if (left > 0.1 && left - end >= APART && (width === null || width >= APART)) out.push({ kind: "start", left, width: 0, approximate: s.approximate });
    end = left + (width ?? 100);
  }
  const since = lane.since === null ? NaN : Date.parse(lane.since);
  const goesOn = (kind: Mark["kind"]) => out.some((m) => m.kind === kind && m.width === null);
  if (!Number.isNaN(since)) {
    const left = Math.max(0, Math.min(100, place(since)));
    if (lane.state === "running" && !goesOn("turn") && !goesOn("held")) out.push({ kind: "turn", left, width: null, approximate: false });
    if (lane.state === "waiting" && !goesOn("wait")) out.push({ kind: "wait", left, width: null, approximate: false });
    if (lane.state === "error" && !out.some((m) => m.kind === "error") && place(since) >= 0) out.push({ kind: "error", left, width: 0, approximate: false });
  }
  return out.sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || a.left - b.left);
}

/** What lies on top of what. */
const ORDER: Record<Mark["kind"], number> = { turn: 0, start: 1, held: 2, tool: 3, wait: 4, error: 5 };

/** Nothing happened on it in the span that is shown. */
export function still(lane: BoardLane, track: LaneTrack | undefined): boolean {
  return lane.state === "idle" && track !== undefined && track.segments.length === 0;
}
