//! `settings.json` as people and programs leave it.

use proptest::prelude::*;
use serde_json::json;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    file: SettingsFile,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        Place { file: SettingsFile::new(&dir.path().join("config")), dir }
    }

    fn with(text: &[u8]) -> Place {
        let p = Place::new();
        p.put(text);
        p
    }

    fn put(&self, text: &[u8]) {
        fs::create_dir_all(self.file.path.parent().unwrap()).unwrap();
        fs::write(&self.file.path, text).unwrap();
    }

    /// As if nobody had written it for a minute.
    fn rested(self) -> Place {
        let file = fs::File::options().write(true).open(&self.file.path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        self
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file.path).unwrap()
    }

    fn aside(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.file.path.parent().unwrap()).unwrap().map(|e| e.unwrap().path());
        all.filter(|p| p.file_name().unwrap().to_str().unwrap().starts_with(BROKEN)).collect()
    }
}

fn keys(r: &Reading) -> Vec<&str> {
    r.problems.iter().map(|p| p.key.as_str()).collect()
}

#[test]
fn p3_a_slip_of_the_hand_is_said_in_plain_words_with_its_place() {
    for (text, said) in [
        (
            "{\n  \"board_hours\": 4,\n}\n",
            "line 3, column 1: there is a comma after the last entry; take it out",
        ),
        (
            "{\n  // mine\n  \"board_hours\": 4\n}\n",
            "line 2, column 3: comments are not allowed; take this one out",
        ),
        ("[]", "the whole must be one object, `{…}`"),
        ("", "line 1, column 1: it is empty"),
        ("{\"start_at_login\": tru}", "`true`, `false` and `null`"),
        ("{\"start_at_login\": yes}", "a value must stand here"),
        ("{\"time_zone\": 'UTC'}", "text between double quotes"),
        ("{\"time_zone\" \"UTC\"}", "a colon must stand here"),
        ("{\"board_hours\": 4 \"time_zone\": null}", "a comma must stand here, or the `}`"),
        ("{\"notifications\": {\"muted_lanes\": [1 2]}}", "a comma must stand here, or the `]`"),
        ("{time_zone: null}", "a name must stand here, between double quotes"),
        ("{} {}", "something stands behind the end"),
        ("{\"board_hours\": 04}", "no number"),
        ("{\"time_zone\": \"a\nb\"}", "goes over the end of its line"),
        (r#"{"time_zone": "C:\Users"}"#, "a backslash itself is written `\\\\`"),
    ] {
        let p = Place::with(text.as_bytes());
        for r in [p.file.read(), p.rested().file.read()] {
            let why = r.file_problem.unwrap_or_default();
            assert!(why.contains(said) && why.contains("Correct it"), "{text:?}: {why}");
        }
    }
}

#[test]
fn p3_no_file_is_all_defaults_and_no_complaint() {
    let p = Place::new();
    let r = p.file.read();
    assert_eq!((r.values.clone(), r.notes()), (Settings::default(), Vec::new()));
    assert!(!p.file.path.exists(), "reading makes no file");
    // And every default may be set.
    Settings::default().check().unwrap();
}

#[test]
fn p3_a_bad_value_costs_no_more_than_itself() {
    let text = json!({
        "board_hours": 0, "quiet_minutes_with_hooks": "ten", "quiet_minutes_without_hooks": 5,
        "time_zone": "Mars/Olympus", "start_at_login": 1, "refresh_hooks": null,
        "hooks_hint": "never",
        "notifications": {
            "do_not_disturb": true, "ready": {"on": false, "sound": "loud"}, "waiting": [],
            "min_turn_s": 86_401, "quiet_hours": {"on": true, "from": "25:00", "to": "7:30"},
            "muted_lanes": ["a", 1], "unknown": 1
        },
        "prices": {"weekly_sync": 1.5}, "tracing": {"on": true}, "mine": [1, 2]
    })
    .to_string();
    let p = Place::with(text.as_bytes());
    let r = p.file.read();
    let mut bad = keys(&r);
    bad.sort_unstable();
    assert_eq!(
        bad,
        [
            "board_hours",
            "hooks_hint",
            "notifications.min_turn_s",
            "notifications.muted_lanes",
            "notifications.quiet_hours.from",
            "notifications.quiet_hours.to",
            "notifications.ready.sound",
            "notifications.waiting",
            "prices.weekly_sync",
            "quiet_minutes_with_hooks",
            "refresh_hooks",
            "start_at_login",
            "time_zone",
        ]
    );
    let mut right = Settings { quiet_minutes_without_hooks: 5, ..Settings::default() };
    right.notifications.do_not_disturb = true;
    right.notifications.ready.on = false;
    right.notifications.quiet_hours.on = true;
    assert_eq!(r.values, right);
    assert_eq!(p.text(), text, "the file is not rewritten because of it");
    assert_eq!(r.notes().iter().map(|n| n.code.as_str()).collect::<Vec<_>>(), ["settings_bad"]);
    let said = |key: &str| r.problems.iter().find(|p| p.key == key).unwrap().message.as_str();
    for (key, words) in [
        ("board_hours", "it must be a whole number from 1 to 720, and is 0"),
        ("quiet_minutes_with_hooks", "it must be a whole number from 1 to 1440, and is \"ten\""),
        ("start_at_login", "it must be `true` or `false`, and is 1"),
        ("refresh_hooks", "it must be `true` or `false`, and is null"),
        ("notifications.ready.sound", "it must be `true` or `false`, and is \"loud\""),
        ("notifications.waiting", "it must be an object, `{…}`, and is a list"),
        ("notifications.min_turn_s", "it must be a whole number from 0 to 86400, and is 86401"),
        ("notifications.quiet_hours.from", "it must be a time of day such as `22:00`, and is \"25:00\""),
        ("notifications.muted_lanes", "each entry of the list must be text in double quotes"),
        ("prices.weekly_sync", "it must be `true` or `false`, and is 1.5"),
    ] {
        assert_eq!(said(key), words, "{key}");
    }
    assert!(
        said("time_zone").starts_with("it must be the IANA name of a time zone"),
        "{}",
        said("time_zone")
    );
}

#[test]
fn p3_a_number_that_nothing_can_hold_costs_no_more_than_itself() {
    let text = r#"{"board_hours": 1e400, "quiet_minutes_without_hooks": 5, "mine": [1e999],
        "notifications": {"do_not_disturb": true, "min_turn_s": -1e400}}"#;
    let p = Place::with(text.as_bytes());
    let r = p.file.read();
    assert_eq!(r.file_problem, None);
    assert_eq!(keys(&r), ["board_hours", "notifications.min_turn_s"]);
    assert_eq!((r.values.quiet_minutes_without_hooks, r.values.notifications.do_not_disturb), (5, true));
    p.file.merge(&json!({"board_hours": 3})).unwrap();
    assert!(p.text().contains("[1e999]") && p.text().contains("-1e400"), "{}", p.text());
    assert_eq!(keys(&p.file.read()), ["notifications.min_turn_s"]);
    // As deep as a megabyte can be, it is judged and nothing else.
    let deep = format!("{}1e400{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let p = Place::with(deep.as_bytes());
    assert_eq!(p.file.read().values, Settings::default());
}

#[test]
fn p3_a_file_that_does_not_parse_is_kept_aside_and_said() {
    for text in [&b"{\"board_hours\": 3"[..], b"[]", b"", b"\xff\xfe", b"{} // mine", &[b' '; (1 << 20) + 1]]
    {
        let p = Place::with(text).rested();
        for _ in 0..2 {
            let r = p.file.read();
            assert_eq!(r.values, Settings::default());
            assert!(r.file_problem.as_ref().is_some_and(|m| m.contains(BROKEN)), "{r:?}");
            assert!(!p.file.path.exists());
            let said = r.notes();
            assert_eq!(said.iter().map(|n| n.code.as_str()).collect::<Vec<_>>(), ["settings_reset"]);
            assert!(said[0].message.ends_with(NAME_IT_BACK), "{said:?}");
        }
        assert_eq!(fs::read(&p.aside()[0]).unwrap(), text);
        // Once there are settings again, nothing is said; the old file stays.
        p.file.merge(&json!({"board_hours": 3})).unwrap();
        let r = p.file.read();
        assert_eq!((r.values.board_hours, r.notes(), p.aside().len()), (3, Vec::new(), 1));
    }
}

#[test]
fn p3_a_file_that_is_being_written_is_left_alone_until_it_rests() {
    let p = Place::with(b"{\"board_hours\": ");
    let r = p.file.read();
    assert!(r.file_problem.is_some() && p.file.path.exists() && p.file.has_changed_since(&r));
    let said = r.notes();
    assert_eq!(said.iter().map(|n| n.code.as_str()).collect::<Vec<_>>(), ["settings_unreadable"]);
    assert!(said[0].message.ends_with(CORRECT_IT) && !said[0].message.contains("kept"), "{said:?}");
    p.put(b"{\"board_hours\": 4}");
    let r = p.file.read();
    assert_eq!((r.values.board_hours, r.file_problem.clone()), (4, None));
    assert!(!p.file.has_changed_since(&r));
}

#[test]
fn p3_what_is_no_file_is_said_and_never_moved() {
    let p = Place::new();
    fs::create_dir_all(&p.file.path).unwrap();
    let r = p.file.read();
    assert!(r.file_problem.as_ref().is_some_and(|m| m.contains("not a plain file")), "{r:?}");
    assert_eq!(p.file.merge(&json!({"board_hours": 3})).unwrap_err().code, "io");
    assert!(p.file.path.is_dir());
}

#[test]
fn p3_a_patch_sets_what_it_names_or_nothing() {
    let old = "{\"mine\": 1.50, \"board_hours\": 12, \"prices\": {\"weekly_sync\": \"often\"}}";
    let p = Place::with(old.as_bytes());
    for (patch, key) in [
        (json!({"board_hours": 721}), "`board_hours`"),
        (json!({"board_hours": 5, "notifications": {"min_turn_s": -1}}), "`notifications.min_turn_s`"),
        (json!({"notifications": {"min_turns": 1}}), "`notifications.min_turns`"),
        (json!({"colour": "red"}), "`colour`"),
        (json!({"time_zone": "Berlin"}), "`time_zone`"),
        (json!({"notifications": 5}), "`notifications`"),
        (json!({"prices": {"weekly_sync": "often"}}), "`prices.weekly_sync`"),
        (json!([]), "object"),
    ] {
        let e = p.file.merge(&patch).unwrap_err();
        assert!(e.code == "bad_settings" && e.message.contains(key), "{patch}: {e:?}");
        assert_eq!(p.text(), old, "{patch}");
    }
    // What was bad before hinders nobody.
    p.file
        .merge(&json!({"board_hours": null, "notifications": {"min_turn_s": 30}, "tracing": {"on": true}}))
        .unwrap();
    assert_eq!(
        p.text(),
        "{\n  \"mine\": 1.50,\n  \"prices\": {\"weekly_sync\": \"often\"},\n  \"notifications\": {\n    \"min_turn_s\": 30\n  \
         },\n  \"tracing\": {\n    \"on\": true\n  }\n}\n"
    );
    let r = p.file.read();
    assert_eq!(
        (r.values.board_hours, r.values.notifications.min_turn_s, keys(&r)),
        (8, 30, vec!["prices.weekly_sync"])
    );
}

#[test]
fn p3_many_writers_lose_nothing() {
    let p = Place::new();
    std::thread::scope(|s| {
        for n in 0..8 {
            let file = &p.file;
            s.spawn(move || {
                for _ in 0..20 {
                    file.merge(&json!({"tracing": {n.to_string(): n}})).unwrap();
                    let r = file.read();
                    assert_eq!(r.file_problem, None);
                }
            });
        }
    });
    let all: Value = serde_json::from_str(&p.text()).unwrap();
    assert_eq!(all["tracing"].as_object().unwrap().len(), 8);
    assert!(p.aside().is_empty());
}

#[cfg(unix)]
#[test]
fn p3_a_link_and_a_mode_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let p = Place::with(b"{}");
    let dotfile = p.dir.path().join("dotfiles.json");
    fs::rename(&p.file.path, &dotfile).unwrap();
    fs::set_permissions(&dotfile, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&dotfile, &p.file.path).unwrap();
    p.file.merge(&json!({"board_hours": 3})).unwrap();
    assert!(p.file.path.is_symlink());
    assert_eq!(fs::metadata(&dotfile).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(p.file.read().values.board_hours, 3);
    // A link into nothing is followed, too.
    fs::remove_file(&dotfile).unwrap();
    p.file.merge(&json!({"board_hours": 4})).unwrap();
    assert!(p.file.path.is_symlink() && dotfile.is_file());
}

#[test]
fn l4_windows_are_the_persons_where_they_said_so() {
    let given = Windows { board_ms: 7, quiet_ms: 8, hook_quiet_ms: 9, ..Windows::default() };
    assert_eq!(Settings::default().windows(given), given);
    assert_eq!(Settings::default().windows(Windows::default()), Windows::default());
    let mine = Settings { board_hours: 1, quiet_minutes_without_hooks: 3, ..Settings::default() };
    assert_eq!(mine.windows(given), Windows { board_ms: 3_600_000, quiet_ms: 180_000, ..given });
}

#[test]
fn s8_a_time_of_day_is_two_digits_each() {
    assert_eq!(time_of_day("23:59"), Some(civil::time(23, 59, 0, 0)));
    for bad in ["", "7:30", "24:00", "12:60", "12:3", "+1:00", "12:00:00", "é2:00", "12-00"] {
        assert_eq!(time_of_day(bad), None, "{bad}");
    }
}

#[test]
fn s8_a_zone_is_named_by_what_it_is() {
    for (zone, name) in [
        (TimeZone::get("Asia/Kathmandu").unwrap(), "Asia/Kathmandu"),
        (TimeZone::UTC, "UTC"),
        (TimeZone::fixed(jiff::tz::offset(-3)), "system"),
        (TimeZone::unknown(), "Etc/Unknown"),
    ] {
        assert_eq!(name_of(&zone), name);
    }
    let mine = Settings { time_zone: Some("Europe/Berlin".to_owned()), ..Settings::default() };
    assert_eq!(
        Zone::of(&mine).view(),
        ZoneView { name: "Europe/Berlin".into(), source: ZoneSource::Setting, problem: None }
    );
}

/// JSON that is near to what the settings are, and JSON that is not.
fn nonsense() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        "[a-z_]{0,6}",
        prop::sample::select(vec![
            "board_hours",
            "time_zone",
            "notifications",
            "ready",
            "on",
            "min_turn_s",
            "quiet_hours",
            "from",
            "to",
            "muted_lanes",
            "prices",
            "weekly_sync",
            "do_not_disturb",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..30u32).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["Europe/Berlin", "22:00", "99:99"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn p3_whatever_stands_there_gives_settings_that_may_be(value in nonsense()) {
        let object = value.as_object().cloned().unwrap_or_default();
        let (values, problems) = judge(&object);
        prop_assert_eq!(values.check(), Ok(()));
        // Read once more, as they are written by us, they are the same, and nothing is wrong with them.
        let written = serde_json::to_value(&values).unwrap();
        prop_assert_eq!(judge(written.as_object().unwrap()), (values, Vec::new()));
        for p in problems {
            prop_assert!(names(&object, &p.key), "{} is not in the file", p.key);
        }
    }

    #[test]
    fn q1_any_bytes_and_any_patch_leave_a_whole_file_or_the_old_one(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..64),
            nonsense().prop_map(|v| v.to_string().into_bytes()),
        ],
        patch in nonsense(),
    ) {
        let p = Place::with(&bytes);
        match p.file.merge(&patch) {
            Ok(()) => {
                let after: Value = serde_json::from_str(&p.text()).unwrap();
                prop_assert!(after.is_object());
                // What the patch set is in force, whatever stood beside it.
                let (_, problems) = judge(after.as_object().unwrap());
                for q in problems {
                    prop_assert!(!names(patch.as_object().unwrap(), &q.key), "{}", q.key);
                }
                let kept = p.aside().iter().any(|a| fs::read(a).unwrap() == bytes);
                let parsed = serde_json::from_slice::<Map<String, Value>>(&bytes);
                prop_assert!(kept || parsed.is_ok(), "the old bytes are gone");
            }
            Err(e) => {
                prop_assert!(e.code == "bad_settings", "{e:?}");
                let found = std::iter::once(p.file.path.clone()).chain(p.aside());
                prop_assert!(found.take(1).filter_map(|f| fs::read(f).ok()).any(|b| b == bytes));
            }
        }
    }
}
