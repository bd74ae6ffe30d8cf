import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { useDoor } from "../src/api";
import type { DiffLine, HooksStatus } from "../src/bindings/view";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import { shown } from "../src/model/diff";
import App from "../src/view/App.svelte";

afterEach(() => {
  cleanup();
  history.replaceState(null, "", "/");
});

async function open(world: World, hooks = ""): Promise<Fixture> {
  history.replaceState(null, "", `/?hooks=${hooks}#/settings/antigravity`);
  const door = fixtureDoor(world);
  useDoor(door);
  render(App);
  await screen.findByRole("heading", { level: 2, name: "Hooks" });
  await waitFor(() => expect(screen.queryByText("Looking at hooks.json…")).toBeNull());
  return door;
}
const named = (door: Fixture, command: string) => door.calls.filter((c) => c.command === command);
const card = () => within(screen.getByRole("region", { name: "Hooks" }));

describe("a difference", () => {
  const lines = (text: string): DiffLine[] =>
    text.split("\n").map((l) => ({ kind: l.startsWith("@@") ? "place" : l[0] === "+" ? "added" : l[0] === "-" ? "removed" : "same", text: l.startsWith("@@") ? l : l.slice(1) }));
  it("numbers old lines by the old file and new ones by the new", () => {
    const got = shown(lines("@@ -11,4 +11,5 @@\n a\n-b\n+b2\n+c\n d"));
    expect(got.map((l) => [l.kind, l.number])).toEqual([["gap", null], ["same", 11], ["del", 12], ["add", 12], ["add", 13], ["same", 14]]);
  });
  it("begins without a gap at the first line, also of a file that was not there", () => {
    expect(shown(lines("@@ -0,0 +1,2 @@\n+{\n+}")).map((l) => [l.kind, l.number])).toEqual([["add", 1], ["add", 2]]);
    expect(shown([])).toEqual([]);
  });
  it("marks what changed within a line, and only between lines that belong together", () => {
    const [del, add] = shown(lines('@@ -1,1 +1,1 @@\n-  "command": "/old/x Stop"\n+  "command": "/new/x Stop"'));
    expect(del?.parts).toEqual(['  "command": "/', "old", '/x Stop"']);
    expect(add?.parts).toEqual(['  "command": "/', "new", '/x Stop"']);
    const unequal = shown(lines("@@ -1,1 +1,2 @@\n-  }\n+  },\n+  more"));
    expect(unequal.every((l) => l.parts[1] === "")).toBe(true);
    const strangers = shown(lines("@@ -1,1 +1,1 @@\n-abcdefgh\n+12345678"));
    expect(strangers.map((l) => l.parts[0])).toEqual(["abcdefgh", "12345678"]);
    const two = shown(lines("@@ -1,2 +1,2 @@\n-aaaa 1\n-bbbb 1\n+aaaa 2\n+bbbb 2"));
    expect(two.map((l) => l.parts)).toEqual([["aaaa ", "1", ""], ["bbbb ", "1", ""], ["aaaa ", "2", ""], ["bbbb ", "2", ""]]);
  });
});

