// Made from crates/engine/src/view.rs by `cargo xtask bindings`. Do not edit.

export type State = "idle" | "running" | "waiting" | "error";

export type Status = "active" | "completed";

export type Outcome = "none" | "in_progress" | "finished" | "failed" | "canceled" | "unfinished" | "quiet";

export type Evidence = { fact: string, 
/**
 * `hook`, `database`, `presence`, `run` or `clock`.
 */
source: string, at: string | null, };

export type Why = { beat: Array<Evidence>, fact: string, 
/**
 * `hook`, `database`, `presence`, `run` or `clock`.
 */
source: string, at: string | null, };

export type Lane = { id: string, tool: string, name: string, cwd: string | null, 
/**
 * Set on the lane of a command that `agenthub run` started.
 */
run_id: string | null, state: State, 
/**
 * How its newest turn stands: `unfinished` when agy went away in the middle of it.
 */
outcome: Outcome, since: string | null, 
/**
 * The name of the tool that waits for its person.
 */
waiting_for: string | null, why: Why, 
/**
 * Ids of the active sessions.
 */
sessions: Array<string>, 
/**
 * What its sessions used since midnight in the person's zone; `null`: nothing, or it is not known.
 */
tokens_today: Tokens | null, 
/**
 * USD; `null`: no price.
 */
cost_usd_today: string | null, 
/**
 * Tokens of theirs that are not in the cost, for want of a price.
 */
tokens_unpriced_today: number, };

export type LanesDocument = { schema: number, lanes: Array<Lane>, };

export type BoardLane = { last_activity_at: string | null, 
/**
 * The folder as its owner knows it, `~` for the home folder.
 */
folder: string | null, 
/**
 * One line below the name: what it asks, does, or failed at; `null` when there is nothing to say.
 */
detail: string | null, 
/**
 * The tool that `detail` belongs to.
 */
detail_tool: string | null, members: Array<BoardSession>, id: string, tool: string, name: string, cwd: string | null, 
/**
 * Set on the lane of a command that `agenthub run` started.
 */
run_id: string | null, state: State, 
/**
 * How its newest turn stands: `unfinished` when agy went away in the middle of it.
 */
outcome: Outcome, since: string | null, 
/**
 * The name of the tool that waits for its person.
 */
waiting_for: string | null, why: Why, 
/**
 * Ids of the active sessions.
 */
sessions: Array<string>, 
/**
 * What its sessions used since midnight in the person's zone; `null`: nothing, or it is not known.
 */
tokens_today: Tokens | null, 
/**
 * USD; `null`: no price.
 */
cost_usd_today: string | null, 
/**
 * Tokens of theirs that are not in the cost, for want of a price.
 */
tokens_unpriced_today: number, };

export type BoardSession = { id: string, name: string, parent_id: string | null, state: State, since: string | null, outcome: Outcome, why: Why, model: string | null, 
/**
 * agy's name of the model for people; `null` where it has none.
 */
model_label: string | null, 
/**
 * `null`: no call told its usage.
 */
tokens_total: number | null, 
/**
 * `null`: no price.
 */
cost_usd: string | null, };

export type Summary = { error: number, waiting: number, running: number, idle: number, 
/**
 * "1 failed · 2 running"; "No lanes" when there is none.
 */
line: string, 
/**
 * The worst state of all lanes; `null` on an empty board.
 */
worst: State | null, };

export type Scan = { done: number, total: number, };

export type HostNote = { 
/**
 * Closed list: `no_home`, `unreadable_folder`, `schema_drift`, `poll_only`, `store_rebuilt`, `person_rebuilt`, `settings_unreadable`, `settings_reset`, `settings_bad`, `time_zone`,
 * `other_engine`, `source_failed`; the desktop host adds `no_tray` and `no_notifications`.
 */
code: string, message: string, };

export type BoardView = { 
/**
 * Counts every change of the store or the board; a screen that shows older numbers asks again.
 */
revision: number, as_of: string, summary: Summary, lanes: Array<BoardLane>, 
/**
 * `null` when no long read is under way.
 */
scan: Scan | null, sessions_total: number, problems_total: number, notes: Array<HostNote>, agy_version: string | null, 
/**
 * agy's home, as the person knows it (`~` for the home folder).
 */
gemini_dir: string, };

export type Tokens = { input: number, output: number, cache_read: number, cache_write: number, 
/**
 * Part of `output`.
 */
thinking: number, total: number, };

export type ModelUsage = { model: string, model_label: string | null, model_enum: number, calls: number, 
/**
 * `null`: none of its calls told its usage.
 */
tokens: Tokens | null, 
/**
 * Exact decimal; `null` where there is no price.
 */
cost_usd: string | null, 
/**
 * The row that priced its newest call.
 */
price_row: string | null, 
/**
 * Tokens that have no price: all of them, or those of parts that its row has no rate for.
 */
tokens_unpriced: number, 
/**
 * Those parts, while others are priced: `input`, `cache_read`, `cache_write`, `output`.
 */
unpriced_parts: Array<string>, 
/**
 * Whose they are, by the name that the calls have themselves: one that agy's number alone names stands with a model of
 * that number.
 */
unpriced_names: Array<UnpricedName>, };

export type UnpricedName = { model: string, tokens: number, };

export type Warning = { code: string, count: number, };

