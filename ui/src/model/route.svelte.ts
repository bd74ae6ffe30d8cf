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

class Router {
  route = $state.raw<Route>({ screen: "lanes", id: null });
  /** Where Esc leads from a session: the list or the lanes, whichever was last. */
  from = $state.raw<Screen>("sessions");
  /** A lane that a deep link asked for. */
  lane = $state.raw<string | null>(null);
  /** How often the screen changed. */
  moves = 0;

  start(): () => void {
    const read = () => this.#read();
    read();
    this.moves = 0;
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }

  go(to: Navigation): void {
    const next = href(to);
    if (location.hash !== next) location.hash = next;
    this.#read();
  }

  back(): void {
    this.go({ screen: this.from });
  }

  #read(): void {
    const next = parse(location.hash);
    if (next.screen === "lanes" && next.id !== null) {
      // A deep link points at a lane once; then the person moves on.
      this.lane = next.id;
      next.id = null;
      history.replaceState(null, "", href({ screen: "lanes" }));
    }
    if (next.screen === this.route.screen && next.id === this.route.id) return;
    if (this.route.screen === "lanes" || this.route.screen === "sessions" || this.route.screen === "usage") this.from = this.route.screen;
    this.moves++;
    this.route = next;
  }
}

export const router = new Router();
