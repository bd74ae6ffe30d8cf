//! L5: the first line that holds decides.

use crate::script::{check, check_times, check_why, run};

#[test]
fn l05_2_a_waiting_step_shows_with_its_tool() {
    check("0s held; 0s prompt 0; 1s wait 3 run_command", "waiting active, in progress");
    check("0s prompt 0; 1s wait 3 run_command", "waiting active, in progress");
    check_times("0s held; 0s prompt 0; 7s wait 3", "since 7s, until -");
    let v = run("0s held; 0s prompt 0; 1s wait 3 run_command; 60s now").verdict("s");
    assert_eq!(v.waiting.unwrap().tool.as_deref(), Some("run_command"));
    // It beats an end, a live step and an open prompt.
    check("0s held; 0s prompt 0; 1s wait 3; 2s live 4; 3s end 4 4; 3s wait 3", "waiting active, in progress");
}

#[test]
fn l05_2_a_wait_ends_with_its_answer() {
    let waits = "0s held; 0s prompt 0; 1s wait 3 run_command";
    check(&format!("{waits}; 9s answered 3; 9s live 3 run_command"), "running active, in progress");
    // u41: Esc, or a declined permission, does not leave the wait on.
    check(&format!("{waits}; 9s canceled 3"), "idle active, canceled");
    check(&format!("{waits}; 9s answered 3; 9s failed 3"), "running active, in progress");
    assert_eq!(run(&format!("{waits}; 9s canceled 3")).verdict("s").waiting, None);
    // A turn later nothing of it is left.
    check(&format!("{waits}; 9s prompt 5"), "running active, in progress");
}

#[test]
fn l05_3_gone_settles_and_marks_a_turn_in_progress() {
    check("0s held; 0s prompt 0; 5s free", "idle completed, unfinished");
    check("0s held; 0s prompt 0; 1s live 1 run_command; 5s free", "idle completed, unfinished");
    check("0s held; 0s prompt 0; 1s wait 1 run_command; 5s free", "idle completed, unfinished");
    check("0s held; 0s prompt 0; 4s end 3 4; 5s free", "idle completed, finished");
    check("0s held; 0s prompt 0; 4s canceled 3; 5s free", "idle completed, canceled");
    check("0s held; 5s free", "idle completed, none");
    check_times("0s held; 0s prompt 0; 5s free", "since 5s, until -");
    // Not listed is an exit only where it was seen held: another PID namespace has an empty list.
    check("0s free; 0s prompt 0; 5s free", "running active, in progress");
    // Opened again, it is active again.
    check("0s held; 0s prompt 0; 4s end 3 4; 5s free; 9s held", "idle active, finished");
}

#[test]
fn l05_3_an_error_with_agy_gone_needs_no_silence() {
    // Nobody is left who could try again; and what is settled no clock changes.
    check("0s held; 0s prompt 0; 4s error 1 quota; 5s free", "error completed, failed");
    check_times("0s held; 0s prompt 0; 4s error 1 quota; 5s free", "since 4s, until -");
    check("0s held; 0s prompt 0; 4s error 1 quota; 5s free; 1h now", "error completed, failed");
}

#[test]
fn l05_5_the_end_decides_by_its_reason() {
    for (reason, expected) in [
        (0, "idle active, finished"),
        (1, "error active, failed"),
        (2, "idle active, canceled"),
        (3, "idle active, finished"),
        (4, "idle active, finished"),
        (10, "idle active, finished"),
        (77, "idle active, finished"),
    ] {
        check(&format!("0s held; 0s prompt 0; 1s live 1; 2s done 1; 3s end 1 {reason}"), expected);
        check(&format!("0s prompt 0; 1s live 1; 2s done 1; 3s end 1 {reason}"), expected);
    }
    check_times("0s held; 0s prompt 0; 3s end 1 4; 9s now", "since 3s, until -");
}

#[test]
fn l05_5_a_later_live_step_beats_the_end() {
    let ended = "0s held; 0s prompt 0; 3s end 4 4";
    check(&format!("{ended}; 3s live 5"), "running active, in progress");
    // A live step below the end is a row that agy flushes late.
    check(&format!("{ended}; 3s live 4"), "idle active, finished");
    check(&format!("{ended}; 3s live 2"), "idle active, finished");
    // A new prompt is a new turn.
    check(&format!("{ended}; 9s prompt 5"), "running active, in progress");
}

