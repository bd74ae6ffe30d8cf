// What a cell of the list of sessions says when somebody points at it. Made when it is asked for: most rows of a long list only
// pass by.
import type { SessionRow } from "../bindings/view";
import * as text from "../text";
import { block, line, momentFull } from "./format";
import { tellWhere } from "./found";
import { costTip } from "./money";
import { called, exactTokens } from "./tokens";
import { warningTexts } from "./warnings";

/** `cell` is the cell's `data-c`; `found` as in `Listed`; `words` as in `SessionList`. Empty where there is no more to say. */
export function sessionTip(row: SessionRow, cell: string, now: number, found: number | null = null, words = ""): string {
  switch (cell) {
    case "state":
      return text.outcome[row.outcome];
    case "name":
      return [block(row.name, 1000), tellWhere(row, words)].filter((said) => said !== "").join("\n");
    case "children":
      return found === null ? text.sessions.subagentHint(row.children) : text.sessions.foundTip(row.children, found);
    case "fork":
      return text.sessions.forkHint;
    case "gone":
      return text.sessions.goneHint;
    case "warnings":
      return warningTexts(row.warnings).join("\n");
    case "lane":
      return line(row.cwd ?? row.lane_name, 1000);
    case "model":
      return line(row.model, 200);
    case "tokens":
      return !called(row) ? text.session.noCalls : row.tokens ? exactTokens(row.tokens) : text.sessions.noTokens;
    case "cost":
      return costTip(row.cost_usd, row.unpriced_models, row.tokens_unpriced);
    case "started":
      return momentFull(row.started_at, now);
    case "active":
      return momentFull(row.last_activity_at, now);
    default:
      return "";
  }
}
