// After the window's first picture, while nobody waits: what Sessions and Usage show first is asked for, once, and each of them is
// made out of sight, once, and so is a session, so that their code is ready when somebody goes there. A program that was never run
// is several times slower than one that was.
import { flushSync, mount, unmount, type Component } from "svelte";
import * as api from "../api";
import type { BoardView, SessionDetail, SessionRow, TimelineEntry, Tokens } from "../bindings/view";
import { sessionAnswers, usageAnswers } from "../model/answers";
import { afterPaint } from "../model/frame";
import { sessionList } from "../model/sessionList.svelte";
import { usageChoice } from "../model/usageChoice.svelte";
import SessionScreen from "./SessionScreen.svelte";
import SessionsScreen from "./SessionsScreen.svelte";
import UsageScreen from "./UsageScreen.svelte";

/** Until `gone` says that the window is. Errors are for who goes there: the screen asks again then. */
export async function warm(view: BoardView, gone: () => boolean): Promise<void> {
  await afterPaint();
  if (!gone()) await Promise.allSettled([sessions(view.revision, gone), usage(view, gone)]);
}

async function sessions(revision: number, gone: () => boolean): Promise<void> {
  if (sessionList.page === null && !sessionList.busy) {
    sessionList.revision = revision;
    await sessionList.ask();
  }
  await afterPaint();
  if (gone() || sessionList.page === null) return;
  make(SessionsScreen, { list: sessionList, revision: sessionList.revision, onremove: nothing, onfolder: nothing });
  const row = sessionList.row(0);
  await afterPaint();
  if (gone() || row === undefined) return;
  // Under an id that no session has, so that what is made up is never shown.
  const made = madeUp(row);
  sessionAnswers.keep(made.id, made, revision);
  make(SessionScreen, { sessionId: made.id, revision, onremove: nothing, onfolder: nothing, oncopy: nothing, oncopyfolder: nothing });
  sessionAnswers.drop(made.id);
}

/** A session as a list has it, with a turn of each kind of entry, none of which can be asked for. */
function madeUp(row: SessionRow): SessionDetail {
  const tokens: Tokens = { input: 1, output: 1, cache_read: 1, cache_write: 0, thinking: 1, total: 3 };
  const entry: TimelineEntry = {
    kind: "call", turn: 2, step: null, at: row.last_activity_at, approximate: false, duration_ms: 900, name: "made-up", state: "done", tokens, cost_usd: "0.1", tokens_unpriced: 0, text: "made up",
    copied_from: null,
  };
  const none = { tokens: null, cost_usd: null };
  const turn: TimelineEntry[] = [{ ...entry, ...none, kind: "prompt" }, entry, { ...entry, ...none, kind: "tool", name: "view_file" }, { ...entry, ...none, kind: "tool", name: "run_command" }];
  return {
    ...row, id: "made-up", since: null, why: { fact: "made up", source: "database", at: row.last_activity_at, beat: [] }, context: { used: 1, max: 2, parts: [{ name: "made up", tokens: 1 }] },
    turn_sums: [1, 2].map((n) => ({ turn: n, at: row.last_activity_at, approximate: false, duration_ms: 9000, calls: 1, tools: 2, tokens, cost_usd: "0.1", tokens_unpriced: 0 })),
    timeline: [{ ...entry, ...none, kind: "prompt", turn: 1 }, ...turn, ...turn.slice(1), ...turn.slice(1)], timeline_cut: false, timeline_note: null, subagents: [], with_subagents: null, forks: [], parent: null, origin: null,
  };
}

const nothing = () => {};

async function usage(view: BoardView, gone: () => boolean): Promise<void> {
  const query = usageChoice.query;
  await usageAnswers.ask(JSON.stringify(query), view.revision, () => api.usage(query));
  await afterPaint();
  if (!gone()) make(UsageScreen, { view, revision: view.revision });
}

/** Makes a screen where nobody sees it, and takes it away again. */
function make<Props extends Record<string, unknown>>(screen: Component<Props, Record<string, unknown>>, props: Props): void {
  const made = mount(screen, { target: document.createElement("div"), props });
  flushSync();
  void unmount(made);
}
