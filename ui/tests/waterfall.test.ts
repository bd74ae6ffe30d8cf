// A turn's waterfall: the traced tree in time, and on the screen.
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { TimelineEntry, TreeSpan, TurnTree } from "../src/bindings/view";
import { fixtureDoor, type Fixture } from "../src/fixture";
import { items, rows } from "../src/model/timeline";
import { axis, bar, extent, flat, keys, nested } from "../src/model/waterfall";
import App from "../src/view/App.svelte";

afterEach(cleanup);

const T0 = "2026-11-30T12:00:00.000Z";
const at = (ms: number) => new Date(Date.parse(T0) + ms).toISOString();
const entry = (kind: TimelineEntry["kind"], step: number | null, ms: number | null, over: Partial<TimelineEntry> = {}): TimelineEntry => ({
  kind, turn: 1, step, at: ms === null ? null : at(ms), approximate: false, duration_ms: null, name: kind, state: "done", tokens: null, cost_usd: null, tokens_unpriced: 0, text: null, copied_from: null, ...over,
});
let n = 0;
const span = (kind: TreeSpan["kind"], depth: number, ms: number, over: Partial<TreeSpan> = {}): TreeSpan => ({
  id: String(n++), parent: null, depth, kind, session: "s", name: kind, label: null, step: null, at: at(ms), offset_us: ms * 1000, duration_us: 1500, approximate: false, state: "done", failure: null, background: false, thinking_us: null, tokens: null, cost_usd: null, tokens_unpriced: 0, text: null, ...over,
});
const tree = (spans: TreeSpan[], over: Partial<TurnTree> = {}): TurnTree => ({ step: 0, trace_id: null, at: T0, duration_us: 10_000_000, approximate: false, from_transcript: false, tokens: null, cost_usd: null, spans: [span("turn", 0, 0), ...spans], cut: false, ...over });

