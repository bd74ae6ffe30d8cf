import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { PricingView } from "../src/bindings/view";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import { asked, form, long, rate } from "../src/model/pricing";
import App from "../src/view/App.svelte";

afterEach(cleanup);

describe("m6 rates", () => {
  it.each([[null, "–"], [undefined, "–"], ["2", "2.00"], ["0.5", "0.50"], ["0.075", "0.075"], ["0.0125", "0.0125"], ["12", "12.00"]])("are written as they are, %s as %s", (r, shown) => expect(rate(r)).toBe(shown));
  it("say the first other tier", () => {
    const say = (r: string, above: string) => `${r}>${above}`;
    expect(long([], say)).toBe("–");
    expect(long([{ above: 200_000, rates: { input: "4", cache_read: null, cache_write: null, output: "18" } }], say)).toBe("4.00>200 k");
  });
  it("that are empty are no rates, never zeros", () => {
    expect(asked({ kind: "rates", input: " 0.75 ", cache_read: "", cache_write: " ", output: "3", alias: "x" })).toEqual({ alias: null, rates: { input: "0.75", cache_read: null, cache_write: null, output: "3" } });
    expect(asked({ kind: "alias", input: "1", cache_read: "", cache_write: "", output: "", alias: " gemini-3.8-flash " })).toEqual({ alias: "gemini-3.8-flash", rates: null });
    expect(form(null, null)).toMatchObject({ kind: "alias", input: "", alias: "" });
    expect(form({ alias: null, rates: { input: "1", cache_read: null, cache_write: null, output: "2" } }, null)).toMatchObject({ kind: "rates", input: "1", output: "2", cache_read: "" });
  });
});

async function open(world: World): Promise<Fixture> {
  const door = fixtureDoor(world);
  useDoor(door);
  location.hash = "#/settings/antigravity";
  render(App);
  await screen.findByRole("table", { name: "Model Pricing" });
  return door;
}
const table = () => within(screen.getByRole("table", { name: "Model Pricing" }));
const named = (door: Fixture, command: string) => door.calls.filter((c) => c.command === command).map((c) => c.args);

