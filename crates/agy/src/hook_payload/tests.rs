//! Real captures (agy-format §6.4), and everything that must not pass.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const ID: &str = "ec33ebf9-0000-4000-8000-000000000001";
const NS: u64 = 1_782_864_000_123_456_789;

struct World {
    temp: tempfile::TempDir,
    home: Home,
}

fn world() -> World {
    let temp = tempfile::tempdir().unwrap();
    let home = Home::new(temp.path().join("gemini"));
    std::fs::create_dir_all(home.conversations()).unwrap();
    World { temp, home }
}

impl World {
    fn path(&self) -> String {
        format!("{}/brain/{ID}/.system_generated/logs/transcript.jsonl", self.home.cli().display())
    }

    fn body(&self, more: &Value) -> Value {
        let mut body = json!({
            "conversationId": ID,
            "transcriptPath": self.path(),
            "artifactDirectoryPath": "/x",
            "workspacePaths": ["/workspace/project"],
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    fn decode(&self, event: &str, body: &Value) -> Result<Accepted, Dropped> {
        let body = body.to_string();
        let record = Record { event, ns: NS, pid: 7, body: body.as_bytes() };
        decode(&self.home, &record, Time::from_micros(1_782_864_001_000_000))
    }

    fn kind(&self, event: &str, more: Value) -> HookKind {
        self.decode(event, &self.body(&more)).unwrap().event.kind
    }
}

fn stopped(error: Option<&str>, reason: &str) -> HookKind {
    HookKind::Stop { error: error.map(str::to_owned), reason: reason.to_owned() }
}

#[test]
fn h08_an_event_of_the_cli_is_accepted() {
    let w = world();
    let a = w.decode("PreInvocation", &w.body(&json!({"invocationNum": 4, "initialNumSteps": 12}))).unwrap();
    assert_eq!(a.session.as_str(), ID);
    assert_eq!(a.cwd.as_deref(), Some("/workspace/project"));
    assert_eq!(a.event.at, Time::from_micros(1_782_864_000_123_456));
    assert_eq!(a.event.id, EventId { ns: NS, pid: 7 });
    assert_eq!(a.event.kind, HookKind::Invocation { num: Some(4) });
    // 1.2.x: another transcript, the model, and no workspace.
    let full = w.path().replace("transcript.jsonl", "transcript_full.jsonl");
    let body =
        w.body(&json!({"transcriptPath": full, "modelName": "m", "workspacePaths": [], "invocationNum": 0}));
    let a = w.decode("PreInvocation", &body).unwrap();
    assert_eq!((a.cwd, a.event.kind), (None, HookKind::Invocation { num: Some(0) }));
    assert_eq!(w.kind("PreInvocation", json!({"invocationNum": "3"})), HookKind::Invocation { num: Some(3) });
    assert_eq!(w.kind("PreInvocation", json!({"invocationNum": -1})), HookKind::Invocation { num: None });
}

#[test]
fn h08_what_is_not_the_clis_is_dropped() {
    let w = world();
    let root = w.home.root().display().to_string();
    let refused = |more: Value| w.decode("Stop", &w.body(&more)).unwrap_err();
    for path in [
        format!("{root}/antigravity/brain/{ID}/.system_generated/logs/transcript.jsonl"),
        format!("{root}/antigravity-ide/brain/{ID}/transcript.jsonl"),
        format!("{root}/antigravity-cli-old/brain/{ID}/transcript.jsonl"),
        format!("{root}/antigravity-cli/../antigravity/brain/{ID}/transcript.jsonl"),
        format!("antigravity-cli/brain/{ID}/transcript.jsonl"),
        "/etc/passwd".to_owned(),
        "nonsense".to_owned(),
    ] {
        assert_eq!(refused(json!({ "transcriptPath": path })), Dropped::NotTheCli, "{path}");
    }
    for path in [json!(null), json!(""), json!(" "), json!(7)] {
        assert_eq!(refused(json!({ "transcriptPath": path })), Dropped::NoTranscript, "{path}");
    }
    for id in [json!(null), json!(""), json!("notes"), json!("../../etc/passwd"), json!(7), json!([ID])] {
        assert_eq!(refused(json!({ "conversationId": id })), Dropped::BadId, "{id}");
    }
    for (body, why) in [
        (json!([]), Dropped::BadBody),
        (json!("x"), Dropped::BadBody),
        (json!(null), Dropped::BadBody),
        (json!({}), Dropped::BadId),
    ] {
        assert_eq!(w.decode("Stop", &body), Err(why), "{body}");
    }
    for event in ["", "stop", "SessionStart", "PreToolUse", "PostInvocation", "StopX"] {
        assert_eq!(w.decode(event, &w.body(&json!({}))), Err(Dropped::UnknownEvent), "{event}");
    }
    let deep = "[".repeat(100_000);
    let record = Record { event: "Stop", ns: NS, pid: 1, body: deep.as_bytes() };
    assert_eq!(decode(&w.home, &record, Time::default()), Err(Dropped::BadBody));
}

#[cfg(unix)]
#[test]
fn h08_a_linked_home_is_known_by_both_its_names() {
    let w = world();
    let link = w.temp.path().join("link");
    std::os::unix::fs::symlink(w.home.root(), &link).unwrap();
    let linked = World { home: Home::new(link), temp: tempfile::tempdir().unwrap() };
    // We know it by the link, and agy tells either name; and the other way round.
    for (knows, tells) in [(&linked, &w), (&w, &linked), (&w, &w), (&linked, &linked)] {
        let body = tells.body(&json!({}));
        assert!(knows.decode("PreInvocation", &body).is_ok(), "{body}");
    }
    // The IDE's folder behind the same link stays out.
    let ide = format!("{}/antigravity/brain/x/t.jsonl", linked.home.root().display());
    assert_eq!(w.decode("Stop", &w.body(&json!({ "transcriptPath": ide }))), Err(Dropped::NotTheCli));
}

#[test]
fn h08_without_a_body_the_conversation_must_be_there() {
    let w = world();
    let bare = json!({ "conversationId": ID });
    assert_eq!(w.decode("Stop", &bare), Err(Dropped::NoConversation));
    std::fs::write(w.home.conversations().join(format!("{ID}.db")), "").unwrap();
    let kind = |event| w.decode(event, &bare).unwrap().event.kind;
    assert_eq!(kind("Stop"), HookKind::Seen);
    assert_eq!(kind("PreInvocation"), HookKind::Invocation { num: None });
    assert_eq!(kind("PostToolUse"), HookKind::Tool { name: None, step: None });
    // A body that only lacks its transcript is no bare one.
    let other = json!({ "conversationId": ID, "workspacePaths": [] });
    assert_eq!(w.decode("Stop", &other), Err(Dropped::NoTranscript));
}

#[test]
fn h09_a_stop_is_held_final_or_an_error() {
    let w = world();
    for (more, kind) in [
        (
            json!({"executionNum": 1, "terminationReason": "model_stop", "error": "", "fullyIdle": true}),
            stopped(None, "MODEL_STOP"),
        ),
        (json!({"terminationReason": "NO_TOOL_CALL", "error": ""}), stopped(None, "NO_TOOL_CALL")),
        (
            json!({"terminationReason": "EXECUTOR_TERMINATION_REASON_USER_CANCELED"}),
            stopped(None, "USER_CANCELED"),
        ),
        (json!({"terminationReason": "error", "error": ""}), stopped(Some(""), "ERROR")),
        (json!({"terminationReason": "HookFailed"}), stopped(Some(""), "HOOKFAILED")),
        (json!({"terminationReason": 1}), stopped(Some(""), "ERROR")),
        (
            json!({"terminationReason": "NO_TOOL_CALL", "error": "quota\nis up"}),
            stopped(Some("quota"), "NO_TOOL_CALL"),
        ),
        (json!({"error": {"code": 7}}), stopped(None, "")),
        (json!({"error": null, "terminationReason": null, "fullyIdle": null}), stopped(None, "")),
        (json!({"terminationReason": "a b\n"}), stopped(None, "A_B")),
        (json!({"fullyIdle": false, "terminationReason": "NO_TOOL_CALL"}), HookKind::HeldStop),
    ] {
        let shown = more.to_string();
        assert_eq!(w.kind("Stop", more), kind, "{shown}");
    }
}

#[test]
fn h09_a_tool_says_its_name_and_step() {
    let w = world();
    let tool = |name: Option<&str>, step| HookKind::Tool { name: name.map(str::to_owned), step };
    let call = json!({"toolCall": {"name": "run_command", "args": {"CommandLine": "ls"}}, "stepIdx": 19, "error": ""});
    assert_eq!(w.kind("PostToolUse", call), tool(Some("run_command"), Some(19)));
    // 1.0.x, while the conversation has no such step yet.
    assert_eq!(w.kind("PostToolUse", json!({"stepIdx": 5, "error": "exit status 1"})), tool(None, Some(5)));
    assert_eq!(w.kind("PostToolUse", json!({"toolCall": 7, "stepIdx": "x"})), tool(None, None));
}

#[test]
fn h09_without_a_tool_call_the_step_says_what_it_was() {
    let home = agy_sim::Home::temp().unwrap();
    let mut live = agy_sim::Live::start(&home, agy_sim::LiveSpec::new(ID).cwd("/w")).unwrap();
    live.prompt("hello").unwrap();
    live.call().unwrap();
    live.tool_begins("run_command", json!({ "CommandLine": "ls" })).unwrap();
    live.tool_ends(agy_sim::ToolEnd::ok()).unwrap();
    let w = World { home: Home::new(home.root().to_owned()), temp: tempfile::tempdir().unwrap() };
    let of = |idx: i64| w.decode("PostToolUse", &w.body(&json!({ "stepIdx": idx })));
    // The prompt is no tool.
    assert_eq!(of(0), Err(Dropped::NoTool));
    let named: Vec<_> = (1..12)
        .filter_map(|i| of(i).ok())
        .filter_map(|a| match a.event.kind {
            HookKind::Tool { name, .. } => name,
            _ => None,
        })
        .collect();
    assert_eq!(named, ["run_command"]);
}

#[test]
fn h08_a_time_from_the_future_is_cut_to_the_arrival() {
    let w = world();
    let body = w.body(&json!({})).to_string();
    let at = |ns: u64, arrival: i64| {
        let record = Record { event: "Stop", ns, pid: 7, body: body.as_bytes() };
        decode(&w.home, &record, Time::from_micros(arrival)).unwrap().event.at.micros()
    };
    let s = 1_782_864_000i64;
    let us = s * 1_000_000;
    assert_eq!(at(s as u64 * 1_000_000_000, us - 4_000_000), us);
    assert_eq!(at(s as u64 * 1_000_000_000, us - 6_000_000), us - 6_000_000);
    assert_eq!(at(u64::MAX, us), us);
    assert_eq!(at(0, us), us);
}

#[test]
fn s06_agys_scratch_is_no_workspace() {
    let w = world();
    let scratch = w.home.cli().join("scratch").display().to_string();
    let cwd = |paths: Value| w.decode("Stop", &w.body(&json!({ "workspacePaths": paths }))).unwrap().cwd;
    assert_eq!(cwd(json!([scratch])), None);
    assert_eq!(cwd(json!(["file:///w/my%20proj/"])).as_deref(), Some("/w/my proj"));
    for nothing in [json!([]), json!([""]), json!([7]), json!("x"), json!(null), json!(["relative"])] {
        assert_eq!(cwd(nothing.clone()), None, "{nothing}");
    }
}

proptest! {
    #[test]
    fn q01_any_bytes_decode_or_not_but_never_panic(
        event in "(PreInvocation|PostToolUse|Stop|[a-z]*)", ns in any::<u64>(), body in any::<Vec<u8>>(), arrival in any::<i64>(),
    ) {
        let home = Home::new(PathBuf::from("/nowhere/gemini"));
        let record = Record { event: &event, ns, pid: 0, body: &body };
        let _ = decode(&home, &record, Time::from_micros(arrival));
    }

    #[test]
    fn q01_any_members_decode_or_not_but_never_panic(
        event in "(PreInvocation|PostToolUse|Stop)",
        members in proptest::collection::btree_map(
            "(stepIdx|toolCall|invocationNum|fullyIdle|terminationReason|error|workspacePaths|transcriptPath)",
            "(null|true|false|-?[0-9]{1,25}|\"[ -!#-\\[\\]-~]{0,20}\"|\\[\\]|\\[\"/a/..\"\\]|\\{\"name\":\"x\"\\})", 0..8),
    ) {
        let home = Home::new(PathBuf::from("/nowhere/gemini"));
        let more: Vec<String> = members.iter().map(|(k, v)| format!(",\"{k}\":{v}")).collect();
        let path = "/nowhere/gemini/antigravity-cli/brain/x";
        let body = format!("{{\"conversationId\":\"{ID}\",\"transcriptPath\":\"{path}\"{}}}", more.concat());
        let record = Record { event: &event, ns: NS, pid: 0, body: body.as_bytes() };
        let _ = decode(&home, &record, Time::default());
    }
}
