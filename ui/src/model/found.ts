// Where a search found a session. Words are compared folded, as the store compares them, and marked as they are written.
import type { SessionRow } from "../bindings/view";
import * as text from "../text";
import { folded, line } from "./format";

/** A text in three parts, of which the second was found. */
export type Hit = readonly [before: string, found: string, behind: string];

const letters = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The first place in a text where `words`, which are folded, stand; in whole letters, marks and all. `null`: nowhere, or no words. */
export function hit(shown: string, words: string): Hit | null {
  if (words === "") return null;
  const at = folded(shown).indexOf(words);
  if (at < 0) return null;
  // Folded, a letter can be longer or shorter than it is written: `at` is counted letter by letter.
  let from: number | null = null;
  let kept = 0;
  for (const { segment, index } of letters.segment(shown)) {
    kept += folded(segment).length;
    if (from === null && kept > at) from = index;
    if (from !== null && kept >= at + words.length) {
      const to = index + segment.length;
      return [shown.slice(0, from), shown.slice(from, to), shown.slice(to)];
    }
  }
  return null;
}

/** Whether the words stand in the part of the folder that the lane's column shows. */
export function inLane(row: SessionRow, words: string): boolean {
  return words !== "" && [row.lane_name, row.cwd].every((shown) => folded(shown ?? "").includes(words));
}

/** Where the words are if not in the name as it is shown; empty when they are there, or nowhere. */
export function tellWhere(row: SessionRow, words: string): string {
  if (words === "" || hit(line(row.name), words) !== null) return "";
  const has = (where: string | null) => folded(where ?? "").includes(words);
  if (has(row.name)) return text.sessions.foundInName;
  if (has(row.cwd)) return text.sessions.foundInFolder(line(row.cwd, 1000));
  return has(row.id) ? text.sessions.foundInId(row.id) : "";
}
