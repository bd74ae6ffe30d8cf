// The exact numbers behind a short one.
import type { Session, Tokens } from "../bindings/view";
import * as text from "../text";
import { count } from "./format";

export function exactTokens(t: Tokens): string {
  return text.session.exact(count(t.input), count(t.cache_read), count(t.cache_write), count(t.output), count(t.thinking));
}

/** Whether a model call counts for it: not where all are copies of another session’s. */
export function called(session: Pick<Session, "models" | "calls_without_usage">): boolean {
  return session.models.length > 0 || session.calls_without_usage > 0;
}
