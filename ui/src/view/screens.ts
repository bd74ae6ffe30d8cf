// The screens that the shell knows by name only: each is on the rail as soon as its file is here.
import type { Component } from "svelte";
import type { Screen } from "../api";
import type { BoardView } from "../bindings/view";
import type { SettingsPart } from "../model/route.svelte";

/** What the shell hands to each of them. */
export interface ScreenProps {
  /** `null` until the first board has come. */
  view: BoardView | null;
  /** The board's; when it grows, what was asked from the store may have changed. */
  revision: number;
  /** Of Settings: the part that is shown. */
  part: SettingsPart;
}

/** What the shell's keys ask of a screen; a screen exports what it has. */
export interface ScreenHandle {
  /** Ctrl F. */
  search?: () => void;
  /** Esc: closes what floats, and says whether something did. */
  close?: () => boolean;
  /** Ctrl C. */
  id?: () => string | null;
  /** M: the lane that the keys mean. */
  lane?: () => { id: string; name: string } | null;
  /** Ctrl O. */
  folder?: () => void;
}

type ScreenComponent = Component<ScreenProps, ScreenHandle>;

const found = import.meta.glob<ScreenComponent>("./{Usage,Notifications,Settings}Screen.svelte", { eager: true, import: "default" });

const built: [Screen, ScreenComponent | undefined][] = [
  ["usage", found["./UsageScreen.svelte"]],
  ["notifications", found["./NotificationsScreen.svelte"]],
  ["settings", found["./SettingsScreen.svelte"]],
];

export const SCREENS: Partial<Record<Screen, ScreenComponent>> = Object.fromEntries(built.filter(([, screen]) => screen !== undefined));
