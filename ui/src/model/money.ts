// How list prices are written. Costs come as exact decimals; they are rounded here for show and nowhere else.
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

/** Money in lists: `$1.82`, `< $0.01` below a cent, `$12,345` and `$1.23 M` where it gets long. */
export function money(cost: string | null | undefined): string {
  const n = parsed(cost);
  if (n === null) return UNKNOWN;
  if (n > 0 && n < 0.01) return "< $0.01";
  if (n < 9_999.995) return cents.format(n);
  if (n < 999_999.5) return whole.format(n);
  return n < 999_995_000 ? `$${(n / 1e6).toFixed(2)} M` : `$${(n / 1e9).toFixed(2)} G`;
}

/** Money on the Session screen: `$0.0303`. */
export function moneyFine(cost: string | null | undefined): string {
  const n = parsed(cost);
  if (n === null) return UNKNOWN;
  if (n > 0 && n < 0.0001) return "< $0.0001";
  return n < 9_999.5 ? four.format(n) : money(cost);
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

/** A cost in a list, and whether something of it has no price: "no price" where nothing has one, "–" where nothing was used. */
export function costWord(cost: string | null, unpriced: readonly string[]): { word: string; doubt: boolean } {
  const doubt = unpriced.length > 0;
  return { word: cost === null && doubt ? text.money.none : money(cost), doubt };
}

/** The exact cost, and what is missing in it. */
export function costTip(cost: string | null, unpriced: readonly string[]): string {
  return [cost === null ? "" : moneyExact(cost), unpricedWords(unpriced)].filter(Boolean).join("\n");
}

/** For a chart's axis, with the digits that its steps need: `$0.50`, `$2`, `$12 k`. */
export function axisMoney(n: number, step: number): string {
  if (n >= 10_000) return `$${(n / 1000).toFixed(step >= 1000 ? 0 : 1)} k`;
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  return `$${n.toFixed(digits === 1 ? 2 : digits)}`;
}
