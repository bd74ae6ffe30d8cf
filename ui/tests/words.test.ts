// Numbers in words: one of a thing, none, many, and thousands.
import { describe, expect, it } from "vitest";
import type { ModelUsage } from "../src/bindings/view";
import { costTip, costWord, doubtOfEach, partWords } from "../src/model/money";
import * as text from "../src/text";

const WORDS: [string, (n: number) => string][] = [
  ["lanes", text.lanes.count], ["today", text.lanes.usedToday], ["unpriced today", text.lanes.unpricedToday], ["folded", text.lanes.folded],
  ["sub-agents", text.lanes.subagents], ["sessions", text.lanes.sessions], ["and sub-agents", text.lanes.andSubagents],
  ["scan", (n) => text.lanes.scan(0, n)], ["earlier", text.empty.earlier], ["searched", text.empty.searched], ["reading", text.firstStart.reading],
  ["need you", text.rail.needYou], ["findings", text.doctor.findings], ["files", text.doctor.files], ["history", (n) => text.notifications.of(n, n).join("")],
  ["muted", text.notifications.muted], ["values", text.general.valuesProblem],
  ["of", (n) => text.sessions.of(n, n).join("")], ["without usage", text.sessions.withoutUsage], ["problems", text.sessions.problems],
  ["inside", text.sessions.withSubagents], ["calls", text.session.calls], ["together", (n) => text.session.togetherLine(n, 0)],
  ["carry", text.session.withoutUsage], ["rows", (n) => text.warning["undecodable_row"]!(n)], ["mismatch", (n) => text.warning["usage_mismatch"]!(n)],
  ["usage", (n) => `${n} ${text.usage.calls(n, n, n)}`], ["left out", text.usage.leftOut], ["exact", text.usage.exact], ["more", text.usage.more],
  ["stale", text.pricing.stale], ["lacking", text.money.lacking], ["lacking of a model", (n) => text.money.of(n, "m")], ["priced calls", text.pricing.calls],
];

describe("Words", () => {
  it.each(WORDS)("of %s fit one, none and many", (_, say) => {
    expect(say(1)).toMatch(/\b1\b/);
    expect(say(1)).not.toMatch(/\b1 (?:more |earlier )?(?:lanes|tokens|sessions|sub-agents|conversations|findings|files|values|calls|rows|models|days)\b/);
    expect(say(1)).not.toMatch(/\b(?:session|call|token|file|lane) (?:were|are|have|need|carry|tell)\b/);
    expect(say(0)).toMatch(/\b0\b/);
    expect(say(0)).not.toMatch(/\b0 (?:lane|token|session|sub-agent|conversation|finding|file|value|call|row|model|day)\b/);
    expect(say(2)).toMatch(/\b2\b/);
    if (!say(12_345).includes("12 k")) expect(say(12_345).replace(/^12345 /, "")).not.toMatch(/\d{5}/);
  });

  it("say of a cost what is known, and of none what is so", () => {
    expect(costWord("1.8346", 0)).toEqual({ word: "$1.83", doubt: false });
    expect(costWord("1.8346", 5)).toEqual({ word: "≥ $1.83", doubt: true });
    expect(costWord(null, 5)).toEqual({ word: "no price", doubt: true });
    // Nothing was used: that is no missing price.
    expect(costWord(null, 0)).toEqual({ word: "–", doubt: false });
    expect(costTip("1.8346", ["m"], 5)).toBe("$1.8346\n5 tokens have no price\nNo price for m");
    expect(costTip(null, ["m"], 5)).toBe("No price for m");
    expect(costTip("1.8346", [], 12_345)).toBe("$1.8346\n12 k tokens have no price");
    const usage = (model: string, tokens_unpriced: number, own = model): ModelUsage => ({
      model, model_label: model === "a" ? "Model A" : null, model_enum: 0, calls: 1, tokens: null, cost_usd: null, price_row: null, tokens_unpriced, unpriced_parts: [], unpriced_names: tokens_unpriced > 0 ? [{ model: own, tokens: tokens_unpriced }] : [],
    });
    expect(doubtOfEach([usage("a", 12_345), usage("b", 0), usage("c", 1)])).toBe("No price: 12 k tokens of Model A, 1 token of c");
    expect(doubtOfEach([usage("b", 0)])).toBe("");
    expect(doubtOfEach([usage("a", 7, "MODEL_PLACEHOLDER_M35")])).toBe("No price: 7 tokens of MODEL_PLACEHOLDER_M35");
    expect(partWords(["cache_read", "later"])).toBe("No rate for cache reads, later");
    expect(partWords([])).toBe("");
    expect(costTip(null, Array.from({ length: 9 }, (_, i) => `m${i}`), 9)).toMatch(/^No price for m0.*m7…$/);
  });
});