export type Session = { id: string, tool: string, name: string, cwd: string | null, status: Status, state: State, 
/**
 * How its newest turn stands: `unfinished` when agy went away in the middle of it.
 */
outcome: Outcome, started_at: string | null, last_activity_at: string | null, model: string | null, 
/**
 * agy's name of the model for people; `null` where it has none.
 */
model_label: string | null, parent_id: string | null, forked_from: string | null, turns: number, tool_calls: number, calls_without_usage: number, models: Array<ModelUsage>, 
/**
 * `null`: no call told its usage.
 */
tokens: Tokens | null, 
/**
 * The sum of what is priced, as an exact decimal; `null` when nothing is.
 */
cost_usd: string | null, 
/**
 * Tokens that are not in `cost_usd`, for they have no price.
 */
tokens_unpriced: number, unpriced_models: Array<string>, warnings: Array<Warning>, };

export type Problem = { file: string, 
/**
 * `not_a_database`, `corrupt`, `no_such_table`, `empty`, `legacy_pb`, `not_a_uuid`, `not_a_file`, `symlink_loop`,
 * `permission`, `busy` or `no_home`.
 */
code: string, message: string, };

export type Totals = { sessions: number, calls: number, calls_without_usage: number, 
/**
 * As in a session.
 */
cost_usd: string | null, tokens_unpriced: number, input: number, output: number, cache_read: number, cache_write: number, 
/**
 * Part of `output`.
 */
thinking: number, total: number, };

export type SessionsDocument = { schema: number, sessions: Array<Session>, problems: Array<Problem>, totals: Totals, };

export type SessionRow = { 
/**
 * The lane's name, and its id to filter by.
 */
lane_name: string, lane_id: string, 
/**
 * The folder as its owner knows it, `~` for the home folder.
 */
folder: string | null, 
/**
 * Its sub-agents.
 */
children: number, 
/**
 * The conversation file is gone from agy's folder.
 */
file_gone: boolean, 
/**
 * The calendar day of its last activity in the person's zone, `YYYY-MM-DD`.
 */
day: string | null, id: string, tool: string, name: string, cwd: string | null, status: Status, state: State, 
/**
 * How its newest turn stands: `unfinished` when agy went away in the middle of it.
 */
outcome: Outcome, started_at: string | null, last_activity_at: string | null, model: string | null, 
/**
 * agy's name of the model for people; `null` where it has none.
 */
model_label: string | null, parent_id: string | null, forked_from: string | null, turns: number, tool_calls: number, calls_without_usage: number, models: Array<ModelUsage>, 
/**
 * `null`: no call told its usage.
 */
tokens: Tokens | null, 
/**
 * The sum of what is priced, as an exact decimal; `null` when nothing is.
 */
cost_usd: string | null, 
/**
 * Tokens that are not in `cost_usd`, for they have no price.
 */
tokens_unpriced: number, unpriced_models: Array<string>, warnings: Array<Warning>, };

export type SessionsQuery = { 
/**
 * Matched against name, folder and id, without case; also of sub-agents, for which the session is listed that has
 * them inside.
 */
search: string | null, lane_id: string | null, 
/**
 * Only the sub-agents that this session started; without it sub-agents are left out, for they are shown inside theirs.
 */
parent_id: string | null, model: string | null, 
/**
 * RFC 3339: only sessions active at or after this.
 */
since: string | null, period: Period | null, state: ListedState | null, sort: SessionsSort, ascending: boolean, offset: number, 
/**
 * At most 500; 0 means 100.
 */
limit: number, };

export type SessionsSort = "active" | "started" | "name" | "tokens" | "cost";

export type Period = "today" | "yesterday" | "week" | "month";

export type ListedState = "needs_you" | "running" | "idle" | "completed";

export type SessionsPage = { rows: Array<SessionRow>, 
/**
 * Of all that match, not of this page. `sessions` counts the rows; the sums are those of the rows and of all sub-agents
 * inside them, so that without a filter they are the same as everywhere.
 */
totals: Totals, 
/**
 * So many sub-agents are in the sums besides the rows.
 */
subagents: number, 
/**
 * Of those of `rows` that the search did not find themselves: what it found inside them.
 */
inside: Array<FoundInside>, sessions_total: number, 
/**
 * Ids of models and lanes that a filter can choose, over all sessions.
 */
models: Array<string>, 
/**
 * Names for people of those `models` that have one.
 */
model_labels: { [key in string]: string }, lanes: Array<LaneName>, problems: Array<Problem>, };

export type FoundInside = { session_id: string, 
/**
 * So many of its sub-agents match, at any depth.
 */
found: number, 
/**
 * The first of those by their start, with those between them and the session: each says who started it (`parent_id`).
 */
rows: Array<SessionRow>, };

export type LaneName = { id: string, name: string, };

export type TimelineKind = "prompt" | "call" | "tool" | "wait" | "error" | "checkpoint" | "subagent";

export type StepState = "done" | "running" | "waiting" | "failed" | "canceled" | "denied";

export type TimelineEntry = { kind: TimelineKind, turn: number, step: number | null, at: string | null, approximate: boolean, duration_ms: number | null, name: string | null, state: StepState, tokens: Tokens | null, cost_usd: string | null, 
/**
 * Of a call: those of its tokens that have no price.
 */
tokens_unpriced: number, 
/**
 * Prompt, answer or error; of a tool that did not fail, what `argument` says.
 */
text: string | null, 
/**
 * Of a call that a fork copied: the session that it counts for. Its tokens are in that one's sums, not in this one's.
 */
copied_from: string | null, };

