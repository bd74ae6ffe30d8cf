// A session's timeline as turns, and those as the rows of one flat list. Pure; entries, their order and their numbers come from Rust.
import type { TimelineEntry, TurnSum } from "../bindings/view";

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
  | { kind: "entry"; key: string; turn: Turn; entry: TimelineEntry; open: boolean; last: boolean };

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
export function rows(all: readonly TimelineItem[], touched: Readonly<Record<string, boolean>>): TimelineRow[] {
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
    // A key is the step's own, so that an open entry stays open when older ones are cut off.
    const seen = new Map<string, number>();
    item.entries.forEach((entry, i) => {
      const key = unique(seen, `${item.key}/${entry.kind}${entry.step ?? `#${i}`}`);
      out.push({ kind: "entry", key, turn: item, entry, open: touched[key] ?? false, last: i === item.entries.length - 1 });
    });
  }
  return out;
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
