// What the Usage screen draws from Rust's sums: heights, colours and words. Nothing is summed here.
import { stack } from "d3-shape";
import type { UsageBar, UsageMeasure, UsageModel, UsageScreen, UsageStep } from "../bindings/view";
import { millis, tokens } from "./format";
import { money } from "./money";

export interface Swatch {
  /** The colour's place among the page's chart colours; the sixth is that of the rest. */
  colour: number;
  striped: boolean;
  hatched: boolean;
}

const REST: Swatch = { colour: 6, striped: false, hatched: false };

/** How a model looks in this measure: where it has no price, costs are hatched, never a colour. */
export function swatch(model: UsageModel | null, measure: UsageMeasure): Swatch {
  if (model === null) return REST;
  if (measure === "cost" && model.cost_usd === null) return { colour: 6, striped: false, hatched: true };
  return model.colour === null ? REST : { colour: model.colour, striped: model.striped, hatched: false };
}

export interface Block {
  model: number | null;
  from: number;
  to: number;
}

export interface Column {
  bar: UsageBar;
  blocks: Block[];
  /** Of all blocks. */
  top: number;
  /** Something in it has no price, so it is higher than it is drawn. */
  open: boolean;
}

/** Only for drawing: a height needs no more digits than a screen has points. */
const height = (bar: UsageBar, model: number | null, measure: UsageMeasure): number => {
  const part = bar.parts.find((p) => p.model === model);
  if (part === undefined) return 0;
  const n = measure === "cost" ? Number(part.cost_usd ?? 0) : (part.tokens_total ?? 0);
  return Number.isFinite(n) && n > 0 ? n : 0;
};

export function columns(screen: UsageScreen, measure: UsageMeasure): Column[] {
  const series = [...new Set(screen.bars.flatMap((b) => b.parts.map((p) => p.model)))].sort((a, b) => (a ?? 1e9) - (b ?? 1e9));
  const layers = stack<UsageBar, number | null>()
    .keys(series)
    .value((bar, model) => height(bar, model, measure))(screen.bars);
  return screen.bars.map((bar, at) => {
    const blocks = layers.map((layer) => ({ model: layer.key, from: layer[at]?.[0] ?? 0, to: layer[at]?.[1] ?? 0 })).filter((b) => b.to > b.from);
    return { bar, blocks, top: blocks.at(-1)?.to ?? 0, open: measure === "cost" && bar.tokens_unpriced > 0 };
  });
}

export function amount(row: { cost_usd: string | null; tokens_unpriced: number }, total: number | null, measure: UsageMeasure): string {
  return measure === "cost" ? money(row.cost_usd, row.tokens_unpriced) : tokens(total);
}

const dayMonth = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
const monthYear = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const monthShort = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });
const monthShortYear = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });

const noon = (day: string | null | undefined) => (day ? millis(`${day}T12:00:00Z`) : null);

/** On the axis: `2 Nov`; of a month `Nov`, with its year each January. */
export function markName(bar: UsageBar, step: UsageStep): string {
  const ms = noon(bar.key);
  if (ms === null) return bar.label;
  if (step !== "month") return dayMonth.format(ms);
  return new Date(ms).getUTCMonth() === 0 ? monthShortYear.format(ms) : monthShort.format(ms);
}

/** In the table and above the chart: `Thu 19 Nov`, `16 Nov to 22 Nov`, `November 2026`. */
export function barName(bar: UsageBar, step: UsageStep): string {
  const from = noon(bar.key);
  const to = noon(bar.until);
  if (from === null || to === null) return bar.label;
  if (step === "month") return monthYear.format(from);
  if (step === "day") return weekday.format(from).replace(",", "");
  return `${dayMonth.format(from)} – ${dayMonth.format(to)}`;
}

/** The bars that have a mark below them: a few, at even distances, the newest among them. */
export function marks(count: number, most: number): number[] {
  if (count === 0 || most < 1) return [];
  const every = Math.max(1, [1, 2, 5, 7, 14, 28, 56].find((e) => count / e <= most) ?? Math.ceil(count / most));
  const out: number[] = [];
  for (let at = count - 1; at >= 0; at -= every) out.unshift(at);
  return out;
}
