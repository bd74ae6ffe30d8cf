//! What is wrong with a value of `settings.json`, in words for whoever wrote it: what must stand there, and what does.
//!
//! serde knows both, in its own words ("invalid type: string, expected u32"), which nobody has to understand.

use serde_json::Value;

/// So many characters of what somebody wrote are repeated.
const LONGEST: usize = 40;

/// What serde says of `value`, for people: "it must be a whole number, and is \"ten\"".
pub(crate) fn refused(e: &serde_json::Error, value: &Value) -> String {
    let said = e.to_string();
    // Whatever is no list where one stands is about its entries.
    let is_of_each = value.is_array() && !said.starts_with("invalid type: sequence");
    match wanted(&said) {
        Some(wanted) if is_of_each => format!("each entry of the list must be {wanted}"),
        Some(wanted) => must_be(wanted, value),
        None => match said.strip_prefix("missing field ") {
            Some(name) => format!("it lacks {name}"),
            None => said.trim_end_matches('.').to_owned(),
        },
    }
}

/// What must stand in the place of `value`, and that it does not.
pub(crate) fn must_be(wanted: &str, value: &Value) -> String {
    let is = if value.is_array() && wanted.starts_with("a list") {
        "another one".to_owned()
    } else {
        shown(value)
    };
    format!("it must be {wanted}, and is {is}")
}

/// Whether a whole number was wanted.
pub(super) fn is_about_a_whole_number(e: &serde_json::Error) -> bool {
    e.to_string().rsplit_once(", expected ").is_some_and(|(_, kind)| is_whole(kind))
}

fn is_whole(kind: &str) -> bool {
    matches!(kind, "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize")
}

/// What serde expected; `None` where it complains of something else.
fn wanted(said: &str) -> Option<&str> {
    // What somebody wrote stands before, and may hold anything.
    let (_, kind) = said.rsplit_once(", expected ")?;
    Some(match kind {
        kind if is_whole(kind) => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list, `[…]`",
        "a map" => "an object, `{…}`",
        "path string" => "a path in double quotes",
        // A word of a list, where something else than a word stands.
        "a string" | "string or map" => "text in double quotes",
        kind if kind.starts_with("struct ") => "an object, `{…}`",
        // The words themselves: "one of `a`, `b`".
        kind => kind,
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > LONGEST => {
            format!("\"{}…\"", text.chars().take(LONGEST).collect::<String>().escape_debug())
        }
        // A name or a number, as it stands in the file.
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use serde::{Deserialize, de::DeserializeOwned};
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two,
        Three,
    }

    #[derive(Debug, Deserialize)]
    struct Section {
        #[serde(rename = "needed")]
        _needed: bool,
    }

    fn told<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> String {
        refused(&serde_json::from_value::<T>(value.clone()).unwrap_err(), &value)
    }

    /// serde's own words may change with its versions: then this fails, and nobody reads them unawares.
    #[test]
    fn p3_no_word_of_a_parser_reaches_anybody() {
        let all = [
            (told::<u32>(json!("ten")), "it must be a whole number, and is \"ten\""),
            (told::<u32>(json!(-1)), "it must be a whole number, and is -1"),
            (told::<u32>(json!(1.5)), "it must be a whole number, and is 1.5"),
            (told::<u8>(json!(256)), "it must be a whole number, and is 256"),
            (told::<u64>(json!(null)), "it must be a whole number, and is null"),
            (told::<f64>(json!([])), "it must be a number, and is a list"),
            (
                told::<bool>(json!("yes, expected u32")),
                "it must be `true` or `false`, and is \"yes, expected u32\"",
            ),
            (told::<bool>(json!({"a": 1})), "it must be `true` or `false`, and is an object"),
            (told::<String>(json!(7)), "it must be text in double quotes, and is 7"),
            (told::<Option<String>>(json!(7)), "it must be text in double quotes, and is 7"),
            (told::<PathBuf>(json!(7)), "it must be a path in double quotes, and is 7"),
            (told::<Vec<String>>(json!("a")), "it must be a list, `[…]`, and is \"a\""),
            (told::<Vec<String>>(json!(["a", 1])), "each entry of the list must be text in double quotes"),
            (told::<BTreeMap<String, bool>>(json!(true)), "it must be an object, `{…}`, and is true"),
            (told::<Section>(json!(7)), "it must be an object, `{…}`, and is 7"),
            (told::<Section>(json!({})), "it lacks `needed`"),
            (told::<Word>(json!("four")), "it must be one of `one`, `two`, `three`, and is \"four\""),
            (told::<Word>(json!(4)), "it must be text in double quotes, and is 4"),
        ];
        for (told, wanted) in all {
            assert_eq!(told, wanted);
        }
        let long = told::<u32>(json!("x\n".repeat(5_000)));
        assert!(long.chars().count() < 150 && !long.contains('\n'), "{long}");
        assert!(matches!(serde_json::from_value(json!("one")), Ok(Word::One)));
        let others = [Word::Two, Word::Three];
        assert_eq!(others.len(), 2);
    }
}
