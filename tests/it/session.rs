//! One session as the command line tells it: found by the beginning of its id, with its kin, its copies and its tools.

use agenthub_engine::view::{SessionsQuery, State};
use agy_sim::{Call, Conversation, Live, LiveSpec, Turn};
use serde_json::{Value, json};

use crate::rig::{Rig, lane, uuid};

const CWD: &str = "/home/user/src/atlas";

fn text(rig: &Rig, args: &[&str]) -> String {
    let out = rig.agenthub(args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn entries<'a>(doc: &'a Value, kind: &str) -> Vec<&'a Value> {
    doc["timeline"].as_array().unwrap().iter().filter(|e| e["kind"] == kind).collect()
}

#[test]
fn s11_a_fork_says_which_calls_it_copied_and_counts_its_own() {
    let rig = Rig::new();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    let whole = |agy: &mut Live, prompt: &str, id: &str, input: u64| {
        agy.prompt(prompt).unwrap();
        agy.call_begins().unwrap();
        agy.call_ends(&Call::model(1016).tokens(input, 10, 5, 1).response_id(id)).unwrap();
        agy.end_turn().unwrap();
    };
    whole(&mut agy, "One", "call-1", 100);
    let mut fork = agy.fork().unwrap();
    whole(&mut fork, "Two", "call-2", 1_000);
    let (id, copy) = (agy.id().to_owned(), fork.id().to_owned());
    let doc = rig.json(&["session", &copy, "--json"]);
    let calls = entries(&doc, "call");
    assert_eq!(calls.iter().map(|c| &c["copied_from"]).collect::<Vec<_>>(), [&json!(id), &Value::Null]);
    assert_eq!(doc["tokens"]["total"], 1_015);
    let original = rig.json(&["session", &id, "--json"]);
    assert!(entries(&original, "call").iter().all(|c| c["copied_from"].is_null()));
    // Turns sum to what the session counts.
    let engine = rig.start();
    let detail = engine.host.session(&copy).unwrap();
    let sums: Vec<Option<u64>> = detail.turn_sums.iter().map(|t| t.tokens.map(|t| t.total)).collect();
    assert_eq!(sums, [None, Some(1_015)]);
    let told = text(&rig, &["session", &copy]);
    assert!(
        told.contains(&format!("Forked from: One ({id})")) && told.contains(&format!("Id: {copy}")),
        "{told}"
    );
    assert!(told.contains("(copied from ") && told.contains("2 turns"), "{told}");
    assert!(text(&rig, &["session", &id]).contains(&format!("Forks: One ({copy})")));
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let rig = Rig::new();
    let write = |id: &str, prompt: &str| {
        let call = Call::model(1016).tokens(10, 2, 0, 1);
        Conversation::new(id).turn(Turn::prompt(prompt).call(call)).write(&rig.home).unwrap();
    };
    write("abcd1234-0000-4000-8000-000000000001", "First");
    write("abcd1299-0000-4000-8000-000000000002", "Second");
    assert_eq!(rig.json(&["session", "abcd123", "--json"])["name"], "First");
    assert_eq!(rig.json(&["session", "ABCD1234-0000", "--json"])["name"], "First");
    let told = text(&rig, &["session", "abcd129"]);
    assert!(told.starts_with("Second") && told.contains(" · 1 turn · 0 tools · "), "{told}");
    let fails = |id: &str| {
        let out = rig.agenthub(&["session", id, "--json"]);
        let doc: Value = serde_json::from_slice(&out.stdout).unwrap();
        let code = doc["error"]["code"].as_str().unwrap().to_owned();
        (out.status.code(), code, doc["error"]["message"].as_str().unwrap().to_owned())
    };
    let (status, code, message) = fails("abcd");
    assert_eq!((status, code.as_str()), (Some(2), "bad_request"));
    assert!(message.contains("0001 (First)") && message.contains("0002 (Second)"), "{message}");
    assert_eq!(fails("abc").1, "bad_request");
    for unknown in ["abcd7", "first", "abcd1234-0000-4000-8000-00000000000%", ""] {
        assert_eq!(fails(unknown).1, "not_found", "{unknown}");
    }
}

