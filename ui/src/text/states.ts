// Words of states, their reasons and ends.
import type { Outcome, State } from "../bindings/view";

export const state: Record<State | "completed", string> = {
  error: "Error",
  waiting: "Waiting",
  running: "Running",
  idle: "Idle",
  completed: "Completed",
};

/** Above the evidence. */
export const why: Record<State | "completed", string> = {
  error: "Why failed",
  waiting: "Why waiting",
  running: "Why running",
  idle: "Why idle",
  completed: "Why completed",
};

/** The header’s words for how many lanes are in each state. */
export const summary: Record<State, string> = { error: "failed", waiting: "waiting", running: "running", idle: "idle" };

/** A lane at rest: how its newest turn ended. */
export const outcome: Record<Outcome, string> = {
  none: "No turn yet",
  in_progress: "Turn in progress",
  finished: "Your turn",
  failed: "The turn failed",
  canceled: "You stopped it. Your turn",
  unfinished: "Ended without finishing",
  quiet: "Went quiet. Your turn",
};

export const source: Record<string, string> = {
  hook: "Hook",
  database: "Database",
  presence: "Presence",
  run: "Run",
  clock: "Clock",
};

/** A completed session in its list: how its newest turn ended. */
export const past: Record<Outcome, string> = {
  none: "Completed",
  in_progress: "Completed",
  finished: "Completed",
  failed: "Failed",
  canceled: "Stopped",
  unfinished: "Unfinished",
  quiet: "Completed",
};

/** Above the evidence for that. */
export const whyPast: Record<Outcome, string> = {
  none: why.completed,
  in_progress: why.completed,
  finished: why.completed,
  failed: why.error,
  canceled: "Why stopped",
  unfinished: "Why unfinished",
  quiet: why.completed,
};
