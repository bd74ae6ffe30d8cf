// A session's timeline as turns, and those as the rows of one flat list. Pure; entries, their order and their numbers come from Rust.
import type { TimelineEntry, TurnSum, TurnTree } from "../bindings/view";
import { flat, keys, nested, type Key, type Placed } from "./waterfall";

export interface Turn {
  kind: "turn";
  key: string;
  turn: number;
  sum: TurnSum | null;
  prompt: TimelineEntry | null;
  entries: TimelineEntry[];
  last: boolean;
}
export interface Mark {
  kind: "mark";
  key: string;
  entry: TimelineEntry;
}
export type TimelineItem = Turn | Mark;

export type TimelineRow =
  | { kind: "turn"; key: string; turn: Turn; open: boolean }
  | Mark
  /** The whole prompt, where its turn's head cannot hold it. */
  | { kind: "asked"; key: string; turn: Turn; text: string; open: boolean; long: boolean }
  /** The turn's axis, where anything lies on it. */
  | { kind: "axis"; key: string; turn: Turn; keys: Key[] }
  | { kind: "entry"; key: string; turn: Turn; placed: Placed; open: boolean; last: boolean };

/** What of a turn's tree has come, by the turn's key. */
export type Trees = Readonly<Record<string, TurnTree>>;

/** The step by which a turn's tree is asked for. */
export function stepOf(turn: Turn): number | null {
  return turn.prompt?.step ?? turn.entries.find((e) => e.step !== null)?.step ?? null;
}

/** Turns in order, each with its sums. A checkpoint at a turn's edge stands between the turns. */
export function items(timeline: readonly TimelineEntry[], sums: readonly TurnSum[]): TimelineItem[] {
  const groups: { turn: number; entries: TimelineEntry[] }[] = [];
  for (const entry of timeline) {
    const open = groups.at(-1);
    if (open && open.turn === entry.turn) open.entries.push(entry);
    else groups.push({ turn: entry.turn, entries: [entry] });
  }
  const out: TimelineItem[] = [];
  const seen = new Map<string, number>();
  groups.forEach(({ turn, entries }, g) => {
    let from = 0;
    let to = entries.length;
    while (from < to && entries[from]?.kind === "checkpoint") from++;
    while (to > from && entries[to - 1]?.kind === "checkpoint") to--;
    const mark = (entry: TimelineEntry) => out.push({ kind: "mark", key: unique(seen, `m${turn}.${entry.step ?? ""}`), entry });
    entries.slice(0, from).forEach(mark);
    const rest = entries.slice(from, to);
    if (rest.length > 0) {
      const prompt = rest.findIndex((e) => e.kind === "prompt");
      const sum = sums[g];
      out.push({
        kind: "turn",
        key: unique(seen, `t${turn}`),
        turn,
        sum: sum?.turn === turn ? sum : null,
        prompt: rest[prompt] ?? null,
        entries: rest.filter((_, i) => i !== prompt),
        last: false,
      });
    }
    entries.slice(to).forEach(mark);
  });
  const last = out.findLast((i) => i.kind === "turn");
  if (last?.kind === "turn") last.last = true;
  return out;
}

/** The rows that are in the list now. `touched`: what the person opened or closed; else only the newest turn is open. */
export function rows(all: readonly TimelineItem[], touched: Readonly<Record<string, boolean>>, trees: Trees = {}): TimelineRow[] {
  const out: TimelineRow[] = [];
  for (const item of all) {
    if (item.kind === "mark") {
      out.push(item);
      continue;
    }
    const open = touched[item.key] ?? item.last;
    out.push({ kind: "turn", key: item.key, turn: item, open });
    if (!open) continue;
    const text = item.prompt?.text ?? "";
    if (text.length > 80 || text.trim().includes("\n")) {
      const key = `${item.key}/asked`;
      out.push({ kind: "asked", key, turn: item, text, open: touched[key] ?? false, long: text.length > 480 || text.split("\n", 7).length > 6 });
    }
    const tree = trees[item.key];
    const placed = tree ? nested(item.entries, tree) : flat(item.entries, item.sum);
    if (placed.some((p) => p.offset_ms !== null)) out.push({ kind: "axis", key: `${item.key}/axis`, turn: item, keys: keys(placed) });
    // A key is the step's own, so that an open entry stays open when older ones are cut off, or when its tree comes.
    const seen = new Map<string, number>();
    let folded: number | null = null;
    const from = out.length;
    placed.forEach((p) => {
      const of = p.session ?? p.entry.step ?? p.entry.at ?? "";
      const key = unique(seen, `${item.key}/${p.depth > 2 ? `${p.depth}.` : ""}${p.entry.kind}${of}`);
      // What a sub-agent did stands below it when it is opened.
      if (folded !== null && p.depth > folded) return;
      const open = touched[key] ?? false;
      folded = p.session !== null && !open ? p.depth : null;
      out.push({ kind: "entry", key, turn: item, placed: p, open, last: false });
    });
    const last = out.length > from ? out.at(-1) : undefined;
    if (last?.kind === "entry") last.last = true;
  }
  return out;
}

/** How high rows are drawn, in pixels. `end`: what stands below a turn's last entry. */
export const HEIGHTS = { turn: 32, open: 36, mark: 26, axis: 20, entry: 25, end: 10 } as const;

/** A row's height; `null` for words of any length, which must be measured. */
function height(row: TimelineRow): number | null {
  if (row.kind === "turn") return row.open ? HEIGHTS.open : HEIGHTS.turn;
  if (row.kind === "asked" || (row.kind === "entry" && row.open)) return null;
  return HEIGHTS[row.kind] + (row.kind === "entry" && row.last ? HEIGHTS.end : 0);
}

/**
 * How a list is shown first, in a space of `space` pixels: at its end, or with the row `at` as high up as it gets. The rows that are
 * in sight then, how far that is scrolled, and the heights of all, -1 where one is not known; `exact` if all are.
 */
export function opening(list: readonly TimelineRow[], at: number | "end", space: number): { rows: number[]; offset: number; sizes: [number[], number]; exact: boolean } {
  const sizes = list.map((row) => height(row) ?? -1);
  const high = sizes.map((size) => (size < 0 ? HEIGHTS.entry : size));
  const most = Math.max(0, high.reduce((sum, size) => sum + size, 0) - space);
  const offset = at === "end" ? most : Math.min(most, high.slice(0, Math.max(0, at)).reduce((sum, size) => sum + size, 0));
  const rows: number[] = [];
  let top = 0;
  high.forEach((size, i) => {
    if (top + size > offset && top < offset + space) rows.push(i);
    top += size;
  });
  return { rows, offset, sizes: [sizes, HEIGHTS.entry], exact: !sizes.includes(-1) };
}

/** Whether the keyboard can stand on a row. */
export function isStop(row: TimelineRow): boolean {
  return row.kind === "turn" || row.kind === "entry" || (row.kind === "asked" && row.long);
}

function unique(seen: Map<string, number>, key: string): string {
  const n = seen.get(key) ?? 0;
  seen.set(key, n + 1);
  return n === 0 ? key : `${key}~${n}`;
}