export type WholeEntry = { 
/**
 * Of a tool: the argument that tells most of what it does, on one line: a path, a command, a question.
 */
argument: string | null, 
/**
 * Of a tool: all its arguments, JSON, cut.
 */
arguments: string | null, call: string | null, kind: TimelineKind, turn: number, step: number | null, at: string | null, approximate: boolean, duration_ms: number | null, name: string | null, state: StepState, tokens: Tokens | null, cost_usd: string | null, 
/**
 * Of a call: those of its tokens that have no price.
 */
tokens_unpriced: number, 
/**
 * Prompt, answer or error; of a tool that did not fail, what `argument` says.
 */
text: string | null, 
/**
 * Of a call that a fork copied: the session that it counts for. Its tokens are in that one's sums, not in this one's.
 */
copied_from: string | null, };

export type SessionDocument = { schema: number, timeline: Array<WholeEntry>, id: string, tool: string, name: string, cwd: string | null, status: Status, state: State, 
/**
 * How its newest turn stands: `unfinished` when agy went away in the middle of it.
 */
outcome: Outcome, started_at: string | null, last_activity_at: string | null, model: string | null, 
/**
 * agy's name of the model for people; `null` where it has none.
 */
model_label: string | null, parent_id: string | null, forked_from: string | null, turns: number, tool_calls: number, calls_without_usage: number, models: Array<ModelUsage>, 
/**
 * `null`: no call told its usage.
 */
tokens: Tokens | null, 
/**
 * The sum of what is priced, as an exact decimal; `null` when nothing is.
 */
cost_usd: string | null, 
/**
 * Tokens that are not in `cost_usd`, for they have no price.
 */
tokens_unpriced: number, unpriced_models: Array<string>, warnings: Array<Warning>, };

export type Context = { used: number, max: number | null, parts: Array<ContextPart>, };

export type ContextPart = { name: string, tokens: number, };

export type SessionDetail = { since: string | null, why: Why, context: Context | null, 
/**
 * One for each turn in `timeline`, in order.
 */
turn_sums: Array<TurnSum>, timeline: Array<TimelineEntry>, 
/**
 * The timeline was cut; the newest entries are shown.
 */
timeline_cut: boolean, 
/**
 * Why there is no or only an approximate timeline; `null` when there is nothing to explain.
 */
timeline_note: string | null, 
/**
 * Its sub-agents, oldest first.
 */
subagents: Array<SessionRow>, 
/**
 * What it and all sub-agents below it used, at any depth; `null` when it has none.
 */
with_subagents: Totals | null, forks: Array<SessionRef>, parent: SessionRef | null, origin: SessionRef | null, 
/**
 * The lane's name, and its id to filter by.
 */
lane_name: string, lane_id: string, 
/**
 * The folder as its owner knows it, `~` for the home folder.
 */
folder: string | null, 
/**
 * Its sub-agents.
 */
children: number, 
/**
 * The conversation file is gone from agy's folder.
 */
file_gone: boolean, 
/**
 * The calendar day of its last activity in the person's zone, `YYYY-MM-DD`.
 */
day: string | null, id: string, tool: string, name: string, cwd: string | null, status: Status, state: State, 
/**
 * How its newest turn stands: `unfinished` when agy went away in the middle of it.
 */
outcome: Outcome, started_at: string | null, last_activity_at: string | null, model: string | null, 
/**
 * agy's name of the model for people; `null` where it has none.
 */
model_label: string | null, parent_id: string | null, forked_from: string | null, turns: number, tool_calls: number, calls_without_usage: number, models: Array<ModelUsage>, 
/**
 * `null`: no call told its usage.
 */
tokens: Tokens | null, 
/**
 * The sum of what is priced, as an exact decimal; `null` when nothing is.
 */
cost_usd: string | null, 
/**
 * Tokens that are not in `cost_usd`, for they have no price.
 */
tokens_unpriced: number, unpriced_models: Array<string>, warnings: Array<Warning>, };

export type TurnSum = { turn: number, at: string | null, approximate: boolean, 
/**
 * From its first entry to the end of its last; `null` while it is under way or where times are missing.
 */
duration_ms: number | null, calls: number, tools: number, 
/**
 * `null`: no call of it told its usage.
 */
tokens: Tokens | null, cost_usd: string | null, 
/**
 * As in a session.
 */
tokens_unpriced: number, };

export type TurnTree = { 
/**
 * The step that began the turn.
 */
step: number, 
/**
 * As a backend has it; `null` for a sub-agent's turn, which stands in its parent's trace.
 */
trace_id: string | null, 
/**
 * When it began: what every `offset_us` counts from.
 */
at: string, 
/**
 * `null` while it is under way.
 */
duration_us: number | null, 
/**
 * Times are whole seconds, or taken from a neighbour.
 */
approximate: boolean, 
/**
 * Told from the transcript, for the database can't be read: no tokens.
 */
from_transcript: boolean, 
/**
 * Of all calls, sub-agents' included; `null`: none of them told its usage.
 */
tokens: Tokens | null, 
/**
 * Of all calls that have a price, sub-agents' included, as a decimal; `null`: none has.
 */
cost_usd: string | null, 
/**
 * A parent before its children, children in their order; the turn itself is the first.
 */
spans: Array<TreeSpan>, 
/**
 * More spans than are shown: the oldest are here.
 */
cut: boolean, };

export type TreeSpanKind = "turn" | "call" | "tool";

