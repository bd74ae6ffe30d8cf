// The live board: asked for once, then replaced by every `board://changed`.
import * as api from "../api";
import type { BoardView, ErrorView } from "../bindings/view";

class Board {
  view = $state.raw<BoardView | null>(null);
  error = $state.raw<ErrorView | null>(null);
  /** The lane that the person looks at; it stays while other screens are shown. */
  chosen = $state.raw<string | null>(null);

  /** Starts to listen; returns what stops it. */
  start(): () => void {
    let stopped = false;
    let stop: (() => void) | null = null;
    const begin = async () => {
      // Listen first, so that no change falls between the answer and the first event.
      const off = await api.onBoard((view) => this.#take(view));
      if (stopped) off();
      else stop = off;
      await this.reload();
    };
    begin().catch((thrown: unknown) => (this.error = api.errorView(thrown)));
    return () => {
      stopped = true;
      stop?.();
    };
  }

  async reload(): Promise<void> {
    try {
      const view = await api.board();
      // An event may have come in while this answer was under way.
      if (this.view === null || view.revision >= this.view.revision) this.#take(view);
      this.error = null;
    } catch (thrown) {
      this.error = api.errorView(thrown);
    }
  }

  #take(view: BoardView): void {
    this.view = view;
    this.error = null;
  }

  reset(): void {
    this.view = null;
    this.error = null;
    this.chosen = null;
  }
}

export const board = new Board();
