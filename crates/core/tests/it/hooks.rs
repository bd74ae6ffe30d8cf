//! L1, L5.4, L5.5, H9, H10: what hook events say, alone and against the database.

use crate::script::{check, check_board, check_of, check_times, check_why, run, show_time};

#[test]
fn l01_a_prompt_runs_and_a_stop_ends_it() {
    check("0s held; 0s call 0", "running active, in progress");
    check("0s call 0", "running active, in progress");
    check("0s held; 0s call 0; 3s tool run_command", "running active, in progress");
    check("0s held; 0s call 0; 9s stop", "idle active, finished");
    check("0s held; 0s call 0; 9s stop USER_CANCELED", "idle active, canceled");
    check("0s held; 0s call 0; 9s stop error quota", "error active, failed");
    check_times("0s held; 0s call 0; 3s call 1; 4s tool; 5s now", "since 0s, until 10m4s");
    check_times("0s held; 0s call 0; 9s stop", "since 9s, until -");
    let v = run("0s held; 0s call 0; 9s stop error quota is used up").verdict("s");
    assert_eq!(v.error.unwrap().1.as_deref(), Some("quota is used up"));
    // An event whose body did not come is a sign of life: of a call or a tool it is work, of a Stop nothing is known.
    check("0s held; 0s call", "running active, in progress");
    check("0s held; 0s seen", "idle active, none");
    check("0s held; 0s call 0; 9s seen", "running active, in progress");
    check("0s held; 0s call 0; 9s stop; 10s seen", "idle active, finished");
}

#[test]
fn l05_2_a_hook_event_newer_than_the_read_clears_waiting() {
    let waits = "0s held; 0s call 0; 0s prompt 0; 1s wait 1 run_command";
    check(&format!("{waits}; 9s now"), "waiting active, in progress");
    check(&format!("{waits}; 9s call 1"), "running active, in progress");
    check(&format!("{waits}; 9s tool run_command"), "running active, in progress");
    check(&format!("{waits}; 9s stop"), "idle active, finished");
    // A parallel tool ended: the next read says that the wait goes on.
    check(&format!("{waits}; 9s tool ls; 9s wait 1 run_command"), "waiting active, in progress");
    // An event from before the read clears nothing, however late it comes.
    check("0s held; 0s prompt 0; 5s wait 1 run_command; 4s tool ls; 9s now", "waiting active, in progress");
}

#[test]
fn l05_4_a_held_stop_runs_whatever_the_database_says() {
    let held = "0s held; 0s prompt 0; 0s call 0; 9s pause; 9s end 4 4";
    check(held, "running active, in progress");
    check_times(held, "since 0s, until 30m9s");
    check("0s held; 0s prompt 0; 0s call 0; 9s end 4 4; 9s pause", "running active, in progress");
    // An executor row that says error is no reason either: the work goes on.
    check("0s held; 0s prompt 0; 0s call 0; 9s pause; 9s end 4 1", "running active, in progress");
    // u44: no quiet window applies.
    check(&format!("{held}; 29m now"), "running active, in progress");
    check("0s call 0; 9s pause; 29m now", "running active, in progress");
    // Thirty minutes end it.
    check(&format!("{held}; 30m9s now"), "idle active, finished");
    check("0s call 0; 9s pause; 30m9s now", "idle completed, quiet");
    check("0s held; 0s call 0; 9s pause; 30m9s now", "idle active, quiet");
    // A wait shows on top, and agy's exit ends it.
    check(&format!("{held}; 10s wait 5 run_command"), "waiting active, in progress");
    check(&format!("{held}; 10s free"), "idle completed, unfinished");
}

