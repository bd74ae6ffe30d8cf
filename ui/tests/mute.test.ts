// A lane that makes no notifications: by key, by button, by palette, and back.
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor, type Fixture } from "../src/fixture";
import { settings } from "../src/model/settings.svelte";
import App from "../src/view/App.svelte";

afterEach(cleanup);

async function open(hash = "#/lanes"): Promise<Fixture> {
  const door = fixtureDoor("full");
  useDoor(door);
  location.hash = hash;
  render(App);
  await waitFor(() => expect(settings.answer.value).not.toBeNull());
  return door;
}
const press = (key: string, over: Partial<KeyboardEventInit> = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...over });
const lane = (id: string) => document.querySelector<HTMLElement>(`[data-lane="${id}"]`)!;
const asked = (door: Fixture) => door.calls.filter((c) => c.command === "mute_lane").map((c) => c.args);

describe("Mute a lane", () => {
  it("with M: the lane says so, and the way back is one click", async () => {
    const door = await open();
    await waitFor(() => expect(lane("l2")).toBeInTheDocument());
    lane("l2").focus();
    await press("m");
    await waitFor(() => expect(lane("l2")).toHaveAccessibleName(/^api-server, waiting for .*, muted: asks to use/));
    expect(within(lane("l2")).getByTitle(/^Muted:/)).toBeVisible();
    expect(lane("l3")).not.toHaveAccessibleName(/muted/);
    expect(await screen.findByText("Lane muted")).toBeVisible();
    await fireEvent.click(screen.getByRole("button", { name: "Undo" }));
    await waitFor(() => expect(lane("l2")).not.toHaveAccessibleName(/muted/));
    expect(screen.getByText("Lane makes notifications again")).toBeVisible();
    expect(asked(door)).toEqual([{ laneId: "l2", mute: true }, { laneId: "l2", mute: false }]);
  });

  it("with the button beneath, which then takes it back", async () => {
    const door = await open();
    await fireEvent.click(await screen.findByRole("button", { name: "Mute" }));
    const back = await screen.findByRole("button", { name: "Unmute" });
    await fireEvent.click(back);
    await waitFor(() => expect(screen.getByRole("button", { name: "Mute" })).toBeVisible());
    expect(asked(door).map((a) => a?.["mute"])).toEqual([true, false]);
  });

  it("by the palette, and from a session of the lane", async () => {
    const door = await open("#/session/7c0b41de-93a2-4f18-b5d6-000000000002");
    await screen.findByRole("heading", { level: 1, name: /Add soft-delete/ });
    await press("k", { ctrlKey: true });
    await fireEvent.click(await screen.findByRole("option", { name: /Mute lane/ }));
    await waitFor(() => expect(asked(door)).toEqual([{ laneId: "p-api-server", mute: true }]));
    await waitFor(() => expect(document.querySelector("dl .hush")).not.toBeNull());
    await press("k", { ctrlKey: true });
    expect(await screen.findByRole("option", { name: /Unmute lane/ })).toBeInTheDocument();
  });

  it("is shown when it was muted elsewhere, and says what went wrong", async () => {
    const door = await open();
    await waitFor(() => expect(lane("l6")).toBeInTheDocument());
    const view = settings.answer.value!;
    door.emit("settings://changed", { ...view, values: { ...view.values, notifications: { ...view.values.notifications, muted_lanes: ["l6"] } } });
    await waitFor(() => expect(lane("l6")).toHaveAccessibleName(/muted/));
    useDoor({ ...door, call: (command, args) => (command === "mute_lane" ? Promise.reject({ code: "bad_settings", message: "At most 1,000 lanes." }) : door.call(command, args)) });
    lane("l2").focus();
    await press("m");
    expect(await screen.findByText("At most 1,000 lanes.")).toBeVisible();
    expect(lane("l2")).not.toHaveAccessibleName(/muted/);
  });
});
