//! Hooks are read, fired and believed as agy does it.

use std::fs;
use std::time::{Duration, Instant};

use agy_sim::{
    At, Call, Clock, Esc, Home, HookEnvironment, HookEvent, HookOptions, HookRun, Hooks, HooksFile, Layout,
    Live, LiveSpec, SimProcess, ToolEnd, status, trajectory,
};
use serde_json::{Value, json};

const ID: &str = "5d7c9f0a-1b2c-4d3e-8f90-a1b2c3d4e5f6";
const CWD: &str = "/home/user/src/x";
/// What a careful observer answers.
const EMPTY: &str = "printf '{}\\n'";

fn flat(command: &str) -> Value {
    json!([{"type": "command", "command": command, "timeout": 5}])
}

fn grouped(matcher: &str, command: &str) -> Value {
    json!([{"matcher": matcher, "hooks": flat(command)}])
}

fn install(home: &Home, hooks: &Value) {
    fs::write(home.hooks_file(), hooks.to_string()).unwrap();
}

/// Everything but PreToolUse, with an empty answer.
fn observer() -> Value {
    json!({
        "SessionStart": flat(EMPTY), "PreInvocation": flat(EMPTY), "PostInvocation": flat(EMPTY),
        "PostToolUse": grouped("*", EMPTY), "Stop": flat(EMPTY),
    })
}

fn spec() -> LiveSpec {
    LiveSpec::new(ID).cwd(CWD)
}

fn start(home: &Home) -> Live {
    Live::start(home, spec()).unwrap()
}

fn events(live: &Live) -> Vec<&'static str> {
    live.hooks().runs().iter().map(|run| run.event.name()).collect()
}

fn last(live: &Live) -> HookRun {
    live.hooks().runs().pop().unwrap()
}

fn turn(live: &mut Live) {
    live.prompt("list it").unwrap();
    live.call_begins().unwrap();
    let args = json!({"CommandLine": "ls"});
    live.call_ends(&Call::model(1016).tool("run_command", args.clone())).unwrap();
    live.tool_begins("run_command", args).unwrap();
    live.tool_ends(ToolEnd::fails()).unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
}

fn rows(live: &Live) -> String {
    format!("{:#?}", (&live.recording().steps, &live.recording().executions))
}

#[test]
fn a_turn_fires_its_events_with_what_agy_sends() {
    let home = Home::temp().unwrap();
    install(&home, &json!({"watch": observer()}));
    let mut live = start(&home);
    turn(&mut live);
    assert_eq!(
        events(&live),
        [
            "SessionStart",
            "PreInvocation",
            "PostInvocation",
            "PostToolUse",
            "PreInvocation",
            "PostInvocation",
            "Stop"
        ]
    );
    let common = json!({
        "artifactDirectoryPath": home.brain(ID), "conversationId": ID, "modelName": "gemini-3.1-pro-high",
        "transcriptPath": home.transcript_full(ID), "workspacePaths": [CWD],
    });
    let with = |extra: Value| {
        let mut out = common.clone();
        out.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        out
    };
    let runs = live.hooks().runs();
    let inputs: Vec<Value> = runs.iter().map(HookRun::input).collect();
    assert_eq!(inputs[0], common);
    assert_eq!(inputs[1], with(json!({"invocationNum": 0, "initialNumSteps": 2})));
    assert_eq!(inputs[2], inputs[1]);
    let call = json!({"name": "run_command", "args": {"CommandLine": "ls"}});
    assert_eq!(inputs[3], with(json!({"stepIdx": 3, "error": "", "toolCall": call})));
    assert_eq!(inputs[4], with(json!({"invocationNum": 1, "initialNumSteps": 4})));
    let stop =
        json!({"executionNum": 0, "terminationReason": "NO_TOOL_CALL", "error": "", "fullyIdle": true});
    assert_eq!(inputs[6], with(stop));
    assert!(runs.iter().all(|run| !run.failed() && run.stdout == "{}\n" && run.hook == "watch"));
    // The next run counts anew.
    live.prompt("again").unwrap();
    live.call().unwrap();
    assert_eq!(last(&live).input()["invocationNum"], 0);
}

