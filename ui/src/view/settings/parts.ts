// The parts of Settings that are there; the tabs follow.
import type { Component } from "svelte";
import type { BoardView } from "../../bindings/view";
import type { SettingsPart } from "../../model/route.svelte";
import Antigravity from "./Antigravity.svelte";
import General from "./General.svelte";
import Notifications from "./Notifications.svelte";
import Tracing from "./Tracing.svelte";

export interface PartProps {
  view: BoardView | null;
  revision: number;
}
type Part = Component<PartProps, { close?: () => boolean }>;

export const PARTS: Partial<Record<SettingsPart, Part>> = {
  general: General as unknown as Part,
  notifications: Notifications as unknown as Part,
  antigravity: Antigravity as Part,
  tracing: Tracing as Part,
};
