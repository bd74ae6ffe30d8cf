//! What an edit leaves as it was: everything else (H2).

use proptest::prelude::*;

use super::*;

fn hook() -> NamedHook {
    NamedHook::agenthub("/home/ada/.gemini/config/agenthub-hook.sh".into())
}

fn installed(before: &str) -> String {
    String::from_utf8(install(Some(before.as_bytes()), &hook()).unwrap().new.unwrap()).unwrap()
}

fn removed(before: &str) -> String {
    String::from_utf8(remove(Some(before.as_bytes()), &hook()).unwrap().new.unwrap()).unwrap()
}

#[test]
fn h1_a_new_file_has_the_three_events_and_nothing_more() {
    let edit = install(None, &hook()).unwrap();
    assert!(edit.changed && !edit.empty && edit.warnings.is_empty());
    assert_eq!(
        String::from_utf8(edit.new.unwrap()).unwrap(),
        r#"{
  "agenthub": {
    "PreInvocation": [{ "type": "command", "command": "'/home/ada/.gemini/config/agenthub-hook.sh' PreInvocation", "timeout": 5 }],
    "PostToolUse": [{ "matcher": "*", "hooks": [{ "type": "command", "command": "'/home/ada/.gemini/config/agenthub-hook.sh' PostToolUse", "timeout": 5 }] }],
    "Stop": [{ "type": "command", "command": "'/home/ada/.gemini/config/agenthub-hook.sh' Stop", "timeout": 5 }]
  }
}
"#
    );
}

