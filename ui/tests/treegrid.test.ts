// Sub-agents inside the list of sessions.
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { SessionsPage } from "../src/bindings/view";
import { fixtureDoor, type Fixture } from "../src/fixture";
import App from "../src/view/App.svelte";

afterEach(cleanup);

async function open(): Promise<Fixture> {
  const door = fixtureDoor("full");
  useDoor(door);
  location.hash = "#/sessions";
  render(App);
  await within(await screen.findByRole("treegrid")).findByText("Today");
  // Rows are hidden, and have no name, until they are measured.
  await waitFor(() => expect(row(2)).toBeVisible());
  return door;
}
const row = (n: number) => document.querySelector<HTMLElement>(`[data-row="${n}"]`)!;
const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key });
const says = (n: number) => row(n).querySelector(".nm bdi")?.textContent;
const asked = (door: Fixture) => door.calls.filter((c) => c.command === "sessions").map((c) => c.args?.["query"] as Record<string, unknown>).filter((q) => q["parent_id"] !== null);

describe("Sub-agents in the list", () => {
  it("unfold and fold by arrows, and lead in and out", async () => {
    const door = await open();
    const grid = screen.getByRole("treegrid");
    expect(grid).toHaveAttribute("aria-rowcount", "215");
    // The third session started two; one of these started one itself.
    expect(row(2)).toHaveAttribute("aria-expanded", "false");
    expect(row(0)).not.toHaveAttribute("aria-expanded");
    row(0).focus();
    await press("ArrowDown");
    await press("ArrowDown");
    await waitFor(() => expect(row(2)).toHaveFocus());
    await press("ArrowRight");
    await waitFor(() => expect(row(2)).toHaveAttribute("aria-expanded", "true"));
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "217"));
    expect(asked(door)).toEqual([expect.objectContaining({ parent_id: expect.stringMatching(/003$/), sort: "started", ascending: true })]);
    expect(says(3)).toBe("find every query on invoices");
    expect([2, 3, 4, 5].map((n) => row(n).getAttribute("aria-level"))).toEqual(["1", "2", "2", "1"]);
    await press("ArrowRight");
    await waitFor(() => expect(row(3)).toHaveFocus());
    await press("ArrowDown");
    await waitFor(() => expect(row(4)).toHaveFocus());
    await press("ArrowRight");
    await waitFor(() => expect(row(5)).toHaveAttribute("aria-level", "3"));
    // Out again: to what started it, which then folds.
    await press("ArrowDown");
    await waitFor(() => expect(row(5)).toHaveFocus());
    await press("ArrowLeft");
    await waitFor(() => expect(row(4)).toHaveFocus());
    await press("ArrowLeft");
    await waitFor(() => expect(row(4)).toHaveAttribute("aria-expanded", "false"));
    await press("ArrowLeft");
    await waitFor(() => expect(row(2)).toHaveFocus());
    await press("ArrowLeft");
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "215"));
    expect(row(2)).toHaveFocus();
  });

  it("unfold by a click that opens nothing, and open by a click on them", async () => {
    await open();
    await fireEvent.click(within(row(1)).getByRole("button", { name: "1 sub-agent: show" }));
    expect(location.hash).toBe("#/sessions");
    await waitFor(() => expect(says(2)).toBe("find every query on invoices"));
    await fireEvent.click(within(row(1)).getByRole("button", { name: "1 sub-agent: hide" }));
    await waitFor(() => expect(row(2)).toHaveAttribute("aria-level", "1"));
    await fireEvent.click(within(row(1)).getByRole("button", { name: "1 sub-agent: show" }));
    await waitFor(() => expect(row(2)).toHaveAttribute("aria-level", "2"));
    await fireEvent.click(row(2));
    expect(await screen.findByRole("heading", { level: 1, name: "find every query on invoices" })).toBeVisible();
    await press("Escape");
    await waitFor(() => expect(row(2)).toHaveFocus());
    expect(row(2)).toHaveAttribute("aria-level", "2");
  });

  it("are in the sums of the foot, which says so", async () => {
    await open();
    const foot = document.querySelector(".foot")!;
    expect(foot).toHaveTextContent(/214 of 214 sessions\s*with 4 sub-agents/);
  });

  it("are found by their names and ids, below the sessions that they stand inside of", async () => {
    const door = await open();
    const grid = screen.getByRole("treegrid");
    const type = (value: string) => fireEvent.input(screen.getByRole("textbox", { name: "Search sessions" }), { target: { value } });
    await type("LOAD TWICE");
    // One session started two, of which this is the second: it alone is shown, and the foot counts the whole tree.
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "3"));
    expect(row(0)).toHaveAttribute("aria-expanded", "true");
    expect([says(1), row(1).getAttribute("aria-level")]).toEqual(["list pages that load twice", "2"]);
    expect(document.querySelector(".foot")).toHaveTextContent(/1 of 214 sessions\s*with 3 sub-agents/);
    expect(asked(door)).toEqual([]);
    // Folded and unfolded by the keyboard it has all of them.
    row(0).focus();
    await press("ArrowRight");
    await waitFor(() => expect(row(1)).toHaveFocus());
    await press("ArrowLeft");
    await waitFor(() => expect(row(0)).toHaveFocus());
    expect(within(row(0)).getByRole("button", { name: "2 sub-agents, 1 found: hide" })).toHaveTextContent("1 found");
    await press("ArrowLeft");
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "2"));
    expect(within(row(0)).getByRole("button", { name: "2 sub-agents, 1 found: show" })).toBeVisible();
    await press("ArrowRight");
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "4"));
    expect([1, 2].map(says)).toEqual(["find every query on invoices", "list pages that load twice"]);
    expect(within(row(0)).getByRole("button", { name: "2 sub-agents: hide" })).toHaveTextContent(/^2$/);
    // One deeper, by its id: with what stands between.
    const { id } = (await door.call("sessions", { query: { ...asked(door)[0]!, parent_id: "7c0b41de-93a2-4f18-b5d6-000000a01003" } }) as SessionsPage).rows[0]!;
    await press("ArrowLeft");
    await type(id);
    await waitFor(() => expect(row(2)).toHaveAttribute("aria-level", "3"));
    expect(says(1)).toBe("list pages that load twice");
    // A click opens what was found. Back again, it is still there.
    await fireEvent.click(row(1));
    expect(await screen.findByRole("heading", { level: 1, name: "list pages that load twice" })).toBeVisible();
    await press("Escape");
    await waitFor(() => expect(row(1)).toHaveFocus());
    expect(row(2)).toHaveAttribute("aria-level", "3");
    await fireEvent.click(screen.getByRole("button", { name: "Clear search" }));
    await waitFor(() => expect(screen.getByRole("treegrid")).toHaveAttribute("aria-rowcount", "215"));
  });

  it("are found by the palette, too", async () => {
    await open();
    await fireEvent.keyDown(document.body, { key: "k", ctrlKey: true });
    const dialog = await screen.findByRole("dialog");
    await fireEvent.input(within(dialog).getByRole("combobox"), { target: { value: "load twice" } });
    await fireEvent.click(await within(dialog).findByText("list pages that load twice"));
    expect(await screen.findByRole("heading", { level: 1, name: "list pages that load twice" })).toBeVisible();
  });

  it("keep the keyboard on its session when rows come above it", async () => {
    const door = await open();
    row(0).focus();
    for (let i = 0; i < 4; i++) await press("ArrowDown");
    await waitFor(() => expect(row(4)).toHaveFocus());
    const name = says(4);
    await fireEvent.click(within(row(1)).getByRole("button", { name: /^1 sub-agent/ }));
    row(1).focus();
    await waitFor(() => expect(says(5)).toBe(name));
    for (let i = 0; i < 4; i++) await press("ArrowDown");
    await waitFor(() => expect(row(5)).toHaveFocus());
    // The first session is deleted elsewhere: everything moves up by one.
    await door.call("delete_session", { id: "7c0b41de-93a2-4f18-b5d6-000000000001" });
    door.emit("board://changed", { ...door.view, revision: 77 });
    await waitFor(() => expect(row(4)).toHaveFocus());
    expect(says(4)).toBe(name);
  });
});
