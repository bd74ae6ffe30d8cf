import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { UsageBar, UsageModel, UsageScreen } from "../src/bindings/view";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import { makeUsage } from "../src/fixture/usage";
import { usageAnswers } from "../src/model/answers";
import { axisMoney, money } from "../src/model/money";
import { barName, columns, marks, markName, swatch } from "../src/model/usage";
import { usageChoice } from "../src/model/usageChoice.svelte";
import App from "../src/view/App.svelte";

const AT = Date.UTC(2026, 10, 30, 12);

describe("money", () => {
  it.each([[2, 2, "$2"], [0.5, 0.5, "$0.50"], [0.25, 0.05, "$0.25"], [0.0002, 0.0001, "$0.0002"], [12_000, 2000, "$12 k"]])("marks an axis at %d by steps of %d as %s", (n, step, shown) => expect(axisMoney(n, step)).toBe(shown));
});

describe("a chart of usage", () => {
  const full = makeUsage("full", AT, { range: "days30", measure: "cost", since: null, until: null });
  it("stacks what Rust said, without adding anything", () => {
    const cols = columns(full, "tokens");
    expect(cols).toHaveLength(30);
    for (const c of cols) expect(c.top).toBe(c.bar.tokens?.total ?? 0);
    for (const c of cols) c.blocks.reduce((below, b) => (expect(b.from).toBe(below), b.to), 0);
    for (const c of columns(full, "cost")) expect(c.top).toBeCloseTo(Number(c.bar.cost_usd ?? 0), 6);
  });
  it("marks a bar in which something has no price, in costs only", () => {
    const open = columns(full, "cost").filter((c) => c.open);
    expect(open.length).toBeGreaterThan(0);
    for (const c of open) expect(c.bar.tokens_unpriced).toBeGreaterThan(0);
    expect(columns(full, "tokens").some((c) => c.open)).toBe(false);
  });
  it("keeps a model's colour, and hatches what has no price instead of giving it one", () => {
    const other = makeUsage("full", AT, { range: "days90", measure: "tokens", since: null, until: null });
    for (const m of full.models) expect(other.models.find((o) => o.key === m.key)?.colour).toBe(m.colour);
    const unpriced = full.models.find((m) => m.cost_usd === null) as UsageModel;
    expect(swatch(unpriced, "cost")).toEqual({ colour: 6, striped: false, hatched: true });
    expect(swatch(unpriced, "tokens")).toEqual({ colour: unpriced.colour, striped: false, hatched: false });
    expect(swatch(null, "cost")).toEqual({ colour: 6, striped: false, hatched: false });
  });
  it("names days, weeks and months", () => {
    const bar = (key: string, until: string) => ({ ...(full.bars[0] as UsageBar), key, until });
    expect(barName(bar("2026-11-19", "2026-11-19"), "day")).toBe("Thu 19 Nov");
    expect(barName(bar("2026-11-16", "2026-11-22"), "week")).toBe("16 Nov – 22 Nov");
    expect(barName(bar("2026-11-01", "2026-11-30"), "month")).toBe("November 2026");
    expect(markName(bar("2026-11-02", "2026-11-02"), "day")).toBe("2 Nov");
    expect([markName(bar("2026-01-01", "2026-01-31"), "month"), markName(bar("2026-02-01", "2026-02-28"), "month")]).toEqual(["Jan 2026", "Feb"]);
  });
  it("has few marks, the newest among them", () => {
    expect(marks(30, 6)).toEqual([4, 9, 14, 19, 24, 29]);
    expect(marks(7, 8)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(marks(0, 5)).toEqual([]);
    for (const n of [1, 31, 92, 500]) expect(marks(n, 6).length).toBeLessThanOrEqual(7);
  });
});

async function open(world: World): Promise<Fixture> {
  const door = fixtureDoor(world, AT);
  useDoor(door);
  location.hash = "#/usage";
  render(App);
  await screen.findByRole("heading", { level: 1, name: "Usage" });
  await waitFor(() => expect(door.calls.some((c) => c.command === "usage")).toBe(true));
  return door;
}
const asked = (door: Fixture) => door.calls.filter((c) => c.command === "usage").map((c) => c.args?.["query"]);

describe("the Usage screen", () => {
  beforeEach(() => {
    usageChoice.range = "days30";
    usageChoice.measure = "cost";
    usageChoice.cut = "model";
  });
  afterEach(cleanup);

  it("shows the sums, the charts and the table of one range, with the zone in which days are cut", async () => {
    const door = await open("full");
    const is = makeUsage("full", AT, { range: "days30", measure: "cost", since: null, until: null });
    expect(await screen.findByText("list price, not a bill")).toBeVisible();
    // Some of its tokens have no price, so every sum with such ones is "at least", in the header, the table and by project.
    const sum = money(is.totals.cost_usd, is.totals.tokens_unpriced);
    expect(sum).toMatch(/^≥ \$/);
    expect(screen.getAllByText(sum).length).toBeGreaterThanOrEqual(2);
    const partly = is.projects.slice(0, 7).filter((p) => p.cost_usd !== null && p.tokens_unpriced > 0);
    expect(partly.length).toBeGreaterThan(0);
    for (const p of partly) expect(screen.getAllByText(money(p.cost_usd, p.tokens_unpriced)).length).toBeGreaterThan(0);
    expect(screen.getByText("Days in Europe/Berlin")).toBeVisible();
    expect(screen.getAllByRole("img", { name: /Nov: / })).toHaveLength(30);
    const table = screen.getByRole("table", { name: "Model" });
    const rows = within(table).getAllByRole("row");
    expect(rows).toHaveLength(is.models.length + 2);
    expect(rows[1]).toHaveTextContent(is.models[0]!.key!);
    expect(within(table).getByText("no price")).toBeVisible();
    expect(within(table).getByRole("link", { name: "Set a price…" })).toHaveAttribute("href", "#/settings/antigravity");
    for (const query of asked(door)) expect(query).toEqual({ range: "days30", measure: "cost", since: null, until: null });
  });

  it("says why it counts more sessions than the lists, and why a cost is not whole", async () => {
    const door = fixtureDoor("full", AT);
    const hint = "There is no rate for cache reads: 500 tokens are not in the cost.";
    useDoor({
      ...door,
      call: async (command, args) => {
        const answer = await door.call(command, args);
        if (command !== "usage") return answer;
        const it = answer as UsageScreen;
        return { ...it, models: it.models.map((m, i) => (i === 0 ? { ...m, tokens_unpriced: 500, hint } : m)) };
      },
    });
    location.hash = "#/usage";
    render(App);
    expect(await screen.findByText("calls in 218 sessions, 4 of them sub-agents")).toBeVisible();
    expect(screen.getByTitle(/Sub-agents count here as sessions of their own/)).toBeVisible();
    expect(await screen.findByText("214 sessions")).toHaveAttribute("title", expect.stringMatching(/Sub-agents are inside .* Usage counts them/));
    expect(screen.getByTitle(new RegExp(`^\\$[\\d.]+ ${hint}`))).toHaveTextContent(/^≥ /);
  });

  it("asks Rust again for another range and measure, and cuts the table otherwise", async () => {
    const door = await open("full");
    await fireEvent.click(await screen.findByRole("button", { name: /90 days/ }));
    await fireEvent.click(screen.getByRole("button", { name: "Tokens" }));
    await waitFor(() => expect(asked(door).at(-1)).toEqual({ range: "days90", measure: "tokens", since: null, until: null }));
    await fireEvent.click(screen.getByRole("button", { name: "Project" }));
    const table = await screen.findByRole("table", { name: "Project" });
    expect(within(table).getByText("payments-gateway")).toBeVisible();
    expect(within(table).getByRole("columnheader", { name: "Tokens" })).toHaveAttribute("aria-sort", "descending");
  });

  it("is one tab stop in the chart, and arrows say each bar", async () => {
    await open("full");
    const bars = await screen.findAllByRole("img", { name: /Nov: / });
    const stops = () => bars.filter((b) => b.getAttribute("tabindex") === "0");
    expect(stops()).toEqual([bars[29]]);
    bars[29]!.focus();
    await fireEvent.keyDown(bars[29]!, { key: "ArrowLeft" });
    await waitFor(() => expect(bars[28]).toHaveFocus());
    await fireEvent.keyDown(bars[28]!, { key: "Home" });
    await waitFor(() => expect(bars[0]).toHaveFocus());
    expect(stops()).toEqual([bars[0]]);
    expect(document.querySelector(".leg")).toHaveTextContent(barName(makeUsage("full", AT, { range: "days30", measure: "cost", since: null, until: null }).bars[0]!, "day"));
  });

  it("exports what the table shows through Rust, and says where", async () => {
    const door = await open("full");
    const trigger = await screen.findByRole("button", { name: "Export…" });
    await waitFor(() => expect(trigger).toBeEnabled());
    trigger.focus();
    await fireEvent.keyDown(trigger, { key: "Enter" });
    await fireEvent.click(await screen.findByRole("menuitem", { name: "Save as CSV" }));
    expect(await screen.findByText("~/Downloads/agenthub-usage-model-2026-11-30.csv")).toBeVisible();
    expect(door.calls).toContainEqual({ command: "usage_export", args: { by: "model", query: { range: "days30", measure: "cost", since: null, until: null }, format: "csv" } });
    await fireEvent.click(screen.getByRole("button", { name: "Open folder" }));
    expect(door.calls).toContainEqual({ command: "open_folder", args: { path: "/home/mira/Downloads" } });
  });

  it("says that there is nothing yet, and nothing as zero dollars", async () => {
    await open("empty");
    expect(await screen.findByText("No call in this range")).toBeVisible();
    expect(document.body).not.toHaveTextContent("$");
  });

  it("draws 10,000 models as rows in sight only, and hostile names as text", async () => {
    await open("many");
    await fireEvent.click(await screen.findByRole("button", { name: /All/ }));
    await waitFor(() => expect(screen.getByRole("table")).toHaveAttribute("aria-rowcount", "10007"));
    expect(document.querySelectorAll(".t .tr").length).toBeLessThan(200);
    cleanup();
    usageAnswers.forget();
    await open("hostile");
    expect(await screen.findAllByText(/<img src=x/)).not.toHaveLength(0);
    expect((window as unknown as { pwned?: number }).pwned).toBeUndefined();
  });

  it("takes a range of one's own: it begins as what is shown, and a day that is none is said beside it", async () => {
    const door = await open("full");
    await fireEvent.click(await screen.findByRole("button", { name: /Custom/ }));
    const since = await screen.findByRole("textbox", { name: "First day" });
    const until = screen.getByRole("textbox", { name: "Last day" });
    expect([since, until].map((f) => (f as HTMLInputElement).value)).toEqual(["2026-11-01", "2026-11-30"]);
    await waitFor(() => expect(asked(door).at(-1)).toEqual({ range: "custom", measure: "cost", since: "2026-11-01", until: "2026-11-30" }));
    await fireEvent.change(since, { target: { value: "2026-11-20" } });
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ since: "2026-11-20", until: "2026-11-30" }));
    await fireEvent.change(until, { target: { value: "soon" } });
    expect(await screen.findByRole("alert")).toHaveTextContent("soon is not a day such as 2026-11-30.");
    expect(until).toHaveAttribute("aria-invalid", "true");
    expect(screen.getByText("By project")).toBeVisible();
    await fireEvent.change(until, { target: { value: " " } });
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
    expect(asked(door).at(-1)).toMatchObject({ since: "2026-11-20", until: null });
    await fireEvent.click(screen.getByRole("button", { name: /All/ }));
    await waitFor(() => expect(screen.queryByRole("textbox", { name: "First day" })).toBeNull());
    expect(asked(door).at(-1)).toMatchObject({ range: "all", since: null, until: null });
  });
});
