// What jsdom lacks: sizes, animations, media queries. Sizes are those of the drawing, so that the virtual list has rows.
import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/svelte";
import { afterEach, beforeEach, vi } from "vitest";
import { useDoor } from "../src/api";
import { sessionAnswers, treeAnswers, usageAnswers } from "../src/model/answers";
import { board } from "../src/model/board.svelte";
import { hooksHint } from "../src/model/hooks.svelte";
import { sessionList } from "../src/model/sessionList.svelte";
import { toasts } from "../src/model/toast.svelte";
import { router } from "../src/model/route.svelte";
import { settings } from "../src/model/settings.svelte";
import { tracks } from "../src/model/tracks.svelte";
import { usageChoice } from "../src/model/usageChoice.svelte";

// Asking jsdom for computed styles of every row costs most of a test's time.
configure({ defaultHidden: true, asyncUtilTimeout: 10_000 });

/** How high a row is drawn, in pixels. */
function drawn(row: Element): number {
  const turn = row.querySelector(".turn");
  if (turn) return turn.classList.contains("open") ? 36 : 32;
  if (row.querySelector(".entry")) return row.querySelector(".end") ? 35 : 25;
  if (row.querySelector(".axis")) return 20;
  if (row.querySelector(".mark")) return 26;
  return row.querySelector(".day") ? 56 : 30;
}

class SizedObserver implements ResizeObserver {
  #seen = new Set<Element>();
  constructor(private tell: ResizeObserverCallback) {}
  observe(target: Element): void {
    this.#seen.add(target);
    queueMicrotask(() => {
      if (!this.#seen.has(target)) return;
      const height = target.classList.contains("vlist") ? 600 : drawn(target);
      const contentRect = { width: 900, height, top: 0, left: 0, right: 900, bottom: height, x: 0, y: 0 } as DOMRectReadOnly;
      this.tell([{ target, contentRect, borderBoxSize: [], contentBoxSize: [], devicePixelContentBoxSize: [] }], this);
    });
  }
  unobserve(target: Element): void {
    this.#seen.delete(target);
  }
  disconnect(): void {
    this.#seen.clear();
  }
}
globalThis.ResizeObserver = SizedObserver;
Object.defineProperty(HTMLElement.prototype, "offsetParent", {
  get(this: HTMLElement) {
    return this.parentElement;
  },
});
Element.prototype.scrollIntoView = () => {};
// axe asks for one to look at icon fonts.
HTMLCanvasElement.prototype.getContext = () => null;
Element.prototype.scrollTo = () => {};
Element.prototype.scrollBy = () => {};
Element.prototype.hasPointerCapture = () => false;
Element.prototype.getAnimations = () => [];
Element.prototype.animate = () =>
  ({ cancel() {}, finish() {}, play() {}, finished: Promise.resolve(), currentTime: 0, effect: null, onfinish: null }) as unknown as Animation;
window.matchMedia = (query: string) =>
  ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;

beforeEach(() => {
  location.hash = "#/lanes";
});
// The files share their modules and one document, so each test leaves both as it found them.
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  localStorage.clear();
  useDoor(null);
  board.reset();
  toasts.close();
  sessionList.reset();
  sessionAnswers.forget();
  treeAnswers.forget();
  usageAnswers.forget();
  tracks.reset();
  settings.reset();
  hooksHint.reset();
  Object.assign(router, { route: { screen: "lanes", id: null }, from: "sessions", lane: null, moves: 0 });
  Object.assign(usageChoice, { range: "days30", measure: "cost", since: "", until: "", cut: "model" });
});
