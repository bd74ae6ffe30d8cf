// Somebody with sessions never saw the first start: Lanes tells them once what hooks bring, and where.
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import type { HooksState, HooksStatus, SettingsView } from "../src/bindings/view";
import { fixtureDoor, type Fixture } from "../src/fixture";
import { hooksHint } from "../src/model/hooks.svelte";
import { router } from "../src/model/route.svelte";
import { settings } from "../src/model/settings.svelte";
import App from "../src/view/App.svelte";

afterEach(cleanup);

const named = (door: Fixture, command: string) => door.calls.filter((c) => c.command === command);
const hint = () => screen.findByRole("region", { name: "Hooks" });
const none = () => expect(screen.queryByRole("region", { name: "Hooks" })).toBeNull();

/** A home with lanes and sessions, whose hooks stand like this. */
async function open(state: HooksState, change: (door: Fixture) => void = () => {}): Promise<Fixture> {
  const door = fixtureDoor("full");
  const call = door.call;
  door.call = async (command, args) => (command === "hooks_status" && state === "not_installed" ? { ...((await call(command, args)) as HooksStatus), state } : call(command, args));
  change(door);
  useDoor(door);
  location.hash = "#/lanes";
  render(App);
  await screen.findByRole("list", { name: "Lanes" });
  await waitFor(() => expect(settings.answer.value).not.toBeNull());
  return door;
}
/** Once what could lead to a hint was answered. */
const answered = (door: Fixture) => waitFor(() => expect(named(door, "hooks_status").length).toBeGreaterThan(0));

describe("hooks, told on Lanes", () => {
  it("are said to be there for the asking, and lead to the exact change", async () => {
    const door = await open("not_installed");
    const said = await hint();
    expect(said).toHaveTextContent("Add hooks, to know at once. agy then tells AgentHub about prompts and stops at once.");
    await fireEvent.click(within(said).getByRole("button", { name: "Preview change…" }));
    expect(location.hash).toBe("#/settings/antigravity");
    await waitFor(() => expect(named(door, "hooks_plan").map((c) => c.args)).toEqual([{ action: "install" }]));
    expect(named(door, "hooks_apply")).toEqual([]);
    // Who was there has been told.
    await waitFor(() => expect(named(door, "set_settings").map((c) => c.args)).toEqual([{ patch: { hooks_hint: false } }]));
    router.go({ screen: "lanes" });
    await screen.findByRole("list", { name: "Lanes" });
    none();
  });

  it("stay dismissed, in the settings, and nobody asks for them again", async () => {
    const door = await open("not_installed");
    await fireEvent.click(within(await hint()).getByRole("button", { name: "Don’t show again" }));
    await waitFor(none);
    expect(await screen.findByText("Hooks are under Settings → Antigravity")).toBeVisible();
    expect(settings.answer.value?.values.hooks_hint).toBe(false);
    // Another window, later.
    cleanup();
    hooksHint.reset();
    settings.reset();
    const asked = named(door, "hooks_status").length;
    render(App);
    await screen.findByRole("list", { name: "Lanes" });
    await waitFor(() => expect(settings.answer.value).not.toBeNull());
    none();
    expect(named(door, "hooks_status")).toHaveLength(asked);
  });

  it("are out of the way also where that can't be kept, which is said", async () => {
    await open("not_installed", (door) => {
      const call = door.call;
      door.call = (command, args) => (command === "set_settings" ? Promise.reject({ code: "io", message: "settings.json can’t be written: there is no room." }) : call(command, args));
    });
    await fireEvent.click(within(await hint()).getByRole("button", { name: "Don’t show again" }));
    await waitFor(none);
    expect(await screen.findByText("settings.json can’t be written: there is no room.")).toBeVisible();
  });

  it("put no settings file aside that can't be read", async () => {
    const door = await open("not_installed", (door) => {
      const call = door.call;
      door.call = async (command, args) => (command === "settings" ? { ...((await call(command, args)) as SettingsView), file_problem: "At line 3 a comma is missing." } : call(command, args));
    });
    await fireEvent.click(within(await hint()).getByRole("button", { name: "Don’t show again" }));
    await waitFor(none);
    expect(named(door, "set_settings")).toEqual([]);
  });

  it("are not spoken of where some are, however they stand", async () => {
    const door = await open("stale_command");
    await answered(door);
    await waitFor(() => expect(document.querySelector(".strip")).not.toBeNull());
    none();
  });

  it("wait until agy's files were read, and for agy's folder", async () => {
    const door = await open("not_installed", (door) => {
      door.view = { ...door.view, scan: { done: 3, total: 218 } };
    });
    await screen.findAllByRole("progressbar");
    none();
    expect(named(door, "hooks_status")).toEqual([]);
    door.view = { ...door.view, scan: null, revision: door.view.revision + 1, notes: [{ code: "no_home", message: "There is no agy folder." }] };
    door.emit("board://changed", door.view);
    await screen.findByText("There is no agy folder.");
    expect(named(door, "hooks_status")).toEqual([]);
    door.view = { ...door.view, revision: door.view.revision + 1, notes: [] };
    door.emit("board://changed", door.view);
    await hint();
  });
});
