// The Sessions screen's list: what is asked for, the pages that have come, and what is unfolded in them. Rust filters, sorts
// and sums.
import * as api from "../api";
import type { ErrorView, ListedState, Period, SessionRow, SessionsPage, SessionsQuery, SessionsSort } from "../bindings/view";
import { folded } from "./format";
import { Unfolded } from "./unfolded";

/** As many rows as a tall window has in sight: what else a page brings is in the way of its first picture. */
export const PAGE = 64;
/** So many sub-agents of one session are unfolded at most. */
export const MOST_CHILDREN = 500;

/** A row as it stands in the list. */
export interface Listed {
  row: SessionRow;
  /** 1 for a session, 2 for its sub-agents, 3 for theirs. */
  level: number;
  /** Whether its sub-agents stand below it; `null`: it has none. */
  open: boolean | null;
  /** So many of its sub-agents were found by the search, if it is listed for these alone. */
  found: number | null;
  /** Of sub-agents: the last of its session's. */
  last: boolean;
}

/** How high each row is, in pixels, as virtua takes it: -1 for one that is not known and counts as the second. */
type Sizes = [sizes: number[], other?: number];

export class SessionList {
  search = $state("");
  laneId = $state<string | null>(null);
  model = $state<string | null>(null);
  period = $state<Period | null>(null);
  state = $state<ListedState | null>(null);
  sort = $state<SessionsSort>("active");
  ascending = $state(false);

  /** How many rows there are, with those that are unfolded. */
  count = $state(0);
  /** Totals, filters and problems: those of the newest page. */
  page = $state.raw<SessionsPage | null>(null);
  error = $state.raw<ErrorView | null>(null);
  /** What the rows that have come were searched for, folded; empty without a search. */
  words = $state.raw("");
  /** The row that the keyboard stands on. */
  current = $state(0);
  /** Counts arrivals, so that rows are drawn anew. */
  arrived = $state(0);

  /** The board's, when the rows were last asked for because it had changed. */
  revision = -1;
  /** The first row in sight, and how many pixels of it are above that: so the rows stand when somebody comes back. */
  top = { index: 0, within: 0 };

  #sessions = 0;
  #pages = new Map<number, SessionRow[]>();
  #stale = new Set<number>();
  #waiting = new Set<number>();
  #unfolded = new Unfolded();
  #currentId: string | null = null;
  #question = 0;
  #range: [number, number] = [0, 0];

  /** An answer is under way. */
  get busy(): boolean {
    return this.#waiting.size > 0;
  }
  /** By something else than words. */
  get narrowed(): boolean {
    return this.laneId !== null || this.model !== null || this.period !== null || this.state !== null;
  }
  get filtered(): boolean {
    return this.search.trim() !== "" || this.narrowed;
  }

