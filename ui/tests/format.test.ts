import { describe, expect, it } from "vitest";
import * as f from "../src/model/format";

const at = (h: number, m: number, s = 0, ms = 0) => new Date(2026, 10, 30, h, m, s, ms);

describe("numbers", () => {
  it.each([
    [null, "–"], [undefined, "–"], [Number.NaN, "–"], [0, "0"], [812, "812"], [999, "999"], [1000, "1 k"], [38_211, "38 k"], [55_986, "56 k"], [170_653, "171 k"], [1_005_000, "1.01 M"],
    [999_499, "999 k"], [999_500, "1.00 M"], [1_121_400, "1.12 M"], [126_000_000, "126.0 M"], [999_940_000, "999.9 M"],
    [1_204_000_000, "1.20 G"], [2 ** 40, "1.10 T"],
  ])("writes %s tokens as %s", (n, text) => expect(f.tokens(n)).toBe(text));

  it("has one more digit on the Session screen", () => {
    expect(f.tokensFine(25_822)).toBe("25.8 k");
    expect(f.tokensFine(812)).toBe("812");
    expect(f.tokensFine(999_960)).toBe("1.00 M");
  });

  it("groups thousands and never makes a zero of what is unknown", () => {
    expect(f.count(2143)).toBe("2,143");
    expect(f.count(null)).toBe("–");
    expect(f.plural(1, "call", "calls")).toBe("1 call");
    expect(f.plural(1200, "call", "calls")).toBe("1,200 calls");
  });
});

describe("time", () => {
  it.each([[null, "–"], [0, "0:00"], [48_999, "0:48"], [134_000, "2:14"], [1_297_000, "21:37"], [3_734_000, "1:02:14"]])(
    "ticks %s as %s", (ms, text) => expect(f.timer(ms)).toBe(text));

  it.each([[null, "–"], [12_000, "12 s"], [720_000, "12 min"], [3_600_000, "1 h"], [47 * 3_600_000, "47 h"], [72 * 3_600_000, "3 d"]])(
    "ages %s as %s", (ms, text) => expect(f.age(ms)).toBe(text));

  it.each([[null, "–"], [-1, "–"], [12.4, "12 ms"], [412, "0.4 s"], [13_800, "13.8 s"], [59_949, "59.9 s"], [59_960, "0:59"], [134_000, "2:14"]])(
    "lasts %s as %s", (ms, text) => expect(f.duration(ms)).toBe(text));

  it("speaks", () => {
    expect(f.spoken(134_000)).toBe("2 minutes 14 seconds");
    expect(f.spoken(60_000)).toBe("1 minute");
    expect(f.spoken(21 * 60_000 + 5000)).toBe("21 minutes");
    expect(f.spoken(26 * 3_600_000)).toBe("26 hours");
    expect(f.spoken(null)).toBeNull();
  });

  it("reads a time that is none as unknown", () => {
    for (const bad of [null, undefined, "", "yesterday", "2026-99-99T00:00:00Z"]) {
      expect(f.clock(bad)).toBe("–");
      expect(f.clockMs(bad)).toBe("–");
      expect(f.momentFull(bad, 0)).toBe("–");
      expect(f.sinceMs(bad, 5)).toBeNull();
    }
  });

  it("writes evidence to the millisecond, lists to the minute", () => {
    const iso = at(14, 21, 58, 304).toISOString();
    expect(f.clockMs(iso)).toBe("14:21:58.304");
    expect(f.clockSeconds(iso)).toBe("14:21:58");
    expect(f.clock(iso)).toBe("14:21");
    expect(f.approximate("14:21", true)).toBe("~14:21");
    expect(f.approximate("–", true)).toBe("–");
  });

  it("never runs backwards when clocks differ", () => {
    expect(f.sinceMs(new Date(5000).toISOString(), 1000)).toBe(0);
  });

  it("names days", () => {
    const now = at(14, 24).getTime();
    expect(f.dayHeading("2026-11-30", now)).toBe("Today");
    expect(f.dayHeading("2026-11-29", now)).toBe("Yesterday");
    expect(f.dayHeading("2026-11-28", now)).toBe("Saturday 28 November");
    expect(f.dayHeading("2025-11-28", now)).toContain("2025");
    expect(f.dayHeading(null, now)).toBe("No date");
    expect(f.dayHeading("not a day", now)).toBe("not a day");
    expect(f.dayHeading("2026-11-29", at(0, 0, 1).getTime())).toBe("Yesterday");
    expect(f.moment(at(9, 5).toISOString(), now)).toBe("09:05");
    expect(f.moment("2026-11-02T12:00:00Z", now)).toBe("2 Nov");
  });
});

describe("text from outside", () => {
  it("is one line without control characters or direction overrides", () => {
    expect(f.line("a\r\n\tb")).toBe("a b");
    expect(f.line("\u0000\u001b[31mred\u202egnp.exe\u2066x")).toBe("��[31mred�gnp.exe�x");
    expect(f.line(null)).toBe("");
  });
  it("is cut, never through a surrogate pair", () => {
    expect(f.line("x".repeat(10_000), 10)).toBe(`${"x".repeat(9)}…`);
    expect(f.line("1234567😀😀", 10)).toBe("1234567😀…");
    expect(f.line("😀".repeat(10), 10)).toBe("😀😀😀😀…");
  });
  it("keeps line breaks in a block", () => {
    expect(f.block("a\r\nb\u0007")).toBe("a\nb�");
    expect(f.block("x".repeat(50_000)).length).toBe(20_000);
  });
});