describe("Model Pricing", () => {
  it("m3 shows which row priced what, and what has no price first", async () => {
    await open("full");
    const rows = table().getAllByRole("row");
    expect(rows[1]).toHaveTextContent(/^gpt-oss-120b-medium\s*no price/);
    expect(rows[3]).toHaveTextContent("gemini-3.1-pro-preview");
    expect(rows[3]).toHaveTextContent("2.00");
    expect(rows[3]).toHaveTextContent("4.00 above 200 k");
    expect(rows[3]).toHaveTextContent("vertex_ai/gemini-3.1-pro-preview");
    expect(table().getAllByText("alias")).toHaveLength(2);
    expect(screen.getByText(/These are list prices, not a bill/)).toBeVisible();
    expect(screen.getByText(/LiteLLM 1.110.2, .* · 68 rows/)).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Show all 68 rows" }));
    expect(table().getAllByText("gemini-2.5-row-62").length).toBeGreaterThan(0);
  });

  it("m4 names the part that was used and has no rate, and no other", async () => {
    const door = fixtureDoor("full");
    const hint = "There is no rate for cache reads: 500 tokens are not in the cost.";
    useDoor({
      ...door,
      call: async (command, args) => {
        const answer = await door.call(command, args);
        if (command !== "pricing") return answer;
        const view = answer as PricingView;
        const models = view.models.map((m) =>
          m.model === "gemini-3.8-flash" && m.price
            ? { ...m, hint, tokens_unpriced: 500, tokens: { input: 9, output: 9, cache_read: 500, cache_write: 0, thinking: 0, total: 518 }, price: { ...m.price, rates: { ...m.price.rates, cache_read: null, cache_write: null } } }
            : m);
        return { ...view, models };
      },
    });
    location.hash = "#/settings/antigravity";
    render(App);
    await screen.findByRole("table", { name: "Model Pricing" });
    const row = table().getAllByRole("row").find((r) => r.textContent?.includes("gemini-3.8-flash"))!;
    expect(within(row).getAllByText("no price")).toHaveLength(1);
    expect(within(row).getByText("no price")).toHaveAttribute("title", hint);
    expect(row).toHaveTextContent("0.75");
  });

  it("m4 sets a price, says what can't be, and takes it back", async () => {
    const door = await open("full");
    await fireEvent.click(table().getByRole("button", { name: "Set a price or an alias…" }));
    const asks = within(await screen.findByRole("form", { name: "Set a price or an alias for gpt-oss-120b-medium" }));
    await fireEvent.click(asks.getByRole("button", { name: "A price" }));
    await fireEvent.input(asks.getByLabelText(/^Input/), { target: { value: "cheap" } });
    await fireEvent.click(asks.getByRole("button", { name: "Save" }));
    expect(await asks.findByRole("alert")).toHaveTextContent("A rate is a number such as 0.75.");
    await fireEvent.input(asks.getByLabelText(/^Input/), { target: { value: "0.15" } });
    await fireEvent.input(asks.getByLabelText(/^Output/), { target: { value: "0.6" } });
    await fireEvent.click(asks.getByRole("button", { name: "Save" }));
    expect(await screen.findByText("gpt-oss-120b-medium has a price")).toBeVisible();
    expect(named(door, "set_price").at(-1)).toEqual({ model: "gpt-oss-120b-medium", price: { alias: null, rates: { input: "0.15", cache_read: null, cache_write: null, output: "0.6" } } });
    await waitFor(() => expect(table().queryByText("no price")).toBeNull());
    const row = table().getAllByRole("row").find((r) => r.textContent?.includes("gpt-oss-120b-medium"))!;
    expect(row).toHaveTextContent("yours");
    expect(row).toHaveTextContent("0.15");
    await fireEvent.click(within(row).getByRole("button", { name: "Take back" }));
    expect(await table().findByText("no price")).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Undo" }));
    await waitFor(() => expect(table().queryByText("no price")).toBeNull());
  });

  it("sets an alias, and closes with Esc without setting anything", async () => {
    const door = await open("full");
    await fireEvent.click(table().getByRole("button", { name: "Set a price or an alias…" }));
    await screen.findByRole("form");
    await fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => expect(screen.queryByRole("form")).toBeNull());
    await fireEvent.click(table().getByRole("button", { name: "Set a price or an alias…" }));
    const asks = within(await screen.findByRole("form"));
    await fireEvent.input(asks.getByLabelText("Priced like"), { target: { value: "gemini-3.8-flash" } });
    await fireEvent.click(asks.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(named(door, "set_price")).toEqual([{ model: "gpt-oss-120b-medium", price: { alias: "gemini-3.8-flash", rates: null } }]));
    expect(await table().findByText("your alias")).toBeVisible();
  });

  it.each<[World, string, string]>([["full", "Prices are as of today", "2 new · 1 changed"], ["quiet", "The price file could not be reached.", "raw.githubusercontent.com could not be reached. The prices in use stay."]])("m1 syncs on a click and says what came of it (%s)", async (world, title, detail) => {
    const door = await open(world);
    expect(named(door, "pricing_sync")).toEqual([]);
    await fireEvent.click(screen.getByRole("button", { name: "Sync prices" }));
    expect(await screen.findByText(title)).toBeVisible();
    expect(screen.getByText(detail)).toBeVisible();
  });

  it("p4 fetches weekly only when it is switched on", async () => {
    const door = await open("full");
    const box = await screen.findByRole("switch", { name: "Sync weekly" });
    expect(box).not.toBeChecked();
    await fireEvent.click(box);
    await waitFor(() => expect(named(door, "set_settings")).toEqual([{ patch: { prices: { weekly_sync: true } } }]));
  });
});
