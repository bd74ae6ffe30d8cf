// What a lane's row and its inspector show. Pure; the states, their order and their reasons come from Rust.
import type { BoardLane, BoardSession, Session, State } from "../bindings/view";
import * as text from "../text";
import { age, line, sinceMs, spoken, timer } from "./format";

/** How loud a row is: by size first, then tint, then colour. */
export type Voice = "voice" | "running" | "idle";

export function voice(lane: BoardLane): Voice {
  if (lane.state === "error" || lane.state === "waiting") return "voice";
  return lane.state === "running" ? "running" : "idle";
}

export interface Member {
  session: BoardSession;
  /** A sub-agent of the session above it. */
  sub: boolean;
}

/** Sessions as they stand, each followed by its sub-agents. A sub-agent whose parent is not here stands alone. */
export function members(lane: BoardLane): Member[] {
  const ids = new Set(lane.members.map((m) => m.id));
  const under = new Map<string, BoardSession[]>();
  const tops: BoardSession[] = [];
  for (const m of lane.members) {
    if (m.parent_id !== null && m.parent_id !== m.id && ids.has(m.parent_id)) {
      under.set(m.parent_id, [...(under.get(m.parent_id) ?? []), m]);
    } else tops.push(m);
  }
  const out: Member[] = [];
  const seen = new Set<string>();
  const add = (session: BoardSession, sub: boolean) => {
    if (seen.has(session.id)) return;
    seen.add(session.id);
    out.push({ session, sub });
    for (const child of under.get(session.id) ?? []) add(child, true);
  };
  for (const top of tops) add(top, false);
  // Parents that name each other would be lost otherwise.
  for (const m of lane.members) add(m, false);
  return out;
}

/** The session that the row speaks of: the first one in the lane's own state. */
export function lead(lane: BoardLane): BoardSession | null {
  return lane.members.find((m) => m.state === lane.state) ?? lane.members[0] ?? null;
}

export function subagentCount(lane: BoardLane): number {
  return members(lane).filter((m) => m.sub).length;
}

export function laneName(lane: BoardLane): string {
  return line(lane.name) || text.lanes.noFolder;
}

/** `2:14` while something goes on; `12 min` at rest. */
export function laneAge(lane: BoardLane, now: number): string {
  const ms = sinceMs(lane.since ?? lane.last_activity_at, now);
  return lane.state === "waiting" || lane.state === "running" ? timer(ms) : age(ms);
}

/** The row in one sentence, for who does not see it. */
export function sentence(lane: BoardLane, now: number, muted = false): string {
  const ms = sinceMs(lane.since ?? lane.last_activity_at, now);
  const name = lane.run_id === null ? laneName(lane) : `${laneName(lane)}, a run`;
  const forHowLong = spoken(ms);
  const state = text.state[lane.state].toLowerCase() + (forHowLong === null ? "" : ` for ${forHowLong}`) + (muted ? `, ${text.lanes.muted}` : "");
  const says = saysPlain(lane);
  return says === "" ? `${name}, ${state}` : `${name}, ${state}: ${says}`;
}

function saysPlain(lane: BoardLane): string {
  const detail = line(lane.detail, 160);
  switch (lane.state) {
    case "waiting": {
      const tool = line(lane.detail_tool ?? lane.waiting_for, 80);
      if (tool === "") return detail || text.lanes.asks.toLowerCase();
      return [`${text.lanes.asksToUse.toLowerCase()} ${tool}`, detail].filter(Boolean).join(" ");
    }
    case "error":
      return detail || text.lanes.failed.toLowerCase();
    case "running":
      return [line(lane.detail_tool, 80), detail].filter(Boolean).join(" ");
    case "idle":
      return text.outcome[lane.outcome].toLowerCase();
  }
}

/** The next lane after `id` that needs its person, around the end; `null` when none does. */
export function nextNeedy(lanes: readonly BoardLane[], id: string | null): BoardLane | null {
  const at = lanes.findIndex((l) => l.id === id);
  for (let step = 1; step <= lanes.length; step++) {
    const lane = lanes[(at + step + lanes.length) % lanes.length];
    if (lane && voice(lane) === "voice") return lane;
  }
  return null;
}

/** How a session stands: its shape, in the colour of the past when it is over, and the word for it. */
export function standing({ status, state, outcome }: Pick<Session, "status" | "state" | "outcome">): { shape: State | "completed"; past: boolean; word: string } {
  if (status !== "completed") return { shape: state, past: false, word: text.state[state] };
  const shape = outcome === "failed" ? "error" : outcome === "canceled" || outcome === "unfinished" ? "idle" : "completed";
  return { shape, past: true, word: text.past[outcome] };
}
