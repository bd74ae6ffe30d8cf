// Answers that outlive the screen that asked: somebody who comes back sees at once what stood there. What it was asked for at is
// kept beside each, so that nothing is asked again while nothing changed.

import type { SessionDetail, TurnTree, UsageScreen } from "../bindings/view";

interface Kept<T> {
  value: T;
  /** The board's when it was asked. */
  revision: number;
  /** The moment, in milliseconds. */
  at: number;
}

/** For so long an answer holds while the board stands still; what day it is can change an answer, too. */
const HOLDS_MS = 60_000;

export class Answers<T> {
  #kept = new Map<string, Kept<T>>();
  #asked = new Map<string, { revision: number; answer: Promise<T> }>();

  /** Keeps the newest `most`. */
  constructor(private readonly most: number) {}

  keep(question: string, value: T, revision: number): void {
    this.#kept.delete(question);
    this.#kept.set(question, { value, revision, at: Date.now() });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.most) break;
      this.#kept.delete(oldest);
    }
  }

  /** Asks and keeps the answer. Who asks the same while that is under way gets the same answer. */
  ask(question: string, revision: number, ask: () => Promise<T>): Promise<T> {
    const before = this.#asked.get(question);
    if (before?.revision === revision) return before.answer;
    const answer = ask();
    const mine = { revision, answer };
    this.#asked.set(question, mine);
    const over = () => this.#asked.get(question) === mine && this.#asked.delete(question);
    // An answer that a newer question overtook, or that was forgotten meanwhile, is not kept.
    answer.then((value) => over() && this.keep(question, value, revision), over);
    return answer;
  }

  /** What was answered last, and whether it still holds. */
  of(question: string, revision: number): { value: T; holds: boolean } | null {
    const kept = this.#kept.get(question);
    return kept ? { value: kept.value, holds: kept.revision === revision && Date.now() - kept.at < HOLDS_MS } : null;
  }

  /** This one is no longer wanted. */
  drop(question: string): void {
    this.#kept.delete(question);
  }

  /** What is known is wrong: the person changed it. */
  forget(): void {
    this.#kept.clear();
    this.#asked.clear();
  }
}

/** By the session's id. A long session's timeline is some megabytes. */
export const sessionAnswers = new Answers<SessionDetail>(4);
/** By the session's id and the step that began the turn; that of the newest turn under a name of its own. */
export const treeAnswers = new Answers<TurnTree>(16);
/** By the question as JSON. */
export const usageAnswers = new Answers<UsageScreen>(8);