#[test]
fn l05_4_any_later_hook_event_releases_a_held_stop() {
    let held = "0s held; 0s prompt 0; 0s call 0; 9s pause; 9s end 4 4";
    check(&format!("{held}; 60s stop"), "idle active, finished");
    check(&format!("{held}; 60s call 0"), "running active, in progress");
    check(&format!("{held}; 60s seen"), "idle active, finished");
    check(&format!("{held}; 60s tool; 61s done 4"), "running active, in progress");
    // What goes on after a pause is the same turn, though agy counts its calls anew.
    check_times(&format!("{held}; 60s call 0"), "since 0s, until 11m");
    check_times("0s held; 0s call 0; 9s pause; 60s call 0; 61s call 1", "since 0s, until 11m1s");
    // An event from before the pause does not release it.
    check(&format!("{held}; 8s call 3; 60s now"), "running active, in progress");
}

#[test]
fn l05_4_a_background_tools_end_releases_it_and_the_turn_goes_on() {
    let held = "0s held; 0s prompt 0; 0s call 0; 9s pause; 9s end 4 4";
    // What the database has finished is the part before the pause. agy may take its time, and other tools may be at work.
    let ended = format!("{held}; 60s tool run_command");
    check(&format!("{ended}; 62s done 4"), "running active, in progress");
    check(&format!("{ended}; 3m tool run_command; 5m done 4"), "running active, in progress");
    check_times(&format!("{ended}; 61s now"), "since 0s, until 11m");
    check_times(&format!("{ended}; 3m call 0; 4m now"), "since 0s, until 13m");
    // agy writes the row when all its Stop hooks have run, and another one may take long.
    check(
        "0s held; 0s prompt 0; 0s call 0; 9s pause; 25s end 4 4; 60s tool run_command; 62s done 4",
        "running active, in progress",
    );
    // The hold is released: silence ends it, without a word to anybody, where agy never comes back to it.
    check(&format!("{ended}; 11m now"), "idle active, quiet");
    check("0s prompt 0; 0s call 0; 9s pause; 9s end 4 4; 60s tool; 11m now", "idle completed, quiet");
    // Any end of the next part is the turn's.
    check(&format!("{ended}; 62s stop"), "idle active, finished");
    check(&format!("{ended}; 70s end 6 4"), "idle active, finished");
    check(&format!("{ended}; 70s end 6 1"), "error active, failed");
    check(&format!("{ended}; 70s free"), "idle completed, unfinished");
    // A pause that was over before is no reason: the tool is one of the part that the database has finished.
    check(&format!("{held}; 60s call 0; 65s tool; 65s end 6 4; 70s done 6"), "idle active, finished");
}

#[test]
fn l05_5_a_stop_ends_the_turn_of_its_time() {
    // Before the database tells anything of the end, and after.
    let turn = "0s held; 0s prompt 0; 0s call 0; 1s live 1; 2s done 1; 2s tool";
    check(&format!("{turn}; 3s stop"), "idle active, finished");
    check(&format!("{turn}; 3s stop; 3s end 2 4"), "idle active, finished");
    check(&format!("{turn}; 3s end 2 4; 3s stop"), "idle active, finished");
    // An executor row may turn a Stop's idle into an error, never back.
    check(&format!("{turn}; 3s stop; 4s end 2 1"), "error active, failed");
    check(&format!("{turn}; 3s stop error quota; 4s end 2 4"), "error active, failed");
    // A new prompt, by either source.
    check(&format!("{turn}; 3s stop; 9s prompt 5"), "running active, in progress");
    check(&format!("{turn}; 3s stop; 9s call 0"), "running active, in progress");
    check(&format!("{turn}; 3s stop; 3s end 2 4; 9s call 0"), "running active, in progress");
    check_times(&format!("{turn}; 3s stop; 3s end 2 4; 9s call 0"), "since 9s, until 10m9s");
    // The Stop of the turn before came late.
    check("0s held; 0s prompt 0; 9s prompt 5; 3s stop; 10s now", "running active, in progress");
}

