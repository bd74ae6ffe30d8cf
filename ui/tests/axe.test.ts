// Every screen, in every world that looks different, as axe-core sees it. Contrast needs real drawing and is not judged here.
import { cleanup, render, screen, waitFor } from "@testing-library/svelte";
import axe from "axe-core";
import { afterEach, expect, it } from "vitest";
import { useDoor } from "../src/api";
import { fixtureDoor, type World } from "../src/fixture";
import App from "../src/view/App.svelte";

afterEach(cleanup);

const session = (n: number) => `#/session/7c0b41de-93a2-4f18-b5d6-${n.toString(16).padStart(12, "0")}`;
const SCREENS: [World, string, string][] = [
  ["full", "#/lanes", "Lanes"],
  ["quiet", "#/lanes", "Lanes"],
  ["first", "#/lanes", "Your agents, one lane each"],
  ["nohome", "#/lanes", "Your agents, one lane each"],
  ["broken", "#/lanes", "Lanes"],
  ["full", "#/sessions", "Sessions"],
  ["empty", "#/sessions", "Sessions"],
  ["full", session(2), "Add soft-delete to invoices and migrate the existing rows"],
  ["full", session(9), "What does SQLITE_BUSY_SNAPSHOT mean?"],
  ["full", session(9999), "Session"],
  ["full", "#/notifications", "Notifications"],
  ["hostile", "#/notifications", "Notifications"],
  ["empty", "#/notifications", "Notifications"],
  ["full", "#/settings/general", "Settings"],
  ["full", "#/settings/notifications", "Settings"],
  ["full", "#/usage", "Usage"],
  ["hostile", "#/usage", "Usage"],
  ["empty", "#/usage", "Usage"],
  ["full", "#/settings/antigravity", "Settings"],
  ["empty", "#/settings/antigravity", "Settings"],
  ["broken", "#/settings/antigravity", "Settings"],
  ["full", "#/doctor", "Doctor"],
  ["quiet", "#/doctor", "Doctor"],
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
  const { violations } = await axe.run(document, { rules: { "color-contrast": { enabled: false } } });
  expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`)).toEqual([]);
}, 180_000);