#[test]
fn l05_6_an_error_message_counts_after_five_silent_seconds() {
    let error = "0s held; 0s prompt 0; 1s live 1; 2s done 1; 10s error 2 quota is used up";
    check(&format!("{error}; 14s now"), "running active, in progress");
    check_times(&format!("{error}; 14s now"), "since 0s, until 15s");
    check(&format!("{error}; 15s now"), "error active, failed");
    check_times(&format!("{error}; 15s now"), "since 10s, until -");
    let v = run(&format!("{error}; 15s now")).verdict("s");
    assert_eq!(v.error.unwrap().1.as_deref(), Some("quota is used up"));
    // agy writes on: it tries again. The silence starts anew.
    check(&format!("{error}; 13s write; 15s now"), "running active, in progress");
    check_times(&format!("{error}; 13s write; 15s now"), "since 0s, until 18s");
    check(&format!("{error}; 13s live 3; 30s now"), "running active, in progress");
    // An executor row says how it ended, without any wait.
    check(&format!("{error}; 11s end 2 1"), "error active, failed");
}

#[test]
fn l05_6_a_failed_tool_alone_is_no_error() {
    let failed = "0s held; 0s prompt 0; 1s live 1 run_command; 2s failed 1";
    check(failed, "running active, in progress");
    check(&format!("{failed}; 60s now"), "running active, in progress");
    check(&format!("{failed}; 3s end 2 4"), "idle active, finished");
}

#[test]
fn l05_7_a_canceled_step_ends_the_turn_unless_something_lives() {
    check("0s held; 0s prompt 0; 1s live 1; 2s canceled 1", "idle active, canceled");
    check("0s prompt 0; 1s live 1; 2s canceled 1", "idle active, canceled");
    check("0s held; 0s prompt 0; 1s live 1; 2s canceled 2", "running active, in progress");
    check_times("0s held; 0s prompt 0; 1s live 1; 2s canceled 1; 60s now", "since 2s, until -");
    // The next prompt runs.
    check("0s held; 0s prompt 0; 2s canceled 1; 9s prompt 2", "running active, in progress");
}

#[test]
fn l05_8_live_steps_and_open_prompts_run() {
    check("0s prompt 0", "running active, in progress");
    check("0s prompt 0; 1s live 1; 2s done 1", "running active, in progress");
    check("0s held; 0s prompt 0; 1s live 1", "running active, in progress");
    // Since the prompt, not since the tool which happens to be at work (L9: one running period).
    check_times("0s held; 0s prompt 0; 1s live 1; 50s live 2; 51s now", "since 0s, until -");
}

#[test]
fn l05_9_nothing_at_all_is_idle() {
    check("0s held", "idle active, none");
    check("0s held; 5h now", "idle active, none");
    check("0s write", "idle active, none");
    check("0s free", "idle completed, none");
}

#[test]
fn l05_quiet_while_open_a_running_without_a_live_step_becomes_idle() {
    let open = "0s held; 0s prompt 0; 1s live 1; 2s done 1";
    check(&format!("{open}; 2m1s now"), "running active, in progress");
    check_times(&format!("{open}; 2m1s now"), "since 0s, until 2m2s");
    check(&format!("{open}; 2m2s now"), "idle active, quiet");
    check(&format!("{open}; 9h now"), "idle active, quiet");
    check_times(&format!("{open}; 2m2s now"), "since 2s, until -");
    // It goes on: it runs again.
    check(&format!("{open}; 5m live 2"), "running active, in progress");
    // An error stays an error, an end an end.
    check("0s held; 0s prompt 0; 1s end 1 1; 3h now", "error active, failed");
    check("0s held; 0s prompt 0; 1s end 1 4; 3h now", "idle active, finished");
}

#[test]
fn l05_quiet_while_open_a_live_step_holds_for_hours() {
    check("0s held; 0s prompt 0; 1s live 1 run_command; 5h now", "running active, in progress");
    check_times("0s held; 0s prompt 0; 1s live 1 run_command; 5h now", "since 0s, until -");
}

