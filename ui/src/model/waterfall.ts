// A turn's waterfall: the spans of its tree, with what only the timeline tells between them, and where each lies in time. Pure:
// the tree is the one that tracing sends, and comes from Rust; nothing is summed here.
import type { TimelineEntry, TreeSpan, TurnSum, TurnTree } from "../bindings/view";

/** An entry as a row of its turn's waterfall. */
export interface Placed {
  entry: TimelineEntry;
  /** 1 for what the turn did itself, 2 for the tools that a call asked for, 3 for a sub-agent's turn, and so on. */
  depth: number;
  /** After the turn's beginning; `null`: not known. */
  offset_ms: number | null;
  /** Of a call: how much of it went by before the answer began. */
  thinking_ms: number | null;
  /** agy asked the model by itself: for a title or a summary. */
  background: boolean;
  /** Of a sub-agent's turn: its session. */
  session: string | null;
  /** How a tool or a call failed, in a word; `null` where its state says it already. */
  failure: string | null;
}

/** From when to when a turn lasts, in milliseconds. */
export interface Extent {
  from: number;
  length: number;
  open: boolean;
}

export interface Bar {
  left: number;
  width: number;
  /** It goes on. */
  open: boolean;
  /** Percent of its width before the answer began. */
  thinking: number | null;
}

/** The tree's extent, else the sum's; until now while the turn is under way. */
export function extent(sum: TurnSum | null, tree: TurnTree | undefined, now: number): Extent | null {
  const at = tree?.at ?? sum?.at;
  const from = at == null ? NaN : Date.parse(at);
  if (Number.isNaN(from)) return null;
  const told = tree ? (tree.duration_us === null ? null : tree.duration_us / 1000) : (sum?.duration_ms ?? null);
  return { from, length: Math.max(1, told ?? now - from), open: told === null };
}

export function bar(placed: Placed, all: Extent | null, now: number): Bar | null {
  const { entry, offset_ms } = placed;
  if (all === null || offset_ms === null) return null;
  const open = entry.duration_ms === null && (entry.state === "running" || entry.state === "waiting");
  // A moment without a length, such as an error, is a post.
  const took = entry.duration_ms ?? (open ? Math.max(0, now - all.from - offset_ms) : 0);
  const left = Math.min(100, Math.max(0, (100 * offset_ms) / all.length));
  const thinking = placed.thinking_ms === null || took <= 0 ? null : Math.min(100, Math.max(0, (100 * placed.thinking_ms) / took));
  return { left, width: Math.min(100 - left, (100 * took) / all.length), open, thinking };
}

const STEPS_S = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400];

/** Round moments on a turn's axis, at most `most` after its beginning: how far apart in seconds. */
function stepOf(length: number, most: number): number {
  return STEPS_S.find((s) => length / 1000 / s <= most + 0.999) ?? Math.ceil(length / 1000 / most);
}

/** How far apart they are in percent. */
export function axisStep(length: number, most = 3): number {
  return (100_000 * stepOf(length, most)) / length;
}

/** The same, and what stands at each. */
export function axis(length: number, most = 3): { step: number; labels: string[] } {
  const step = stepOf(length, most);
  const count = Math.floor(length / 1000 / step);
  const [unit, size] = step < 60 ? ["s", 1] : step < 3600 ? ["min", 60] : ["h", 3600];
  const labels = Array.from({ length: count + 1 }, (_, i) => (i === 0 ? "0" : `${Number(((i * step) / size).toFixed(2))} ${unit}`));
  return { step: axisStep(length, most), labels };
}

/** What the shapes of a turn's bars mean. */
export type Key = "thinking" | "answer" | "tool" | "subagent" | "wait";

/** The shapes that are there, in their order. */
export function keys(rows: readonly Placed[]): Key[] {
  const drawn = rows.filter((r) => r.offset_ms !== null);
  const has: [Key, boolean][] = [
    ["thinking", drawn.some((r) => (r.thinking_ms ?? 0) > 0)],
    ["answer", drawn.some((r) => r.entry.kind === "call")],
    ["tool", drawn.some((r) => r.entry.kind === "tool")],
    ["subagent", drawn.some((r) => r.entry.kind === "subagent")],
    ["wait", drawn.some((r) => r.entry.kind === "wait" || r.entry.state === "waiting")],
  ];
  return has.filter(([, there]) => there).map(([key]) => key);
}

/** Entries as they stood before their tree has come: calls and what came with them. */
export function flat(entries: readonly TimelineEntry[], sum: TurnSum | null): Placed[] {
  return told(entries).map((entry) => placed(entry, entry.kind === "tool" || entry.kind === "subagent" || entry.kind === "wait" ? 2 : 1, sum?.at ?? null));
}

