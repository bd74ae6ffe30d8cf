// One clock for every timer: it ticks once a second, only while something shows it and the window is visible.
import { createSubscriber } from "svelte/reactivity";

const subscribe = createSubscriber((update) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tick = () => {
    update();
    timer = setTimeout(tick, 1000 - (Date.now() % 1000));
  };
  const visible = () => {
    clearTimeout(timer);
    if (!document.hidden) tick();
  };
  document.addEventListener("visibilitychange", visible);
  timer = setTimeout(tick, 1000 - (Date.now() % 1000));
  return () => {
    document.removeEventListener("visibilitychange", visible);
    clearTimeout(timer);
  };
});

export const clock = {
  /** Milliseconds since the epoch; who reads it in a template is drawn anew each second. */
  get now(): number {
    subscribe();
    return Date.now();
  },
};