export type TreeSpan = { 
/**
 * As a backend has it.
 */
id: string, parent: string | null, 
/**
 * 0 for the turn itself.
 */
depth: number, kind: TreeSpanKind, 
/**
 * The session that it is of: a sub-agent has its own.
 */
session: string, 
/**
 * An agent's, a model's or a tool's.
 */
name: string, 
/**
 * A model's name for people.
 */
label: string | null, 
/**
 * Where it stands in its session's timeline, where a step of agy's is known.
 */
step: number | null, at: string, 
/**
 * Microseconds after the turn's start; below 0 only where clocks disagree.
 */
offset_us: number, 
/**
 * Microseconds; `null` while it is under way, or where agy does not tell.
 */
duration_us: number | null, approximate: boolean, state: StepState, 
/**
 * A word for how it failed, as in `error.type`: `error`, `canceled`, `denied`, `retried`, …
 */
failure: string | null, 
/**
 * Of calls: a title or summary that agy asked for by itself.
 */
background: boolean, 
/**
 * Of calls: how much of `duration_us` went into thinking before the answer began; `null` where agy does not tell.
 */
thinking_us: number | null, 
/**
 * Of calls; `null` is unknown, not zero. Of turns and tools, what the calls below them used, `null` without any.
 */
tokens: Tokens | null, 
/**
 * Likewise; a decimal.
 */
cost_usd: string | null, 
/**
 * Those of `tokens` that have no price.
 */
tokens_unpriced: number, 
/**
 * A turn's prompt, a call's answer, a tool's most telling argument: on this machine alone, and cut.
 */
text: string | null, };

export type SessionRef = { id: string, name: string, };

export type UsageDocument = { schema: number, 
/**
 * `day`, `model`, `project` or `session`.
 */
by: string, 
/**
 * The IANA name of the zone in which days are cut; `system` for the system's where it has no name, `Etc/Unknown` (which is
 * UTC) where that is not known.
 */
time_zone: string, rows: Array<UsageRow>, 
/**
 * What could not be read, and so is in no row nor in the totals: the same as in `agenthub sessions --json`.
 */
problems: Array<Problem>, totals: Totals, };

export type UsageRow = { 
/**
 * The day, the model's id, the folder or the session's id; `null` for "not known".
 */
key: string | null, 
/**
 * For people: the model's label, the session's name; else the key.
 */
label: string, calls: number, calls_without_usage: number, 
/**
 * Calls whose time is approximate.
 */
calls_approximate: number, tokens: Tokens | null, 
/**
 * As in a session.
 */
cost_usd: string | null, tokens_unpriced: number, };

export type UsageBy = "day" | "model" | "project" | "session";

export type UsageRange = "week" | "days30" | "days90" | "this_month" | "last_month" | "all" | "custom";

export type UsageMeasure = "cost" | "tokens";

export type UsageScreenQuery = { range: UsageRange, measure: UsageMeasure, 
/**
 * Of a `custom` range: the first day, such as `2026-11-01`.
 */
since: string | null, 
/**
 * The last day, included.
 */
until: string | null, };

export type UsageStep = "day" | "week" | "month";

export type UsageScreen = { 
/**
 * The IANA name of the zone in which days are cut.
 */
time_zone: string, 
/**
 * The first and the last day, `YYYY-MM-DD`; `null`: there is no call with a time.
 */
since: string | null, until: string | null, step: UsageStep, 
/**
 * Oldest first, without a gap: a day without calls is a bar without parts.
 */
bars: Array<UsageBar>, 
/**
 * Calls whose time is not known: in no bar, and in all sums of the range `all`.
 */
untimed: UsageRow | null, 
/**
 * The first in the measure first.
 */
models: Array<UsageModel>, projects: Array<UsageProject>, totals: Totals, 
/**
 * How many of the sessions in `totals` are sub-agents, which lists show inside the session that started them.
 */
subagents: number, 
/**
 * How much of the prompts came from the cache, in percent; `null` where nothing is known.
 */
cached_percent: number | null, };

export type UsageBar = { 
/**
 * Its last day.
 */
until: string, 
/**
 * In the order of `models`; what the colourless ones used is one part at the end.
 */
parts: Array<UsagePart>, 
/**
 * The day, the model's id, the folder or the session's id; `null` for "not known".
 */
key: string | null, 
/**
 * For people: the model's label, the session's name; else the key.
 */
label: string, calls: number, calls_without_usage: number, 
/**
 * Calls whose time is approximate.
 */
calls_approximate: number, tokens: Tokens | null, 
/**
 * As in a session.
 */
cost_usd: string | null, tokens_unpriced: number, };

export type UsagePart = { 
/**
 * Its place in `models`; `null`: all that have no colour.
 */
model: number | null, calls: number, 
/**
 * `null`: no call told its usage.
 */
tokens_total: number | null, cost_usd: string | null, 
/**
 * As in a session.
 */
tokens_unpriced: number, };

export type UsageModel = { 
/**
 * 1 to 5, the same for this model wherever it stands; `null` for those that are too many to tell apart.
 */
colour: number | null, 
/**
 * Its colour is another model's, too: drawn with stripes.
 */
striped: boolean, 
/**
 * The row that prices its calls of today; `null`: none.
 */
price_row: string | null, 
/**
 * Why there is no price, or not for which parts, and what to do; `null` when all is priced.
 */
hint: string | null, 
/**
 * The day, the model's id, the folder or the session's id; `null` for "not known".
 */
key: string | null, 
/**
 * For people: the model's label, the session's name; else the key.
 */
label: string, calls: number, calls_without_usage: number, 
/**
 * Calls whose time is approximate.
 */
calls_approximate: number, tokens: Tokens | null, 
/**
 * As in a session.
 */
cost_usd: string | null, tokens_unpriced: number, };

