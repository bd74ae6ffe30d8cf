// Every screen as axe-core sees it. Contrast needs real drawing and is not judged here.
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import axe from "axe-core";
import { afterEach, expect, it } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor, type World } from "../src/fixture";
import App from "../src/view/App.svelte";

afterEach(cleanup);

// Once for each screen, in the world that shows most of it. The real web view has the same judge, with contrast, in the worlds
// that look different (tests/desktop: `judged`).
const SCREENS: [World, string, string][] = [
  ["full", "#/lanes", "Lanes"],
  ["first", "#/lanes", "Your agents, one lane each"],
  ["full", "#/sessions", "Sessions"],
  ["full", "#/session/7c0b41de-93a2-4f18-b5d6-000000000002", "Add soft-delete to invoices and migrate the existing rows"],
  ["full", "#/usage", "Usage"],
  ["full", "#/notifications", "Notifications"],
  ["full", "#/settings/general", "Settings"],
  ["full", "#/settings/notifications", "Settings"],
  ["full", "#/settings/antigravity", "Settings"],
  ["full", "#/settings/tracing", "Settings"],
  ["full", "#/doctor", "Doctor"],
];

it.each(SCREENS)("has nothing to say about the %s world at %s", async (world, hash, title) => {
  document.documentElement.lang = "en";
  document.title = "AgentHub";
  const door = fixtureDoor(world);
  useDoor(door);
  location.hash = hash;
  render(App);
  await waitFor(() => expect(screen.getByRole("heading", { level: 1, name: title })).toBeInTheDocument());
  await new Promise((r) => setTimeout(r, 50));
  // What is unfolded and open is judged, too.
  if (hash === "#/sessions") {
    await fireEvent.click(await screen.findByRole("button", { name: "2 sub-agents: show" }));
    await waitFor(() => expect(document.querySelector('[aria-level="2"]')).not.toBeNull());
  }
  if (hash === "#/settings/tracing") {
    await fireEvent.click(await screen.findByRole("button", { name: "Edit key… langfuse" }));
    await fireEvent.click(screen.getByRole("button", { name: "Remove hook…" }));
    await screen.findByRole("group", { name: /^Remove will change/ });
  }
  if (hash.startsWith("#/session/")) await fireEvent.click(await screen.findByRole("button", { name: /code-searcher/ }));
  const { violations } = await axe.run(document, { rules: { "color-contrast": { enabled: false } }, resultTypes: ["violations"], preload: false, iframes: false });
  expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`)).toEqual([]);
}, 180_000);