#[test]
fn l05_5_a_stop_newer_than_every_step_wins_over_a_live_step() {
    let live = "0s held; 0s prompt 0; 0s call 0; 1s live 1 run_command";
    check(&format!("{live}; 3s stop"), "idle active, finished");
    // agy flushes late: the row is read after the Stop and still says running.
    check(&format!("{live}; 3s stop; 3h now"), "idle active, finished");
    check(&format!("{live}; 3s stop; 5s live 2"), "running active, in progress");
    check_times(&format!("{live}; 3s stop; 4s now"), "since 3s, until -");
}

#[test]
fn l05_5_a_tools_end_is_outranked_by_a_later_read_that_says_closed() {
    for over in ["canceled 1", "end 1 4", "end 1 2"] {
        let turn = format!("0s held; 0s prompt 0; 0s call 0; 1s live 1 run_command; 4s {over}; 4s done 2");
        let ended = format!("0s held; 0s prompt 0; 0s call 0; 1s live 1; 4s {over}");
        check(&format!("{turn}; 5s tool run_command"), "running active, in progress");
        let v = run(&format!("{ended}; 5s tool run_command; 7s {over}")).verdict("s");
        assert_eq!(v.state.name(), "idle", "{over}");
    }
    // A call is outranked only by an end later than itself.
    check("0s held; 0s prompt 0; 4s end 1 4; 5s call 3; 60s now", "running active, in progress");
    check("0s held; 0s prompt 0; 5s call 3; 6s end 1 4; 60s now", "idle active, finished");
}

#[test]
fn l05_6_a_call_after_an_error_message_tries_again() {
    let error = "0s held; 0s prompt 0; 0s call 0; 10s error 2 quota";
    check(&format!("{error}; 15s now"), "error active, failed");
    check(&format!("{error}; 12s call 1; 20s now"), "running active, in progress");
    check(&format!("{error}; 9s call 1; 20s now"), "error active, failed");
    // u41: the next prompt clears what Esc left, before the database is read.
    check("0s held; 0s prompt 0; 0s call 0; 4s canceled 1; 9s call 0", "running active, in progress");
}

#[test]
fn l05_6_what_agy_writes_for_itself_is_no_sign_that_a_failed_turn_goes_on() {
    let error = "0s held; 0s prompt 0; 10s error 2 quota";
    check(&format!("{error}; 14s now"), "running active, in progress");
    check(&format!("{error}; 15s now; 20s title"), "error active, failed");
    // The title came within the five seconds: they are those since the error.
    check(&format!("{error}; 12s title; 14s now"), "running active, in progress");
    check(&format!("{error}; 12s title; 15s now"), "error active, failed");
    check_times(&format!("{error}; 12s title; 14s now"), "since 0s, until 15s");
    // One from before the error says nothing, and neither does one where the turn goes on.
    check(
        "0s held; 0s prompt 0; 5s title; 10s error 2 quota; 13s write; 17s now",
        "running active, in progress",
    );
    check(&format!("{error}; 12s title; 13s live 3; 20s now"), "running active, in progress");
}

#[test]
fn l04_the_quiet_window_is_ten_minutes_with_hooks() {
    check("0s prompt 0; 0s call 0; 9m59s now", "running active, in progress");
    check("0s prompt 0; 0s call 0; 10m now", "idle completed, quiet");
    check_times("0s prompt 0; 0s call 0; 5m now", "since 0s, until 10m");
    check("0s prompt 0; 2m now", "idle completed, quiet");
    check("0s held; 0s call 0; 10m now", "idle active, quiet");
    check("0s call 0; 9s stop; 10m8s now", "idle active, finished");
    check("0s call 0; 9s stop; 10m9s now", "idle completed, finished");
    // A late event makes it active again.
    check("0s call 0; 10m now; 11m tool", "running active, in progress");
    check("0s call 0; 9s stop error quota; 10m9s now", "error completed, failed");
}

#[test]
fn l03_a_hook_newer_than_the_reading_of_the_locks_shows_that_agy_is_there() {
    check("0s held; 0s call 0; 5s free", "idle completed, unfinished");
    check("0s held; 0s call 0; 5s free; 9s call 0", "running active, in progress");
    check("0s held; 0s call 0; 5s free; 9s call 0; 10s free", "idle completed, unfinished");
    // An event of before the exit that comes late.
    check("0s held; 0s call 0; 5s free; 4s stop", "idle completed, finished");
}