  at(index: number): Listed | undefined {
    void this.arrived;
    const { session, child } = this.#unfolded.place(index);
    if (child) return { row: child.row, level: child.level, open: this.#openness(child.row), found: null, last: child.last };
    const row = this.#session(session);
    return row && { row, level: 1, open: this.#openness(row), found: this.#unfolded.found(row.id), last: false };
  }

  row(index: number): SessionRow | undefined {
    return this.at(index)?.row;
  }

  /** Whether a day's heading stands above this row. */
  startsDay(index: number): boolean {
    if (this.sort !== "active") return false;
    void this.arrived;
    const { session, child } = this.#unfolded.place(index);
    const row = child ? undefined : this.#session(session);
    if (!row) return false;
    const before = this.#session(session - 1);
    return session === 0 || (before !== undefined && before.day !== row.day);
  }

  /**
   * The rows that are in sight when the screen is shown, in a space of `height` pixels that is scrolled by `offset`, and how high
   * each row is as far as that is known: a row, with a day's heading where one stands above it.
   */
  inSight(height: number, row: number, heading: number): { rows: number[]; offset: number; sizes: Sizes } {
    const { index, within } = this.top;
    const sizes = new Array<number>(Math.min(this.count, index + PAGE)).fill(-1);
    for (let i = index < PAGE ? 0 : index; i < sizes.length; i++) if (this.at(i)) sizes[i] = row + (this.startsDay(i) ? heading : 0);
    const high = (i: number) => (sizes[i] === undefined || sizes[i] < 0 ? row : sizes[i]);
    let offset = within;
    for (let i = 0; i < index; i++) offset += high(i);
    const rows: number[] = [];
    for (let i = index, top = -within; i < this.count && top < height; top += high(i), i++) rows.push(i);
    return { rows, offset, sizes: [sizes, row] };
  }

  /** The row that a row stands below: of a sub-agent, what started it. */
  parentOf(index: number): number | null {
    const level = this.at(index)?.level ?? 1;
    if (level === 1) return null;
    let above = index - 1;
    while (above > 0 && (this.at(above)?.level ?? 1) >= level) above--;
    return above;
  }

  /** Shows the sub-agents of a row below it. */
  async unfold(index: number): Promise<void> {
    const row = this.row(index);
    if (!row || row.children === 0 || this.#unfolded.has(row.id)) return;
    this.#unfolded.open(row.id);
    this.#refold();
    await this.#loadChildren(row.id);
  }

  fold(index: number): void {
    const row = this.row(index);
    if (!row) return;
    this.#unfolded.close(row.id);
    this.#refold();
  }

  /** The keyboard stands here from now on. */
  stand(index: number): void {
    this.current = index;
    this.#currentId = this.row(index)?.id ?? null;
  }

  /** A new question: other rows, from the top. */
  async ask(): Promise<void> {
    this.#question++;
    this.#waiting.clear();
    this.#pages.clear();
    this.#stale.clear();
    this.#unfolded.forget();
    this.current = 0;
    this.top = { index: 0, within: 0 };
    this.#currentId = null;
    this.#range = [0, 0];
    await this.#load(0);
  }

  /** The store changed: what is in sight is asked for again, the rest when it comes into sight. */
  async refresh(): Promise<void> {
    for (const page of this.#pages.keys()) this.#stale.add(page);
    this.#waiting.clear();
    this.#question++;
    await Promise.all([this.need(...this.#range), ...this.#unfolded.ids().map((id) => this.#loadChildren(id))]);
  }

  /** Rows `from` to `to` are in sight. */
  async need(from: number, to: number): Promise<void> {
    this.#range = [from, to];
    const first = this.#unfolded.place(from).session;
    const last = this.#unfolded.place(Math.max(from, to)).session;
    const loads: Promise<void>[] = [];
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) {
      const missing = !this.#pages.has(page) || this.#stale.has(page);
      if (missing && !this.#waiting.has(page)) loads.push(this.#load(page));
    }
    await Promise.all(loads);
  }

  setSort(sort: SessionsSort): void {
    if (sort === this.sort) this.ascending = !this.ascending;
    else {
      this.sort = sort;
      this.ascending = sort === "name";
    }
    void this.ask();
  }

  clear(): void {
    this.search = "";
    this.widen();
  }
  /** Without the filters; the words stay. */
  widen(): void {
    this.laneId = this.model = this.period = this.state = null;
    void this.ask();
  }

  /** As when the window opened. */
  reset(): void {
    Object.assign(this, { search: "", laneId: null, model: null, period: null, state: null, sort: "active", ascending: false, count: 0, page: null, error: null, words: "", current: 0, revision: -1, top: { index: 0, within: 0 } });
    this.#question++;
    this.#sessions = 0;
    this.#currentId = null;
    this.#unfolded = new Unfolded();
    this.#pages.clear();
    this.#stale.clear();
    this.#waiting.clear();
    this.#range = [0, 0];
  }

  #session(index: number): SessionRow | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  #openness(row: SessionRow): boolean | null {
    return row.children === 0 ? null : this.#unfolded.has(row.id);
  }

  #query(over: Partial<SessionsQuery>): SessionsQuery {
    return { search: null, lane_id: null, parent_id: null, model: null, since: null, period: null, state: null, sort: "active", ascending: false, offset: 0, limit: PAGE, ...over };
  }

  #listed(page: number): SessionsQuery {
    const search = this.search.trim();
    return this.#query({
      search: search === "" ? null : search,
      lane_id: this.laneId,
      model: this.model,
      period: this.period,
      state: this.state,
      sort: this.sort,
      ascending: this.ascending,
      offset: page * PAGE,
    });
  }

  async #load(page: number): Promise<void> {
    const question = this.#question;
    this.#waiting.add(page);
    try {
      const query = this.#listed(page);
      const answer = await api.sessions(query);
      if (question !== this.#question) return;
      this.words = folded(query.search ?? "");
      this.#pages.set(page, answer.rows);
      this.#unfolded.find(answer.rows, answer.inside);
      this.#stale.delete(page);
      this.page = answer;
      // A short page is the last one, whatever the totals count.
      const end = page * PAGE + answer.rows.length;
      this.#sessions = answer.rows.length < PAGE ? (answer.rows.length > 0 || page === 0 ? end : Math.min(this.#sessions, end)) : Math.max(end, answer.totals.sessions);
      this.error = null;
      this.#refold();
    } catch (thrown) {
      if (question === this.#question) this.error = api.errorView(thrown);
    } finally {
      if (question === this.#question) this.#waiting.delete(page);
    }
  }

  async #loadChildren(id: string): Promise<void> {
    try {
      const answer = await api.sessions(this.#query({ parent_id: id, sort: "started", ascending: true, limit: MOST_CHILDREN }));
      this.#unfolded.fill(id, answer.rows);
    } catch (thrown) {
      this.#unfolded.close(id);
      this.error = api.errorView(thrown);
    }
    this.#refold();
  }

  /** Counts and places the rows anew; the keyboard stays on its session wherever that stands now. */
  #refold(): void {
    this.#unfolded.lay(this.#pages, PAGE);
    this.count = this.#sessions + this.#unfolded.extra;
    this.arrived++;
    if (this.#currentId !== null && this.row(this.current)?.id !== this.#currentId) {
      const found = this.#find(this.#currentId);
      if (found !== null) this.current = found;
      else this.#currentId = null;
    }
    if (this.current >= this.count) this.current = Math.max(0, this.count - 1);
  }

  #find(id: string): number | null {
    for (const [page, rows] of this.#pages) {
      const at = rows.findIndex((row) => row.id === id);
      if (at >= 0) return this.#unfolded.indexOf(page * PAGE + at);
    }
    return this.#unfolded.indexOfChild(id);
  }
}

/** One list for the life of the window: coming back from a session finds it as it was left. */
export const sessionList = new SessionList();
