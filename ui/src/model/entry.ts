// An entry's row in a timeline, in words. All of it is put together in one go: a row is made while somebody waits for the screen,
// and twenty values that each watch the same few cost more than what they say. Pure.
import type { TimelineEntry, TurnSum, TurnTree } from "../bindings/view";
import * as text from "../text";
import { approximate, block, clockMs, clockSeconds, duration, line, sinceMs, timer, tokensFine, UNKNOWN } from "./format";
import { costTip, moneyFine } from "./money";
import { exactTokens } from "./tokens";
import { inFolder } from "./tool";
import { axisStep, bar, extent, type Placed } from "./waterfall";

/** Where an entry stands. */
export interface Around {
  /** What its session works in: a tool's path below it is shown from there. */
  cwd: string | null;
  /** Of its turn: what the bar is placed in. */
  sum: TurnSum | null;
  tree: TurnTree | undefined;
  /** In the newest turn; what is past has no colour. */
  present: boolean;
  open: boolean;
}

/** Texts of cells, their tooltips (`…Tip`) and classes (`…Look`). A tooltip that is not there is `undefined`, as attributes want it. */
export interface EntryCells {
  look: string;
  /** There is more to show beneath: the whole text, or what a sub-agent did. */
  long: boolean;
  /** The text does not fit on the line. */
  wordy: boolean;
  deep: number;
  name: string;
  nameTip: string | undefined;
  say: string;
  sayTip: string | undefined;
  tag: string;
  tagLook: string;
  at: string;
  fallTip: string | undefined;
  /** How far apart the marks on its turn's axis are. */
  tick: string | undefined;
  bar: { look: string; left: string; width: string; thinking: string | null } | null;
  tokens: string;
  tokensTip: string | undefined;
  cost: string;
  costTip: string | undefined;
  numLook: string;
  took: string;
  tookLook: string;
}

const isGoing = (entry: TimelineEntry) => entry.state === "waiting" || entry.state === "running";

/** Whether the row changes with the clock. */
export function ticks(placed: Placed, sum: TurnSum | null, tree: TurnTree | undefined): boolean {
  const told = tree ? tree.duration_us : (sum?.duration_ms ?? null);
  return told === null || isGoing(placed.entry);
}

/** `now`: milliseconds since the epoch, used only where the row `ticks`. */
export function entryCells(placed: Placed, { cwd, sum, tree, present, open }: Around, now: number): EntryCells {
  const { entry } = placed;
  const going = isGoing(entry);
  const isCall = entry.kind === "call";
  const wordy = entry.text !== null && (entry.text.length > 48 || entry.text.trim().includes("\n"));
  const tone = !present ? "past" : going ? entry.state : entry.state === "failed" ? "error" : "past";
  const whole = extent(sum, tree, now);
  const place = bar(placed, whole, now);
  const kept = (...looks: (string | false)[]) => looks.filter(Boolean).join(" ");
  return {
    look: kept("entry", entry.kind, placed.background && "own", present && entry.state === "waiting" && "asks", open && "open"),
    long: wordy || placed.session !== null,
    wordy,
    deep: Math.min(7, placed.depth),
    name: line(entry.name, isCall ? 80 : 60),
    nameTip: line(entry.name, 200) || undefined,
    say: entry.text === null ? "" : line(entry.kind === "tool" ? inFolder(entry.text, cwd) : entry.text),
    sayTip: open || !entry.text ? undefined : block(entry.text, 1000),
    tag: placed.failure ? line(placed.failure, 40).replaceAll("_", " ") : text.step[entry.state],
    tagLook: placed.failure || tone === "past" ? "tag soft" : `tag w-${tone}`,
    at: approximate(clockSeconds(entry.at), entry.approximate),
    fallTip: entry.at === null ? undefined : when(placed),
    tick: whole === null ? undefined : `${axisStep(whole.length).toFixed(2)}%`,
    bar: place && {
      look: kept(entry.kind, tone, place.open && "open"),
      left: `${place.left.toFixed(2)}%`,
      width: `${place.width.toFixed(2)}%`,
      thinking: place.thinking === null ? null : `${place.thinking.toFixed(1)}%`,
    },
    tokens: isCall || entry.tokens ? tokensFine(entry.tokens?.total) : "",
    tokensTip: entry.tokens ? exactTokens(entry.tokens) : isCall ? text.session.noUsage : undefined,
    cost: entry.cost_usd !== null ? moneyFine(entry.cost_usd, entry.tokens_unpriced) : entry.tokens_unpriced > 0 ? text.money.none : isCall ? UNKNOWN : "",
    costTip: costTip(entry.cost_usd, [], entry.tokens_unpriced) || undefined,
    numLook: isCall ? "num" : "num soft",
    took: entry.duration_ms !== null ? duration(entry.duration_ms) : going ? timer(sinceMs(entry.at, now)) : "",
    tookLook: tone === "waiting" ? "num w-waiting" : "num soft",
  };
}

/** When it began, how long it took, how much of that went by in thinking. */
function when({ entry, thinking_ms }: Placed): string {
  const lines = [`${approximate(clockMs(entry.at), entry.approximate)}, ${duration(entry.duration_ms)}`];
  if (thinking_ms !== null) lines.push(text.session.thought(duration(thinking_ms)));
  if (entry.approximate) lines.push(text.session.approximate);
  return lines.join("\n");
}
