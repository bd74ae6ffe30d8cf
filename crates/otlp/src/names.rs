//! Every name that an attribute of ours has, in one table: a rename by a standard is one line here. OpenTelemetry's
//! conventions for generative AI are still in development; `docs/tracing.md` lists the same rows, and a test holds it to.

use crate::{CacheWriteName, Profiles};

/// Where a name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// OpenTelemetry's GenAI conventions.
    GenAi,
    OpenInference,
    /// Of OpenTelemetry's general conventions, or ours: there in every profile.
    Always,
}

/// What is said, whatever it is called; in the table's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Field {
    Operation,
    Kind,
    Conversation,
    Session,
    User,
    AgentName,
    AgentId,
    Provider,
    System,
    Hosting,
    ModelName,
    RequestModel,
    ResponseModel,
    ModelLabel,
    ResponseId,
    FinishReasons,
    FinishReason,
    PromptTokens,
    OutputTokens,
    TotalTokens,
    CacheRead,
    CacheWrite,
    Thinking,
    CostPrompt,
    CostInput,
    CostCacheRead,
    CostCacheWrite,
    CostOutput,
    CostOutputDetail,
    CostTotal,
    Usage,
    Price,
    CallKind,
    ToolName,
    ToolCallId,
    ToolType,
    ErrorType,
    TurnEnd,
    Execution,
    Incomplete,
    FromTranscript,
    Approximate,
    Tags,
    Metadata,
    OutputRole,
    OutputToolId,
    OutputToolName,
    OutputToolArguments,
    InputMessages,
    OutputMessages,
    InputRole,
    InputContent,
    OutputContent,
    ThinkingText,
    ToolArguments,
    ToolResult,
    InputKind,
    InputValue,
    OutputKind,
    OutputValue,
    Truncated,
}

const FIELDS: usize = Field::Truncated as usize + 1;

/// A row of the table: what it is called, on which spans it stands, in what unit, and what it says.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub(crate) field: Field,
    pub origin: Origin,
    pub name: &'static str,
    pub on: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
}

