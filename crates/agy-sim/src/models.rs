//! The models that simulated conversations use, with the strings that agy writes for them.

/// One model as agy knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The number in usage field 1; 1000+N is `MODEL_PLACEHOLDER_MN`.
    pub number: u32,
    /// `response_model`.
    pub response_model: &'static str,
    /// `model_display_name`; empty for models that agy never shows.
    pub label: &'static str,
    /// `api_provider` in current versions (1.0.10 wrote 24 for all of Google's).
    pub provider: u32,
    /// `max_context_tokens`.
    pub context: u32,
}

const fn model(
    number: u32,
    response_model: &'static str,
    label: &'static str,
    provider: u32,
    context: u32,
) -> Model {
    Model { number, response_model, label, provider, context }
}

/// The small model of title and summary calls.
pub const BACKGROUND: u32 = 1050;

/// Every model that the simulator knows.
pub const MODELS: &[Model] = &[
    model(1016, "gemini-pro-default", "Gemini 3.1 Pro (High)", 3, 1_048_576),
    model(1036, "gemini-pro-default", "Gemini 3.1 Pro (Low)", 3, 1_048_576),
    model(1298, "gemini-3.7-flash", "Gemini 3.7 Flash (High)", 3, 1_048_576),
    model(1318, "gemini-3.8-flash-high", "Gemini 3.8 Flash (High)", 3, 1_048_576),
    model(1319, "gemini-3.8-flash-medium", "Gemini 3.8 Flash (Medium)", 3, 1_048_576),
    model(1132, "gemini-3-flash-agent", "Gemini 3.5 Flash (High)", 3, 1_048_576),
    model(1026, "claude-opus-4-6-thinking", "Claude Opus 4.6 (Thinking)", 26, 200_000),
    model(1035, "claude-sonnet-4-6", "Claude Sonnet 4.6 (Thinking)", 26, 200_000),
    model(342, "gpt-oss-120b-medium", "GPT-OSS 120B (Medium)", 31, 131_072),
    model(1411, "gemini-4-preview-exp", "Gemini 4 Preview (High)", 30, 2_097_152),
    model(BACKGROUND, "gemini-2.5-flash-lite", "", 3, 1_048_576),
];

/// What agy would write for this number; numbers without an entry get strings made from the number.
pub fn lookup(number: u32) -> Model {
    MODELS.iter().copied().find(|m| m.number == number).unwrap_or(model(
        number,
        "gemini-default",
        "",
        3,
        1_048_576,
    ))
}

/// The enum's name as agy writes it into a row's map.
pub(crate) fn enum_name(number: u32) -> String {
    match number.checked_sub(1000) {
        Some(placeholder) => format!("MODEL_PLACEHOLDER_M{placeholder}"),
        None => "MODEL_OPENAI_GPT_OSS_120B_MEDIUM".to_owned(),
    }
}
