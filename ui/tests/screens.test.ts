import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import App from "../src/view/App.svelte";

async function open(world: World, hash = "#/lanes"): Promise<Fixture> {
  const door = fixtureDoor(world);
  useDoor(door);
  location.hash = hash;
  render(App);
  await waitFor(() => expect(door.calls.length).toBeGreaterThan(0));
  await new Promise((r) => setTimeout(r, 20));
  return door;
}
const press = (key: string, over: Partial<KeyboardEventInit> = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...over });
const ID = (n: number) => `7c0b41de-93a2-4f18-b5d6-${n.toString(16).padStart(12, "0")}`;
const asked = (door: Fixture) => door.calls.filter((c) => c.command === "sessions").map((c) => c.args?.["query"] as Record<string, unknown>);

afterEach(cleanup);

describe("Lanes", () => {
  it("shows who needs you, what it asks, and why", async () => {
    await open("full");
    const rows = within(screen.getByRole("list", { name: "Lanes" })).getAllByRole("listitem");
    expect(rows).toHaveLength(8);
    expect(rows[1]).toHaveAccessibleName(/^api-server, waiting for .*: asks to use run_command cargo sqlx/);
    expect(rows[1]).toHaveTextContent("Asks to use run_command");
    expect(within(rows[0]!).getByText("~/src/northwind/payments-gateway")).toHaveAttribute("title", "/home/mira/src/northwind/payments-gateway");
    expect(rows[1]).toHaveTextContent("cargo sqlx migrate run --source ./migrations");
    expect(rows[2]).toHaveTextContent("2 sub-agents");
    expect(rows[4]).toHaveTextContent("run 8f2c");
    expect(screen.getByText("1 failed")).toBeVisible();
    await fireEvent.click(rows[1]!);
    expect(screen.getByRole("region", { name: "api-server" })).toHaveTextContent("Step 41 waits: run_command");
    expect(screen.getByText("Answer it in the terminal where agy runs. AgentHub only watches.")).toBeVisible();
    expect(rows[1]).toHaveTextContent("$0.97");
    expect(within(rows[4]!).getByText("no price")).toHaveAttribute("title", expect.stringContaining("71,020 tokens of today have no price"));
  });

  it("draws each lane as a track in time, and says in words what it draws", async () => {
    const door = await open("full");
    const strips = [...document.querySelectorAll(".strip")];
    expect(strips).toHaveLength(8);
    expect(strips.every((s) => s.getAttribute("aria-hidden") === "true")).toBe(true);
    await waitFor(() => expect(strips[1]!.querySelector(".wait.live")).not.toBeNull());
    expect(strips[0]!.querySelector(".error.now")).not.toBeNull();
    expect(strips[2]!.querySelector(".turn.live.running")).not.toBeNull();
    expect(strips[2]!.querySelector(".bead")).not.toBeNull();
    expect(strips[4]!.querySelector(".held")).not.toBeNull();
    const spans = () => door.calls.filter((c) => c.command === "tracks").map((c) => (c.args!["query"] as { since: string }).since);
    const ago = (since: string) => Math.round((Date.now() - Date.parse(since)) / 60_000);
    expect(ago(spans()[0]!)).toBe(60);
    await fireEvent.click(screen.getByRole("button", { name: "8 h" }));
    await waitFor(() => expect(ago(spans().at(-1)!)).toBe(480));
    expect(screen.getByRole("button", { name: "8 h" })).toHaveAttribute("aria-pressed", "true");
  });

  it("says that nothing needs you when nothing does", async () => {
    await open("quiet");
    expect(screen.getByText("Nothing needs you")).toBeVisible();
  });

  it("folds lanes that had nothing to do when there are many, and finds one that is asked for", async () => {
    const door = await open("many");
    await waitFor(() => expect(screen.getByText(/more lanes had nothing to do/)).toBeVisible());
    const drawn = () => document.querySelectorAll("[data-lane]").length;
    expect(drawn()).toBeLessThan(12);
    door.emit("navigate", { screen: "lanes", id: "x70" });
    await waitFor(() => expect(document.querySelector('[data-lane="x70"]')).toHaveFocus());
    await fireEvent.click(screen.getByRole("button", { name: "Show" }));
    await waitFor(() => expect(drawn()).toBe(88));
  });

  it("has one tab stop and moves by arrows, N and W", async () => {
    await open("full");
    const rows = screen.getAllByRole("listitem").filter((r) => r.dataset["lane"]);
    expect(rows.filter((r) => r.tabIndex === 0)).toHaveLength(1);
    rows[0]!.focus();
    await press("ArrowDown");
    await waitFor(() => expect(rows[1]).toHaveFocus());
    await press("End");
    await waitFor(() => expect(rows[7]).toHaveFocus());
    expect(rows.filter((r) => r.tabIndex === 0)).toEqual([rows[7]]);
    await press("n");
    await waitFor(() => expect(rows[0]).toHaveFocus());
    await press("w");
    expect(document.activeElement?.id).toBe("why");
  });

  it("opens the lane's session with Enter and comes back with Esc", async () => {
    await open("full");
    screen.getAllByRole("listitem").find((r) => r.dataset["lane"] === "l2")!.focus();
    await press("Enter");
    await waitFor(() => expect(location.hash).toBe(`#/session/${ID(2)}`));
    expect(await screen.findByRole("heading", { level: 1, name: /Add soft-delete/ })).toBeVisible();
    await press("Escape");
    await waitFor(() => expect(location.hash).toBe("#/lanes"));
  });

  it("follows the board live and says it once, urgently when it must", async () => {
    const door = await open("quiet");
    const live = document.querySelector(".page > .sr")!;
    expect(live).toHaveAttribute("aria-live", "polite");
    const loud = fixtureDoor("full").view;
    door.emit("board://changed", { ...loud, revision: 9 });
    await waitFor(() => expect(live).toHaveTextContent("1 failed · 1 waiting · 3 running · 3 idle"));
    expect(live).toHaveAttribute("aria-live", "assertive");
    expect(screen.getByLabelText("2 lanes need you")).toBeInTheDocument();
  });

  it("dismisses an error", async () => {
    const door = await open("full");
    await fireEvent.click(screen.getAllByRole("button", { name: "Dismiss" })[0]!);
    await waitFor(() => expect(screen.queryByText("1 failed")).toBeNull());
    expect(door.calls).toContainEqual({ command: "dismiss", args: { laneId: "l1" } });
  });

  it("shows the progress of a read and notes about AgentHub itself", async () => {
    await open("many");
    expect(screen.getByText("Reading 1,240 of 2,000 conversations")).toBeVisible();
    expect(screen.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "62");
    expect(screen.getByText(/agy’s format moved/)).toBeVisible();
  });

  it.each<[World, RegExp]>([["empty", /No conversation yet/], ["first", /Reading 2,000 conversations/], ["nohome", /agy’s folder is not there yet/]])(
    "says what to do next in a %s world", async (world, text) => {
      await open(world);
      expect(screen.getByText(text)).toBeVisible();
      expect(screen.getByText("Start agy in a project folder")).toBeVisible();
    });

  it("says what to do next when every lane has left the board", async () => {
    const door = await open("full");
    const view = door.view;
    door.emit("board://changed", { ...view, lanes: [], summary: { error: 0, waiting: 0, running: 0, idle: 0, line: "No lanes", worst: null } });
    expect(await screen.findByText("No lane yet")).toBeVisible();
    expect(screen.getByText(/Its lane appears here within a second/)).toBeVisible();
  });

  it("goes where the tray says", async () => {
    const door = await open("full");
    door.emit("navigate", { screen: "lanes", id: "l6" });
    await waitFor(() => expect(document.querySelector('[data-lane="l6"]')).toHaveFocus());
    door.emit("navigate", { screen: "session", id: ID(3) });
    expect(await screen.findByRole("heading", { level: 1, name: /Move report pages/ })).toBeVisible();
  });
});

