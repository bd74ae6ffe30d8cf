// Names of 10,000 letters, HTML, control characters and direction overrides, on every screen: nothing is executed, nothing raw
// gets through, and what is said stays readable. That the layout holds is judged where there is one (tests/desktop/hostile.rs).
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor } from "../src/fixture";
import { settings } from "../src/model/settings.svelte";
import { usageChoice } from "../src/model/usageChoice.svelte";
import App from "../src/view/App.svelte";

afterEach(cleanup);
beforeEach(() => Object.assign(usageChoice, { range: "days30", measure: "cost", cut: "model", since: "", until: "" }));

const press = (key: string, over: Partial<KeyboardEventInit> = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...over });
const first = (selector: string) => waitFor(() => {
  const found = document.querySelector<HTMLElement>(selector);
  if (!found) throw new Error(`no ${selector}`);
  return found;
});
const SESSION = "#/session/7c0b41de-93a2-4f18-b5d6-000000000002";

/** Where, and what is done there so that everything that has a name shows it. */
const PLACES: [string, string, () => Promise<unknown>][] = [
  ["lanes, with tracks and the inspector", "#/lanes", () => first(".strip .turn")],
  ["the palette", "#/lanes", async () => {
    await press("k", { ctrlKey: true });
    await fireEvent.input(await screen.findByRole("combobox"), { target: { value: "<img" } });
    await screen.findAllByRole("option");
  }],
  ["sessions, with sub-agents unfolded and tips shown", "#/sessions", async () => {
    await fireEvent.click(await screen.findByRole("button", { name: "2 sub-agents: show" }));
    await first('[aria-level="2"]');
    for (const cell of document.querySelectorAll("[data-c]")) await fireEvent.pointerOver(cell);
  }],
  ["a session, with its waterfall and a sub-agent's turn", SESSION, async () => {
    await first("button.entry.subagent");
    await waitFor(async () => {
      // Its turn comes with the tree, after the timeline.
      for (const closed of document.querySelectorAll("button.entry.subagent[aria-expanded=false]")) await fireEvent.click(closed);
      expect(document.querySelector(".lead a")).not.toBeNull();
    });
  }],
  ["usage by model", "#/usage", () => first("[role=table]")],
  ["usage by project", "#/usage", async () => fireEvent.click(await screen.findByRole("button", { name: "Project" }))],
  ["notifications", "#/notifications", () => first(".nt")],
  ["notification settings, with a muted lane", "#/settings/notifications", async () => {
    await waitFor(() => expect(settings.answer.value).not.toBeNull());
    await settings.mute("antigravity:/home/<img src=x onerror=\"window.pwned=1\">\u202egnp\u0007/" + "W".repeat(10_000), true);
    await screen.findAllByRole("button", { name: "Unmute" });
  }],
  ["prices", "#/settings/antigravity", () => first("[role=table]")],
  ["doctor", "#/doctor", () => first(".ck")],
];

// Control characters, and what turns the direction of other people's words.
const RAW = /[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

it.each(PLACES)("stays text, whole and readable: %s", async (_, hash, prepare) => {
  useDoor(fixtureDoor("hostile"));
  location.hash = hash;
  render(App);
  await prepare();
  await waitFor(() => expect(document.body.textContent).toMatch(/<img src=x|gnp/));

  expect(document.querySelector("img, script, iframe, object, embed, [onerror], [onload]")).toBeNull();
  expect((window as unknown as { pwned?: number }).pwned).toBeUndefined();
  expect(RAW.test(document.body.textContent ?? "")).toBe(false);
  for (const el of document.querySelectorAll("*"))
    for (const { name, value } of el.attributes) {
      // Ids may hold anything; they are compared and never shown.
      if (name.startsWith("data-") || name === "href") continue;
      expect(RAW.test(value), `${name} of ${el.tagName}`).toBe(false);
      if (name === "title" || name.startsWith("aria-")) expect(value.length, `${name} of ${el.tagName}`).toBeLessThanOrEqual(1500);
    }
  // A text is never longer than what a line or a block shows of it.
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) expect(node.textContent?.length ?? 0).toBeLessThanOrEqual(20_000);
  // A link leads within the page, whatever stands in an id.
  for (const a of document.querySelectorAll("a[href]")) expect(a.getAttribute("href")).toMatch(/^#\//);
});
