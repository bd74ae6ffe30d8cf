import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { Notification, SettingsView } from "../src/bindings/view";
import { fixtureDoor, type Fixture, type World } from "../src/fixture";
import { byDay, passes, shape, titleParts } from "../src/model/notices";
import App from "../src/view/App.svelte";

afterEach(() => {
  cleanup();
  history.replaceState(null, "", "/");
});

async function open(world: World, hash: string, query = ""): Promise<Fixture> {
  history.replaceState(null, "", `/${query}${hash}`);
  const door = fixtureDoor(world);
  useDoor(door);
  render(App);
  await waitFor(() => expect(door.calls.some((c) => c.command === "settings")).toBe(true));
  return door;
}
const set = (door: Fixture) => door.calls.filter((c) => c.command === "set_settings").map((c) => c.args?.["patch"]);

describe("p3 settings", () => {
  it("are changed one by one, and Rust's refusal stands beside the field", async () => {
    const door = await open("full", "#/settings/general");
    const hours = await screen.findByRole("spinbutton", { name: "Lanes stay on the board" });
    expect(hours).toHaveValue(8);
    await fireEvent.change(hours, { target: { value: "12" } });
    await waitFor(() => expect(set(door)).toEqual([{ board_hours: 12 }]));
    await waitFor(() => expect(hours).toHaveValue(12));
    await fireEvent.change(hours, { target: { value: "9999" } });
    expect(await screen.findByText(/may be a whole number from 1 to 720/)).toBeVisible();
    expect(hours).toHaveValue(12);
  });

  it("take a time zone and give it back, and say which one holds", async () => {
    const door = await open("full", "#/settings/general");
    const zone = await screen.findByRole("combobox", { name: "Time zone" });
    expect(zone).toHaveAttribute("placeholder", "Europe/Berlin");
    await fireEvent.change(zone, { target: { value: "Nowhere" } });
    expect(await screen.findByText(/which is no zone/)).toBeVisible();
    expect(zone).toHaveValue("");
    await fireEvent.change(zone, { target: { value: "Asia/Kathmandu" } });
    expect(await screen.findByText("Days are cut in this zone.")).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Use the system’s" }));
    expect(await screen.findByText("Days are cut in the system’s zone.")).toBeVisible();
    expect(set(door).at(-1)).toEqual({ time_zone: null });
  });

  it.each([["values", /2 values in settings.json cannot be/, /notifications.min_turn_s/], ["file", /all settings are at their defaults/, /At line 3, column 7/]])(
    "say what is wrong with a file that was edited into nonsense: %s", async (kind, title, detail) => {
      await open("full", "#/settings/general", `?settings=${kind}`);
      const alert = await screen.findByRole("alert");
      expect(alert).toHaveTextContent(title);
      expect(alert).toHaveTextContent(detail);
    });

  it("follow a change that came from elsewhere", async () => {
    const door = await open("full", "#/settings/general");
    const hours = await screen.findByRole("spinbutton", { name: "Lanes stay on the board" });
    const now = (await door.call("settings")) as SettingsView;
    door.emit("settings://changed", { ...now, values: { ...now.values, board_hours: 24 } });
    await waitFor(() => expect(hours).toHaveValue(24));
  });

  it("of notifications: kinds, sounds, the shortest turn, quiet hours, muted lanes", async () => {
    const door = await open("full", "#/settings/notifications");
    await fireEvent.click(await screen.findByRole("switch", { name: "Show: A turn is over" }));
    await fireEvent.click(screen.getByRole("switch", { name: "Sound: agy waits for you" }));
    await fireEvent.change(screen.getByRole("spinbutton", { name: "Shorter turns are silent" }), { target: { value: "30" } });
    await fireEvent.change(screen.getByRole("textbox", { name: "Quiet hours: From" }), { target: { value: "23:30" } });
    await fireEvent.click(screen.getByRole("switch", { name: "Do not disturb" }));
    await waitFor(() => expect(set(door)).toEqual([
      { notifications: { ready: { on: false } } }, { notifications: { waiting: { sound: false } } }, { notifications: { min_turn_s: 30 } },
      { notifications: { quiet_hours: { from: "23:30" } } }, { notifications: { do_not_disturb: true } },
    ]));
    await waitFor(() => expect(screen.getByRole("switch", { name: "Sound: A turn is over" })).toBeDisabled());
    await fireEvent.click(await screen.findByRole("button", { name: "Unmute" }));
    await waitFor(() => expect(door.calls).toContainEqual({ command: "mute_lane", args: { laneId: "antigravity:/home/mira/src/northwind/dotfiles", mute: false } }));
    expect(await screen.findByText(/No lane is muted/)).toBeVisible();
  });

  it("h4 the switch that keeps the hook's script up to date is on the hooks card", async () => {
    const door = await open("quiet", "#/settings/antigravity");
    const box = await screen.findByRole("switch", { name: "Keep the hook’s script up to date" });
    expect(box).toBeChecked();
    await fireEvent.click(box);
    await waitFor(() => expect(set(door)).toEqual([{ refresh_hooks: false }]));
  });
});