#[test]
fn l05_quiet_while_unknown_settles_whatever_was() {
    for (script, outcome) in [
        ("0s prompt 0", "idle completed, quiet"),
        ("0s prompt 0; 0s live 1 run_command", "idle completed, quiet"),
        ("0s prompt 0; 0s end 1 4", "idle completed, finished"),
        ("0s prompt 0; 0s canceled 1", "idle completed, canceled"),
        ("0s prompt 0; 0s end 1 1", "error completed, failed"),
        ("0s prompt 0; 0s error 1", "error completed, failed"),
    ] {
        let before = run(&format!("{script}; 1m59s now")).verdict("s");
        assert!(!before.settled, "{script}");
        assert_eq!(before.next_change_at, Some(crate::script::at(120)), "{script}");
        check(&format!("{script}; 2m now"), outcome);
        check(&format!("{script}; 50h now"), outcome);
        check_times(&format!("{script}; 2m now"), "since 0s, until -");
        // A late write makes it active again.
        assert!(!run(&format!("{script}; 2m now; 3m write")).verdict("s").settled, "{script}");
    }
}

#[test]
fn l05_quiet_a_wait_survives_the_window() {
    // The person went for lunch; agy still asks.
    check("0s held; 0s prompt 0; 1s wait 1 run_command; 20h now", "waiting active, in progress");
    // Lock never seen: its agy may be long gone, so the wait leaves the board when its lane would.
    check("0s prompt 0; 1s wait 1 run_command; 5h now", "waiting active, in progress");
    check_times("0s prompt 0; 1s wait 1 run_command; 5h now", "since 1s, until 8h1s");
    check("0s prompt 0; 1s wait 1 run_command; 8h1s now", "idle completed, quiet");
}

#[test]
fn l11_why_names_the_fact_that_decided_and_those_it_beat() {
    check_why(
        "0s held; 0s prompt 0; 1s live 2 run_command; 9s now",
        &[
            "0s database: Step 2 is at work: run_command",
            "0s database: The prompt of step 0 has no end yet",
            "0s presence: agy holds the session's lock",
        ],
    );
    check_why(
        "0s held; 0s prompt 0; 1s wait 3 run_command; 2s live 4; 9s now",
        &[
            "1s database: Step 3 waits: run_command",
            "0s database: Step 4 is at work",
            "0s database: The prompt of step 0 has no end yet",
            "0s presence: agy holds the session's lock",
        ],
    );
    check_why(
        "0s held; 0s prompt 0; 1s live 1; 5s free",
        &[
            "5s presence: agy let go of the session's lock",
            "0s database: Step 1 is at work",
            "0s database: The prompt of step 0 has no end yet",
        ],
    );
    check_why(
        "0s held; 0s prompt 0; 3s error 2 quota; 4s end 2 1",
        &["4s database: The turn failed (error)", "0s presence: agy holds the session's lock"],
    );
    check_why(
        "0s prompt 0; 3s error 2 quota; 2m3s now",
        &[
            "3s database: Step 2 is an error: quota",
            "2m3s clock: Nothing was written for 2 min",
            "0s database: The prompt of step 0 has no end yet",
            "- presence: No lock of agy was seen for it",
        ],
    );
    check_why(
        "0s held; 0s prompt 0; 2m now",
        &[
            "2m clock: Nothing was written for 2 min",
            "0s database: The prompt of step 0 has no end yet",
            "0s presence: agy holds the session's lock",
        ],
    );
    // A wait without a lock ends by the longer window, and says so.
    check_why(
        "0s prompt 0; 0s wait 1; 8h now",
        &[
            "8h clock: Nothing was written for 480 min",
            "0s database: Step 1 waits",
            "0s database: The prompt of step 0 has no end yet",
            "- presence: No lock of agy was seen for it",
        ],
    );
    check_why("0s held", &["- database: No prompt yet", "0s presence: agy holds the session's lock"]);
}

#[test]
fn u36_a_lost_end_never_leaves_it_working() {
    // No hook, no executor row: the poll settles it.
    check("0s prompt 0; 1s live 1; 2s done 1; 2m2s now", "idle completed, quiet");
    // agy was killed.
    check("0s held; 0s prompt 0; 1s live 1; 2s free", "idle completed, unfinished");
}

#[test]
fn u42_twenty_tools_are_one_running_period() {
    let mut script = "0s held; 0s prompt 0".to_owned();
    for tool in 1..=20 {
        for moment in ["live", "done"] {
            script.push_str(&format!("; {}s {moment} {tool} run_command", 3 * tool));
            check(&script, "running active, in progress");
        }
    }
    check(&format!("{script}; 61s end 20 4"), "idle active, finished");
}