describe("The palette", () => {
  it("leads to lanes, sessions, screens and actions by key", async () => {
    const door = await open("full");
    await press("k", { ctrlKey: true });
    const field = await screen.findByRole("combobox");
    expect(screen.getByRole("option", { name: /payments-gateway/ })).toBeInTheDocument();
    await fireEvent.input(field, { target: { value: "safari" } });
    const [hit] = await screen.findAllByRole("option", { name: /Fix Safari date parsing/ });
    expect(asked(door).at(-1)).toMatchObject({ search: "safari", limit: 8 });
    await fireEvent.click(hit!);
    await waitFor(() => expect(location.hash).toMatch(/^#\/session\//));
    await press("k", { ctrlKey: true });
    await fireEvent.input(await screen.findByRole("combobox"), { target: { value: "xyzzy" } });
    expect(await screen.findByText("Nothing matches “xyzzy”")).toBeInTheDocument();
  });
});

describe("A page that was sent somewhere before it listened", () => {
  it("goes there when it does", async () => {
    const door = fixtureDoor("full");
    door.sentTo = { screen: "session", id: ID(3) };
    useDoor(door);
    location.hash = "#/lanes";
    render(App);
    expect(await screen.findByRole("heading", { level: 1, name: /Move report pages/ })).toBeVisible();
  });
});

describe("Sessions", () => {
  it("lists rows under days, with totals and problems", async () => {
    await open("full", "#/sessions");
    const grid = await screen.findByRole("treegrid");
    expect(grid).toHaveAttribute("aria-rowcount", "215");
    expect(await within(grid).findByText("Today")).toBeVisible();
    expect(within(grid).getByText("Reconcile Stripe payouts with the ledger and explain every difference over 1 €")).toBeVisible();
    expect(screen.getByText(/of 214 sessions/)).toBeVisible();
    expect(screen.queryByText("old-notes.db")).toBeNull();
    await fireEvent.click(screen.getByRole("button", { name: "3 files could not be read" }));
    expect(screen.getByText("old-notes.db")).toBeVisible();
    expect(screen.getByText("name is no UUID")).toBeVisible();
    await press("Escape");
    await waitFor(() => expect(screen.queryByText("old-notes.db")).toBeNull());
    // What a cell has more to say is made when the pointer comes over it.
    const cost = within(grid).getAllByText("$1.83")[0]!;
    expect(cost).not.toHaveAttribute("title");
    await fireEvent.pointerOver(cost);
    expect(cost).toHaveAttribute("title", expect.stringMatching(/^\$1\.8346/));
    const none = within(grid).getAllByText("no price")[0]!;
    await fireEvent.pointerOver(none);
    expect(none).toHaveAttribute("title", "No price for gpt-oss-120b-medium");
  });

  it("searches with Ctrl F and says when nothing matches", async () => {
    const door = await open("full");
    await press("f", { ctrlKey: true });
    const field = await screen.findByRole("textbox", { name: "Search sessions" });
    await waitFor(() => expect(field).toHaveFocus());
    await fireEvent.input(field, { target: { value: "soft-delte" } });
    expect(await screen.findByText("Nothing matches “soft-delte”")).toBeVisible();
    expect(asked(door).at(-1)).toMatchObject({ search: "soft-delte", offset: 0 });
    await fireEvent.click(screen.getByRole("button", { name: "Clear search and filters" }));
    await waitFor(() => expect(screen.queryByText(/Nothing matches/)).toBeNull());
  });

  it("sorts by a column, in Rust", async () => {
    const door = await open("full", "#/sessions");
    await fireEvent.click(await screen.findByRole("button", { name: "Tokens" }));
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ sort: "tokens", ascending: false }));
    await fireEvent.click(screen.getByRole("button", { name: "Tokens" }));
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ sort: "tokens", ascending: true }));
    expect(screen.getByRole("columnheader", { name: "Tokens" })).toHaveAttribute("aria-sort", "ascending");
  });

  it("filters by lane", async () => {
    const door = await open("full", "#/sessions");
    const pick = await screen.findByLabelText("Lane");
    pick.focus();
    await fireEvent.keyDown(pick, { key: "ArrowDown" });
    const option = await screen.findByRole("option", { name: /dotfiles/ });
    await fireEvent.pointerUp(option, { pointerType: "mouse" });
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ lane_id: "p-dotfiles" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Clear filters" }));
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ lane_id: null }));
  });

  it("opens no session by the click that chose a filter above it", async () => {
    const door = await open("full", "#/sessions");
    const pick = await screen.findByLabelText("Lane");
    pick.focus();
    await fireEvent.keyDown(pick, { key: "ArrowDown" });
    const option = await screen.findByRole("option", { name: /dotfiles/ });
    await fireEvent.pointerDown(option, { pointerType: "mouse" });
    await fireEvent.pointerUp(option, { pointerType: "mouse" });
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ lane_id: "p-dotfiles" }));
    await waitFor(() => expect(document.querySelector('[data-row="0"]')).not.toBeNull());
    // The list is gone, and the browser's click falls on the row that lay beneath.
    const row = () => document.querySelector<HTMLElement>('[data-row="0"]')!;
    await fireEvent.click(row());
    expect(location.hash).toBe("#/sessions");
    await fireEvent.pointerDown(row());
    await fireEvent.click(row());
    await waitFor(() => expect(location.hash).toMatch(/^#\/session\//));
  });

  it("is one tab stop, with arrows, Enter and a way back to the same row", async () => {
    await open("full", "#/sessions");
    const grid = await screen.findByRole("treegrid");
    await within(grid).findByText("Today");
    const row = (n: number) => document.querySelector<HTMLElement>(`[data-row="${n}"]`)!;
    expect(grid.querySelectorAll('[data-row][tabindex="0"]')).toHaveLength(1);
    row(0).focus();
    await press("ArrowDown");
    await waitFor(() => expect(row(1)).toHaveFocus());
    expect(row(1)).toHaveAttribute("aria-selected", "true");
    await press("Enter");
    await waitFor(() => expect(location.hash).toBe(`#/session/${ID(2)}`));
    await press("Escape");
    await waitFor(() => expect(row(1)).toHaveFocus());
  });

  it("asks for a state and for days", async () => {
    const door = await open("full", "#/sessions");
    const pick = async (label: string, name: string) => {
      const button = await screen.findByLabelText(label);
      button.focus();
      await fireEvent.keyDown(button, { key: "ArrowDown" });
      await fireEvent.pointerUp(await screen.findByRole("option", { name }), { pointerType: "mouse" });
    };
    await screen.findByRole("treegrid");
    await pick("State", "Needs you");
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ state: "needs_you", period: null }));
    await pick("When", "Last 7 days");
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ state: "needs_you", period: "week" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Clear filters" }));
    await waitFor(() => expect(asked(door).at(-1)).toMatchObject({ state: null, period: null }));
  });

  it("deletes, and takes it back", async () => {
    const door = await open("full", "#/sessions");
    const grid = await screen.findByRole("treegrid");
    await within(grid).findByText("Today");
    document.querySelector<HTMLElement>('[data-row="0"]')!.focus();
    await press("Delete");
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "214"));
    expect(door.calls).toContainEqual({ command: "delete_session", args: { id: ID(1) } });
    await fireEvent.click(screen.getByRole("button", { name: "Undo" }));
    await waitFor(() => expect(grid).toHaveAttribute("aria-rowcount", "215"));
    expect(door.calls).toContainEqual({ command: "restore_session", args: { id: ID(1) } });
  });
});

