// What Session says.
import { count, plural, tokensFine } from "../model/format";
import type { StepState, TimelineKind } from "../bindings/view";

export const session = {
  back: "Back",
  title: "Session",
  details: "About this session",
  copyId: "Copy session id",
  copyFolder: "Copy the whole path",
  copied: "Id copied",
  copyFailed: "The id could not be copied",
  folderCopied: "Path copied",
  folderCopyFailed: "The path could not be copied",
  counts: (turns: string, tools: string) => `${turns} · ${tools}`,
  turn: ["turn", "turns"] as const,
  call: ["call", "calls"] as const,
  tool: ["tool", "tools"] as const,
  tokens: "Tokens",
  time: "Time",
  cost: "Cost",
  priceRow: (row: string) => `By the row ${row}`,
  thought: (ms: string) => `Of it ${ms} thinking`,
  background: "by itself",
  countedElsewhere: "copied",
  countedElsewhereHint: "This call came with what the session was forked from; it is counted in that session",
  backgroundHint: "agy asked for a title or a summary; nobody waited for it",
  openSubagent: "Open this sub-agent’s session",
  key: { thinking: "thinking", answer: "answer", tool: "tool", subagent: "sub-agent", wait: "waits for you" },
  timeline: "Timeline",
  noPrompt: "Before the first prompt",
  noText: "No text",
  noTimeline: "No timeline",
  all: "Show all",
  less: "Show less",
  noUsage: "agy wrote no token count for this call",
  cut: "The timeline is cut: the newest entries are shown.",
  approximate: "Approximate: the entry has no time of its own",
  context: "Context",
  contextOf: (max: string) => `of ${max}`,
  contextEstimated: "agy estimates the parts, and counts the whole: together they can be more.",
  contextUnknown: "How much the model holds is not known.",
  models: "Tokens and list price",
  noTokens: "No call told its usage.",
  noCalls: "It made no model call of its own.",
  withSubagents: (n: number) => `With its ${n === 1 ? "sub-agent" : plural(n, "sub-agent", "sub-agents")}`,
  modelLine: (input: string, cached: string, output: string) => `${input} in · ${cached} cached · ${output} out`,
  calls: (n: number) => plural(n, "call", "calls"),
  together: "Together",
  togetherLine: (total: number, thinking: number) => `${plural(total, "token", "tokens")}, of it ${tokensFine(thinking)} thinking`,
  withoutUsage: (n: number) => `${plural(n, "call carries", "calls carry")} no usage.`,
  exact: (input: string, cacheRead: string, cacheWrite: string, output: string, thinking: string) =>
    `input ${input} · cache read ${cacheRead} · cache write ${cacheWrite} · output ${output}, of it thinking ${thinking}`,
  family: "Sub-agents and forks",
  subagents: "Sub-agents",
  forks: "Forks",
  warnings: "Warnings",
  facts: "Facts",
  lane: "Lane",
  folder: "Folder",
  id: "Id",
  started: "Started",
  active: "Active",
  forkedFrom: "Forked from",
  parent: "Sub-agent of",
  file: "File",
  openFolder: "Open folder",
  remove: "Delete",
  gone: "This session is not here any more",
  goneHint: "It was deleted in AgentHub, or its id is wrong.",
};

export const kind: Record<TimelineKind, string> = {
  prompt: "Prompt",
  call: "Model call",
  tool: "Tool",
  wait: "Waited for you",
  error: "Error",
  checkpoint: "Checkpoint",
  subagent: "Sub-agent",
};

export const step: Record<StepState, string> = {
  done: "",
  running: "runs",
  waiting: "waits",
  failed: "failed",
  canceled: "canceled",
  denied: "denied",
};

/** What a warning on a session means. */
export const warning: Record<string, (n: number) => string> = {
  undecodable_row: (n) =>
    `${plural(n, "row", "rows")} could not be decoded and ${n === 1 ? "was" : "were"} skipped; the rest is counted.`,
  usage_mismatch: (n) =>
    `${plural(n, "call tells", "calls tell")} an output that is not thinking plus response. The larger number is shown.`,
  schema_drift: () => "agy’s format moved. Tokens may be too low.",
};

export const warningOther = (code: string, n: number) => `${code.replaceAll("_", " ")} (${count(n)})`;
