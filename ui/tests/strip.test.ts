import { render } from "@testing-library/svelte";
import type { ComponentProps } from "svelte";
import { expect, it } from "vitest";
import type { BoardLane, LaneTrack, Segment } from "../src/bindings/view";
import { fixtureDoor } from "../src/fixture";
import { money, moneyExact, moneyFine } from "../src/model/money";
import Money from "../src/view/Money.svelte";
import { grid, marks, shift, SPANS, still, ticks } from "../src/model/strip";

const HOUR = 3_600_000;
const AT = Date.parse("2026-11-30T14:24:09Z");
const lane = (over: Partial<BoardLane>): BoardLane => ({ ...fixtureDoor("quiet").view.lanes[0]!, since: null, state: "idle", ...over });
const track = (...segments: Partial<Segment>[]): LaneTrack => ({
  lane_id: "l", cut: false,
  segments: segments.map((s) => ({ kind: "turn", from_ms: 0, to_ms: 0, approximate: false, ...s })),
});

it("places what was on the axis, and what goes on up to now", () => {
  const t = track({ from_ms: AT - HOUR / 2, to_ms: AT - HOUR / 4 }, { from_ms: AT - HOUR / 10, to_ms: null });
  const told = marks(lane({ state: "running" }), t, HOUR, AT).map((m) => [m.kind, Math.round(m.left), m.width === null ? null : Math.round(m.width)]);
  expect(told).toEqual([["turn", 50, 25], ["turn", 90, null], ["start", 50, 0], ["start", 90, 0]]);
});

it("marks where a turn began only where that can be told apart: small turns close together are no fence of posts", () => {
  const turn = (from: number, to: number) => ({ from_ms: AT - from * 60_000, to_ms: AT - to * 60_000 });
  const posts = (span: number, ...turns: Partial<Segment>[]) => marks(lane({}), track(...turns), span, AT).filter((m) => m.kind === "start").map((m) => m.left);
  // A percent of eight hours is 4.8 minutes: the second turn follows too closely, and the third is too small.
  expect(posts(8 * HOUR, turn(240, 200), turn(198, 190), turn(120, 118), turn(60, 30))).toEqual([50, 87.5]);
  expect(posts(HOUR, turn(50, 48), turn(47, 46)).map(Math.round)).toEqual([17, 22]);
});

it("shows a lane's state even before its track has come", () => {
  const since = new Date(AT - HOUR / 4).toISOString();
  const kinds = (state: BoardLane["state"]) => marks(lane({ state, since }), undefined, HOUR, AT).map((m) => m.kind);
  expect([kinds("running"), kinds("waiting"), kinds("error"), kinds("idle")]).toEqual([["turn"], ["wait"], ["error"], []]);
  // An error from before the span is not drawn at its edge, as if it were now.
  expect(marks(lane({ state: "error", since: new Date(AT - 2 * HOUR).toISOString() }), undefined, HOUR, AT)).toEqual([]);
  expect(marks(lane({ state: "running", since: "no time" }), undefined, HOUR, AT)).toEqual([]);
  // A state that began before the span fills it.
  expect(marks(lane({ state: "running", since: new Date(AT - 9 * HOUR).toISOString() }), undefined, HOUR, AT)[0]?.left).toBe(0);
});

it("has ticks on round moments, apart from its ends", () => {
  for (const span of SPANS) {
    const all = ticks(span, AT);
    expect(all.length).toBeGreaterThan(2);
    expect(all.every((t) => t.left >= 5 && t.left <= 90 && t.at % 60_000 === 0)).toBe(true);
    const { offset, step } = grid(span, AT);
    expect(offset).toBeGreaterThanOrEqual(0);
    expect(offset).toBeLessThan(step);
    expect((all[0]!.left - offset) % step).toBeCloseTo(0, 6);
  }
});

it("moves the axis only when it can be seen, and never back", () => {
  let drawn = new Set<number>();
  for (let s = 0; s < 60; s++) drawn.add(shift(HOUR, AT, AT + s * 1000));
  expect(drawn.size).toBeLessThan(30);
  expect(shift(HOUR, AT, AT - 5000)).toBe(0);
  expect(shift(HOUR, AT, AT + HOUR / 2)).toBeCloseTo(50, 1);
});

it("knows a lane that did nothing", () => {
  expect(still(lane({}), track())).toBe(true);
  expect(still(lane({}), track({}))).toBe(false);
  expect(still(lane({}), undefined)).toBe(false);
  expect(still(lane({ state: "waiting" }), track())).toBe(false);
});

it.each([
  [null, "–", "–", "–"],
  ["", "–", "–", "–"],
  ["nonsense", "–", "–", "–"],
  ["0", "$0.00", "$0.0000", "$0"],
  ["0.0000001", "< $0.01", "< $0.0001", "$0.0000001"],
  ["0.0470754", "$0.05", "$0.0471", "$0.0470754"],
  ["1.825", "$1.83", "$1.8250", "$1.825"],
  ["12345.678", "$12,346", "$12,346", "$12345.678"],
  ["9999.999", "$10,000", "$10,000", "$9999.999"],
  ["1234567.89", "$1.23 M", "$1.23 M", "$1234567.89"],
  ["98765432109.5", "$98.77 G", "$98.77 G", "$98765432109.5"],
])("writes %s as money", (cost, list, fine, exact) => {
  expect([money(cost), moneyFine(cost), moneyExact(cost)]).toEqual([list, fine, exact]);
});

it.each([
  [null, "–", "–"],
  ["0", "≥ $0", "≥ $0"],
  ["0.00000012", "> $0", "> $0"],
  ["0.0047", "≥ $0.004", "≥ $0.0047"],
  ["0.00047", "≥ $0.0004", "≥ $0.0005"],
  ["0.001", "≥ $0.001", "≥ $0.0010"],
  ["2.69", "≥ $2.69", "≥ $2.6900"],
  ["12345.678", "≥ $12,346", "≥ $12,346"],
  ["1234567.89", "≥ $1.23 M", "≥ $1.23 M"],
])("writes %s as money of which some tokens have no price", (cost, list, fine) => {
  expect([money(cost, 1), moneyFine(cost, 1)]).toEqual([list, fine]);
});

it("shows what is known of a cost, and in words what is missing", () => {
  const shown = (props: ComponentProps<typeof Money>) => {
    const { container, unmount } = render(Money, props);
    const span = container.querySelector("span")!;
    const said = [span.textContent, span.title];
    unmount();
    return said;
  };
  expect(shown({ cost: "2.69", lacking: 0 })).toEqual(["$2.69", "$2.69"]);
  expect(shown({ cost: "2.69", lacking: 12_345 })).toEqual(["≥ $2.69", "$2.69\n12 k tokens have no price"]);
  expect(shown({ cost: "0.0047", lacking: 1 })).toEqual(["≥ $0.004", "$0.0047\n1 token has no price"]);
  expect(shown({ cost: "0.0047", lacking: 1, fine: true, unpriced: ["m"] })).toEqual(["≥ $0.0047", "$0.0047\n1 token has no price\nNo price for m"]);
  expect(shown({ cost: null, lacking: 9 })).toEqual(["no price", "9 tokens have no price"]);
  expect(shown({ cost: null, lacking: 0 })).toEqual(["–", ""]);
});
