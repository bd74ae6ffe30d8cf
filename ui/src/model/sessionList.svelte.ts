// The Sessions screen's list: what is asked for, and the pages that have come. Rust filters, sorts and sums.
import * as api from "../api";
import type { ErrorView, ListedState, Period, SessionRow, SessionsPage, SessionsQuery, SessionsSort } from "../bindings/view";

export const PAGE = 100;

export class SessionList {
  search = $state("");
  laneId = $state<string | null>(null);
  model = $state<string | null>(null);
  period = $state<Period | null>(null);
  state = $state<ListedState | null>(null);
  sort = $state<SessionsSort>("active");
  ascending = $state(false);

  /** How many rows match. */
  count = $state(0);
  /** Totals, filters and problems: those of the newest page. */
  page = $state.raw<SessionsPage | null>(null);
  error = $state.raw<ErrorView | null>(null);
  /** The row that the keyboard stands on. */
  current = $state(0);
  /** Counts arrivals, so that rows are drawn anew. */
  arrived = $state(0);

  #pages = new Map<number, SessionRow[]>();
  #stale = new Set<number>();
  #waiting = new Set<number>();
  #question = 0;
  #range: [number, number] = [0, 0];

  /** By something else than words. */
  get narrowed(): boolean {
    return this.laneId !== null || this.model !== null || this.period !== null || this.state !== null;
  }
  get filtered(): boolean {
    return this.search.trim() !== "" || this.narrowed;
  }

  row(index: number): SessionRow | undefined {
    void this.arrived;
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Whether a day's heading stands above this row. */
  startsDay(index: number): boolean {
    if (this.sort !== "active") return false;
    const row = this.row(index);
    if (!row) return false;
    const before = this.row(index - 1);
    return index === 0 || (before !== undefined && before.day !== row.day);
  }

  /** A new question: other rows, from the top. */
  async ask(): Promise<void> {
    this.#question++;
    this.#waiting.clear();
    this.#pages.clear();
    this.#stale.clear();
    this.current = 0;
    this.#range = [0, 0];
    await this.#load(0);
  }

  /** The store changed: what is in sight is asked for again, the rest when it comes into sight. */
  async refresh(): Promise<void> {
    for (const page of this.#pages.keys()) this.#stale.add(page);
    this.#waiting.clear();
    this.#question++;
    await this.need(...this.#range);
  }

  /** Rows `from` to `to` are in sight. */
  async need(from: number, to: number): Promise<void> {
    this.#range = [from, to];
    const loads: Promise<void>[] = [];
    for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(from, to) / PAGE); page++) {
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
    Object.assign(this, { search: "", laneId: null, model: null, period: null, state: null, sort: "active", ascending: false, count: 0, page: null, error: null, current: 0 });
    this.#question++;
    this.#pages.clear();
    this.#stale.clear();
    this.#waiting.clear();
    this.#range = [0, 0];
  }

  #query(page: number): SessionsQuery {
    const search = this.search.trim();
    return {
      search: search === "" ? null : search,
      lane_id: this.laneId,
      model: this.model,
      since: null,
      period: this.period,
      state: this.state,
      sort: this.sort,
      ascending: this.ascending,
      offset: page * PAGE,
      limit: PAGE,
    };
  }

  async #load(page: number): Promise<void> {
    const question = this.#question;
    this.#waiting.add(page);
    try {
      const answer = await api.sessions(this.#query(page));
      if (question !== this.#question) return;
      this.#pages.set(page, answer.rows);
      this.#stale.delete(page);
      this.page = answer;
      // A short page is the last one, whatever the totals count.
      const end = page * PAGE + answer.rows.length;
      this.count = answer.rows.length < PAGE ? (answer.rows.length > 0 || page === 0 ? end : Math.min(this.count, end)) : Math.max(end, answer.totals.sessions);
      if (this.current >= this.count) this.current = Math.max(0, this.count - 1);
      this.error = null;
      this.arrived++;
    } catch (thrown) {
      if (question === this.#question) this.error = api.errorView(thrown);
    } finally {
      if (question === this.#question) this.#waiting.delete(page);
    }
  }
}

/** One list for the life of the window: coming back from a session finds it as it was left. */
export const sessionList = new SessionList();
