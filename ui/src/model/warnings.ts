// A session's warnings in words.
import type { Warning } from "../bindings/view";
import * as text from "../text";
import { line } from "./format";

export function warningText(warning: Warning): string {
  return text.warning[warning.code]?.(warning.count) ?? text.warningOther(line(warning.code, 60), warning.count);
}

export function warningTexts(warnings: readonly Warning[]): string[] {
  return warnings.map(warningText);
}

/** The number beside the triangle. */
export function warningCount(warnings: readonly Warning[]): number {
  return warnings.reduce((n, w) => n + w.count, 0);
}