#[test]
fn s11_a_search_finds_a_sub_agent_and_lists_what_it_stands_inside_of() {
    let rig = Rig::new();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    agy.prompt("Ask around").unwrap();
    agy.call().unwrap();
    let mut child = agy.subagent("Reader", "Find every query").unwrap();
    child.call().unwrap();
    child.end_turn().unwrap();
    agy.subagent_reports(child.id(), "Found.").unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    let other = Conversation::new(&uuid()).turn(Turn::prompt("Query the store").call(Call::model(1016)));
    other.write(&rig.home).unwrap();
    let engine = rig.start();
    let page = |words: &str| {
        let search = Some(words.to_owned());
        engine.host.sessions(&SessionsQuery { search, ..Default::default() }).unwrap()
    };
    for words in ["every QUERY", child.id(), &child.id()[..8]] {
        let page = page(words);
        let listed: Vec<&str> = page.rows.iter().map(|r| r.session.id.as_str()).collect();
        assert_eq!((listed, page.subagents), (vec![agy.id()], 1), "{words}");
        let [inside] = &page.inside[..] else { panic!("{words}: {:?}", page.inside) };
        assert_eq!((inside.session_id.as_str(), inside.found), (agy.id(), 1));
        assert_eq!(inside.rows[0].session.id, child.id());
        assert_eq!(inside.rows[0].session.parent_id.as_deref(), Some(agy.id()));
        // The command line lists sub-agents by themselves.
        let told = rig.json(&["sessions", "--search", words, "--json"]);
        let ids: Vec<&Value> = told["sessions"].as_array().unwrap().iter().map(|s| &s["id"]).collect();
        assert_eq!(ids, [child.id()], "{words}");
        assert_eq!(told["totals"]["total"], told["sessions"][0]["tokens"]["total"]);
    }
    assert_eq!((page("query").rows.len(), page("query").inside.len()), (2, 1));
    assert!(page("ask").inside.is_empty() && page("nothing like it").rows.is_empty());
    assert_eq!(rig.json(&["sessions", "--search", "nothing like it", "--json"])["sessions"], json!([]));
    child.close().unwrap();
    agy.close().unwrap();
}