describe("Session", () => {
  it("shows turns, why, context, tokens, warnings and kin", async () => {
    await open("full", `#/session/${ID(2)}`);
    expect(await screen.findByRole("heading", { level: 1, name: /Add soft-delete/ })).toBeVisible();
    const turns = screen.getAllByRole("button", { expanded: false }).filter((b) => b.classList.contains("turn"));
    expect(turns).toHaveLength(4);
    expect(turns[0]).toHaveTextContent(/23\.8 k\s*–?\s*0:32$/);
    // A turn whose one call told no usage, and the one under way: its time goes on.
    expect(turns[3]!.textContent).toMatch(/~\d\d:\d\d\s*–\s*–?\s*0:50/);
    expect(screen.getByRole("button", { name: /^5 Now write/ }).textContent).toMatch(/146\.8 k\s*–?\s*7:4\d/);
    expect(screen.getByText("grep_search")).toBeVisible();
    expect(screen.getByText("waits")).toBeVisible();
    expect(screen.getByText(/Checkpoint/)).toHaveTextContent("38.2 k tokens of history became a summary");
    expect(screen.getByText("Step 41 waits: run_command")).toBeVisible();
    expect(screen.getByRole("meter", { name: "Context" })).toHaveAttribute("aria-valuemax", "1048576");
    expect(screen.getByText("2 rows could not be decoded and were skipped; the rest is counted.")).toBeVisible();
    expect(screen.getByText("3 calls carry no usage.")).toBeVisible();
    expect(screen.getByText("With its sub-agent")).toBeVisible();
    expect(screen.getByText("$0.5847")).toBeVisible();
    expect(screen.getByRole("link", { name: "Soft-delete, first try" })).toHaveAttribute("href", `#/session/${ID(7)}`);
    expect(screen.getByRole("link", { name: /find every query on invoices/ })).toBeVisible();
    // A turn's waterfall: every entry that has a time lies in it.
    expect(document.querySelectorAll(".fall i").length).toBeGreaterThan(8);
    expect(document.querySelector(".fall i.wait")).not.toBeNull();
    expect(screen.getByRole("heading", { name: "Tokens and list price" })).toBeVisible();
  });

  it("opens and closes turns by key", async () => {
    await open("full", `#/session/${ID(2)}`);
    await screen.findByText("grep_search");
    const first = screen.getAllByRole("button", { expanded: false }).find((b) => b.dataset["stop"] === "t1")!;
    first.focus();
    await press("ArrowRight");
    expect(first).toHaveAttribute("aria-expanded", "true");
    await press("ArrowDown");
    expect(document.activeElement).not.toBe(first);
    await press("ArrowLeft");
    expect(first).toHaveFocus();
    expect(first).toHaveAttribute("aria-expanded", "false");
    expect(document.querySelectorAll('[data-stop][tabindex="0"]')).toHaveLength(1);
  });

  it("shows what a long entry says in full", async () => {
    await open("many", `#/session/${ID(2)}`);
    // It opens at the newest turn; the first is far above.
    const timeline = await waitFor(() => document.querySelector<HTMLElement>(".tl") ?? expect.fail("no timeline"));
    timeline.scrollTop = 0;
    await fireEvent.scroll(timeline);
    await fireEvent.click(await screen.findByRole("button", { name: /^1 Go on with part 1/ }));
    const long = (await screen.findAllByRole("button", { name: /line 0 of a long argument/ }))[0]!;
    expect(long).toHaveAttribute("aria-expanded", "false");
    await fireEvent.click(long);
    expect(long).toHaveAttribute("aria-expanded", "true");
    expect(document.querySelector(".whole")).toHaveTextContent("line 39 of a long argument");
    // Of 5,000 entries only those in sight are drawn.
    expect(document.querySelectorAll(".tl li").length).toBeLessThan(120);
  });

  it("shows the folder short and copies it whole", async () => {
    const writeText = vi.fn().mockResolvedValue(undefined);
    vi.stubGlobal("navigator", Object.assign(Object.create(navigator), { clipboard: { writeText } }));
    await open("full", `#/session/${ID(3)}`);
    const folder = await screen.findByText("~/src/northwind/atlas-web");
    expect(folder).toHaveAttribute("title", "/home/mira/src/northwind/atlas-web");
    const setData = vi.fn();
    await fireEvent(folder, Object.assign(new Event("copy", { bubbles: true, cancelable: true }), { clipboardData: { setData } }));
    expect(setData).toHaveBeenCalledWith("text/plain", "/home/mira/src/northwind/atlas-web");
    await fireEvent.click(screen.getByRole("button", { name: "Copy the whole path" }));
    await waitFor(() => expect(writeText).toHaveBeenCalledWith("/home/mira/src/northwind/atlas-web"));
    expect(await screen.findByText("Path copied")).toBeVisible();
  });

  it("copies the id with Ctrl C", async () => {
    const writeText = vi.fn().mockResolvedValue(undefined);
    vi.stubGlobal("navigator", Object.assign(Object.create(navigator), { clipboard: { writeText } }));
    await open("full", `#/session/${ID(3)}`);
    await press("c", { ctrlKey: true });
    await waitFor(() => expect(writeText).toHaveBeenCalledWith(ID(3)));
    expect(await screen.findByText("Id copied")).toBeVisible();
  });

  it("says what is not known", async () => {
    await open("full", `#/session/${ID(9)}`);
    expect(await screen.findByText("agy kept no steps of this conversation.")).toBeVisible();
    expect(screen.getByText("It made no model call of its own.")).toBeVisible();
    expect(screen.queryByRole("meter")).toBeNull();
  });

  it("says that a session is gone", async () => {
    await open("full", "#/session/nope");
    expect(await screen.findByText("This session is not here any more")).toBeVisible();
  });
});

