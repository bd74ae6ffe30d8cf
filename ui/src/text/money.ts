// What is said about prices wherever they stand.
import { tokens } from "../model/format";

export const money = {
  none: "no price",
  /** Some of the tokens have no price, so it is at least this. */
  atLeast: (amount: string) => `≥ ${amount}`,
  /** So little of it has a price that there is nothing to round. */
  something: "> $0",
  lacking: (n: number) => `${tokens(n)} ${n === 1 ? "token has" : "tokens have"} no price`,
  without: (models: string) => `No price for ${models}`,
  /** So many tokens of one model, in the list that `lackingEach` takes. */
  of: (n: number, model: string) => `${tokens(n)} ${n === 1 ? "token" : "tokens"} of ${model}`,
  lackingEach: (list: string) => `No price: ${list}`,
  /** What a row of the price table has no rate for. */
  parts: { input: "input", cache_read: "cache reads", cache_write: "cache writes", output: "output" } as Record<string, string>,
  noRate: (parts: string) => `No rate for ${parts}`,
  list: "list price, not a bill",
};
