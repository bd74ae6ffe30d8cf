// How list prices are written. Costs come as exact decimals; they are rounded here for show and nowhere else.
import type { ModelUsage } from "../bindings/view";
import * as text from "../text";
import { line, UNKNOWN } from "./format";

const cents = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 2 });
const four = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 4, maximumFractionDigits: 4 });
const whole = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 });

function parsed(cost: string | null | undefined): number | null {
  if (cost == null || cost.trim() === "") return null;
  const n = Number(cost);
  return Number.isFinite(n) ? n : null;
}

/** What is known of a sum in which some tokens have no price: never an upper bound, and never more than is known. */
function atLeast(n: number, smallest: number, word: () => string): string {
  if (n === 0) return text.money.atLeast("$0");
  if (n >= smallest) return text.money.atLeast(word());
  const places = Math.ceil(-Math.log10(n));
  return places > 4 ? text.money.something : text.money.atLeast(`$${(Math.floor(n * 10 ** places + 1e-9) / 10 ** places).toFixed(places)}`);
}

/**
 * Money in lists: `$1.82`, `< $0.01` below a cent, `$12,345` and `$1.23 M` where it gets long. `lacking`: so many tokens of
 * it have no price; then `≥ $1.82`, and `≥ $0.004` below a cent.
 */
export function money(cost: string | null | undefined, lacking = 0): string {
  const n = parsed(cost);
  if (n === null) return UNKNOWN;
  const word = () => {
    if (n < 9_999.995) return cents.format(n);
    if (n < 999_999.5) return whole.format(n);
    return n < 999_995_000 ? `$${(n / 1e6).toFixed(2)} M` : `$${(n / 1e9).toFixed(2)} G`;
  };
  if (lacking > 0) return atLeast(n, 0.01, word);
  return n > 0 && n < 0.01 ? "< $0.01" : word();
}

/** Money on the Session screen: `$0.0303`; `≥ $0.0303` where some of the tokens have no price. */
export function moneyFine(cost: string | null | undefined, lacking = 0): string {
  const n = parsed(cost);
  if (n === null) return UNKNOWN;
  const word = () => (n < 9_999.5 ? four.format(n) : money(cost));
  if (lacking > 0) return atLeast(n, 0.0001, word);
  return n > 0 && n < 0.0001 ? "< $0.0001" : word();
}

/** As it is, for tooltips and copying: `$0.0470754`. */
export function moneyExact(cost: string | null | undefined): string {
  return parsed(cost) === null ? UNKNOWN : `$${cost}`;
}

/** So many models are named. */
const NAMED = 8;

/** Why a cost is not whole; empty when it is. */
export function unpricedWords(models: readonly string[]): string {
  if (models.length === 0) return "";
  const names = models.slice(0, NAMED).map((m) => line(m, 60)).join(", ");
  return text.money.without(names + (models.length > NAMED ? "…" : ""));
}

/**
 * Why a cost is not whole; empty when it is. Of nothing that has a price the models say enough; else what is missing may be theirs
 * or a part of another's, and stands as a number before them.
 */
export function doubtWords(models: readonly string[], lacking: number, partly: boolean): string {
  const names = unpricedWords(models);
  const tokens = lacking > 0 && (partly || names === "") ? text.money.lacking(lacking) : "";
  return [tokens, names].filter(Boolean).join("\n");
}

/** The same where it is known of each model how many of its tokens have no price. */
export function doubtOfEach(models: readonly ModelUsage[]): string {
  // A row is of one of agy's numbers; calls that have no other name than that may be among those of a model that has one.
  const lacking = models.flatMap((m) => m.unpriced_names.map((u) => ({ name: u.model === m.model ? (m.model_label ?? m.model) : u.model, tokens: u.tokens })));
  if (lacking.length === 0) return "";
  const each = lacking.slice(0, NAMED).map((u) => text.money.of(u.tokens, line(u.name, 60))).join(", ");
  return text.money.lackingEach(each + (lacking.length > NAMED ? "…" : ""));
}

/** What a model's row has no rate for; empty where it has all that was used. */
export function partWords(parts: readonly string[]): string {
  return parts.length === 0 ? "" : text.money.noRate(parts.map((p) => text.money.parts[p] ?? line(p, 40)).join(", "));
}

/** A cost in a list, and whether something of it has no price: "no price" where nothing has one, "–" where nothing was used. */
export function costWord(cost: string | null, lacking: number): { word: string; doubt: boolean } {
  const doubt = lacking > 0;
  return { word: cost === null && doubt ? text.money.none : money(cost, lacking), doubt };
}

/** The exact cost, and what is missing in it. */
export function costTip(cost: string | null, unpriced: readonly string[], lacking: number): string {
  return [cost === null ? "" : moneyExact(cost), doubtWords(unpriced, lacking, cost !== null)].filter(Boolean).join("\n");
}

/** For a chart's axis, with the digits that its steps need: `$0.50`, `$2`, `$12 k`. */
export function axisMoney(n: number, step: number): string {
  if (n >= 10_000) return `$${(n / 1000).toFixed(step >= 1000 ? 0 : 1)} k`;
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  return `$${n.toFixed(digits === 1 ? 2 : digits)}`;
}
