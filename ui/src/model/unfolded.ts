// Which sessions of a long list are unfolded, and where that puts every row. Pure but for its own memory; the list knows
// sessions by their place among sessions, the page by their place among rows.
import type { FoundInside, SessionRow } from "../bindings/view";

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
  /** What a search found, by the id of what it stands below: shown until somebody folds it, or unfolds all there is. */
  #found = new Map<string, readonly SessionRow[]>();
  /** The listed sessions that were found only by what is inside them. */
  #inside = new Map<string, FoundInside>();
  #shut = new Set<string>();
  #folds: Fold[] = [];
  /** So many rows there are besides the sessions. */
  extra = 0;

  has(id: string): boolean {
    return this.#open.has(id) || (this.#found.has(id) && !this.#shut.has(id));
  }
  /** So many of its sub-agents a search found, if that is why it is listed and not all of them are shown. */
  found(id: string): number | null {
    return this.#open.has(id) ? null : (this.#inside.get(id)?.found ?? null);
  }
  /** Those of which all is shown. */
  ids(): string[] {
    return [...this.#open.keys()];
  }
  open(id: string): void {
    if (!this.#open.has(id)) this.#open.set(id, null);
  }
  close(id: string): void {
    this.#open.delete(id);
    if (this.#found.has(id)) this.#shut.add(id);
  }
  /** What a search found inside the sessions of a page. What it found there before is forgotten. */
  find(page: readonly SessionRow[], inside: readonly FoundInside[]): void {
    for (const { id } of page) {
      for (const { parent_id } of this.#inside.get(id)?.rows ?? []) this.#found.delete(parent_id ?? "");
      this.#inside.delete(id);
    }
    for (const one of inside) {
      this.#inside.set(one.session_id, one);
      for (const row of one.rows) this.#found.set(row.parent_id ?? "", [...(this.#found.get(row.parent_id ?? "") ?? []), row]);
    }
  }
  /** Another question: nothing is found so far. What was unfolded by hand stays so. */
  forget(): void {
    this.#found.clear();
    this.#inside.clear();
    this.#shut.clear();
  }
  /** What came for one that is still open. */
  fill(id: string, rows: readonly SessionRow[]): void {
    if (this.#open.has(id)) this.#open.set(id, rows);
  }

  /** Places everything anew, as the pages of sessions stand now. One whose page has not come is placed when it does. */
  lay(pages: ReadonlyMap<number, readonly SessionRow[]>, size: number): void {
    this.#folds = [];
    this.extra = 0;
    if (this.#open.size === 0 && this.#found.size === 0) return;
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
    const all = this.#open.get(row.id);
    const rows = level > DEEPEST ? null : (all ?? (this.#shut.has(row.id) ? null : this.#found.get(row.id)));
    return rows?.flatMap((child, i) => [{ row: child, level, last: i === rows.length - 1 }, ...this.#below(child, level + 1)]) ?? [];
  }
}
