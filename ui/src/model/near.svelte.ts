// A control that floats something, a list or a menu, costs more to make than a screen full of rows, and most are never opened. So
// it is a plain button of the same look and name until somebody comes near it: the pointer comes over it, or it is pressed.
import { flushSync } from "svelte";

export class Near {
  /** The control itself is there, and no longer the plain button. */
  here = $state(false);
  /** What floats is shown. */
  open = $state(false);
  /** The control's own button. */
  trigger = $state<HTMLElement | null>(null);

  /** What the plain button listens to. */
  readonly plain = {
    onpointerenter: (event: PointerEvent) => {
      // A touch enters in the moment in which it presses. Others may, too, so the button stays for the rest of this event.
      if (event.pointerType !== "touch") setTimeout(() => this.#come());
    },
    onpointerdown: (event: PointerEvent) => {
      if (event.button !== 0 || event.ctrlKey || event.pointerType === "touch") return;
      event.preventDefault();
      this.#show();
    },
    onclick: () => this.#show(),
    onkeydown: (event: KeyboardEvent) => {
      const { key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !(key === "Enter" || key === "ArrowDown" || key === "ArrowUp" || key.length === 1)) return;
      event.preventDefault();
      event.stopPropagation();
      this.#come();
      // It does with the key what it does with any.
      this.trigger?.focus({ preventScroll: true });
      this.trigger?.dispatchEvent(new KeyboardEvent("keydown", { key, code: event.code, shiftKey: event.shiftKey, bubbles: true, cancelable: true }));
    },
  };

  /** The plain button. */
  button = $state<HTMLElement | null>(null);

  #come(): void {
    if (this.here) return;
    const focused = this.button !== null && document.activeElement === this.button;
    flushSync(() => (this.here = true));
    if (focused) this.trigger?.focus({ preventScroll: true });
  }
  #show(): void {
    this.#come();
    this.trigger?.focus({ preventScroll: true });
    this.open = true;
  }
}
