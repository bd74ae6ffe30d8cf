//! Whole homes, whose right numbers agy-sim knows: every trap, and every bad file.

use std::collections::BTreeMap;

use agy_sim::{BadFile, Call, Conversation, Turn, WorldSpec, build};
use serde_json::Value;

use crate::rig::{Rig, usd, uuid};

fn number(v: &Value, key: &str) -> u64 {
    v[key].as_u64().unwrap_or_else(|| panic!("`{key}` is no number in {v}"))
}

/// Compares a `sessions --json` document with the truth, session by session.
#[track_caller]
fn agrees(doc: &Value, truth: &agy_sim::Truth) {
    let told: BTreeMap<&str, &Value> =
        doc["sessions"].as_array().unwrap().iter().map(|s| (s["id"].as_str().unwrap(), s)).collect();
    let mut wrong = Vec::new();
    for (id, right) in &truth.sessions {
        let Some(s) = told.get(id.as_str()) else {
            wrong.push(format!("{id} is not listed"));
            continue;
        };
        let mut expect = |what: &str, told: String, right: String| {
            if told != right {
                wrong.push(format!("{id} {what}: told {told}, right {right}"));
            }
        };
        let text = |v: &Value| v.as_str().unwrap_or("null").to_owned();
        let or_null = |v: &Option<String>| v.clone().unwrap_or_else(|| "null".to_owned());
        expect("name", text(&s["name"]), right.name.clone());
        expect("cwd", text(&s["cwd"]), or_null(&right.cwd));
        expect("parent", text(&s["parent_id"]), or_null(&right.parent));
        expect("origin", text(&s["forked_from"]), or_null(&right.forked_from));
        expect("turns", s["turns"].to_string(), right.turns.to_string());
        expect("tools", s["tool_calls"].to_string(), right.tool_calls.to_string());
        expect("without usage", s["calls_without_usage"].to_string(), right.calls_without_usage.to_string());
        let warnings: BTreeMap<String, u64> = s["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| (w["code"].as_str().unwrap().to_owned(), number(w, "count")))
            .collect();
        expect("warnings", format!("{warnings:?}"), format!("{:?}", right.warnings));
        for m in s["models"].as_array().unwrap() {
            let enum_number = u32::try_from(number(m, "model_enum")).unwrap();
            let calls = right.models.get(&enum_number).map_or(0, |m| m.calls);
            // Calls without usage are counted beside, under the number that their row names.
            if m["tokens"].is_null() {
                continue;
            }
            let t = right.models.get(&enum_number).map(|m| m.tokens).unwrap_or_default();
            let told = &m["tokens"];
            for (key, right) in [
                ("input", t.input),
                ("output", t.output),
                ("cache_read", t.cache_read),
                ("cache_write", t.cache_write),
                ("thinking", t.thinking),
                ("total", t.total()),
            ] {
                expect(&format!("{enum_number} {key}"), number(told, key).to_string(), right.to_string());
            }
            if right.calls_without_usage == 0 {
                expect(&format!("{enum_number} calls"), number(m, "calls").to_string(), calls.to_string());
            }
        }
    }
    for id in told.keys() {
        if !truth.sessions.contains_key(*id) {
            wrong.push(format!("{id} is listed and should not be"));
        }
    }
    let totals = &doc["totals"];
    for (key, right) in [
        ("input", truth.totals.tokens.input),
        ("output", truth.totals.tokens.output),
        ("cache_read", truth.totals.tokens.cache_read),
        ("total", truth.totals.tokens.total()),
    ] {
        let told = number(totals, key);
        if told != right {
            wrong.push(format!("all together {key}: told {told}, right {right}"));
        }
    }
    let problems = |list: Vec<(String, String)>| list.into_iter().collect::<BTreeMap<_, _>>();
    let told = problems(
        doc["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| (p["file"].as_str().unwrap().to_owned(), p["code"].as_str().unwrap().to_owned()))
            .collect(),
    );
    let right = problems(truth.problems.iter().map(|p| (p.file.clone(), p.code.clone())).collect());
    if told != right {
        wrong.push(format!("problems: told {told:#?}, right {right:#?}"));
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn s03_a_world_without_traps_is_counted_right() {
    let rig = Rig::new();
    let truth = build(&rig.home, &WorldSpec::new(60, 900)).unwrap();
    agrees(&rig.json(&["sessions", "--json"]), &truth);
}

#[test]
fn s03_every_trap_is_counted_right_in_any_order_of_reading() {
    for seed in [1, 2, 3] {
        let rig = Rig::new();
        let truth = build(&rig.home, &WorldSpec::new(40, 400).with_traps().seed(seed)).unwrap();
        agrees(&rig.json(&["sessions", "--json"]), &truth);
        // A second look, and a third with a new store, say the same.
        let again = rig.json(&["sessions", "--json"]);
        agrees(&again, &truth);
        std::fs::remove_dir_all(rig.data_dir()).unwrap();
        let anew = rig.json(&["sessions", "--json"]);
        agrees(&anew, &truth);
        for (a, b) in again["sessions"].as_array().unwrap().iter().zip(anew["sessions"].as_array().unwrap()) {
            assert_eq!(a["models"], b["models"], "{}", a["id"]);
        }
    }
}

#[test]
fn u20_every_view_sums_to_the_same() {
    let rig = Rig::new();
    build(&rig.home, &WorldSpec::new(30, 300).with_traps()).unwrap();
    let all = rig.json(&["sessions", "--json"]);
    let header = all["totals"].clone();
    // M6: the same of what it cost, to the last digit.
    let sessions = all["sessions"].as_array().unwrap();
    let cost = usd([&header["cost_usd"]]);
    assert!(cost > 0 && number(&header, "tokens_unpriced") > 0, "some is priced, and some is not: {header}");
    assert_eq!(usd(sessions.iter().map(|s| &s["cost_usd"])), cost);
    for s in sessions {
        let models = s["models"].as_array().unwrap();
        assert_eq!(usd(models.iter().map(|m| &m["cost_usd"])), usd([&s["cost_usd"]]), "{s}");
        for m in models {
            let priced = !m["cost_usd"].is_null();
            assert!(!priced || m["price_row"].is_string(), "{m}");
            let named = s["unpriced_models"].as_array().unwrap().contains(&m["model"]);
            assert_eq!(named, !priced && !m["tokens"].is_null(), "{m}");
        }
        let unpriced: u64 = models.iter().map(|m| number(m, "tokens_unpriced")).sum();
        assert_eq!(unpriced, number(s, "tokens_unpriced"), "{s}");
    }
    for by in ["day", "model", "project", "session"] {
        for zone in ["UTC", "Asia/Kathmandu", "America/New_York"] {
            let doc = rig.json(&["usage", "--by", by, "--tz", zone, "--json"]);
            for key in ["input", "output", "cache_read", "cache_write", "thinking", "total"] {
                let sum: u64 =
                    doc["rows"].as_array().unwrap().iter().filter_map(|r| r["tokens"][key].as_u64()).sum();
                assert_eq!(sum, number(&header, key), "{by} {zone} {key}");
                assert_eq!(number(&doc["totals"], key), number(&header, key), "{by} {zone} {key}");
            }
            let rows = doc["rows"].as_array().unwrap();
            assert_eq!(usd(rows.iter().map(|r| &r["cost_usd"])), cost, "{by} {zone}");
            assert_eq!(doc["totals"]["cost_usd"], header["cost_usd"], "{by} {zone}");
            let unpriced: u64 = rows.iter().map(|r| number(r, "tokens_unpriced")).sum();
            assert_eq!(unpriced, number(&header, "tokens_unpriced"), "{by} {zone}");
            let calls: u64 = doc["rows"].as_array().unwrap().iter().map(|r| number(r, "calls")).sum();
            assert_eq!(calls, number(&header, "calls"), "{by} {zone}");
        }
    }
}

#[test]
fn s10_each_bad_file_is_listed_and_hides_no_other() {
    for bad in BadFile::ALL {
        let rig = Rig::new();
        let good = Conversation::new(&uuid())
            .cwd("/home/user/good")
            .turn(Turn::prompt("Hello").call(Call::model(1016).tokens(1, 2, 3, 1)))
            .write(&rig.home)
            .unwrap();
        let expected = bad.write(&rig.home, &uuid()).unwrap();
        let doc = rig.json(&["sessions", "--json"]);
        let problems = doc["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{bad:?}: {problems:?}");
        assert_eq!(problems[0]["file"], expected.file.as_str(), "{bad:?}");
        assert_eq!(problems[0]["code"], expected.code.as_str(), "{bad:?}");
        assert!(!problems[0]["message"].as_str().unwrap().is_empty());
        assert_eq!(doc["sessions"].as_array().unwrap().len(), 1, "{bad:?}");
        assert_eq!(doc["totals"]["total"], 6, "{bad:?}");
        let _ = good;
    }
}

#[test]
fn s10_no_home_at_all_is_said_and_is_no_failure() {
    let rig = Rig::new();
    std::fs::remove_dir_all(rig.home.root()).unwrap();
    let doc = rig.json(&["sessions", "--json"]);
    assert_eq!(doc["problems"][0]["code"], "no_home");
    assert_eq!(doc["sessions"], serde_json::json!([]));
    assert_eq!(rig.json(&["lanes", "--json"])["lanes"], serde_json::json!([]));
    let doctor = rig.json(&["doctor", "--json"]);
    let found = doctor["findings"].as_array().unwrap().iter().find(|f| f["code"] == "no_home").unwrap();
    assert!(found["advice"].as_str().unwrap().contains("Start `agy`"));
}

#[test]
fn p1_a_home_that_was_mistyped_is_said_and_gets_nothing() {
    let rig = Rig::new();
    Conversation::new(&uuid())
        .turn(Turn::prompt("Here").call(Call::model(1016).tokens(10, 2, 0, 1)))
        .write(&rig.home)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (missing, strange) = (folder.path().join("gemnii"), folder.path().join("src"));
    std::fs::create_dir(&strange).unwrap();
    for wrong in [&missing, &strange] {
        let wrong = wrong.to_str().unwrap();
        for command in [&["sessions", "--json"][..], &["usage"], &["lanes", "--json"], &["pricing", "list"]] {
            let out = rig.agenthub(&[&["--gemini-dir", wrong], command].concat());
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{said}");
            assert!(
                said.contains(wrong) && said.contains("--gemini-dir") && said.contains("(no_home)"),
                "{said}"
            );
        }
        for command in [&["hooks", "install"][..], &["hooks", "install", "--dry-run"]] {
            let out = rig.agenthub(&[&["--gemini-dir", wrong], command].concat());
            let said = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(1), "{said}");
            assert!(said.contains("is not agy's home") && said.contains("(no_home)"), "{said}");
        }
    }
    assert!(!missing.exists() && std::fs::read_dir(&strange).unwrap().next().is_none());
    // The data folder is still anybody's, and then the right home's.
    assert_eq!(rig.json(&["sessions", "--json"])["sessions"].as_array().unwrap().len(), 1);
    let out = rig.agenthub(&["--gemini-dir", strange.to_str().unwrap(), "sessions"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("(other_home)"));
}

#[test]
fn p1_a_home_that_agy_makes_while_the_engine_runs_has_the_data_folder() {
    let rig = Rig::new();
    let cli = rig.home.root().join("antigravity-cli");
    let away = rig.home.root().join("later");
    std::fs::rename(&cli, &away).unwrap();
    let held = rig.data_dir().join("agy-home");
    let engine = rig.start();
    assert!(!held.exists());
    std::fs::rename(&away, &cli).unwrap();
    engine.host.set_settings(&serde_json::json!({})).unwrap();
    engine.until("the home is known", |s| s.board.notes.iter().all(|n| n.code != "no_home"));
    assert!(held.exists());
}

#[test]
fn s11_sessions_that_call_each_other_parent_are_listed() {
    let rig = Rig::new();
    let (a, b) = (uuid(), uuid());
    for (id, parent) in [(&a, &b), (&b, &a)] {
        let mut recording = agy_sim::Recording::new(id, agy_sim::Layout::V1_2, agy_sim::At::now());
        recording.blob.parent = Some(parent.clone());
        recording.blob.workspaces.push("/w/circle".to_owned());
        Conversation::go_on(recording)
            .turn(Turn::prompt("Go").call(Call::model(1016).tokens(10, 2, 0, 1)))
            .write(&rig.home)
            .unwrap();
    }
    let engine = rig.start();
    // One stands for itself, with the other inside.
    let listed = |engine: &crate::rig::Watched| {
        let page = engine.host.sessions(&agenthub_engine::view::SessionsQuery::default()).unwrap();
        page.rows.iter().map(|r| r.session.id.clone()).collect::<Vec<_>>()
    };
    let root = listed(&engine);
    assert!(root == std::slice::from_ref(&a) || root == std::slice::from_ref(&b), "{root:?}");
    for id in [&a, &b] {
        assert_eq!(engine.host.session(id).unwrap().row.session.id, **id);
    }
    let board = engine.host.watch().borrow().board.clone();
    assert_eq!(board.lanes.len(), 1, "{:?}", board.lanes);
    let own: Vec<_> =
        board.lanes[0].members.iter().filter(|m| m.parent_id.is_none()).map(|m| &m.id).collect();
    assert_eq!(own, [&root[0]]);
    // The same over a restart, at which both are read anew.
    drop(engine);
    assert_eq!(listed(&rig.start()), root);
    assert_eq!(rig.json(&["sessions", "--json"])["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn s10_a_bad_file_that_becomes_good_is_read() {
    let rig = Rig::new();
    let id = uuid();
    BadFile::Empty.write(&rig.home, &id).unwrap();
    let engine = rig.start();
    engine.until("the problem", |s| s.board.problems_total == 1);
    std::fs::remove_file(rig.home.db(&id)).unwrap();
    Conversation::new(&id)
        .turn(Turn::prompt("Now it is there").call(Call::model(1016).tokens(10, 2, 0, 1)))
        .write(&rig.home)
        .unwrap();
    engine.until("the session", |s| s.board.problems_total == 0 && s.board.sessions_total == 1);
}

#[test]
fn s07_a_session_whose_file_is_gone_stays_and_counts() {
    let rig = Rig::new();
    let id = uuid();
    Conversation::new(&id)
        .turn(Turn::prompt("Keep me").call(Call::model(1016).tokens(10, 2, 0, 1)))
        .write(&rig.home)
        .unwrap();
    let engine = rig.start();
    std::fs::remove_file(rig.home.db(&id)).unwrap();
    engine.until("marked", |_| engine.host.session(&id).is_ok_and(|d| d.row.file_gone));
    let detail = engine.host.session(&id).unwrap();
    assert_eq!(detail.row.session.tokens.unwrap().total, 12);
    // Its transcript is there.
    let note = detail.timeline_note.unwrap();
    assert!(note.contains("is gone") && note.contains("transcript"), "{note}");
    assert_eq!(detail.timeline[0].text.as_deref(), Some("Keep me"));
    for transcript in [rig.home.transcript(&id), rig.home.transcript_full(&id)] {
        std::fs::remove_file(transcript).unwrap();
    }
    let detail = engine.host.session(&id).unwrap();
    let note = detail.timeline_note.unwrap();
    assert!(note.contains("is gone") && !note.contains("transcript"), "{note}");
    assert_eq!(detail.timeline, []);
    assert_eq!(detail.row.session.tokens.unwrap().total, 12);
}

#[test]
fn s07_a_file_that_goes_before_it_is_read_once_more_is_marked_too() {
    let rig = Rig::new();
    let id = uuid();
    let mut agy = agy_sim::Live::start(&rig.home, agy_sim::LiveSpec::new(&id)).unwrap();
    agy.prompt("Keep me").unwrap();
    agy.call().unwrap();
    agy.close().unwrap();
    // Just written, it would be looked at once more (its time says too little); by then it is gone.
    assert_eq!(rig.json(&["sessions", "--json"])["sessions"][0]["id"], id.as_str());
    std::fs::remove_file(rig.home.db(&id)).unwrap();
    let engine = rig.start();
    assert!(engine.host.session(&id).unwrap().row.file_gone);
}

#[test]
fn s09_a_deleted_session_stays_deleted_when_its_file_changes() {
    let rig = Rig::new();
    let id = uuid();
    let spec = agy_sim::LiveSpec::new(&id).cwd("/home/user/x");
    let mut agy = agy_sim::Live::start(&rig.home, spec).unwrap();
    agy.prompt("Forget me").unwrap();
    let engine = rig.start();
    engine.until("listed", |s| s.board.sessions_total == 1 && s.board.lanes.len() == 1);
    engine.host.delete_session(&id).unwrap();
    engine.until("gone", |s| s.board.sessions_total == 0 && s.board.lanes.is_empty());
    agy.call().unwrap();
    agy.end_turn().unwrap();
    // Another session tells when the engine has looked again.
    let other =
        Conversation::new(&uuid()).turn(Turn::prompt("Other").call(Call::model(1016).tokens(1, 1, 0, 0)));
    other.write(&rig.home).unwrap();
    engine.until("the other", |s| s.board.sessions_total == 1);
    assert!(engine.host.session(&id).is_err());
    drop(engine);
    let engine = rig.start();
    assert_eq!(engine.host.watch().borrow().board.sessions_total, 1);
    engine.host.restore_session(&id).unwrap();
    engine.until("back", |s| s.board.sessions_total == 2);
}