export type UsageProject = { 
/**
 * The folder as its owner knows it, `~` for the home folder.
 */
folder: string | null, 
/**
 * The day, the model's id, the folder or the session's id; `null` for "not known".
 */
key: string | null, 
/**
 * For people: the model's label, the session's name; else the key.
 */
label: string, calls: number, calls_without_usage: number, 
/**
 * Calls whose time is approximate.
 */
calls_approximate: number, tokens: Tokens | null, 
/**
 * As in a session.
 */
cost_usd: string | null, tokens_unpriced: number, };

export type ExportFormat = "csv" | "json";

export type Exported = { file: string, 
/**
 * The same as its owner knows it, `~` for the home folder.
 */
file_short: string, folder: string, rows: number, };

export type Level = "ok" | "note" | "warning" | "error";

export type Finding = { level: Level, code: string, 
/**
 * What it is about, in a few words.
 */
title: string, 
/**
 * What is so.
 */
message: string, 
/**
 * What to do about it; `null` only where all is well.
 */
advice: string | null, };

export type ProblemGroup = { 
/**
 * As `Problem::code`.
 */
code: string, 
/**
 * "12 files are no databases"
 */
message: string, advice: string, count: number, 
/**
 * The first few.
 */
files: Array<string>, };

export type DoctorDocument = { schema: number, version: string, agy_version: string | null, findings: Array<Finding>, lanes: Array<Lane>, 
/**
 * All of them, but what a finding says of the whole folder.
 */
problems: Array<Problem>, 
/**
 * The same by reason, the most first.
 */
problem_groups: Array<ProblemGroup>, counts: { [key in string]: number }, 
/**
 * What AgentHub cannot know, said openly.
 */
limits: Array<string>, };

export type Bundle = { schema: number, file: string, 
/**
 * The same as its owner knows it, `~` for the home folder.
 */
file_short: string, folder: string, 
/**
 * The names of what is in it.
 */
entries: Array<string>, };

export type TracksQuery = { since: string, 
/**
 * `null`: until now.
 */
until: string | null, 
/**
 * Ids; empty: all lanes of the board.
 */
lanes: Array<string>, };

export type Tracks = { since_ms: number, until_ms: number, 
/**
 * In the board's order.
 */
lanes: Array<LaneTrack>, };

export type LaneTrack = { lane_id: string, 
/**
 * By their beginnings. What is too close together to be told apart at this span is one.
 */
segments: Array<Segment>, 
/**
 * There is more than is told.
 */
cut: boolean, };

export type SegmentKind = "turn" | "held" | "tool" | "wait" | "error";

export type Segment = { kind: SegmentKind, from_ms: number, 
/**
 * `null`: it goes on.
 */
to_ms: number | null, 
/**
 * Whole seconds, from the transcript.
 */
approximate: boolean, };

export type HooksAction = "install" | "remove" | "undo";

export type DiffKind = "same" | "removed" | "added" | "place";

export type DiffLine = { kind: DiffKind, 
/**
 * Without its line end.
 */
text: string, };

export type HooksWarning = { 
/**
 * Closed list: `pre_tool_use`, `post_tool_use`, `flat_tool_entry`, `switched_on`, `foreign_forwarder`, `makes_folder`,
 * `no_program`: that would be refused.
 */
code: string, message: string, };

export type FileChange = "none" | "created" | "changed" | "removed";

export type HooksPlan = { schema: number, action: HooksAction, 
/**
 * To apply exactly this.
 */
token: string, file: string, 
/**
 * Where the file really is, when its path is a link.
 */
target: string | null, 
/**
 * The same as their owner knows them, `~` for the home folder.
 */
file_short: string, target_short: string | null, 
/**
 * `false`: everything is as it should be, and nothing is written.
 */
changes: boolean, 
/**
 * Whether they were made: `false` in a plan, and in a dry run.
 */
applied: boolean, 
/**
 * Of hooks.json; empty when only the forwarder changes.
 */
difference: Array<DiffLine>, forwarder: string, forwarder_short: string, forwarder_change: FileChange, 
/**
 * Of the script that agy starts; empty when it stays as it is.
 */
forwarder_difference: Array<DiffLine>, warnings: Array<HooksWarning>, };

export type HooksState = "not_installed" | "installed" | "switched_off" | "incomplete" | "stale_command" | "target_missing" | "foreign" | "unreadable";

export type HooksEventState = "installed" | "left_out" | "missing" | "stale" | "unwanted";

export type HooksEvent = { event: string, state: HooksEventState, last_at: string | null, };

export type HooksStatus = { schema: number, state: HooksState, message: string, advice: string | null, file: string, 
/**
 * Where the file really is, when its path is a link.
 */
target: string | null, 
/**
 * agy's configuration folder, in which both files stand.
 */
folder: string, 
/**
 * The same as their owner knows them, `~` for the home folder.
 */
file_short: string, target_short: string | null, forwarder: string, forwarder_short: string, program: string, events: Array<HooksEvent>, 
/**
 * `null`: no event was seen yet.
 */
last_event_at: string | null, 
/**
 * Other named hooks with `PreToolUse`, which can block agy.
 */
pre_tool_use: Array<string>, 
/**
 * Other named hooks with `PostToolUse`; agy was seen to run only one of two.
 */
post_tool_use: Array<string>, warnings: Array<HooksWarning>, 
/**
 * Why hooks.json can't be used as it is, or what has the place of our hook.
 */
error: ErrorView | null, can_undo: boolean, notes: Array<string>, };

