//! A JSON object as text: a merge patch (RFC 7386) changes what it names, and every other value keeps its very text.
//!
//! Parsed values would not do: numbers that we don't know the meaning of would lose digits, and keys their order.

use serde::{
    Deserialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

/// Settings lie no deeper; what does is not looked into for values that can be read.
const DEEPEST: usize = 8;

/// The members of an object in their order, each value as it is written. Of a key that stands twice the last one counts,
/// as for every other reader.
#[derive(Default)]
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Members, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.set(&key, value);
                }
                Ok(members)
            }
        }
        from.deserialize_map(Object)
    }
}

impl Members {
    fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| &**v)
    }

    fn set(&mut self, key: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    fn remove(&mut self, key: &str) {
        self.0.retain(|(k, _)| k != key);
    }

    /// Two spaces a level, `depth` levels in.
    fn text(&self, depth: usize) -> serde_json::Result<String> {
        if self.0.is_empty() {
            return Ok("{}".to_owned());
        }
        let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        let members: serde_json::Result<Vec<String>> = self
            .0
            .iter()
            .map(|(k, v)| Ok(format!("{inner}{}: {}", serde_json::to_string(k)?, v.get())))
            .collect();
        Ok(format!("{{\n{}\n{outer}}}", members?.join(",\n")))
    }
}

/// The text of an object after a merge patch; `text` that is no object counts as an empty one, as the RFC has it.
///
/// # Errors
/// Never for a patch that came from JSON.
pub(super) fn merged(text: &str, patch: &Map<String, Value>) -> serde_json::Result<String> {
    merged_at(text, patch, 0)
}

// As deep as the patch, which serde_json has bounded.
fn merged_at(text: &str, patch: &Map<String, Value>, depth: usize) -> serde_json::Result<String> {
    let mut members: Members = serde_json::from_str(text).unwrap_or_default();
    for (key, value) in patch {
        let new = match value {
            Value::Null => {
                members.remove(key);
                continue;
            }
            Value::Object(patch) => {
                let old = members.get(key).map_or("{}", RawValue::get);
                merged_at(old, patch, depth + 1)?
            }
            value => serde_json::to_string(value)?,
        };
        members.set(key, RawValue::from_string(new)?);
    }
    members.text(depth)
}

/// The values of an object. A number that no program could hold (`1e400`) stands as its text, and is judged as such: a bad
/// value costs no more than itself.
///
/// # Errors
/// When the text is no object.
pub(super) fn values(text: &str) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_str(text).or_else(|_| values_one_by_one(text, 0))
}

fn values_one_by_one(text: &str, depth: usize) -> serde_json::Result<Map<String, Value>> {
    let members: Members = serde_json::from_str(text)?;
    Ok(members.0.into_iter().map(|(key, value)| (key, value_of(value.get(), depth + 1))).collect())
}

fn value_of(text: &str, depth: usize) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let inside = if depth < DEEPEST { values_one_by_one(text, depth).ok() } else { None };
    inside.map_or_else(|| Value::String(text.to_owned()), Value::Object)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn merge(text: &str, patch: &Value) -> String {
        merged(text, patch.as_object().unwrap()).unwrap()
    }

    #[test]
    fn p3_what_a_patch_does_not_name_keeps_its_text_and_place() {
        let old = "{\"z\": 1.50, \"later\": {\"big\": 123456789012345678901234567890, \"e\": 1e400},\n\"on\": true}";
        assert_eq!(
            merge(old, &json!({"on": false, "new": {"a": 1, "b": null}, "later": {"x": []}})),
            "{\n  \"z\": 1.50,\n  \"later\": {\n    \"big\": 123456789012345678901234567890,\n    \"e\": 1e400,\n    \
             \"x\": []\n  },\n  \"on\": false,\n  \"new\": {\n    \"a\": 1\n  }\n}"
        );
        assert_eq!(merge("{\"a\": 1, \"a\": 2}", &json!({})), "{\n  \"a\": 2\n}");
        assert_eq!(merge("[]", &json!({"a": 1})), "{\n  \"a\": 1\n}");
        assert_eq!(merge("{\"a\": {\"b\": 1}}", &json!({"a": {"b": null}})), "{\n  \"a\": {}\n}");
    }

    /// RFC 7386, section 2, as it is written there.
    fn by_the_rfc(target: Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else { return patch.clone() };
        let mut target = match target {
            Value::Object(o) => o,
            _ => Map::new(),
        };
        for (key, value) in patch {
            if value.is_null() {
                target.remove(key);
            } else {
                let old = target.remove(key).unwrap_or_default();
                target.insert(key.clone(), by_the_rfc(old, value));
            }
        }
        Value::Object(target)
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn p3_merging_is_that_of_the_rfc(target in any_json(), patch in any_json()) {
            let Value::Object(members) = &patch else { return Ok(()) };
            let text = merged(&target.to_string(), members).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), by_the_rfc(target, &patch));
        }
    }
}
