// Which sessions of a long list are unfolded, and where that puts every row. Pure but for its own memory; the list knows
// sessions by their place among sessions, the page by their place among rows.
import type { SessionRow } from "../bindings/view";

export interface Child {
  row: SessionRow;
  /** 2 for a sub-agent of a session, 3 for one of that. */
  level: number;
  /** The last of its session's. */
  last: boolean;
}

interface Fold {
  /** The session's place among sessions. */
  session: number;
  /** Its place among rows. */
  index: number;
  children: Child[];
}

/** Sub-agents of sub-agents that are followed. */
const DEEPEST = 8;

export class Unfolded {
  /** By the session's id; `null` until they have come. */
  #open = new Map<string, readonly SessionRow[] | null>();
  #folds: Fold[] = [];
  /** So many rows there are besides the sessions. */
  extra = 0;

  has(id: string): boolean {
    return this.#open.has(id);
  }
  ids(): string[] {
    return [...this.#open.keys()];
  }
  open(id: string): void {
    if (!this.#open.has(id)) this.#open.set(id, null);
  }
  close(id: string): void {
    this.#open.delete(id);
  }
  /** What came for one that is still open. */
  fill(id: string, rows: readonly SessionRow[]): void {
    if (this.#open.has(id)) this.#open.set(id, rows);
  }

  /** Places everything anew, as the pages of sessions stand now. One whose page has not come is placed when it does. */
  lay(pages: ReadonlyMap<number, readonly SessionRow[]>, size: number): void {
    this.#folds = [];
    this.extra = 0;
    if (this.#open.size === 0) return;
    const found: Fold[] = [];
    for (const [page, rows] of pages) {
      rows.forEach((row, i) => {
        const children = this.#below(row, 2);
        if (children.length > 0) found.push({ session: page * size + i, index: 0, children });
      });
    }
    found.sort((a, b) => a.session - b.session);
    for (const fold of found) {
      fold.index = fold.session + this.extra;
      this.extra += fold.children.length;
    }
    this.#folds = found;
  }

  /** What stands at a row: a session's place among sessions, or a sub-agent below it. */
  place(index: number): { session: number; child: Child | null } {
    let before = 0;
    for (const fold of this.#folds) {
      if (index <= fold.index) break;
      const child = fold.children[index - fold.index - 1];
      if (child) return { session: fold.session, child };
      before += fold.children.length;
    }
    return { session: index - before, child: null };
  }

  /** The row of a session. */
  indexOf(session: number): number {
    return this.#folds.reduce((n, fold) => (fold.session < session ? n + fold.children.length : n), session);
  }

  indexOfChild(id: string): number | null {
    for (const fold of this.#folds) {
      const at = fold.children.findIndex((child) => child.row.id === id);
      if (at >= 0) return fold.index + 1 + at;
    }
    return null;
  }

  #below(row: SessionRow, level: number): Child[] {
    const rows = level > DEEPEST ? null : this.#open.get(row.id);
    return rows?.flatMap((child, i) => [{ row: child, level, last: i === rows.length - 1 }, ...this.#below(child, level + 1)]) ?? [];
  }
}
