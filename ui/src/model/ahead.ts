// What a session's screen shows is asked for before the screen is there: it is drawn once, whole, and nobody sees an empty one.
import * as api from "../api";
import type { SessionDetail, TurnTree } from "../bindings/view";
import { sessionAnswers, treeAnswers } from "./answers";

/** A turn is asked for by a step of it or after it: behind all steps is the newest. */
const BEHIND_ALL = Number.MAX_SAFE_INTEGER;

/** For so long the tree may hold up the session that is there. */
const TREE_MS = 25;

const newest = (id: string) => `${id}/newest`;

export function askSession(id: string, revision: number): Promise<SessionDetail> {
  return sessionAnswers.ask(id, revision, () => api.session(id));
}

function askNewestTree(id: string, revision: number): Promise<TurnTree> {
  return treeAnswers.ask(newest(id), revision, () => api.turnTree(id, BEHIND_ALL));
}

/** The tree of the turn with this step, if it is known and nothing changed since. `last`: the newest turn that is shown. */
export function knownTree(id: string, step: number, last: boolean, revision: number): TurnTree | null {
  const known = treeAnswers.of(last ? newest(id) : `${id}/${step}`, revision);
  return known?.holds && !(last && known.value.step > step) ? known.value : null;
}

export async function askTree(id: string, step: number, last: boolean, revision: number): Promise<TurnTree> {
  const tree = last ? await askNewestTree(id, revision) : null;
  // A turn that began after what is shown was told is another one.
  return tree && tree.step <= step ? tree : treeAnswers.ask(`${id}/${step}`, revision, () => api.turnTree(id, step));
}

/** Resolves when the session and its newest turn can be drawn, or can't be; `null`: it can be drawn now. */
export function ahead(id: string, revision: number): Promise<unknown> | null {
  if (sessionAnswers.of(id, revision) !== null) return null;
  const tree = askNewestTree(id, revision).catch(() => null);
  const later = () => new Promise((done) => setTimeout(done, TREE_MS));
  // What is wrong is for the screen to say, which asks again.
  return askSession(id, revision).then(
    () => Promise.race([tree, later()]),
    () => null,
  );
}
