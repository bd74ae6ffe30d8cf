// After the window's first picture, while nobody waits: what Sessions and Usage show first is asked for, once, and each of them is
// made out of sight, once, so that its code is ready when somebody goes there. A program that was never run is several times
// slower than one that was.
import { flushSync, mount, unmount, type Component } from "svelte";
import * as api from "../api";
import type { BoardView } from "../bindings/view";
import { usageAnswers } from "../model/answers";
import { afterPaint } from "../model/frame";
import { sessionList } from "../model/sessionList.svelte";
import { usageChoice } from "../model/usageChoice.svelte";
import SessionsScreen from "./SessionsScreen.svelte";
import UsageScreen from "./UsageScreen.svelte";

/** Until `gone` says that the window is. Errors are for who goes there: the screen asks again then. */
export async function warm(view: BoardView, gone: () => boolean): Promise<void> {
  await afterPaint();
  if (!gone()) await Promise.allSettled([sessions(view.revision, gone), usage(view, gone)]);
}

async function sessions(revision: number, gone: () => boolean): Promise<void> {
  if (sessionList.page === null && !sessionList.busy) {
    sessionList.revision = revision;
    await sessionList.ask();
  }
  await afterPaint();
  if (!gone() && sessionList.page !== null) make(SessionsScreen, { list: sessionList, revision: sessionList.revision, onremove: () => {}, onfolder: () => {} });
}

async function usage(view: BoardView, gone: () => boolean): Promise<void> {
  const query = usageChoice.query;
  const answer = await api.usage(query);
  if (gone()) return;
  usageAnswers.keep(JSON.stringify(query), answer, view.revision);
  await afterPaint();
  if (!gone()) make(UsageScreen, { view, revision: view.revision });
}

/** Makes a screen where nobody sees it, and takes it away again. */
function make<Props extends Record<string, unknown>>(screen: Component<Props, Record<string, unknown>>, props: Props): void {
  const made = mount(screen, { target: document.createElement("div"), props });
  flushSync();
  void unmount(made);
}