const fn row(
    field: Field,
    origin: Origin,
    name: &'static str,
    on: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Row {
    Row { field, origin, name, on, unit, meaning }
}

/// What `gen_ai.usage.cache_write.input_tokens` was until lately.
const CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";

/// All attributes of spans, in the order in which they are sent.
#[rustfmt::skip]
pub const TABLE: &[Row] = {
    use Field as F;
    use Origin::{Always, GenAi, OpenInference};
    &[
        row(F::Operation, GenAi, "gen_ai.operation.name", "turn, call, tool", "word", "`invoke_agent`, `chat` or `execute_tool`"),
        row(F::Kind, OpenInference, "openinference.span.kind", "turn, call, tool", "word", "`AGENT`, `LLM` or `TOOL`"),
        row(F::Conversation, GenAi, "gen_ai.conversation.id", "turn, call", "UUID", "agy's conversation; a sub-agent has its own"),
        row(F::Session, OpenInference, "session.id", "turn, call, tool", "UUID", "the conversation of the whole trace"),
        row(F::User, Always, "user.id", "turn", "text", "who is signed in to agy, where the person chose to send it"),
        row(F::AgentName, GenAi, "gen_ai.agent.name", "turn", "text", "`antigravity`, or the sub-agent's type"),
        row(F::AgentName, OpenInference, "agent.name", "turn", "text", "the same"),
        row(F::AgentId, GenAi, "gen_ai.agent.id", "turn", "text", "the name once more: agy gives its agents no other id"),
        row(F::Provider, GenAi, "gen_ai.provider.name", "turn, call", "word", "`gcp.gen_ai`, or `gcp.gemini` or `gcp.vertex_ai` where agy says which"),
        row(F::System, OpenInference, "llm.system", "call", "word", "`vertexai`"),
        row(F::Hosting, OpenInference, "llm.provider", "call", "word", "`google`"),
        row(F::ModelName, OpenInference, "llm.model_name", "call", "text", "the model that answered, else the one that was asked for"),
        row(F::RequestModel, GenAi, "gen_ai.request.model", "turn, call", "text", "the model that was asked for, else the one that answered"),
        row(F::RequestModel, OpenInference, "llm.request.model_name", "call", "text", "the same"),
        row(F::ResponseModel, GenAi, "gen_ai.response.model", "call", "text", "the model that answered"),
        row(F::ResponseModel, OpenInference, "llm.response.model_name", "call", "text", "the same"),
        row(F::ModelLabel, Always, "agenthub.model.label", "call", "text", "the model's name for people, such as `Gemini 3.1 Pro (High)`"),
        row(F::ResponseId, GenAi, "gen_ai.response.id", "call", "text", "agy's id of the answer"),
        row(F::FinishReasons, GenAi, "gen_ai.response.finish_reasons", "call", "list of words", "why the answer ended, such as `stop`"),
        row(F::FinishReason, OpenInference, "llm.finish_reason", "call", "word", "the same"),
        row(F::PromptTokens, GenAi, "gen_ai.usage.input_tokens", "call", "tokens", "the whole prompt, cached tokens included"),
        row(F::PromptTokens, OpenInference, "llm.token_count.prompt", "call", "tokens", "the same"),
        row(F::OutputTokens, GenAi, "gen_ai.usage.output_tokens", "call", "tokens", "the whole answer, thinking included"),
        row(F::OutputTokens, OpenInference, "llm.token_count.completion", "call", "tokens", "the same"),
        row(F::TotalTokens, OpenInference, "llm.token_count.total", "call", "tokens", "prompt and answer"),
        row(F::CacheRead, GenAi, "gen_ai.usage.cache_read.input_tokens", "call", "tokens", "of the prompt, read from the cache"),
        row(F::CacheRead, OpenInference, "llm.token_count.prompt_details.cache_read", "call", "tokens", "the same"),
        row(F::CacheWrite, GenAi, "gen_ai.usage.cache_write.input_tokens", "call", "tokens", "of the prompt, written to the cache; `gen_ai.usage.cache_creation.input_tokens` by a setting"),
        row(F::CacheWrite, OpenInference, "llm.token_count.prompt_details.cache_write", "call", "tokens", "the same"),
        row(F::Thinking, GenAi, "gen_ai.usage.reasoning.output_tokens", "call", "tokens", "of the answer, thinking"),
        row(F::Thinking, OpenInference, "llm.token_count.completion_details.reasoning", "call", "tokens", "the same"),
        row(F::CostPrompt, OpenInference, "llm.cost.prompt", "call", "US dollars", "all priced parts of the prompt"),
        row(F::CostInput, OpenInference, "llm.cost.prompt_details.input", "call", "US dollars", "its tokens outside of the cache"),
        row(F::CostCacheRead, OpenInference, "llm.cost.prompt_details.cache_read", "call", "US dollars", "its tokens from the cache"),
        row(F::CostCacheWrite, OpenInference, "llm.cost.prompt_details.cache_write", "call", "US dollars", "its tokens into the cache"),
        row(F::CostOutput, OpenInference, "llm.cost.completion", "call", "US dollars", "the answer, thinking included"),
        row(F::CostOutputDetail, OpenInference, "llm.cost.completion_details.output", "call", "US dollars", "the answer once more: thinking has no rate of its own"),
        row(F::CostTotal, OpenInference, "llm.cost.total", "call", "US dollars", "all priced parts, at list prices"),
        row(F::CostTotal, Always, "agenthub.cost.total", "call", "US dollars", "all priced parts once more, for backends that know no `llm.cost`"),
        row(F::Usage, Always, "agenthub.usage", "call", "word", "`known`, or `unknown`: then no token counts are sent at all"),
        row(F::Price, Always, "agenthub.price", "call", "word", "`complete`, `partial` or `missing`, of calls with known usage"),
        row(F::CallKind, Always, "agenthub.call.kind", "call", "word", "`turn`, or `background` for agy's own titles and summaries"),
        row(F::ToolName, GenAi, "gen_ai.tool.name", "tool", "text", "such as `run_command`"),
        row(F::ToolName, OpenInference, "tool.name", "tool", "text", "the same"),
        row(F::ToolCallId, GenAi, "gen_ai.tool.call.id", "tool", "text", "agy's id of the tool call"),
        row(F::ToolCallId, OpenInference, "tool.id", "tool", "text", "the same"),
        row(F::ToolType, GenAi, "gen_ai.tool.type", "tool", "word", "`function`"),
        row(F::ErrorType, Always, "error.type", "turn, call, tool", "word", "how it failed, such as `error`, `canceled`, `denied`; absent when it did not"),
        row(F::TurnEnd, Always, "agenthub.turn.finish_reason", "turn", "word", "agy's word for how the turn ended"),
        row(F::Execution, Always, "agenthub.turn.execution", "turn", "UUID", "agy's id of the turn's first execution"),
        row(F::Incomplete, Always, "agenthub.turn.incomplete", "turn", "true", "sent before its end, after half an hour of silence"),
        row(F::FromTranscript, Always, "agenthub.turn.from_transcript", "turn", "true", "agy's database could not be read: whole seconds, no tokens"),
        row(F::Approximate, Always, "agenthub.time.approximate", "turn, call, tool", "true", "start or end are not exact"),
        row(F::Tags, OpenInference, "tag.tags", "turn", "list of text", "the product, such as `antigravity-cli`"),
        row(F::Metadata, OpenInference, "metadata", "turn", "JSON", "the turn's own attributes once more, where OpenInference looks for them"),
        // What a person or a model wrote comes last, so that a span that is too large loses it first.
        row(F::OutputRole, OpenInference, "llm.output_messages.0.message.role", "call", "word", "`assistant`"),
        row(F::OutputToolId, OpenInference, "llm.output_messages.0.message.tool_calls.N.tool_call.id", "call", "text", "of each tool that the answer asked for"),
        row(F::OutputToolName, OpenInference, "llm.output_messages.0.message.tool_calls.N.tool_call.function.name", "call", "text", "its name"),
        row(F::OutputToolArguments, OpenInference, "llm.output_messages.0.message.tool_calls.N.tool_call.function.arguments", "call", "JSON", "its arguments (switch: tool arguments)"),
        row(F::InputMessages, GenAi, "gen_ai.input.messages", "turn, call", "JSON", "the prompt (switch: prompts)"),
        row(F::OutputMessages, GenAi, "gen_ai.output.messages", "turn, call", "JSON", "the answer (switches: answers, thinking, tool arguments)"),
        row(F::InputRole, OpenInference, "llm.input_messages.0.message.role", "call", "word", "`user`"),
        row(F::InputContent, OpenInference, "llm.input_messages.0.message.content", "call", "text", "the prompt (switch: prompts)"),
        row(F::OutputContent, OpenInference, "llm.output_messages.0.message.content", "call", "text", "the answer (switch: answers)"),
        row(F::ThinkingText, Always, "agenthub.call.thinking", "call", "text", "the thinking (switch: thinking)"),
        row(F::ToolArguments, GenAi, "gen_ai.tool.call.arguments", "tool", "JSON", "(switch: tool arguments)"),
        row(F::ToolArguments, OpenInference, "tool.parameters", "tool", "JSON", "the same"),
        row(F::ToolResult, GenAi, "gen_ai.tool.call.result", "tool", "text", "(switch: tool results)"),
        row(F::InputKind, OpenInference, "input.mime_type", "turn, tool", "MIME type", "`text/plain` or `application/json`"),
        row(F::InputValue, OpenInference, "input.value", "turn, tool", "text", "the prompt, or the tool's arguments (by their switches)"),
        row(F::OutputKind, OpenInference, "output.mime_type", "turn, tool", "MIME type", "`text/plain`"),
        row(F::OutputValue, OpenInference, "output.value", "turn, tool", "text", "the answer, or the tool's result (by their switches)"),
        row(F::Truncated, Always, "agenthub.truncated", "turn, call, tool", "true", "the span was larger than a request may be: its longest texts are cut"),
    ]
};

/// Attributes of the resource: whose spans these are.
pub const RESOURCE: &[(&str, &str)] = &[
    (SERVICE_NAME, "`antigravity`"),
    (SERVICE_VERSION, "agy's version, where a log or file of its tells it"),
    (DISTRO_NAME, "`agenthub`"),
    (DISTRO_VERSION, "AgentHub's version"),
    (
        SURFACE,
        "the product: `antigravity-cli`, or the folder's name of the IDE, the extension or the desktop app",
    ),
    (HOST_NAME, "this machine's name, only where that is switched on"),
    (PROJECT_NAME, "the destination's project, where one is set: Phoenix and Arize sort by it"),
];
pub(crate) const SERVICE_NAME: &str = "service.name";
pub(crate) const SERVICE_VERSION: &str = "service.version";
pub(crate) const DISTRO_NAME: &str = "telemetry.distro.name";
pub(crate) const DISTRO_VERSION: &str = "telemetry.distro.version";
pub(crate) const SURFACE: &str = "agenthub.surface";
pub(crate) const HOST_NAME: &str = "host.name";
pub(crate) const PROJECT_NAME: &str = "openinference.project.name";

/// The names that a destination wants, by field.
#[derive(Clone, Debug)]
pub(crate) struct Names([Vec<&'static str>; FIELDS]);

impl Names {
    pub(crate) fn new(profiles: Profiles, cache_write: CacheWriteName) -> Names {
        let mut names = [const { Vec::new() }; FIELDS];
        for row in TABLE {
            let wanted = match row.origin {
                Origin::GenAi => profiles.gen_ai(),
                Origin::OpenInference => profiles.open_inference(),
                Origin::Always => true,
            };
            let old = cache_write == CacheWriteName::CacheCreation
                && row.field == Field::CacheWrite
                && row.origin == Origin::GenAi;
            if let Some(of_field) = names.get_mut(row.field as usize).filter(|_| wanted) {
                of_field.push(if old { CACHE_CREATION } else { row.name });
            }
        }
        Names(names)
    }

    pub(crate) fn of(&self, field: Field) -> &[&'static str] {
        self.0.get(field as usize).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn r5_every_name_stands_once_and_every_field_has_one() {
        let names: BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TABLE.len());
        let fields: BTreeSet<_> = TABLE.iter().map(|row| row.field as u8).collect();
        assert_eq!(fields.len(), FIELDS);
        assert!(TABLE.is_sorted_by_key(|row| row.field), "fields are in the table's order: content last");
        for row in TABLE {
            assert!(!row.unit.is_empty() && !row.meaning.is_empty() && !row.on.is_empty(), "{}", row.name);
        }
    }

    /// user-reports 106: some backends know only the name from before.
    #[test]
    fn u106_the_cache_write_name_is_a_setting() {
        let names = |profiles, name| Names::new(profiles, name).of(Field::CacheWrite).to_vec();
        let (new, old) = (CacheWriteName::CacheWrite, CacheWriteName::CacheCreation);
        let open_inference = "llm.token_count.prompt_details.cache_write";
        assert_eq!(names(Profiles::Both, new), ["gen_ai.usage.cache_write.input_tokens", open_inference]);
        assert_eq!(names(Profiles::Both, old), [CACHE_CREATION, open_inference]);
        assert_eq!(names(Profiles::GenAi, old), [CACHE_CREATION]);
        assert_eq!(names(Profiles::OpenInference, old), [open_inference]);
    }
}