#[test]
fn before_1_1_names_are_missing_and_steps_that_are_no_tools_fire() {
    let home = Home::temp().unwrap();
    install(&home, &json!({"watch": observer()}));
    let mut live = Live::start(&home, spec().layout(Layout::V1_0)).unwrap();
    turn(&mut live);
    let seen = events(&live);
    assert_eq!(
        seen.iter().filter(|event| **event == "PostToolUse").count(),
        3,
        "two planner steps and a tool"
    );
    assert!(!seen.contains(&"SessionStart"));
    for run in live.hooks().runs() {
        let input = run.input();
        assert_eq!(input.get("toolCall"), None);
        assert_eq!(input.get("modelName"), None);
        assert_eq!(input["transcriptPath"], json!(home.transcript(ID)));
    }
    assert_eq!(last(&live).input()["terminationReason"], "model_stop");
}

#[test]
fn the_file_is_read_once_and_resume_reads_it_anew() {
    let home = Home::temp().unwrap();
    let mut live = start(&home);
    assert_eq!(live.hooks().file(), &HooksFile::Absent);
    install(&home, &json!({"watch": observer(), "off": {"enabled": false, "Stop": flat(EMPTY)}}));
    turn(&mut live);
    assert_eq!(events(&live), [""; 0]);
    let rows = live.close().unwrap();
    let mut live = Live::resume(&home, rows, spec()).unwrap();
    assert_eq!(live.hooks().file(), &HooksFile::Loaded(2));
    live.prompt("again").unwrap();
    live.call().unwrap();
    assert_eq!(events(&live), ["PreInvocation", "PostInvocation"], "no SessionStart on --continue");
    let log = fs::read_to_string(home.cli().join("cli.log")).unwrap();
    assert!(log.contains("hooks_manager.go:53] loaded 0 named hooks from 0 hooks.json file(s)\n"));
    assert!(log.ends_with("hooks_manager.go:53] loaded 2 named hooks from 1 hooks.json file(s)\n"));
}

#[test]
fn one_bad_entry_drops_all_and_the_log_says_so() {
    let home = Home::temp().unwrap();
    let mut hooks = json!({"watch": observer(), "zz": {"Stop": [{"command": "x", "timeout": "5"}]}});
    install(&home, &hooks);
    let mut live = start(&home);
    turn(&mut live);
    assert_eq!(events(&live), [""; 0]);
    let HooksFile::Dropped(why) = live.hooks().file() else { panic!("{:?}", live.hooks().file()) };
    assert!(why.contains("zz") && why.contains("timeout"), "{why}");
    let log = fs::read_to_string(home.cli().join("cli.log")).unwrap();
    let path = home.hooks_file();
    assert!(
        log.contains(&format!("hooks_manager.go:33] failed to parse hooks.json at {}: ", path.display()))
            && log.contains("loaded 0 named hooks"),
        "{log}"
    );
    hooks["zz"]["Stop"][0]["timeout"] = json!(5);
    install(&home, &hooks);
    assert_eq!(Hooks::load(&home, HookOptions::default()).file(), &HooksFile::Loaded(2));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(Hooks::load(&home, HookOptions::default()).file(), HooksFile::Dropped(_)));
}

#[test]
fn hooks_stand_in_the_config_folder_with_the_conversations_id() {
    let home = Home::temp().unwrap();
    let env = r#"pwd; echo "$ANTIGRAVITY_CONVERSATION_ID"; env | cut -d= -f1 | sort | tr '\n' ' '; echo; echo "$HOME"; cat"#;
    install(&home, &json!({"watch": {"PostToolUse": grouped("*", env), "Stop": flat(env)}}));
    let mut live = start(&home);
    turn(&mut live);
    let out = last(&live).stdout;
    let lines: Vec<&str> = out.lines().collect();
    let config = home.root().join("config").canonicalize().unwrap();
    assert_eq!(lines[0], config.to_str().unwrap());
    assert_eq!(lines[1], ID);
    assert!(lines[2].contains("PATH"), "{out}");
    assert_eq!(serde_json::from_str::<Value>(lines[4]).unwrap(), last(&live).input());
    live.close().unwrap();

    let options = HookOptions { environment: HookEnvironment::Empty, ..HookOptions::default() };
    let mut live = Live::start(&home, spec().hooks(options)).unwrap();
    turn(&mut live);
    let out = last(&live).stdout;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[1], ID);
    assert_eq!(lines[3], home.parent().to_str().unwrap());
    for name in lines[2].split_whitespace() {
        // The last four are the shell's own.
        let known = ["ANTIGRAVITY_CONVERSATION_ID", "HOME", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(known.contains(&name), "{name} in {out}");
    }
}

