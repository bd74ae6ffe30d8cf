// Notifications as the page shows them: their days, and a test's answer.
import * as api from "../api";
import type { NoticeKind, Notification, State } from "../bindings/view";
import * as text from "../text";
import { calendarDay, dayHeading, millis } from "./format";
import { toasts } from "./toast.svelte";

export type NoticeFilter = "all" | "shown" | "held";

export function passes(n: Notification, filter: NoticeFilter): boolean {
  if (filter === "all") return true;
  const held = n.fate === "held" || n.fate === "refused";
  return held === (filter === "held");
}

/** The shape that goes with a kind; the same as the state that it tells of. */
export function shape(kind: NoticeKind): State {
  return kind === "waiting" ? "waiting" : kind === "failed" ? "error" : "idle";
}

/** Newest first, under their days on this computer's clock. */
export function byDay(rows: readonly Notification[], now: number): { day: string; heading: string; rows: Notification[] }[] {
  const days: { day: string; heading: string; rows: Notification[] }[] = [];
  for (const row of rows) {
    const ms = millis(row.at);
    const day = ms === null ? "" : calendarDay(ms);
    const last = days.at(-1);
    if (last?.day === day) last.rows.push(row);
    else days.push({ day, heading: day === "" ? text.notifications.noDay : dayHeading(day, now), rows: [row] });
  }
  return days;
}

/** The lane's name at the head of a title, and what is said of it. */
export function titleParts(n: Notification): [string, string] {
  const name = n.parts.length === 1 ? (n.parts[0]?.lane_name ?? "") : "";
  const title = unmarked(n.title);
  return name !== "" && title.startsWith(name) ? [name, title.slice(name.length)] : ["", title];
}

/** Without the marks that hold a name of another direction together on a desktop: here elements do that. */
export const unmarked = (told: string): string => told.replace(/[\u2068\u2069]/g, "");

/** Sends a test the way of every other notification, and says what the system said. */
export async function sendTest(): Promise<void> {
  const t = text.notifications;
  try {
    const sent = await api.testNotification();
    if (sent.fate === "refused") toasts.show("failed", t.testRefused, sent.why);
    else if (sent.fate === "held") toasts.show("failed", t.testHeld, sent.why);
    else toasts.show("done", t.testShown);
  } catch (thrown) {
    const error = api.errorView(thrown);
    toasts.show("failed", text.failure.byCode[error.code] ?? text.failure.title, error.message);
  }
}