/** The tree's spans in their order, each with what the timeline says of the same step, and what has no span where its time puts it. */
export function nested(entries: readonly TimelineEntry[], tree: TurnTree): Placed[] {
  const left = new Set(told(entries));
  const spans = tree.spans.slice(1);
  const own = tree.spans[0]?.session;
  const pairs = new Map<TreeSpan, TimelineEntry>();
  const pair = (span: TreeSpan, same: TimelineEntry | undefined) => {
    if (!same) return;
    left.delete(same);
    pairs.set(span, same);
  };
  const mine = spans.filter((span) => span.session === own && span.kind !== "turn");
  for (const span of mine) if (span.step !== null) pair(span, entries.find((e) => left.has(e) && e.step === span.step && kindOf(e) === span.kind));
  // What agy asked for by itself, a call that it tried again, and all of a transcript have no step: they are known by what they are.
  for (const span of mine) if (!pairs.has(span)) pair(span, nearest(span, left));
  const out = spans.map((span) => ofSpan(span, pairs.get(span)));
  for (const entry of left) {
    const here = placed(entry, entry.kind === "wait" || entry.kind === "tool" || entry.kind === "subagent" ? 2 : 1, tree.at);
    out.splice(after(out, here), 0, here);
  }
  return out;
}

/** A transcript tells whole seconds, and its line of a call is written when that has ended. */
const APART_MS = 2000;

/** Of these, the entry that is told of the same call or tool: of its kind, with its tokens or else its name, at about its time. */
function nearest(span: TreeSpan, left: ReadonlySet<TimelineEntry>): TimelineEntry | undefined {
  const apart = (e: TimelineEntry) => (e.at === null ? 0 : Math.abs(Date.parse(e.at) - Date.parse(span.at)));
  const same = (e: TimelineEntry) => {
    if (kindOf(e) !== span.kind || e.tokens?.total !== span.tokens?.total) return false;
    // A time that agy does not tell is taken from elsewhere, and not always from the same place; tokens are proof enough.
    return span.tokens !== null || ((span.kind === "call" || e.name === span.name) && apart(e) <= APART_MS);
  };
  return [...left].filter(same).sort((a, b) => apart(a) - apart(b))[0];
}

/** Without a wait that goes on: the tool that waits says it, with what it asks. */
function told(entries: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const waits = (e: TimelineEntry) => e.state === "waiting";
  return entries.filter((e) => e.kind !== "wait" || !waits(e) || !entries.some((t) => t.kind === "tool" && waits(t) && t.step === e.step));
}

function kindOf(entry: TimelineEntry): TreeSpan["kind"] | null {
  return entry.kind === "call" ? "call" : entry.kind === "tool" || entry.kind === "subagent" ? "tool" : null;
}

function placed(entry: TimelineEntry, depth: number, from: string | null): Placed {
  const at = entry.at === null || from === null ? NaN : Date.parse(entry.at) - Date.parse(from);
  return { entry, depth, offset_ms: Number.isNaN(at) ? null : at, thinking_ms: null, background: false, session: null, failure: null };
}

function ofSpan(span: TreeSpan, same: TimelineEntry | undefined): Placed {
  const ms = (us: number | null) => (us === null ? null : us / 1000);
  const kind = span.kind === "turn" ? "subagent" : span.kind;
  const base: TimelineEntry = same ?? {
    kind, turn: 0, step: span.step, at: span.at, approximate: span.approximate, duration_ms: null, name: span.name, state: span.state, tokens: null, cost_usd: null, tokens_unpriced: 0,
    text: span.text, copied_from: null,
  };
  return {
    // A tool's own tokens are none; those below it stand below it.
    entry: { ...base, at: span.at, approximate: span.approximate, duration_ms: ms(span.duration_us), state: span.state, ...(span.kind === "tool" ? {} : { tokens: span.tokens, cost_usd: span.cost_usd, tokens_unpriced: span.tokens_unpriced }) },
    depth: span.depth,
    offset_ms: span.offset_us / 1000,
    thinking_ms: ms(span.thinking_us),
    background: span.background,
    session: span.kind === "turn" ? span.session : null,
    failure: span.failure === null || span.failure === span.state || span.failure === "error" ? null : span.failure,
  };
}

/** Before the first row of the turn's own that began later. What agy asked for by itself stands wherever it wrote it. */
function after(rows: readonly Placed[], here: Placed): number {
  if (here.offset_ms === null) return rows.length;
  const at = here.offset_ms;
  const later = rows.findIndex((r) => r.depth <= 2 && !r.background && r.offset_ms !== null && r.offset_ms > at);
  if (later >= 0) return later;
  const behind = rows.findLastIndex((r) => !r.background);
  return behind + 1;
}