describe("t5 the history of notifications", () => {
  const n = (over: Partial<Notification>): Notification => ({
    id: 1, at: "2026-11-30T12:00:00Z", round: 1, kind: "ready", urgent: false, sound: false, title: "api-server is ready", body: "", lane_id: "l", session_id: null, fate: "shown", why: null,
    parts: [{ kind: "ready", lane_id: "l", lane_name: "api-server", session_id: null, session_name: null, tool: null, detail: null, duration_ms: null, tokens: null, cost_usd: null }], ...over,
  });
  it("knows what was held back, what a row is called, and its day", () => {
    expect([passes(n({}), "shown"), passes(n({ fate: "held" }), "held"), passes(n({ fate: "refused" }), "shown"), passes(n({ fate: "pending" }), "shown")]).toEqual([true, true, false, true]);
    expect(titleParts(n({}))).toEqual(["api-server", " is ready"]);
    expect(titleParts(n({ title: "3 lanes are ready", parts: [] }))).toEqual(["", "3 lanes are ready"]);
    const hebrew = n({ title: "\u2068ספריית\u2069 is ready", parts: [{ ...n({}).parts[0]!, lane_name: "ספריית" }] });
    expect(titleParts(hebrew)).toEqual(["ספריית", " is ready"]);
    expect([shape("waiting"), shape("failed"), shape("ended"), shape("ready")]).toEqual(["waiting", "error", "idle", "idle"]);
    const now = new Date(2026, 10, 30, 15).getTime();
    const days = byDay([n({ at: new Date(2026, 10, 30, 1).toISOString() }), n({ at: new Date(2026, 10, 29, 23).toISOString() }), n({ at: "nonsense" })], now);
    expect(days.map((d) => d.heading)).toEqual(["Today", "Yesterday", "Before"]);
  });

  it("shows why each was held back, filters, and leads to the lane", async () => {
    await open("full", "#/notifications");
    const list = await screen.findByRole("list", { name: "History of notifications" });
    expect(await within(list).findAllByRole("listitem")).toHaveLength(12);
    expect(within(list).getByText("Turn shorter than 10 s")).toBeVisible();
    expect(within(list).getByText("The system refused: no notification service")).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Held back" }));
    await waitFor(() => expect(within(list).getAllByRole("listitem")).toHaveLength(5));
    await fireEvent.click(screen.getByRole("button", { name: "All" }));
    await fireEvent.click(await within(list).findByRole("button", { name: /Waiting: api-server waits for you/ }));
    await waitFor(() => expect(screen.getByRole("heading", { level: 1, name: "Lanes" })).toBeVisible());
  });

  it("is one tab stop, with arrows", async () => {
    await open("full", "#/notifications");
    const list = await screen.findByRole("list", { name: "History of notifications" });
    const rows = (await within(list).findAllByRole("listitem")).map((r) => within(r).getByRole("button"));
    expect(rows.filter((r) => r.tabIndex === 0)).toEqual([rows[0]]);
    rows[0]!.focus();
    await fireEvent.keyDown(rows[0]!, { key: "ArrowDown" });
    await waitFor(() => expect(rows[1]).toHaveFocus());
  });

  it.each<[World, string, string | null]>([["full", "The system took the test notification", null], ["quiet", "The system did not take it", "No notification service runs on this desktop."]])("sends a test and says what the system said (%s)", async (world, title, why) => {
    await open(world, "#/notifications");
    await fireEvent.click(await screen.findByRole("button", { name: "Send a test" }));
    expect(await screen.findByText(title)).toBeVisible();
    if (why !== null) expect(screen.getByText(why)).toBeVisible();
  });

  it("says what will stand here while there is nothing", async () => {
    await open("empty", "#/notifications");
    expect(await screen.findByText("Nothing was told yet")).toBeVisible();
  });
});