describe("Doctor", () => {
  it("shows findings first, then checks, problems and limits", async () => {
    await open("full", "#/doctor");
    expect(await screen.findByText("2 findings")).toBeVisible();
    const headings = screen.getAllByRole("heading", { level: 2 }).map((h) => h.textContent);
    expect(headings).toEqual(["Findings", "Files that could not be read", "Good to know", "Checks", "Counted", "What AgentHub cannot know"]);
    expect(screen.getByText(/Look for a newer AgentHub/)).toBeVisible();
    expect(screen.getByText("old-notes.db")).toBeVisible();
  });
  it("groups files by why they could not be read, and opens a long list only when asked", async () => {
    await open("many", "#/doctor");
    expect(await screen.findByText(/^5\d{3} files are not a uuid/)).toBeVisible();
    expect(document.querySelectorAll(".problems li").length).toBeLessThan(400);
    expect(screen.getByText(/^Show the 5,\d{3} files$/)).toBeVisible();
    expect(screen.getByText(/all of them are in the report/)).toBeInTheDocument();
  });
  it("saves what a helper needs, and leads to it", async () => {
    const door = await open("full", "#/doctor");
    await fireEvent.click(await screen.findByRole("button", { name: "Save diagnostics" }));
    expect(await screen.findByText("Diagnostics saved")).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Open folder" }));
    expect(door.calls.map((c) => c.command)).toEqual(expect.arrayContaining(["diagnostics", "open_folder"]));
  });
  it("says when nothing is wrong", async () => {
    await open("quiet", "#/doctor");
    expect(await screen.findByText("Nothing is wrong")).toBeVisible();
  });
});

