// One message at a time, at the bottom: what happened, and a way back.
export interface ToastAction {
  label: string;
  run: () => void;
}
export interface Toast {
  id: number;
  tone: "done" | "failed";
  title: string;
  text: string | null;
  action: ToastAction | null;
}

const STAYS_MS = 8000;

class Toasts {
  current = $state.raw<Toast | null>(null);
  #next = 1;
  #timer: ReturnType<typeof setTimeout> | undefined;

  show(tone: Toast["tone"], title: string, text: string | null = null, action: ToastAction | null = null): void {
    this.current = { id: this.#next++, tone, title, text, action };
    this.release();
  }

  /** Someone reads it or is about to press its button. */
  hold(): void {
    clearTimeout(this.#timer);
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), STAYS_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.current = null;
  }
}

export const toasts = new Toasts();