fn turn_at(script: &str) -> String {
    show_time(run(script).verdict("s").turn_at)
}

#[test]
fn h09_an_invocation_is_a_prompt_only_where_no_turn_is_open() {
    // The first event, a count from 0, after a Stop, after two minutes.
    assert_eq!(turn_at("0s call 3"), "0s");
    assert_eq!(turn_at("0s call 0; 5s call 1; 9s call 2"), "0s");
    assert_eq!(turn_at("0s call 0; 5s call 1; 9s call 0"), "9s");
    assert_eq!(turn_at("0s call 0; 5s stop; 9s call 4"), "9s");
    assert_eq!(turn_at("0s call 0; 5s tool; 2m5s call 4"), "0s");
    assert_eq!(turn_at("0s call 0; 5s tool; 2m6s call 4"), "2m6s");
    // Judged over the events stamped before it, in whatever order they came.
    assert_eq!(turn_at("9s call 1; 0s call 0; 10s now"), "0s");
    assert_eq!(turn_at("9s call 4; 5s stop; 0s call 0; 10s now"), "9s");
    // Without its body it is activity.
    assert_eq!(turn_at("0s call 0; 5s stop; 9s call"), "0s");
    // Silence suggests a prompt; the database, which has the turn open, knows better: a tool took long.
    assert_eq!(turn_at("0s prompt 0; 0s call 0; 5s live 1; 9m call 1"), "0s");
    assert_eq!(turn_at("0s prompt 0; 0s call 0; 5s end 1 4; 9m call 1"), "9m");
    // A turn may be as short as the time from a user step to its call.
    assert_eq!(turn_at("0s prompt 0; 1s call 0"), "0s");
    assert_eq!(turn_at("0s prompt 0; 0s call 0; 0s end 1 4; 1s call 0"), "1s");
    assert_eq!(turn_at("0s prompt 0; 0s call 0; 0s stop; 1s call 0"), "1s");
}

#[test]
fn h09_a_prompt_after_a_lost_stop_is_a_new_turn() {
    let lost = "0s held; 0s prompt 0; 0s call 0; 3s tool; 9s end 4 4";
    check(lost, "idle active, finished");
    check(&format!("{lost}; 30s call 0"), "running active, in progress");
    check_times(&format!("{lost}; 30s call 0"), "since 30s, until 10m30s");
    check_times(&format!("{lost}; 30s call 0; 30s prompt 5"), "since 30s, until 10m30s");
    // An error, too, stays only until then (L7).
    let failed = "0s in /w/api; 0s held; 0s prompt 0; 0s call 0; 9s end 4 1";
    check_board(&format!("{failed}; 20s now"), &["api error [s]"]);
    check_board(&format!("{failed}; 30s call 0"), &["api running [s]"]);
    check_board(&format!("{failed}; 30s call 0; 35s stop"), &["api idle [s]"]);
}

#[test]
fn h09_a_turn_of_very_many_events_keeps_its_beginning() {
    let mut script = "0s held; 0s call 0".to_owned();
    for i in 1..=100 {
        script.push_str(&format!("; {}s call {i}; {}s tool run_command", 4 * i, 4 * i + 2));
    }
    check(&script, "running active, in progress");
    assert_eq!(turn_at(&script), "0s");
    assert_eq!(run(&script).sessions[0].facts.hooks.recent().len(), agenthub_core::Hooks::KEPT);
}

const PAIR: &str = "0s p:in /w/api; 0s p:held; 0s p:prompt 0; 0s p:call 0; 1s p:live 1 invoke_subagent; \
                    2s c:under p; 2s c:prompt 0; 2s c:call 0";

