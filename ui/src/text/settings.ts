// What Settings says above its parts.
import type { SettingsPart } from "../model/route.svelte";

export const settings = {
  title: "Settings",
  part: { general: "General", notifications: "Notifications", antigravity: "Antigravity", tracing: "Tracing" } satisfies Record<SettingsPart, string>,
};