#[test]
fn h1_an_old_pre_tool_use_of_ours_goes_at_a_refresh() {
    let old = r#"{"agenthub": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "/old/agenthub-hook.sh PreToolUse"}]}]}, "z": {}}"#;
    let new = installed(old);
    assert!(!new.contains("PreToolUse") && !new.contains("/old/"), "{new}");
    assert!(new.ends_with(r#", "z": {}}"#));
    assert_eq!(removed(&new), r#"{ "z": {}}"#);
}

#[test]
fn h1_post_tool_use_is_left_out_beside_another_one() {
    let others = r#"{"lint": {"PostToolUse": [{"matcher": "*", "hooks": [{"command": "lint"}]}]}}"#;
    let edit = install(Some(others.as_bytes()), &hook()).unwrap();
    assert_eq!(String::from_utf8(edit.new.unwrap()).unwrap().matches("PostToolUse").count(), 1);
    assert_eq!(edit.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), ["post_tool_use"]);
    // When it is gone, a refresh brings ours.
    let alone = installed(others).replace("PostToolUse", "Later");
    assert!(installed(&alone).contains("PostToolUse"));
}

#[test]
fn h5_another_pre_tool_use_is_a_warning_and_no_hindrance() {
    let others = r#"{"guard": {"PreToolUse": [{"matcher": "*", "hooks": [{"command": "guard"}]}]}}"#;
    let edit = install(Some(others.as_bytes()), &hook()).unwrap();
    assert!(edit.changed);
    assert_eq!(edit.warnings[0].code, "pre_tool_use");
    assert!(edit.warnings[0].message.contains("`guard`"));
}

#[test]
fn h2_what_is_current_is_not_written_again() {
    for before in ["{}", "{\"a\":{}}", "{\r\n\t\"a\": {}\r\n}\r\n"] {
        let once = installed(before);
        let again = install(Some(once.as_bytes()), &hook()).unwrap();
        assert!(!again.changed && again.new.as_deref() == Some(once.as_bytes()), "{before:?}");
    }
    // In another layout it is still current.
    let compact = installed("{}").replace(['\n'], "").replace("  ", "");
    assert!(!install(Some(compact.as_bytes()), &hook()).unwrap().changed);
}

#[test]
fn h2_a_refresh_changes_its_own_value_only() {
    let before = "{\n\t\"agenthub\" : {\"Stop\": [{\"command\": \"/old/agenthub-hook.sh Stop\"}], \"enabled\": false} ,\n\t\"b\": { \"n\": 1.50 }\n}";
    let edit = install(Some(before.as_bytes()), &hook()).unwrap();
    let new = String::from_utf8(edit.new.unwrap()).unwrap();
    assert!(new.starts_with("{\n\t\"agenthub\" : {\n\t\t\"PreInvocation\""), "{new}");
    assert!(new.ends_with("\n\t} ,\n\t\"b\": { \"n\": 1.50 }\n}"), "{new}");
    assert_eq!(edit.warnings[0].code, "switched_on");
}

#[test]
fn h2_duplicates_of_ours_become_one_and_none() {
    let one = r#""agenthub": {"Stop": [{"command": "/o/agenthub-hook.sh Stop"}]}"#;
    let again = one.replace("\"agenthub\"", "\"\\u0061genthub\"");
    let many = format!(r#"{{{one}, "a": {{}}, {one}, {again}, "b": {{}}, {one}}}"#);
    let refreshed = installed(&many);
    assert_eq!(refreshed.matches("agenthub\"").count(), 1, "{refreshed}");
    assert_eq!(removed(&many), r#"{ "a": {}, "b": {}}"#);
    assert_eq!(removed(&refreshed), r#"{ "a": {}, "b": {}}"#);
    let all = format!(
        r#"{{{}}}"#,
        vec![r#""agenthub":{"Stop":[{"command":"agenthub-hook.sh"}]}"#; 15_000].join(",")
    );
    assert_eq!(removed(&all), "{}");
}

#[test]
fn h4_a_hook_of_our_name_that_is_not_ours_stays() {
    for text in [
        r#"{"agenthub": {"Stop": [{"command": "beep"}]}}"#,
        r#"{"agenthub": {"x": 1}}"#,
        r#"{"agenthub": {}}"#,
        r#"{"agenthub": {"Stop": []}}"#,
    ] {
        assert_eq!(install(Some(text.as_bytes()), &hook()).unwrap_err().code, Code::Foreign, "{text}");
        assert_eq!(remove(Some(text.as_bytes()), &hook()).unwrap_err().code, Code::Foreign, "{text}");
    }
    assert_eq!(install(Some(br#"{"agenthub": 7}"#), &hook()).unwrap_err().code, Code::BadShape);
    assert_eq!(remove(Some(br#"{"agenthub": 7}"#), &hook()).unwrap_err().code, Code::Foreign);
}

#[test]
fn h3_a_file_that_breaks_the_rules_is_cleaned_but_not_added_to() {
    let ours = installed("{}");
    let broken = ours.replacen('{', r#"{"bad": [],"#, 1);
    assert_eq!(install(Some(broken.as_bytes()), &hook()).unwrap_err().code, Code::BadShape);
    assert_eq!(removed(&broken).matches("agenthub").count(), 0);
}

#[test]
fn h3_a_file_is_not_made_too_big() {
    let big = format!(r#"{{"a": {{"note": "{}"}}}}"#, "x".repeat(MOST_BYTES - 100));
    assert_eq!(install(Some(big.as_bytes()), &hook()).unwrap_err().code, Code::TooBig);
}

#[test]
fn h2_the_layout_is_the_files_own() {
    assert!(installed("{\"a\":{}}").ends_with("\"timeout\":5}]}}"));
    assert!(installed("{\"a\":{}}").starts_with("{\"a\":{},\"agenthub\":{\"PreInvocation\":[{\"type\""));
    assert!(installed("{\r\n    \"a\": {}\r\n}").contains(",\r\n    \"agenthub\": {\r\n        \"Pre"));
    assert!(installed("{\n\n\n\t\"a\": {}\n}\n").contains("{},\n\t\"agenthub\": {\n\t\t\"Pre"));
}

#[test]
fn h2_an_entry_that_somebody_added_behind_ours_keeps_its_indentation() {
    for before in ["{}\n", "{\n}\n", "{ }", "{\r\n}"] {
        let ours = installed(before);
        let end = Document::parse(ours.as_bytes()).unwrap().members[0].value.at.end;
        let (head, tail) = ours.split_at(end);
        let after = removed(&format!("{head} ,\n\t\t\"lint\" : {{}}{tail}"));
        assert_eq!(after, format!("{{ \n\t\t\"lint\" : {{}}{tail}"), "{before:?}");
    }
}

/// White space as no formatter would leave it.
fn space() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("\n  ".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[ \t\r\n]{0,6}",
    ]
}

fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-zA-Z ,:{}\\[\\]]{0,6}",
        1 => Just("\\ud800".to_owned()),
        1 => Just("\\u0041".to_owned()),
        1 => Just("\\\"".to_owned()),
        1 => Just("\\\\".to_owned()),
        1 => Just("é漢🙂".to_owned()),
        1 => Just("\u{2028}".to_owned()),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

/// Any JSON value, as text.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        string(),
        prop::sample::select(vec![
            "1e2",
            "1.50",
            "-0",
            "1E+400",
            "12345678901234567890",
            "true",
            "false",
            "null"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            (prop::collection::vec((space(), inner.clone(), space()), 0..4), space()).prop_map(
                |(items, empty)| {
                    let items: Vec<_> = items.into_iter().map(|(a, v, b)| format!("{a}{v}{b}")).collect();
                    if items.is_empty() { format!("[{empty}]") } else { format!("[{}]", items.join(",")) }
                }
            ),
            object(inner),
        ]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (space(), string(), space(), space(), value, space());
    (prop::collection::vec(member, 0..4), space()).prop_map(|(members, empty)| {
        let members: Vec<_> =
            members.into_iter().map(|(a, k, b, c, v, d)| format!("{a}{k}{b}:{c}{v}{d}")).collect();
        if members.is_empty() { format!("{{{empty}}}") } else { format!("{{{}}}", members.join(",")) }
    })
}

/// A hooks.json that agy reads: named hooks with whatever agy ignores in them, and handlers.
fn hooks_json() -> impl Strategy<Value = String> {
    let handlers = prop::sample::select(vec![
        r#""Stop": [{"command": "beep", "timeout": 3}]"#,
        r#""\ud800": "\udfff", "PostToolUse" :[ {"matcher":"*","hooks":[]} ]"#,
        r#""PreToolUse" :[ {"matcher":"*","hooks":[]} ]"#,
        r#""posttooluse":[{"hooks":[{"type":"command","command":"x"}]}]"#,
        "\"PostToolUse\":\r\n[]",
    ]);
    // A name that is none of agy's, with any value.
    let ignored = (space(), value(), space()).prop_map(|(a, v, b)| format!("\"x-more\"{a}:{v}{b}"));
    let member = prop_oneof![handlers.prop_map(str::to_owned), ignored];
    let hook = (prop::collection::vec(member, 0..3), space()).prop_map(|(members, s)| {
        if members.is_empty() {
            format!("{{{s}}}")
        } else {
            format!("{{{s}{}}}", members.join(&format!(",{s}")))
        }
    });
    let name = prop_oneof![string(), Just("\"same\"".to_owned())];
    let entry = (space(), name, space(), space(), hook, space());
    (space(), prop::collection::vec(entry, 0..4), space(), space()).prop_map(
        |(lead, entries, inner, tail)| {
            let entries: Vec<_> =
                entries.into_iter().map(|(a, k, b, c, v, d)| format!("{a}{k}{b}:{c}{v}{d}")).collect();
            let inside = if entries.is_empty() { inner } else { entries.join(",") };
            format!("{lead}{{{inside}}}{tail}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn h2_install_then_remove_gives_the_original_bytes(before in hooks_json()) {
        let after = installed(&before);
        prop_assert!(after.contains("\"agenthub\""));
        prop_assert_eq!(removed(&after), before);
    }

    #[test]
    fn h2_whatever_else_is_there_keeps_its_bytes(before in hooks_json(), by in 0usize..40) {
        // Ours somewhere else than where an installation puts it: taken away, installed, moved to the front.
        let after = installed(&before);
        let again = installed(&after);
        prop_assert_eq!(&again, &after);
        let stale = after.replace("/home/ada/", &format!("/elsewhere/{by}/"));
        prop_assert_eq!(&removed(&stale), &before);
        prop_assert_eq!(&removed(&installed(&stale)), &before);
    }

    #[test]
    fn h2_what_somebody_wrote_since_keeps_its_bytes(
        before in hooks_json(),
        at in any::<prop::sample::Index>(),
        behind in any::<bool>(),
        (a, b, c, d) in (space(), space(), space(), space()),
        value in value(),
    ) {
        let (foreign, comma) = (format!("\"since\"{c}:{d}{value}"), ",");
        let edit = |text: &str, nth: usize, behind: bool, comma: &str| {
            let members = Document::parse(text.as_bytes()).unwrap().members;
            let (mut text, m) = (text.to_owned(), &members[nth]);
            if behind {
                text.insert_str(m.value.at.end, &format!("{a}{comma}{b}{foreign}"));
            } else {
                text.insert_str(m.key.start, &format!("{foreign}{a}{comma}{b}"));
            }
            text
        };
        let after = installed(&before);
        let (count, new) = (
            Document::parse(before.as_bytes()).unwrap().members.len(),
            Document::parse(after.as_bytes()).unwrap(),
        );
        let nth = at.index(count + 1);
        let ours = &new.members[count];
        let is = removed(&edit(&after, nth, behind, comma));
        let should = if nth < count {
            edit(&before, nth, behind, comma)
        } else if !behind {
            // Before ours: its neighbour's comma was there, the white space behind its own was ours.
            let kept = format!("{}{foreign}{a}", &after[..ours.key.start]);
            format!("{kept}{}", &after[ours.value.at.end..])
        } else if count == 0 {
            format!("{}{a}{b}{foreign}{}", &after[..=new.at.start], &after[ours.value.at.end..])
        } else {
            edit(&before, count - 1, true, comma)
        };
        prop_assert_eq!(is, should);
    }

    #[test]
    fn q1_any_bytes_are_edited_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), text in value()) {
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            let _ = install(Some(bytes), &hook());
            let _ = remove(Some(bytes), &hook());
            let _ = crate::hooks::report(Some(bytes), &hook());
        }
    }
}