export type PricingView = { schema: number, 
/**
 * What these numbers are, said openly: list prices, not a bill.
 */
note: string, table: PriceTable, 
/**
 * Every model that calls name, those without a price first, then the most used ones; and the names without a call yet
 * for which the person set something.
 */
models: Array<PricedModel>, 
/**
 * All rows of the table: what an alias can point to.
 */
rows: Array<PriceRow>, 
/**
 * Files that could not be read: what their calls name is not among the models.
 */
problems: Array<Problem>, };

export type PricingStatus = { schema: number, note: string, table: PriceTable, 
/**
 * Of the models that calls name.
 */
models_priced: number, models_unpriced: number, 
/**
 * Models with a price or an alias of the person's own.
 */
models_own: number, 
/**
 * What the sync that was just made changed; `null` when none was made.
 */
synced: PriceChanges | null, };

export type PriceTable = { origin: PriceOrigin, 
/**
 * For people: "LiteLLM 1.110.2".
 */
source: string, 
/**
 * The day of the table, `YYYY-MM-DD`.
 */
date: string, age_days: number, 
/**
 * The table is so old that new models and new prices are probably missing.
 */
stale: boolean, rows: number, 
/**
 * When it was last fetched; `null` for the table that shipped.
 */
synced_at: string | null, 
/**
 * Whether it is fetched once a week.
 */
weekly_sync: boolean, 
/**
 * The address that a sync asks.
 */
url: string, 
/**
 * Why the table that was fetched could not be used, so that the one that shipped is; `null` when all is well.
 */
problem: string | null, };

export type PriceOrigin = "shipped" | "synced";

export type PriceChanges = { added: number, changed: number, 
/**
 * Left out by the new table; their last prices stay.
 */
kept: number, };

export type PriceRow = { 
/**
 * LiteLLM's key, for example `gemini-3.1-pro-preview`.
 */
row: string, 
/**
 * The model that it prices.
 */
model: string, 
/**
 * LiteLLM's label, for example `vertex_ai-language-models`.
 */
label: string, rates: PriceRates, 
/**
 * Other rates for calls with long prompts, shortest first.
 */
long: Array<LongRates>, };

export type PriceRates = { input: string | null, cache_read: string | null, cache_write: string | null, output: string | null, };

export type LongRates = { 
/**
 * In tokens.
 */
above: number, rates: PriceRates, };

export type Vendor = "google" | "anthropic" | "openai" | "unknown";

export type PriceMatch = "exact" | "alias" | "effort" | "own" | "own_alias";

export type PricedModel = { 
/**
 * As in the other documents, and what `set_price` takes.
 */
model: string, model_label: string | null, model_enum: number, vendor: Vendor, calls: number, tokens: Tokens | null, 
/**
 * Exact decimal; `null`: no price, which is not zero.
 */
cost_usd: string | null, 
/**
 * Tokens of parts that have no rate.
 */
tokens_unpriced: number, 
/**
 * `null`: no price.
 */
price: ModelPrice | null, 
/**
 * What the person set; `null` when nothing.
 */
own: OwnPrice | null, 
/**
 * Why there is no price, or not for all parts, and what to do; `null` when all is priced.
 */
hint: string | null, };

export type ModelPrice = { 
/**
 * The row's key; `own:` and the model's name for a price of the person's own.
 */
row: string, by: PriceMatch, 
/**
 * From when it holds; `null`: from the beginning.
 */
since: string | null, rates: PriceRates, long: Array<LongRates>, 
/**
 * What held before, newest first.
 */
earlier: Array<EarlierPrice>, };

export type EarlierPrice = { row: string, since: string | null, until: string, rates: PriceRates, long: Array<LongRates>, };

export type OwnPrice = { 
/**
 * The model or row that prices it.
 */
alias: string | null, rates: PriceRates | null, };

export type Settings = { 
/**
 * Lanes stand on the board for so long after their last activity. 1 to 720.
 */
board_hours: number, 
/**
 * A session of which hooks tell counts as over after so much silence. 1 to 1440.
 */
quiet_minutes_with_hooks: number, 
/**
 * The same for a session that hooks never spoke of. 1 to 1440.
 */
quiet_minutes_without_hooks: number, 
/**
 * The IANA name of the zone in which days are cut; `null` takes the system's.
 */
time_zone: string | null, start_at_login: boolean, 
/**
 * Whether our own forwarder is brought up to date at each start, while the hook is installed.
 */
refresh_hooks: boolean, 
/**
 * Whether Lanes says what hooks bring while there are none. Dismissed there, it is `false`.
 */
hooks_hint: boolean, notifications: NotificationSettings, prices: PriceSettings, };

export type NotificationSettings = { 
/**
 * Nothing is shown or sounded; the tray goes on telling.
 */
do_not_disturb: boolean, 
/**
 * A turn is over, and it is the person's turn.
 */
ready: NoticeSwitch, waiting: NoticeSwitch, failed: NoticeSwitch, 
/**
 * agy went away in the middle of a turn.
 */
ended: NoticeSwitch, 
/**
 * Turns that end well after less than so many seconds are not announced. 0 to 86400.
 */
min_turn_s: number, quiet_hours: QuietHours, 
/**
 * Ids of lanes that are not announced. At most 1000.
 */
muted_lanes: Array<string>, };

export type NoticeSwitch = { on: boolean, sound: boolean, };

export type QuietHours = { on: boolean, 
/**
 * `HH:MM`, included.
 */
from: string, 
/**
 * `HH:MM`, excluded. The same as `from`: no quiet hours.
 */
to: string, };

