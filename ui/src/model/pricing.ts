// Prices as they are written. Rates come as exact decimals; nothing is computed with them here.
import type { LongRates, ModelPrice, OwnPrice, PriceRates } from "../bindings/view";
import { tokens, UNKNOWN } from "./format";

/** `0.075` stays; `2` becomes `2.00`. */
export function rate(text: string | null | undefined): string {
  if (text == null) return UNKNOWN;
  const [whole = "", part = ""] = text.split(".");
  return part.length >= 2 ? text : `${whole}.${part.padEnd(2, "0")}`;
}

/** `4.00 above 200 k`: the first tier that differs. */
export function long(tiers: readonly LongRates[], say: (rate: string, above: string) => string): string {
  const first = tiers[0];
  return first === undefined ? UNKNOWN : say(rate(first.rates.input), tokens(first.above));
}

export interface Form {
  kind: "rates" | "alias";
  input: string;
  cache_read: string;
  cache_write: string;
  output: string;
  alias: string;
}

/** What the form starts from: what the person set before, else the rates in force. */
export function form(own: OwnPrice | null, price: ModelPrice | null): Form {
  const rates: PriceRates | null = own?.rates ?? price?.rates ?? null;
  return {
    kind: own?.alias != null ? "alias" : own?.rates != null ? "rates" : price === null ? "alias" : "rates",
    input: rates?.input ?? "", cache_read: rates?.cache_read ?? "", cache_write: rates?.cache_write ?? "", output: rates?.output ?? "", alias: own?.alias ?? "",
  };
}

/** What is asked of Rust; an empty field is no rate, never a zero. */
export function asked(f: Form): OwnPrice {
  const some = (text: string) => (text.trim() === "" ? null : text.trim());
  if (f.kind === "alias") return { alias: f.alias.trim(), rates: null };
  return { alias: null, rates: { input: some(f.input), cache_read: some(f.cache_read), cache_write: some(f.cache_write), output: some(f.output) } };
}
