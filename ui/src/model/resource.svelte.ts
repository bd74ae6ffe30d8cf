// Something asked from Rust and shown: its newest answer, or why there is none. Late answers of older questions are dropped.
import { errorView } from "../api";
import type { ErrorView } from "../bindings/view";

export class Resource<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<ErrorView | null>(null);
  busy = $state(false);
  #asked = 0;

  async load(ask: () => Promise<T>): Promise<void> {
    const mine = ++this.#asked;
    this.busy = true;
    try {
      const value = await ask();
      if (mine !== this.#asked) return;
      this.value = value;
      this.error = null;
    } catch (thrown) {
      if (mine === this.#asked) this.error = errorView(thrown);
    } finally {
      if (mine === this.#asked) this.busy = false;
    }
  }

  /** What was answered before; an answer that is under way is for another question. */
  show(value: T): void {
    this.#asked++;
    this.value = value;
    this.error = null;
    this.busy = false;
  }

  clear(): void {
    this.#asked++;
    this.value = null;
    this.error = null;
    this.busy = false;
  }
}

/** Calls `run` at once, and when called again too soon, once more after `everyMs`. */
export function throttled(run: () => void, everyMs: number): { call: () => void; stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again = false;
  const fire = () => {
    run();
    timer = setTimeout(() => {
      timer = undefined;
      if (again) {
        again = false;
        fire();
      }
    }, everyMs);
  };
  return {
    call: () => {
      if (timer === undefined) fire();
      else again = true;
    },
    stop: () => {
      clearTimeout(timer);
      timer = undefined;
      again = false;
    },
  };
}
