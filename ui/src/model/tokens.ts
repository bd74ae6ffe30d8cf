// The exact numbers behind a short one.
import type { Tokens } from "../bindings/view";
import * as text from "../text";
import { count } from "./format";

export function exactTokens(t: Tokens): string {
  return text.session.exact(count(t.input), count(t.cache_read), count(t.cache_write), count(t.output), count(t.thinking));
}