describe("A turn's rows", () => {
  const entries = [entry("call", 1, 10, { text: "the whole answer" }), entry("tool", 2, 30, { text: "ls" }), entry("wait", 3, 40), entry("tool", 3, 40), entry("error", 4, 9000), entry("prompt", null, null)];
  const t = tree([
    span("call", 1, 11, { step: 1, duration_us: 20_217, thinking_us: 12_000, cost_usd: "0.01" }),
    span("tool", 2, 31, { step: 2 }),
    span("tool", 2, 41, { step: 3, state: "waiting", duration_us: null }),
    span("turn", 3, 50, { session: "child", name: "searcher", text: "find it" }),
    span("call", 4, 51, { session: "child", step: 1 }),
    span("call", 1, 8000, { background: true }),
  ]);
  const got = nested(entries, t);

  it("are the tree's spans in their order, with what only the timeline tells where its time puts it", () => {
    expect(got.map((p) => `${p.depth}${p.entry.kind}`)).toEqual(["1call", "2tool", "2wait", "2tool", "3subagent", "4call", "1error", "1call", "1prompt"]);
  });
  it("have the span's finer times and numbers, and the timeline's words", () => {
    expect(got[0]).toMatchObject({ offset_ms: 11, thinking_ms: 12, entry: { text: "the whole answer", duration_ms: 20.217, cost_usd: "0.01" } });
    expect(got.find((p) => p.entry.kind === "tool" && p.entry.step === 3)!.entry).toMatchObject({ state: "waiting", duration_ms: null });
    expect(got.find((p) => p.session === "child")).toMatchObject({ entry: { name: "searcher", text: "find it" } });
    // A step of the sub-agent's is not one of the session's own, whatever its number.
    expect(got.find((p) => p.depth === 4)!.entry.text).toBeNull();
    expect(got.find((p) => p.background)).toBeDefined();
    expect(keys(got)).toEqual(["thinking", "answer", "tool", "subagent", "wait"]);
  });
  it("keep their keys when the tree comes, and hide what a sub-agent did until it is opened", () => {
    const all = items([entry("prompt", 0, 0), ...entries], []);
    const before = rows(all, {}).filter((r) => r.kind === "entry").map((r) => r.key);
    const after = rows(all, {}, { t1: t });
    const kept = after.filter((r) => r.kind === "entry").map((r) => r.key);
    expect(before.every((key) => kept.includes(key))).toBe(true);
    const child = after.find((r) => r.kind === "entry" && r.placed.session === "child")!;
    expect(after.some((r) => r.kind === "entry" && r.placed.depth === 4)).toBe(false);
    expect(rows(all, { [child.key]: true }, { t1: t }).some((r) => r.kind === "entry" && r.placed.depth === 4)).toBe(true);
    expect(after.filter((r) => r.kind === "entry" && r.last)).toHaveLength(1);
  });
  it("stand there once when neither tells a step: agy's own calls, calls that were tried again, and a transcript's", () => {
    const used = (total: number) => ({ input: total, output: 0, cache_read: 0, cache_write: 0, thinking: 0, total });
    const title = [entry("call", null, null, { name: "M50", tokens: used(51), text: "a title" }), entry("call", 1, 10, { tokens: used(900) })];
    const told = nested(title, tree([span("call", 1, 11, { step: 1, tokens: used(900) }), span("call", 1, 8000, { name: "M50", background: true, tokens: used(51) })]));
    expect(told.map((p) => [p.entry.name, p.entry.text, p.background])).toEqual([["call", null, false], ["M50", "a title", true]]);
    // Two of the same: each once, by their times.
    const tries = [entry("call", null, 100, { state: "failed" }), entry("call", null, 3000, { state: "failed" }), entry("call", 1, 9000)];
    const again = nested(tries, tree([span("call", 1, 3010), span("call", 1, 90), span("call", 1, 9000, { step: 1 }), span("call", 1, 5500)]));
    expect(again).toHaveLength(4);
    // The transcript's lines have steps, its spans have none.
    const lines = [entry("call", 4, 1000), entry("tool", 5, 1000, { name: "view_file", text: "a.rs" }), entry("tool", 6, 1000, { name: "grep_search", text: "x" }), entry("call", 7, 60_000)];
    const spans = [span("call", 1, 0, { name: "unknown" }), span("tool", 2, 1000, { name: "grep_search" }), span("tool", 2, 1000, { name: "view_file" }), span("call", 1, 59_000, { name: "unknown" })];
    const both = nested(lines, tree(spans, { from_transcript: true }));
    expect(both.map((p) => [p.entry.kind, p.entry.step, p.entry.text])).toEqual([["call", 4, null], ["tool", 6, "x"], ["tool", 5, "a.rs"], ["call", 7, null]]);
  });
  it("say once that something waits, by the tool that does", () => {
    const both = [entry("tool", 3, 40, { state: "waiting" }), entry("wait", 3, 40, { state: "waiting" }), entry("wait", 9, 50, { state: "waiting" })];
    expect(flat(both, null).map((p) => `${p.entry.kind}${p.entry.step}`)).toEqual(["tool3", "wait9"]);
    expect(nested(both, t).filter((p) => p.entry.kind === "wait").map((p) => p.entry.step)).toEqual([9]);
  });
  it("stand as they stood before where there is no tree", () => {
    expect(flat(entries, null).map((p) => [p.depth, p.offset_ms])).toEqual([[1, null], [2, null], [2, null], [2, null], [1, null], [1, null]]);
    expect(nested([], tree([]))).toEqual([]);
    expect(nested([entry("call", 1, null)], tree([], { spans: [] }))).toHaveLength(1);
  });
});

