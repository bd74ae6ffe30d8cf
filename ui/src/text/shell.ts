// What the shell says: rail, palette, failures, toasts.

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
  needYou: (n: number) => (n === 1 ? "1 lane needs you" : `${n} lanes need you`),
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