#[test]
fn failed_hooks_change_nothing() {
    let plain = Home::temp().unwrap();
    let clock = || Clock::manual(At::unix(1_790_000_000));
    let mut without = Live::start(&plain, spec().clock(&clock())).unwrap();
    turn(&mut without);
    // Each would deny, abort or force if it were believed.
    for bad in [
        r#"printf '{"decision":"continue"}'; exit 1"#,
        r#"printf '{"decision":"continue"}'; kill -9 $$"#,
        "no-such-program-at-all",
        "printf nonsense",
        "head -c 3000000 /dev/zero | tr '\\0' x",
    ] {
        let home = Home::temp().unwrap();
        let mut all = observer();
        for event in ["PreInvocation", "PostInvocation", "Stop"] {
            all[event] = flat(bad);
        }
        all["PreToolUse"] = grouped("*", bad);
        install(&home, &json!({"bad": all}));
        let mut live = Live::start(&home, spec().clock(&clock())).unwrap();
        turn(&mut live);
        assert_eq!(rows(&live), rows(&without), "{bad}");
        assert_eq!(events(&live).len(), 8);
    }
}

#[test]
fn time_runs_out_for_the_whole_group_and_the_run_goes_on() {
    let home = Home::temp().unwrap();
    let command = r#"echo $$; sleep 60 & echo $!; printf '{"decision":"continue"}'; wait"#;
    let stop = json!([{"command": command, "timeout": 1}]);
    // A process that is left behind holds the pipe; one that has let go of it does not.
    let left = json!([{"command": "sleep 60 & echo $!", "timeout": 1}]);
    let daemon = flat("sleep 60 </dev/null >/dev/null 2>&1 & echo $!");
    install(&home, &json!({"slow": {"Stop": stop, "PreInvocation": left, "PostInvocation": daemon}}));
    let mut live = start(&home);
    live.prompt("go").unwrap();
    let began = Instant::now();
    live.call().unwrap();
    live.end_turn().unwrap();
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(20), "{took:?}");
    assert!(!live.goes_on());
    let runs = live.hooks().runs();
    assert_eq!(runs.iter().map(|run| run.timed_out).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(runs[2].exit, None);
    assert!(runs[2].duration >= Duration::from_secs(1));
    // Dead, or a zombie that nobody has waited for.
    let gone =
        |pid: &str| fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z"));
    for pid in runs[0].stdout.lines().chain(runs[2].stdout.lines().take(2)) {
        let end = Instant::now() + Duration::from_secs(5);
        while !gone(pid) {
            assert!(Instant::now() < end, "{pid} lives");
        }
    }
    let daemon = runs[1].stdout.trim();
    assert!(!cfg!(target_os = "linux") || !gone(daemon));
    assert!(std::process::Command::new("kill").arg(daemon).status().unwrap().success());
}

#[test]
fn stdin_may_be_left_unread_and_be_large() {
    let home = Home::temp().unwrap();
    install(
        &home,
        &json!({"lazy": {"PostToolUse": grouped("*", "exec true")}, "all": {"PostToolUse": grouped("*", "wc -c")}}),
    );
    let mut live = start(&home);
    live.prompt("write it").unwrap();
    live.tool_begins("write_to_file", json!({"CodeContent": "x".repeat(2_000_000)})).unwrap();
    live.tool_ends(ToolEnd::ok()).unwrap();
    let runs = live.hooks().runs();
    assert!(runs.iter().all(|run| !run.failed()));
    assert_eq!(runs[0].stdout.trim(), runs[0].stdin.len().to_string());
}

