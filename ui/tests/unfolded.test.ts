// Where rows stand when some sessions of a long list are unfolded.
import { describe, expect, it } from "vitest";
import type { SessionRow } from "../src/bindings/view";
import { Unfolded } from "../src/model/unfolded";

const row = (id: string, parent: string | null = null): SessionRow => ({ id, parent_id: parent, children: 0 }) as SessionRow;
/** Three pages of four sessions; the second has not come. */
const pages = new Map([[0, ["a", "b", "c", "d"].map((id) => row(id))], [2, ["i", "j", "k", "l"].map((id) => row(id))]]);

function unfolded(of: Record<string, string[]>): Unfolded {
  const u = new Unfolded();
  for (const [id, children] of Object.entries(of)) {
    u.open(id);
    u.fill(id, children.map((c) => row(c, id)));
  }
  u.lay(pages, 4);
  return u;
}
const shown = (u: Unfolded, n: number) => Array.from({ length: n }, (_, i) => {
  const { session, child } = u.place(i);
  return child ? `${session}:${child.row.id}@${child.level}${child.last ? "." : ""}` : String(session);
});

describe("Unfolded", () => {
  it("is the identity while nothing is open", () => {
    const u = unfolded({});
    expect(shown(u, 3)).toEqual(["0", "1", "2"]);
    expect(u.extra).toBe(0);
    expect(u.indexOf(99_999)).toBe(99_999);
  });
  it("puts children below their session, theirs below them, and the rest further down", () => {
    const u = unfolded({ b: ["b1", "b2"], b1: ["b11"], i: ["i1"] });
    expect(u.extra).toBe(4);
    expect(shown(u, 14)).toEqual(["0", "1", "1:b1@2", "1:b11@3.", "1:b2@2.", "2", "3", "4", "5", "6", "7", "8", "8:i1@2.", "9"]);
    for (let session = 0; session < 12; session++) expect(u.place(u.indexOf(session))).toEqual({ session, child: null });
    expect(u.indexOfChild("b2")).toBe(4);
    expect(u.indexOfChild("i1")).toBe(12);
    expect(u.indexOfChild("nobody")).toBeNull();
  });
  it("waits for children that have not come, and for pages that have not", () => {
    const u = new Unfolded();
    u.open("a");
    u.open("g");
    u.fill("g", [row("g1", "g")]);
    u.lay(pages, 4);
    expect([u.has("a"), u.extra]).toEqual([true, 0]);
    u.lay(new Map([...pages, [1, ["e", "f", "g", "h"].map((id) => row(id))]]), 4);
    expect(shown(u, 9).slice(6)).toEqual(["6", "6:g1@2.", "7"]);
    u.close("g");
    u.fill("g", [row("g1", "g")]);
    u.lay(pages, 4);
    expect(u.extra).toBe(0);
  });
  it("shows what a search found, until all of it or nothing is asked for", () => {
    const u = new Unfolded();
    const b3 = row("b3", "b");
    u.find(pages.get(0)!, [{ session_id: "b", found: 2, rows: [b3, row("b31", "b3")] }]);
    u.lay(pages, 4);
    expect(shown(u, 5)).toEqual(["0", "1", "1:b3@2.", "1:b31@3.", "2"]);
    expect([u.has("b"), u.has("b3"), u.has("a"), u.found("b"), u.found("b3"), u.ids()]).toEqual([true, true, false, 2, null, []]);
    // Folded by hand it says still what was found; unfolded by hand it has all.
    u.close("b");
    u.lay(pages, 4);
    expect([u.has("b"), u.extra, u.found("b")]).toEqual([false, 0, 2]);
    u.open("b");
    u.fill("b", [row("b1", "b"), b3]);
    u.lay(pages, 4);
    expect(shown(u, 6)).toEqual(["0", "1", "1:b1@2", "1:b3@2.", "1:b31@3.", "2"]);
    expect([u.found("b"), u.ids()]).toEqual([null, ["b"]]);
    // The same page again, with less in it; and another question.
    u.find(pages.get(0)!, [{ session_id: "c", found: 1, rows: [row("c1", "c")] }]);
    u.lay(pages, 4);
    expect(shown(u, 7)).toEqual(["0", "1", "1:b1@2", "1:b3@2.", "2", "2:c1@2.", "3"]);
    u.forget();
    u.lay(pages, 4);
    expect([u.has("b"), u.has("c"), u.extra]).toEqual([true, false, 2]);
  });
  it("ends where sessions name each other", () => {
    const u = unfolded({ a: ["x"], x: ["a"] });
    expect(u.extra).toBeLessThan(20);
  });
});