describe("w3 the hooks card", () => {
  it("shows the exact difference, writes by its token, and offers to take it back", async () => {
    const door = await open("empty");
    expect(card().getByText("Not installed")).toBeVisible();
    await fireEvent.click(card().getByRole("button", { name: "Install…" }));
    const plan = await screen.findByRole("group", { name: "Install will change two files." });
    expect(within(plan).getByRole("region", { name: "Exact difference" })).toHaveTextContent('added: "agenthub": {');
    expect(within(plan).getByText(/agenthub-hook.sh is made/)).toBeVisible();
    expect(within(plan).getByText("A backup is kept. Nothing is written until you choose Write.")).toBeVisible();
    expect(named(door, "hooks_apply")).toEqual([]);
    await waitFor(() => expect(plan).toHaveFocus());
    await fireEvent.click(within(plan).getByRole("button", { name: "Write hooks.json" }));
    expect(await screen.findByText("Hooks installed")).toBeVisible();
    expect(named(door, "hooks_apply")).toEqual([{ command: "hooks_apply", args: { token: "install-0" } }]);
    expect(await card().findByText("no event seen yet")).toBeVisible();
    expect(card().getByText(/Start agy anew/)).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Undo…" }));
    expect(await screen.findByRole("group", { name: /^Undo will change/ })).toBeVisible();
    expect(named(door, "hooks_plan").map((c) => c.args)).toEqual([{ action: "install" }, { action: "undo" }]);
    expect(named(door, "hooks_apply")).toHaveLength(1);
  });

  it("shows the difference anew when the file changed since it was shown", async () => {
    const door = await open("full");
    await fireEvent.click(card().getByRole("button", { name: "Refresh…" }));
    const write = await screen.findByRole("button", { name: "Write hooks.json" });
    await door.call("hooks_touch");
    await fireEvent.click(write);
    expect(await screen.findByText(/The file changed after its difference was shown/)).toBeVisible();
    expect(screen.getByRole("region", { name: "Exact difference" })).toBeVisible();
    expect(screen.queryByText("Hooks installed")).toBeNull();
    await fireEvent.click(screen.getByRole("button", { name: "Write hooks.json" }));
    expect(await screen.findByText("Hooks installed")).toBeVisible();
    expect(named(door, "hooks_apply").map((c) => c.args)).toEqual([{ token: "install-0" }, { token: "install-1" }]);
  });

  it("closes the preview with Esc and by Cancel, and writes nothing", async () => {
    const door = await open("full");
    await fireEvent.click(card().getByRole("button", { name: "Remove…" }));
    await screen.findByRole("group", { name: /^Remove will change/ });
    await fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => expect(screen.queryByRole("group", { name: /^Remove will change/ })).toBeNull());
    await fireEvent.click(card().getByRole("button", { name: "Refresh…" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Cancel" }));
    await waitFor(() => expect(screen.queryByRole("region", { name: "Exact difference" })).toBeNull());
    expect(named(door, "hooks_apply")).toEqual([]);
  });

  it.each([
    ["off", "Switched off", /so agy does not run them/, "Switch on…"],
    ["incomplete", "Incomplete", /One of their events is missing/, "Refresh…"],
    ["stale", "Stale", /a script of another place or version/, "Refresh…"],
    ["missing", "Their program is gone", /is not there/, "Refresh…"],
    ["foreign", "Something else is in their place", /is not AgentHub's. Move it away/, null],
    ["badjson", "hooks.json cannot be used", /at line 14, column 3/, null],
    ["badshape", "Installed", /agy drops the whole hooks.json because of lint.Stop\[0\]/, null],
  ])("explains the state %s and what to do", async (state, word, means, act) => {
    await open("quiet", state);
    expect(card().getByText(word)).toBeVisible();
    expect(screen.getByRole("region", { name: "Hooks" }).textContent?.replace(/\s+/g, " ")).toMatch(means);
    const offers = card().queryAllByRole("button").map((b) => b.textContent?.trim()).filter((b) => b === "Install…" || b === "Refresh…" || b === "Switch on…");
    expect(offers).toEqual(act === null ? [] : [act]);
  });

  it("h5 warns of other tools' PreToolUse, and says what open sessions and API keys mean", async () => {
    await open("full");
    expect(card().getByText("“safety-gate” runs before every tool and can block agy.")).toBeVisible();
    expect(card().getByText(/sessions that are open keep the ones they started with/)).toBeVisible();
    expect(card().getByText(/signed in with an API key/)).toBeVisible();
    expect(card().getByRole("row", { name: /PreInvocation.*starts another script than it should/ })).toBeVisible();
  });

  it("w1 follows events and other programs without being asked", async () => {
    const door = fixtureDoor("quiet");
    let over: Partial<HooksStatus> = { last_event_at: null };
    const call = door.call.bind(door);
    useDoor({ on: door.on, call: async (c, a) => (c === "hooks_status" ? { ...((await call(c, a)) as HooksStatus), ...over } : call(c, a)) });
    history.replaceState(null, "", "/#/settings/antigravity");
    render(App);
    expect(await screen.findByText("no event seen yet")).toBeVisible();
    over = { last_event_at: new Date().toISOString() };
    expect(await screen.findByText(/^last event \d s ago$/)).toBeVisible();
    over = { state: "not_installed", events: [], last_event_at: null };
    expect(await screen.findByText("Not installed")).toBeVisible();
  });

  it("shows the lines of a refusal as lines", async () => {
    const door = await open("empty");
    const message = "~/.gemini/config/hooks.json has changed since AgentHub wrote it. What has changed since:\n@@ -1,3 +1,3 @@\n {\n-  \"a\": 1\n+  \"a\": \u202e2";
    useDoor({ ...door, call: (command, args) => (command === "hooks_plan" ? Promise.reject({ code: "ECHANGED", message }) : door.call(command, args)) });
    await fireEvent.click(card().getByRole("button", { name: "Install…" }));
    const refused = await screen.findByRole("alert");
    expect(refused).toHaveTextContent("has changed since AgentHub wrote it. What has changed since:");
    expect(refused.querySelector(".lines")?.textContent).toBe("@@ -1,3 +1,3 @@\n {\n-  \"a\": 1\n+  \"a\": \ufffd2");
  });

  it("says why nothing was written, and goes on", async () => {
    const door = fixtureDoor("empty");
    const call = door.call.bind(door);
    const apply = vi.fn().mockRejectedValue({ code: "ENOSPACE", message: "There is no room to write hooks.json." });
    useDoor({ on: door.on, call: (c, a) => (c === "hooks_apply" ? apply() : call(c, a)) });
    history.replaceState(null, "", "/#/settings/antigravity");
    render(App);
    await fireEvent.click(await screen.findByRole("button", { name: "Install…" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Write hooks.json" }));
    expect(await screen.findByText("There is no room on the disk.")).toBeVisible();
    expect(screen.getByRole("button", { name: "Write hooks.json" })).toBeEnabled();
    expect(screen.queryByText("Hooks installed")).toBeNull();
  });
});

describe("the first start", () => {
  async function first(world: World, hooks = ""): Promise<Fixture> {
    history.replaceState(null, "", `/?hooks=${hooks}#/lanes`);
    const door = fixtureDoor(world);
    useDoor(door);
    render(App);
    await screen.findByRole("heading", { level: 1, name: "Your agents, one lane each" });
    return door;
  }

  it("leads to the hooks with their difference shown, once, and knows them when they are there", async () => {
    const door = await first("empty");
    await fireEvent.click(await screen.findByRole("button", { name: "Preview change…" }));
    expect(await screen.findByRole("group", { name: "Install will change two files." })).toBeVisible();
    expect(named(door, "hooks_apply")).toEqual([]);
    await fireEvent.click(card().getByRole("button", { name: "Write hooks.json" }));
    await waitFor(() => expect(card().getByText("Installed")).toBeVisible());
    await fireEvent.click(screen.getByRole("link", { name: /^Lanes/ }));
    expect(await screen.findByText("Hooks are installed")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Preview change…" })).toBeNull();
    await fireEvent.click(screen.getByRole("link", { name: /^Settings/ }));
    await fireEvent.click(await screen.findByRole("link", { name: "Antigravity" }));
    await waitFor(() => expect(card().getByText("Installed")).toBeVisible());
    expect(screen.queryByRole("group", { name: /will change/ })).toBeNull();
  });

  it("sends a notification to hear, and has nothing to put hooks into where agy was never", async () => {
    const door = await first("nohome");
    await fireEvent.click(screen.getByRole("button", { name: "Send a test" }));
    await waitFor(() => expect(named(door, "test_notification")).toHaveLength(1));
    expect(screen.queryByRole("button", { name: "Preview change…" })).toBeNull();
  });
});