export type PriceSettings = { 
/**
 * Whether the public price table is fetched once a week.
 */
weekly_sync: boolean, };

export type SettingsView = { schema: number, 
/**
 * `settings.json`, as the person knows it (`~` for the home folder).
 */
path: string, values: Settings, 
/**
 * Values in the file that cannot be; their defaults are in force.
 */
problems: Array<SettingProblem>, 
/**
 * What is wrong with the file as a whole; `null` when nothing is. Then all defaults are in force.
 */
file_problem: string | null, zone: ZoneView, };

export type SettingProblem = { 
/**
 * `notifications.min_turn_s`.
 */
key: string, 
/**
 * What it may be.
 */
message: string, };

export type ZoneView = { 
/**
 * Its IANA name; `system` for the system's where it has no name, `Etc/Unknown` (which is UTC) where that is not known.
 */
name: string, source: ZoneSource, 
/**
 * Why it is not the one that was asked for.
 */
problem: string | null, };

export type ZoneSource = "setting" | "system" | "fallback";

export type NoticeKind = "ready" | "ended" | "failed" | "waiting" | "several" | "test";

export type NoticeFate = "pending" | "shown" | "held" | "refused";

export type NoticePart = { kind: NoticeKind, lane_id: string | null, lane_name: string, session_id: string | null, session_name: string | null, 
/**
 * The tool that waits.
 */
tool: string | null, 
/**
 * What it wants to do, or why the turn failed.
 */
detail: string | null, duration_ms: number | null, 
/**
 * Of the turn; `null` where it is not known.
 */
tokens: number | null, 
/**
 * Exact decimal; `null` where there is no price.
 */
cost_usd: string | null, };

export type Notification = { id: number, at: string, 
/**
 * Grows when another thing is told with it, in the place of the one that is shown.
 */
round: number, kind: NoticeKind, urgent: boolean, sound: boolean, 
/**
 * "api-server is ready"
 */
title: string, 
/**
 * "3 min 12 s · 41 k tokens · $0.12"; empty when there is nothing to add.
 */
body: string, 
/**
 * Where a click leads: the lane that needs the person most.
 */
lane_id: string | null, session_id: string | null, parts: Array<NoticePart>, fate: NoticeFate, 
/**
 * Why it was not shown, in words.
 */
why: string | null, };

export type NotificationsDocument = { schema: number, do_not_disturb: boolean, 
/**
 * It is the person's quiet hours now.
 */
quiet_now: boolean, muted_lanes: Array<LaneName>, 
/**
 * So many are kept.
 */
kept: number, 
/**
 * Newest first.
 */
rows: Array<Notification>, };

export type TracingStatus = { schema: number, 
/**
 * Whether the person switched it on.
 */
enabled: boolean, 
/**
 * One sentence.
 */
message: string, advice: string | null, 
/**
 * Turns that ended before are not sent by themselves.
 */
since: string | null, hook: HooksStatus, destinations: Array<TracingDestination>, 
/**
 * OTLP JSON lines are appended to this file, too.
 */
file: string | null, 
/**
 * `none`, `email` or `hashed`.
 */
user: string, 
/**
 * Whether agy's logs name the signed-in person's address; `null` where it is not asked for.
 */
user_found: boolean | null, host_name: boolean, content: TracingContent, 
/**
 * Products by the folder of their conversations, with their switches; others are on.
 */
surfaces: { [key in string]: boolean }, 
/**
 * Conversations of which a turn is under way, held, or not yet sent.
 */
open_conversations: number, 
/**
 * What all queues together may hold; beyond it the oldest is dropped.
 */
most_waiting_bytes: number, 
/**
 * What is wrong in the settings, with what stands in for it.
 */
problems: Array<TracingProblem>, };

export type TracingProblem = { key: string, message: string, };

export type TracingContent = { prompts: boolean, answers: boolean, thinking: boolean, arguments: boolean, results: boolean, 
/**
 * Characters of one text.
 */
longest: number, };

export type TracingDestination = { id: string, preset: string, 
/**
 * The preset's, for people.
 */
name: string, enabled: boolean, 
/**
 * Without what is secret in it.
 */
endpoint: string, 
/**
 * Names only: values are never shown.
 */
headers: Array<string>, 
/**
 * By which Phoenix and Arize sort.
 */
project: string | null, 
/**
 * The attributes' names: `both`, `gen_ai` or `open_inference`.
 */
profiles: string, 
/**
 * What hinders it, found without the network.
 */
error: ErrorView | null, 
/**
 * What works, but is likely not meant.
 */
doubt: string | null, waiting_spans: number, waiting_bytes: number, oldest_at: string | null, sent_spans: number, 
/**
 * Of those that were sent, what the backend says it dropped.
 */
rejected_spans: number, 
/**
 * Not wanted by the backend; kept until the destination is changed, or too old.
 */
refused_spans: number, 
/**
 * Given up for age or space.
 */
dropped_spans: number, 
/**
 * Files in its queue that were none of ours, and were set aside.
 */
damaged: number, 
/**
 * Attempts in a row that did not go through.
 */
failures: number, 
/**
 * The newest request was not taken, be it a test.
 */
held_up: boolean, next_attempt_at: string | null, last: TracingAttempt | null, last_taken: TracingAttempt | null, };

export type TracingAttempt = { at: string, spans: number, 
/**
 * `taken`, `partly_taken`, `unavailable`, `failed`, `misdirected`, `too_large` or `refused`.
 */
fate: string, 
/**
 * `null`: no answer came.
 */
http_status: number | null, 
/**
 * The backend's own words, for people.
 */
message: string, rejected_spans: number, took_ms: number, };

