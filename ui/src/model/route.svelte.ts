// Which screen is shown. It stands in the address (`#/session/ID`, `#/lanes/ID`, `#/settings/tracing`), so that back, deep links
// and a new window work.
import type { Navigation, Screen } from "../api";

export interface Route {
  screen: Screen;
  id: string | null;
}

/** The parts of Settings, in their order; the first is shown when none is named. */
export const SETTINGS = ["general", "notifications", "antigravity", "tracing"] as const;
export type SettingsPart = (typeof SETTINGS)[number];

const PLAIN = ["sessions", "usage", "notifications", "doctor"] as const;

export function parse(hash: string): Route {
  const [, screen = "", raw = ""] = hash.replace(/^#/, "").split("/");
  const id = decoded(raw);
  if (screen === "session") return id === null ? { screen: "sessions", id: null } : { screen, id };
  if (screen === "settings") return { screen, id: SETTINGS.find((s) => s === id) ?? SETTINGS[0] };
  const plain = PLAIN.find((s) => s === screen);
  if (plain !== undefined) return { screen: plain, id: null };
  return { screen: "lanes", id: screen === "lanes" ? id : null };
}

function decoded(raw: string): string | null {
  try {
    return raw === "" ? null : decodeURIComponent(raw);
  } catch {
    return null;
  }
}

export function href(to: Navigation): string {
  return to.id === undefined ? `#/${to.screen}` : `#/${to.screen}/${encodeURIComponent(to.id)}`;
}

/** Asks for what a route will show; `null`: it can be shown now. */
export type Ahead = (to: Route) => Promise<unknown> | null;

/** For so long what was shown stays when somebody goes on: longer, and the screen is shown as far as it is known. */
const STAYS_MS = 80;

const same = (a: Route, b: Route) => a.screen === b.screen && a.id === b.id;

class Router {
  route = $state.raw<Route>({ screen: "lanes", id: null });
  /** Where Esc leads from a session: the list or the lanes, whichever was last. */
  from = $state.raw<Screen>("sessions");
  /** A lane that a deep link asked for. */
  lane = $state.raw<string | null>(null);
  /** How often the screen changed. */
  moves = 0;

  #ahead: Ahead = () => null;
  /** Where somebody has gone, while that is not shown yet. */
  #next: Route | null = null;

  start(ahead: Ahead = () => null): () => void {
    const read = () => this.#read();
    this.#ahead = () => null;
    read();
    this.#ahead = ahead;
    this.moves = 0;
    window.addEventListener("hashchange", read);
    return () => {
      window.removeEventListener("hashchange", read);
      this.#next = null;
    };
  }

  go(to: Navigation): void {
    this.follow(href(to));
  }

  /** Goes where a link leads, at once: the browser's own word of it comes a frame later. */
  follow(hash: string): void {
    if (location.hash !== hash) location.hash = hash;
    this.#read();
  }

  /** Somebody has begun to press what leads there: what it needs is asked for before they let go. */
  expect(hash: string): void {
    const to = parse(hash);
    if (!same(to, this.route)) void this.#ahead(to);
  }

  /** Somebody has gone somewhere that is not shown yet. */
  get going(): boolean {
    return this.#next !== null;
  }

  /** Back from a session; from one that is not shown yet, to what is. */
  back(): void {
    const to: Navigation = this.#next ? { screen: this.route.screen, ...(this.route.id === null ? {} : { id: this.route.id }) } : { screen: this.from };
    this.go(to);
  }

  #read(): void {
    const next = parse(location.hash);
    if (next.screen === "lanes" && next.id !== null) {
      // A deep link points at a lane once; then the person moves on.
      this.lane = next.id;
      next.id = null;
      history.replaceState(null, "", href({ screen: "lanes" }));
    }
    if (same(next, this.#next ?? this.route)) return;
    const ready = same(next, this.route) ? null : this.#ahead(next);
    this.#next = ready && next;
    if (ready === null) return this.#show(next);
    const shown = () => {
      clearTimeout(late);
      if (this.#next === next) this.#show(next);
    };
    const late = setTimeout(shown, STAYS_MS);
    ready.then(shown, shown);
  }

  #show(next: Route): void {
    this.#next = null;
    if (same(next, this.route)) return;
    if (this.route.screen === "lanes" || this.route.screen === "sessions" || this.route.screen === "usage") this.from = this.route.screen;
    this.moves++;
    this.route = next;
  }
}

export const router = new Router();