describe("anywhere", () => {
  it("goes by Ctrl 1, 2, 6", async () => {
    await open("full");
    await press("2", { ctrlKey: true });
    await waitFor(() => expect(location.hash).toBe("#/sessions"));
    await press("6", { ctrlKey: true });
    await waitFor(() => expect(location.hash).toBe("#/doctor"));
    await press("1", { ctrlKey: true });
    await waitFor(() => expect(location.hash).toBe("#/lanes"));
  });

  it.each(["#/lanes", "#/sessions", "#/doctor", `#/session/${ID(1)}`])("says what failed on %s", async (hash) => {
    await open("broken", hash);
    const alerts = await screen.findAllByRole("alert");
    expect(alerts[0]).toHaveTextContent("That did not work The store could not be opened: disk I/O error. store");
    expect(screen.getAllByRole("button", { name: "Try again" }).length).toBeGreaterThan(0);
  });
});

it("keeps the chosen lane and the keyboard while another screen is shown", async () => {
  await open("full");
  const row = () => document.querySelector<HTMLElement>('[data-lane="l4"]')!;
  row().focus();
  await press("Enter");
  await waitFor(() => expect(document.activeElement?.getAttribute("data-stop")).toMatch(/^t/));
  await press("Escape");
  await waitFor(() => expect(row()).toHaveFocus());
  expect(row()).toHaveAttribute("aria-current", "true");
});

it("opens at the lane that its address names", async () => {
  await open("full", "#/lanes/l6");
  expect(location.hash).toBe("#/lanes");
  await waitFor(() => expect(document.querySelector('[data-lane="l6"]')).toHaveAttribute("aria-current", "true"));
  expect(screen.getByRole("region", { name: /^terraform/ })).toBeVisible();
});

it("shows notes about AgentHub on the first start too, but says once that agy is missing", async () => {
  const door = await open("nohome");
  door.emit("board://changed", { ...door.view, notes: [...door.view.notes, { code: "no_tray", message: "No tray was found, so the window opened instead." }] });
  expect(await screen.findByText(/No tray was found/)).toBeVisible();
  expect(screen.queryByText("There is no ~/.gemini yet.")).toBeNull();
});
