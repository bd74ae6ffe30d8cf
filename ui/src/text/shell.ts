// What the shell says: rail, palette, failures, toasts.
import { count, plural } from "../model/format";

export const rail = {
  label: "Screens",
  lanes: "Lanes",
  sessions: "Sessions",
  usage: "Usage",
  notifications: "Notifications",
  settings: "Settings",
  doctor: "Doctor",
  reading: (version: string | null) => (version ? `Reading agy ${version}` : "Reading agy"),
  firstRead: "First read",
  waitingForAgy: "Waiting for agy",
  starting: "Starting…",
  failed: "Not connected",
  sessionsHint: "Sub-agents are inside the session that started them, and not counted here. Usage counts them, too.",
  readOf: (done: number, total: number) => `${count(done)} of ${count(total)}`,
  short: (n: number) => (n > 99 ? "99+" : count(n)),
  needYou: (n: number) => plural(n, "lane needs you", "lanes need you"),
  findings: "There are findings",
};

export const failure = {
  title: "That did not work",
  retry: "Try again",
  byCode: {
    other_engine: "Another AgentHub is at work with the same data folder.",
  } as Record<string, string>,
};

export const closeToast = "Dismiss";