#[test]
fn h10_a_sub_agents_stop_ends_its_own_turn() {
    check_of("c", &format!("{PAIR}; 9s c:stop"), "idle active, finished");
    check_of("p", &format!("{PAIR}; 9s c:stop"), "running active, in progress");
    check_board(&format!("{PAIR}; 9s c:stop; 60s now"), &["api running [p c]"]);
    check_board(&format!("{PAIR}; 9s c:stop error quota; 60s now"), &["api running [p c]"]);
}

#[test]
fn u36_a_lost_stop_never_leaves_it_working() {
    check("0s prompt 0; 0s call 0; 3s tool; 9s end 4 4", "idle active, finished");
    check("0s prompt 0; 0s call 0; 3s tool; 10m3s now", "idle completed, quiet");
    check("0s held; 0s call 0; 3s tool; 9s free", "idle completed, unfinished");
}

#[test]
fn u37_sub_agents_and_background_work_do_not_flap() {
    let mut script = PAIR.to_owned();
    for moment in [
        "5s d:under p; 5s d:prompt 0; 5s d:call 0",
        "9s c:tool; 9s c:stop",
        "12s d:stop; 12s p:tool invoke_subagent",
        "13s p:pause; 13s p:end 3 4",
        "2m30s p:now",
        "9m p:call 0",
        "11m p:tool run_command; 11m p:live 9",
    ] {
        script.push_str("; ");
        script.push_str(moment);
        check_of("p", &script, "running active, in progress");
        assert_eq!(show_time(run(&script).verdict("p").since), "0s", "{script}");
    }
    script.push_str("; 12m p:stop");
    check_of("p", &script, "idle active, finished");
}

#[test]
fn u38_a_stop_of_another_id_does_not_end_the_lane() {
    check_board(&format!("{PAIR}; 9s x:stop; 9s now"), &["api running [p c]", "x idle [x]"]);
}

#[test]
fn u42_twenty_tools_with_hooks_are_one_running_period() {
    let mut script = "0s held; 0s prompt 0; 0s call 0".to_owned();
    for tool in 1..=20 {
        for moment in ["live X run_command", "tool run_command", "done X", "call X"] {
            let moment = moment.replace('X', &tool.to_string());
            script.push_str(&format!("; {}s {moment}", 3 * tool));
            check(&script, "running active, in progress");
            assert_eq!(show_time(run(&script).verdict("s").since), "0s");
        }
    }
    check(&format!("{script}; 62s stop"), "idle active, finished");
}

#[test]
fn u44_no_quiet_window_while_held() {
    check("0s call 0; 9s pause; 10m10s now", "running active, in progress");
    check("0s held; 0s call 0; 9s pause; 29m now", "running active, in progress");
}

#[test]
fn l11_hooks_name_themselves_as_evidence() {
    check_why(
        "0s held; 0s prompt 0; 0s call 0; 3s tool run_command; 4s now",
        &[
            "3s hook: A tool ended: run_command",
            "0s database: The prompt of step 0 has no end yet",
            "0s presence: agy holds the session's lock",
        ],
    );
    check_why(
        "0s held; 0s prompt 0; 0s call 0; 9s pause; 9s end 4 4; 20s now",
        &[
            "9s hook: agy paused while background work goes on",
            "9s database: The turn ended (answer complete)",
            "0s presence: agy holds the session's lock",
        ],
    );
    check_why(
        "0s held; 0s prompt 0; 0s call 0; 1s live 1 run_command; 9s stop",
        &[
            "9s hook: agy stopped (answer complete)",
            "0s database: Step 1 is at work: run_command",
            "0s database: The prompt of step 0 has no end yet",
            "0s presence: agy holds the session's lock",
        ],
    );
    check_why(
        "0s call 0; 9s stop error quota",
        &["9s hook: agy stopped with an error: quota", "- presence: No lock of agy was seen for it"],
    );
    check_why(
        "0s held; 0s call 0; 10m now",
        &[
            "10m clock: Nothing was written for 10 min",
            "0s hook: agy called its model",
            "0s presence: agy holds the session's lock",
        ],
    );
}
