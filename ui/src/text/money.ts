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
  list: "list price, not a bill",
};
