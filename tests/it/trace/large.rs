//! A turn that is larger than one request may be (R4).

use agy_sim::{At, Conversation, ToolUse, Turn};
use otlp_receiver::Request;

use super::*;

/// What OTLP receivers take by default.
const MOST: usize = 4 << 20;

/// A turn of so many calls, each with a tool, through the real hook: in parts, nothing lost, nothing twice.
fn played(calls: usize) -> Vec<Request> {
    let t = Traced::new();
    let id = uuid();
    let mut turn = Turn::prompt("Go on until it is done");
    for i in 0..calls as u64 {
        let tool = ToolUse::new("run_command", json!({"CommandLine": format!("make {i}")})).ms(40 + i % 7);
        turn = turn.call(Call::model(1016).tokens(100 + i, 20, 3_000, 5).tool_use(tool));
    }
    // It took hours, and all of them lie after tracing was switched on.
    let hours = i64::try_from(calls).unwrap() * 6_000;
    Conversation::new(&id)
        .at(At::now().plus_ms(-hours))
        .light_prompt()
        .turn(turn)
        .write(&t.rig.home)
        .unwrap();
    let path = setup::config_file(&t.rig, "settings.json");
    let mut settings = setup::settings(&t.rig);
    settings["tracing"]["since"] = json!("2026-01-01T00:00:00Z");
    std::fs::write(&path, settings.to_string()).unwrap();
    let brain = t.rig.home.cli().join("brain").join(&id);
    let stop = json!({
        "conversationId": id,
        "transcriptPath": brain.join(".system_generated/logs/transcript_full.jsonl"),
        "artifactDirectoryPath": brain,
        "workspacePaths": [CWD],
        "executionNum": 0, "terminationReason": "NO_TOOL_CALL", "error": "", "fullyIdle": true
    });
    let out = faults::hook(&t, "Stop", &stop.to_string()).wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "{}\n");
    let expected = 1 + 2 * calls;
    let spans = t.until("every span", |s| s.len() >= expected);
    assert_eq!((spans.len(), distinct(&spans).len(), doubled(&spans)), (expected, expected, BTreeSet::new()));
    assert_eq!(t.backend.complaints(), Vec::<String>::new());
    assert_eq!(spans.iter().map(Received::trace).collect::<BTreeSet<_>>().len(), 1, "one trace");
    let roots = of_kind(&spans, "AGENT");
    assert_eq!(roots.len(), 1);
    let calls: BTreeSet<String> = of_kind(&spans, "LLM").iter().map(|c| c.id()).collect();
    assert!(of_kind(&spans, "LLM").iter().all(|c| c.parent() == Some(roots[0].id())));
    assert!(of_kind(&spans, "TOOL").iter().all(|c| c.parent().is_some_and(|p| calls.contains(&p))));
    // Again: it was sent, and is not sent once more.
    faults::hook(&t, "Stop", &stop.to_string()).wait_with_output().unwrap();
    until("it was heard", || t.files("jobs", ".job").is_empty().then_some(()));
    t.work();
    assert_eq!(t.backend.spans().len(), expected);
    t.backend.requests()
}

#[test]
fn r4_a_turn_of_five_thousand_calls_is_sent_in_parts_of_less_than_four_mebibytes() {
    let requests = played(5_000);
    assert!(requests.len() > 1, "more than one part");
    let largest = requests.iter().map(|r| otlp_receiver::unzipped(&r.body).unwrap().len()).max();
    assert!(largest <= Some(MOST), "{largest:?}");
}
