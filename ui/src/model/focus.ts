// Where the keyboard stands after a screen changed.
import { router } from "./route.svelte";

/** Gives the keyboard to a screen's list, unless the person has put it elsewhere or the window has just opened. */
export function takeFocus(element: HTMLElement | null | undefined): void {
  const active = document.activeElement;
  if (router.moves > 0 && (active === null || active === document.body)) element?.focus({ preventScroll: true });
}