#[test]
fn an_empty_object_denies_a_tool_and_an_empty_answer_allows_it() {
    let home = Home::temp().unwrap();
    let with = |command: &str| {
        let mut all = observer();
        all["PreToolUse"] = grouped("run_command", command);
        install(&home, &json!({"guard": all}));
        let mut live = start(&home);
        live.prompt("list it").unwrap();
        live
    };
    let mut live = with(EMPTY);
    let step = live.tool_begins("run_command", json!({"CommandLine": "ls"})).unwrap();
    assert_eq!(live.recording().step(step).unwrap().status, status::ERROR);
    assert!(live.open_tools().is_empty());
    let asked = last(&live);
    assert_eq!(asked.event, HookEvent::PreToolUse, "a denied tool has no PostToolUse");
    assert_eq!(asked.input()["stepIdx"], step);
    assert_eq!(asked.input()["toolCall"]["args"]["CommandLine"], "ls");
    let other = live.tool_begins("view_file", json!({})).unwrap();
    assert_eq!(live.open_tools(), [other], "the matcher leaves others alone");
    assert!(live.subagent("Reader", "look").is_ok());
    live.close().unwrap();

    let mut live = with("true");
    let step = live.tool_begins("run_command", json!({})).unwrap();
    assert_eq!(live.open_tools(), [step]);
    live.close().unwrap();

    let mut live = with(r#"printf '{"decision":"ask","overwrite":{"CommandLine":"true"}}'"#);
    let step = live.tool_begins("run_command", json!({"CommandLine": "false"})).unwrap();
    assert_eq!(live.recording().step(step).unwrap().status, status::WAITING);
    assert_eq!(live.recording().step(step).unwrap().tool().unwrap().args["CommandLine"], "true");
    live.allow().unwrap();
    live.tool_ends(ToolEnd::ok()).unwrap();
    assert_eq!(last(&live).event, HookEvent::PostToolUse);
}

#[test]
fn a_decision_before_a_call_aborts_the_run() {
    let home = Home::temp().unwrap();
    install(
        &home,
        &json!({"bad": {"PreInvocation": flat(r#"printf '{"decision":"allow"}'"#), "Stop": flat(EMPTY)}}),
    );
    let mut live = start(&home);
    live.prompt("go").unwrap();
    assert!(live.call_begins().is_err());
    assert!(live.aborted());
    assert_eq!(live.recording().executions.last().unwrap().reason, trajectory::reason::ERROR);
    assert_eq!(events(&live), ["PreInvocation"], "no Stop");
    live.prompt("again").unwrap();
    assert!(!live.aborted());
}

#[test]
fn a_stop_hook_forces_turns_up_to_a_bound() {
    let home = Home::temp().unwrap();
    let command = r#"printf '{"decision":"continue","reason":"tests fail"}'"#;
    install(&home, &json!({"judge": {"Stop": flat(command), "PreInvocation": flat(EMPTY)}}));
    let mut live = start(&home);
    live.prompt("go").unwrap();
    let mut turns = 0;
    loop {
        live.call().unwrap();
        live.end_turn().unwrap();
        turns += 1;
        if !live.goes_on() {
            break;
        }
        assert!(live.recording().executions.is_empty());
        let step = live.recording().steps.last().unwrap();
        assert!(format!("{:?}", step.content).contains("Stop hook blocked termination: tests fail"));
    }
    assert_eq!(turns, 6);
    let ends: Vec<u32> = live.recording().executions.iter().map(|end| end.reason).collect();
    assert_eq!(ends, [trajectory::reason::MAX_FORCED_INVOCATIONS]);
    let calls = live.hooks().runs().into_iter().filter(|run| run.event == HookEvent::PreInvocation);
    let numbers: Vec<Value> = calls.map(|run| run.input()["invocationNum"].clone()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_stop_is_held_while_something_is_at_work() {
    let home = Home::temp().unwrap();
    install(&home, &json!({"watch": observer()}));
    let mut live = start(&home);
    live.prompt("go").unwrap();
    live.call().unwrap();
    live.tool_begins("run_command", json!({"CommandLine": "make"})).unwrap();
    live.end_turn().unwrap();
    assert_eq!(last(&live).input()["fullyIdle"], false);
    assert_eq!(live.recording().executions.len(), 1, "the executor row is there all the same");
    live.tool_ends(ToolEnd::ok()).unwrap();
    assert_eq!(last(&live).event, HookEvent::PostToolUse);
    live.wakes("The command finished.").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    assert_eq!((last(&live).event, &last(&live).input()["fullyIdle"]), (HookEvent::Stop, &json!(true)));
    assert_eq!(live.recording().executions.len(), 2);

    // A sub-agent in its turn holds its parent's Stop, and ends its own.
    live.prompt("look").unwrap();
    let mut child = live.subagent("Reader", "look").unwrap();
    child.call().unwrap();
    live.end_turn().unwrap();
    assert_eq!(last(&live).input()["fullyIdle"], false);
    child.end_turn().unwrap();
    let stop = last(&live);
    assert_eq!((stop.conversation.as_str(), &stop.input()["fullyIdle"]), (child.id(), &json!(true)));
    assert_eq!(stop.input()["conversationId"], child.id());
    assert_eq!(stop.input()["transcriptPath"], json!(home.transcript_full(child.id())));
    let id = child.id().to_owned();
    let of_child = live.hooks().fired().into_iter().filter(|(_, conversation)| *conversation == id);
    assert_eq!(
        of_child.map(|(event, _)| event.name()).collect::<Vec<_>>(),
        ["SessionStart", "PreInvocation", "PostInvocation", "Stop"]
    );
    live.wakes("Your sub-agent reports.").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    assert_eq!(last(&live).input()["fullyIdle"], true);
}

#[test]
fn no_hook_tells_of_esc_api_errors_and_refusals() {
    let home = Home::temp().unwrap();
    install(&home, &json!({"watch": {"Stop": flat(EMPTY), "PostToolUse": grouped("*", EMPTY)}}));
    let mut live = start(&home);
    live.prompt("one").unwrap();
    live.call_begins().unwrap();
    live.tool_begins("run_command", json!({})).unwrap();
    live.esc(Esc::Interrupted).unwrap();
    live.prompt("two").unwrap();
    live.call_begins().unwrap();
    live.api_error(429, "RESOURCE_EXHAUSTED").unwrap();
    live.prompt("three").unwrap();
    live.headless_refusal("run_command", json!({})).unwrap();
    live.prompt("four").unwrap();
    live.tool_waits("run_command", json!({})).unwrap();
    live.deny().unwrap();
    live.end_turn_with(trajectory::reason::USER_CANCELED).unwrap();
    assert_eq!(events(&live), [""; 0]);
    live.prompt("five").unwrap();
    live.end_turn_with(trajectory::reason::ERROR).unwrap();
    assert_eq!(last(&live).input()["terminationReason"], "ERROR");
    assert_ne!(last(&live).input()["error"], "");
}

#[test]
fn stops_get_lost_and_only_one_post_tool_use_fires() {
    let home = Home::temp().unwrap();
    install(&home, &json!({"b": observer(), "a": {"PostToolUse": grouped("*", EMPTY)}}));
    let count = |live: &Live, event| live.hooks().fired().iter().filter(|(seen, _)| *seen == event).count();
    let mut live = start(&home);
    live.lose_next_stop();
    turn(&mut live);
    assert_eq!(live.recording().executions.len(), 1);
    assert_eq!(count(&live, HookEvent::Stop), 0);
    assert_eq!(count(&live, HookEvent::PostToolUse), 2);
    turn(&mut live);
    assert_eq!(count(&live, HookEvent::Stop), 1);
    live.close().unwrap();

    let options = HookOptions { one_post_tool_use: true, lose_stops: true, ..HookOptions::default() };
    let mut live = Live::start(&home, spec().hooks(options)).unwrap();
    turn(&mut live);
    turn(&mut live);
    assert_eq!((count(&live, HookEvent::Stop), count(&live, HookEvent::PostToolUse)), (0, 2));
    assert!(live.hooks().runs().iter().all(|run| run.event != HookEvent::PostToolUse || run.hook == "a"));
    live.close().unwrap();

    let options = HookOptions { api_key: true, ..HookOptions::default() };
    let mut live = Live::start(&home, spec().hooks(options)).unwrap();
    turn(&mut live);
    assert_eq!(events(&live), [""; 0]);
}

#[test]
fn the_program_plays_hooks() {
    let home = Home::temp().unwrap();
    let mut all = observer();
    all["Stop"] = flat(r#"printf '{"decision":"continue"}'"#);
    install(&home, &json!({"watch": all}));
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_agy-sim"));
    let mut sim = SimProcess::spawn(program, &home, &["--cwd", CWD, "--empty-env"]).unwrap();
    assert_eq!(sim.send("hooks-file").unwrap(), r#"{"loaded":1}"#);
    for line in ["prompt go", "call", "tool run_command {\"CommandLine\":\"make\"}"] {
        sim.send(line).unwrap();
    }
    assert_eq!(sim.send("end-turn").unwrap(), "goes-on");
    sim.send("lose-stop").unwrap();
    assert_eq!(sim.send("end-turn").unwrap(), "");
    sim.send("tool-end").unwrap();
    sim.send("wake The command finished.").unwrap();
    let runs: Vec<Value> = serde_json::from_str(&sim.send("hooks").unwrap()).unwrap();
    let seen: Vec<&str> = runs.iter().map(|run| run["event"].as_str().unwrap()).collect();
    assert_eq!(seen, ["SessionStart", "PreInvocation", "PostInvocation", "Stop", "PostToolUse"]);
    let stdin: Value = serde_json::from_str(runs[3]["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(stdin["fullyIdle"], false);
    assert_eq!((&runs[3]["exit"], &runs[3]["timed_out"]), (&json!(0), &json!(false)));
    assert_eq!(runs[3]["conversation"], sim.id());
    sim.quit().unwrap();
}