describe("A bar", () => {
  const placed = (offset_ms: number | null, duration_ms: number | null, over: Partial<TimelineEntry> = {}, thinking_ms: number | null = null) =>
    ({ entry: entry("call", 1, 0, { duration_ms, ...over }), depth: 1, offset_ms, thinking_ms, background: false, session: null, failure: null });
  const all = { from: Date.parse(T0), length: 10_000, open: false };
  it("lies where its time puts it, below a millisecond, too", () => {
    expect(bar(placed(2500, 0.5), all, 0)).toMatchObject({ left: 25, width: 0.005, open: false, thinking: null });
    expect(bar(placed(1000, 4000, {}, 1000), all, 0)).toMatchObject({ left: 10, width: 40, thinking: 25 });
  });
  it("never leaves its turn, whatever the clocks said", () => {
    expect(bar(placed(-400, 100), all, 0)).toMatchObject({ left: 0 });
    expect(bar(placed(9000, 99_000), all, 0)).toMatchObject({ left: 90, width: 10 });
    expect(bar(placed(99_000, 5), all, 0)).toMatchObject({ left: 100, width: 0 });
    expect(bar(placed(0, 100, {}, 5000), all, 0)).toMatchObject({ thinking: 100 });
    expect(bar(placed(null, 5), all, 0)).toBeNull();
    expect(bar(placed(5, 5), null, 0)).toBeNull();
  });
  it("goes on while it is under way", () => {
    expect(bar(placed(4000, null, { state: "running" }), all, Date.parse(T0) + 9000)).toMatchObject({ left: 40, width: 50, open: true });
    expect(extent(null, tree([], { duration_us: null }), Date.parse(T0) + 7000)).toMatchObject({ length: 7000, open: true });
    expect(extent(null, undefined, 0)).toBeNull();
  });
  it.each<[number, string[]]>([
    [180, ["0", "0.05 s", "0.1 s", "0.15 s"]], [3000, ["0", "1 s", "2 s", "3 s"]], [47_000, ["0", "20 s", "40 s"]], [461_000, ["0", "2 min", "4 min", "6 min"]],
    [5 * 3_600_000, ["0", "2 h", "4 h"]], [40 * 86_400_000, ["0", "320 h", "640 h", "960 h"]], [1, ["0"]],
  ])("of %s ms has an axis with %s", (length, labels) => {
    const got = axis(length);
    expect(got.labels).toEqual(labels);
    expect((got.labels.length - 1) * got.step).toBeLessThanOrEqual(100.001);
  });
});

describe("On the screen", () => {
  const ID = "7c0b41de-93a2-4f18-b5d6-000000000002";
  async function open(door: Fixture = fixtureDoor("full")): Promise<Fixture> {
    useDoor(door);
    location.hash = `#/session/${ID}`;
    render(App);
    await screen.findByRole("heading", { level: 1, name: /Add soft-delete/ });
    return door;
  }
  const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key });

  it("the open turn is the traced tree of the newest turn, with ticks and what the shapes mean", async () => {
    const door = await open();
    await waitFor(() => expect(document.querySelector(".fall i s")).not.toBeNull());
    expect(door.calls.find((c) => c.command === "turn_tree")?.args).toEqual({ id: ID, step: Number.MAX_SAFE_INTEGER });
    expect([...document.querySelectorAll(".axis .ticks span")].map((s) => s.textContent)).toEqual(["0", "2 min", "4 min", "6 min"]);
    expect(document.querySelector(".axis .legend")!.textContent).toMatch(/thinking.*answer.*tool.*sub-agent.*waits for you/);
    const agent = await screen.findByRole("button", { name: /Sub-agent\s*code-searcher/, expanded: false });
    expect(screen.queryByText("crates/store/src/report.rs")).toBeNull();
    agent.focus();
    await press("ArrowRight");
    expect(await screen.findByText("crates/store/src/report.rs")).toBeVisible();
    expect(screen.getByRole("link", { name: /Open this sub-agent/ })).toHaveAttribute("href", expect.stringMatching(/^#\/session\/7c0b41de/));
    await press("ArrowLeft");
    await waitFor(() => expect(screen.queryByText("crates/store/src/report.rs")).toBeNull());
  });

  it("another turn's tree is asked for when it is opened, once", async () => {
    const door = await open();
    const steps = () => door.calls.filter((c) => c.command === "turn_tree").map((c) => c.args?.["step"]);
    const turn = await screen.findByRole("button", { name: /^2\s*Use a nullable/ });
    for (let i = 0; i < 3; i++) await fireEvent.click(turn);
    await waitFor(() => expect(steps().filter((s) => s === 4)).toEqual([4]));
  });

  it("without a tree the timeline's own entries stand there", async () => {
    const door = fixtureDoor("full");
    await open({ ...door, call: (command, args) => (command === "turn_tree" ? Promise.reject({ code: "not_found", message: "gone" }) : door.call(command, args)) });
    expect(await screen.findByText("grep_search")).toBeVisible();
    expect(document.querySelectorAll(".fall i").length).toBeGreaterThan(8);
    expect(screen.queryByText(/gone/)).toBeNull();
  });
});
