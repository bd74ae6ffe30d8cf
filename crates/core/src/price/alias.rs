//! What agy calls a model, and what its price row is called: a reviewed list, and nothing that guesses (spec M3).
//!
//! Each name stands here because it was seen in agy's data or in the sources that agy-format §8 lists. A name that is
//! not here has no price until the person gives it one.

/// Names of the backend that route, or leave out a part, and the model that answers.
const IDS: &[(&str, &str)] = &[
    ("gemini-pro-default", "gemini-3.1-pro-preview"),
    ("gemini-pro-agent", "gemini-3.1-pro-preview"),
    ("gemini-3.1-pro", "gemini-3.1-pro-preview"),
    ("gemini-3-flash-a", "gemini-3.5-flash"),
    ("gemini-3-flash-b", "gemini-3.5-flash"),
    ("gemini-3-flash-agent", "gemini-3.5-flash"),
    ("gemini-3-flash-agent-a", "gemini-3.5-flash"),
    ("gemini-3-flash-agent-b", "gemini-3.5-flash"),
    ("gemini-3-flash-c", "gemini-3-flash-preview"),
    ("gemini-3-flash", "gemini-3-flash-preview"),
    ("gpt-oss-120b", "openai/gpt-oss-120b-maas"),
];

/// agy's labels without their effort, and the model.
const LABELS: &[(&str, &str)] = &[
    ("Gemini 3.8 Flash", "gemini-3.8-flash"),
    ("Gemini 3.7 Flash", "gemini-3.7-flash"),
    ("Gemini 3.6 Flash", "gemini-3.6-flash"),
    ("Gemini 3.5 Flash", "gemini-3.5-flash"),
    ("Gemini 3 Flash", "gemini-3-flash-preview"),
    ("Gemini 3.1 Pro", "gemini-3.1-pro-preview"),
    ("Gemini 2.5 Pro", "gemini-2.5-pro"),
    ("Gemini 2.5 Flash", "gemini-2.5-flash"),
    ("Gemini 2.5 Flash-Lite", "gemini-2.5-flash-lite"),
    ("Claude Opus 4.6", "claude-opus-4-6"),
    ("Claude Sonnet 4.6", "claude-sonnet-4-6"),
    ("Claude Sonnet 4.5", "claude-sonnet-4-5"),
    ("Claude Haiku 4.5", "claude-haiku-4-5"),
    ("GPT-OSS 120B", "openai/gpt-oss-120b-maas"),
];

/// How hard a model thinks is part of its id and label, and not of its price. Longer ones first.
const ID_EFFORTS: [&str; 7] = ["-extra-low", "-minimal", "-medium", "-thinking", "-tiered", "-high", "-low"];
const LABEL_EFFORTS: [&str; 6] =
    [" (Extra Low)", " (Minimal)", " (Medium)", " (Thinking)", " (High)", " (Low)"];

fn find(list: &'static [(&str, &'static str)], name: &str) -> Option<&'static str> {
    list.iter().find(|(n, _)| *n == name).map(|(_, model)| *model)
}

/// The model that the reviewed list gives for a backend's name.
pub fn of_id(id: &str) -> Option<&'static str> {
    find(IDS, id)
}

pub(super) fn of_label(label: &str) -> Option<&'static str> {
    find(LABELS, label).or_else(|| find(LABELS, without_effort_label(label)?))
}

/// The id without its effort suffix, if it has one.
pub fn without_effort(id: &str) -> Option<&str> {
    ID_EFFORTS.iter().find_map(|e| id.strip_suffix(e)).filter(|id| !id.is_empty())
}

/// The label without its effort, if it has one.
pub fn without_effort_label(label: &str) -> Option<&str> {
    LABEL_EFFORTS.iter().find_map(|e| label.strip_suffix(e)).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3_the_list_names_no_model_twice_and_leads_nowhere_else() {
        for list in [IDS, LABELS] {
            for (n, (name, model)) in list.iter().enumerate() {
                assert!(list.iter().skip(n + 1).all(|(other, _)| other != name), "{name} twice");
                assert!(of_id(model).is_none(), "{name} leads to {model}, which leads on");
            }
        }
        // Nothing leads to a sibling.
        for sibling in ["-lite", "-cyber", "-image", "-tts", "-live"] {
            for (name, model) in IDS.iter().chain(LABELS) {
                let named = name.to_lowercase().contains(sibling);
                assert_eq!(model.contains(sibling), named, "{name} leads to {model}");
            }
        }
    }

    #[test]
    fn m3_only_an_effort_is_taken_off() {
        assert_eq!(without_effort("gemini-3.8-flash-high"), Some("gemini-3.8-flash"));
        assert_eq!(without_effort("gemini-3.5-flash-extra-low"), Some("gemini-3.5-flash"));
        assert_eq!(without_effort("claude-opus-4-6-thinking"), Some("claude-opus-4-6"));
        for id in ["gemini-3.8-flash", "gemini-3.8-flash-lite", "gemini-3.8-flash-cyber", "-high", "high"] {
            assert_eq!(without_effort(id), None, "{id}");
        }
        assert_eq!(of_label("Claude Sonnet 4.6 (Thinking)"), Some("claude-sonnet-4-6"));
        assert_eq!(of_label("Gemini 3.8 Flash (Cyber)"), None);
        assert_eq!(of_label("Gemini 3.8 Flash-Lite"), None);
    }
}