#[test]
fn s12_a_tool_shows_the_argument_that_tells_what_it_does() {
    let rig = Rig::new();
    let id = uuid();
    let args = json!({ "CommandLine": "cargo test --workspace", "Cwd": "/w", "SafeToAutoRun": true });
    let call = Call::model(1016)
        .tokens(10, 2, 0, 1)
        .tool("run_command", args)
        .tool("view_file", json!({ "AbsolutePath": "/w/src/main.rs", "StartLine": 1 }));
    Conversation::new(&id).turn(Turn::prompt("Go").call(call)).write(&rig.home).unwrap();
    let doc = rig.json(&["session", &id, "--json"]);
    let tools = entries(&doc, "tool");
    let told: Vec<_> =
        tools.iter().map(|t| (t["argument"].as_str().unwrap(), t["text"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [("cargo test --workspace", "cargo test --workspace"), ("/w/src/main.rs", "/w/src/main.rs")]
    );
    let whole: Value = serde_json::from_str(tools[1]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(whole["StartLine"], 1);
    let told = text(&rig, &["session", &id]);
    assert!(told.contains("run_command cargo test --workspace") && !told.contains("SafeToAutoRun"), "{told}");
}

#[test]
fn l04_a_copy_without_its_times_is_no_activity() {
    let rig = Rig::new();
    let id = uuid();
    let call = Call::model(1016).tokens(10, 2, 0, 1);
    Conversation::new(&id)
        .cwd(CWD)
        .at(agy_sim::At::unix(jiff::Timestamp::now().as_second() - 2 * 86_400))
        .turn(Turn::prompt("Long ago").call(call))
        .write(&rig.home)
        .unwrap();
    // As `cp -r` would leave it: another file, born and written now.
    let files = [rig.home.db(&id), rig.home.transcript(&id), rig.home.transcript_full(&id)];
    for file in files.iter().filter(|f| f.exists()) {
        let bytes = std::fs::read(file).unwrap();
        std::fs::remove_file(file).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
    if std::fs::metadata(&files[0]).unwrap().created().is_err() {
        println!("skipped: this file system knows no birth");
        return;
    }
    let ago = |session: &Value| {
        let at = |key: &str| session[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
        at("last_activity_at") - at("started_at")
    };
    let session = rig.json(&["session", &id, "--json"]);
    assert_eq!(session["status"], "completed");
    assert!((0..3_600).contains(&ago(&session)), "{session}");
    assert_eq!(rig.json(&["lanes", "--json"])["lanes"], json!([]));
}

#[test]
fn s04_headers_do_not_hide_calls_without_usage() {
    let rig = Rig::new();
    let id = uuid();
    let known = Call::model(1016).tokens(10, 2, 0, 1);
    let unknown = Call::model(1016).quirk(agy_sim::Quirk::NoUsage);
    Conversation::new(&id).turn(Turn::prompt("Go").call(known).call(unknown)).write(&rig.home).unwrap();
    assert_eq!(rig.json(&["session", &id, "--json"])["calls_without_usage"], 1);
    for args in [&["session", id.as_str()][..], &["sessions"]] {
        assert!(text(&rig, args).contains(" · 1 call without usage"), "{}", text(&rig, args));
    }
}

#[test]
fn m3_a_model_has_one_name_everywhere() {
    let rig = Rig::new();
    let id = uuid();
    let call = Call::model(1016).tokens(10, 2, 0, 1);
    Conversation::new(&id).turn(Turn::prompt("Go").call(call)).write(&rig.home).unwrap();
    let session = rig.json(&["session", &id, "--json"]);
    let (model, label) = (session["model"].as_str().unwrap(), session["model_label"].as_str().unwrap());
    assert_ne!(model, label);
    assert_eq!(session["models"][0]["model_label"], label);
    let name = format!("{label} · {model}");
    for args in [&["session", id.as_str()][..], &["sessions"], &["usage", "--by", "model"]] {
        assert!(text(&rig, args).contains(&name), "{name}: {}", text(&rig, args));
    }
}

#[test]
fn s03_a_session_whose_calls_all_count_for_another_has_none_of_its_own() {
    let rig = Rig::new();
    let id = uuid();
    let call = Call::model(1016).tokens(1_000, 200, 0, 1);
    Conversation::new(&id).turn(Turn::prompt("Go").call(call)).write(&rig.home).unwrap();
    let copy = uuid();
    std::fs::copy(rig.home.db(&id), rig.home.db(&copy)).unwrap();
    let said = [&id, &copy].map(|id| text(&rig, &["session", id]));
    let own = |said: &str| !said.contains("no model calls of its own");
    assert!(own(&said[0]) != own(&said[1]), "{said:?}");
    let copied = if own(&said[0]) { &copy } else { &id };
    let alone = said.iter().find(|said| !own(said)).unwrap();
    let head: Vec<&str> = alone.lines().take(2).collect();
    assert!(!head.join(" ").contains("0 tokens") && !head.join(" ").contains("no price"), "{head:?}");
    let listed = text(&rig, &["sessions"]);
    let row = listed.lines().find(|l| l.contains(copied.as_str())).unwrap();
    assert!(!row.contains("no price") && row.matches(" – ").count() >= 2, "{row}");
}

#[test]
fn l11_a_lane_names_the_sub_agent_that_decides() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    agy.prompt("Look around").unwrap();
    agy.call().unwrap();
    let mut child = agy.subagent("Reader", "Find every query").unwrap();
    child.call().unwrap();
    child.tool_waits("run_command", json!({ "CommandLine": "rm -r target" })).unwrap();
    let (s, _) = engine.until("the sub-agent waits", |s| {
        lane(s, CWD).is_some_and(|l| l.lane.state == State::Waiting && l.members.len() == 2)
    });
    let fact = &lane(&s, CWD).unwrap().lane.why.decided.fact;
    assert!(
        fact.starts_with("Sub-agent “Find every query”: Step ") && fact.contains("run_command"),
        "{fact}"
    );
}

/// Only what is gone is called gone.
#[test]
fn s10_a_file_that_was_read_once_and_is_spoilt_is_called_what_it_is() {
    let rig = Rig::new();
    let id = uuid();
    let call = Call::model(1016).tokens(10, 2, 0, 1);
    Conversation::new(&id).turn(Turn::prompt("Once").call(call)).write(&rig.home).unwrap();
    let used = rig.json(&["session", &id, "--json"])["tokens"].clone();
    // Its transcript would be told in its place.
    std::fs::remove_dir_all(rig.home.root().join("antigravity-cli/brain").join(&id)).unwrap();
    let file = rig.home.root().join(format!("antigravity-cli/conversations/{id}.db"));
    let told = |why: &str| {
        let text = text(&rig, &["session", &id]);
        assert!(text.contains(why) && (why.contains("gone") || !text.contains("gone")), "{why}: {text}");
        assert_eq!(rig.json(&["session", &id, "--json"])["tokens"], used, "its numbers are kept");
    };
    std::fs::write(&file, "").unwrap();
    told("an empty file");
    std::fs::write(&file, "no database").unwrap();
    told("not a SQLite database");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    told("not a regular file");
    std::fs::remove_dir(&file).unwrap();
    told("is gone from agy's folder");
}