export type TracingWish = { 
/**
 * `phoenix`, `arize`, `langfuse`, `honeycomb`, `jaeger`, `grafana`, `collector` or `atatus`.
 */
preset: string | null, 
/**
 * A destination by its own name; `null`: the one with this endpoint, else the only one of this preset, else a new one.
 */
destination: string | null, 
/**
 * A new one, whatever is there.
 */
add: boolean, 
/**
 * `null`: as it is; of a new one the preset's own, where it has one.
 */
endpoint: string | null, 
/**
 * `name: value`.
 */
headers: Array<string>, 
/**
 * `none`, `email` or `hashed`; `null` leaves it as it is.
 */
user: string | null, project: string | null, 
/**
 * Of the plan that was shown: another one is not carried out.
 */
token: string | null, };

export type TracingPatch = { enabled: boolean | null, 
/**
 * `none`, `email` or `hashed`.
 */
user: string | null, host_name: boolean | null, content: TracingContentPatch, 
/**
 * By the folders of products.
 */
surfaces: { [key in string]: boolean }, 
/**
 * A whole path, or empty to write no file.
 */
file: string | null, destination: TracingDestinationPatch | null, };

export type TracingContentPatch = { prompts: boolean | null, answers: boolean | null, thinking: boolean | null, arguments: boolean | null, results: boolean | null, longest: number | null, };

export type TracingDestinationPatch = { id: string, 
/**
 * With its headers and what waits for it.
 */
remove: boolean, enabled: boolean | null, endpoint: string | null, 
/**
 * `name: value`; others stay, unless the endpoint leads to another server.
 */
headers: Array<string>, 
/**
 * Empty takes it away.
 */
project: string | null, profiles: string | null, };

export type TracingSaved = { notes: Array<string>, };

export type TracingScreen = { 
/**
 * The products that share agy's hooks, each with its switch.
 */
products: Array<TracingSurface>, presets: Array<TracingPreset>, schema: number, 
/**
 * Whether the person switched it on.
 */
enabled: boolean, 
/**
 * One sentence.
 */
message: string, advice: string | null, 
/**
 * Turns that ended before are not sent by themselves.
 */
since: string | null, hook: HooksStatus, destinations: Array<TracingDestination>, 
/**
 * OTLP JSON lines are appended to this file, too.
 */
file: string | null, 
/**
 * `none`, `email` or `hashed`.
 */
user: string, 
/**
 * Whether agy's logs name the signed-in person's address; `null` where it is not asked for.
 */
user_found: boolean | null, host_name: boolean, content: TracingContent, 
/**
 * Products by the folder of their conversations, with their switches; others are on.
 */
surfaces: { [key in string]: boolean }, 
/**
 * Conversations of which a turn is under way, held, or not yet sent.
 */
open_conversations: number, 
/**
 * What all queues together may hold; beyond it the oldest is dropped.
 */
most_waiting_bytes: number, 
/**
 * What is wrong in the settings, with what stands in for it.
 */
problems: Array<TracingProblem>, };

export type TracingSurface = { folder: string, 
/**
 * For people.
 */
name: string, on: boolean, };

export type TracingPreset = { id: string, name: string, 
/**
 * `null`: only the person's account tells it.
 */
endpoint: string | null, 
/**
 * What an address of theirs looks like, or where it stands.
 */
hint: string, headers: Array<TracingHeader>, 
/**
 * It shows a project's name.
 */
sorts_by_project: boolean, };

export type TracingHeader = { name: string, 
/**
 * What to write, with the part to fill in in capitals.
 */
value: string, needed: boolean, };

export type TracingChange = { schema: number, 
/**
 * The hook.
 */
plan: HooksPlan, 
/**
 * The destination that was added or changed.
 */
destination: string | null, 
/**
 * For people: what else is changed, and what to know.
 */
notes: Array<string>, 
/**
 * `false` in a dry run.
 */
applied: boolean, };

export type TracingTests = { schema: number, 
/**
 * Whether every destination took it.
 */
ok: boolean, tests: Array<TracingTest>, };

export type TracingTest = { destination: string, endpoint: string, 
/**
 * To look for it in the backend; `null` when nothing could be sent.
 */
trace_id: string | null, attempt: TracingAttempt, };

export type TracingExport = { schema: number, 
/**
 * The session that was sent: of a sub-agent, the one at its root.
 */
session: string, turns: number, spans: number, 
/**
 * Whether every destination that is switched on took all of it; `true` in a dry run.
 */
ok: boolean, 
/**
 * How each destination stands afterwards; empty in a dry run.
 */
destinations: Array<TracingDestination>, 
/**
 * OTLP JSON, in a dry run only.
 */
requests: unknown[], };

export type ErrorView = { 
/**
 * Closed list: `not_found`, `unreadable` (a session whose file can't be read), `bad_request`, `bad_settings`, `store`,
 * `store_damaged`, `io`, `other_engine`, `internal`; of a price sync `sync_unreachable`, `sync_timeout`, `sync_redirect`, `sync_status`, `sync_not_prices`, `sync_short`,
 * `sync_too_large`; and of the hooks' installer
 * `EBADJSON`, `EBADSHAPE`, `EFOREIGN`, `ECHANGED`, `ENOTAFILE`, `EREADONLY`, `ENOTOURS`, `ETOOBIG`, `ELOOP`, `ENOSPACE`.
 */
code: string, message: string, };
