//! L5.1 and L8: a run decides when its lane begins and ends, and its sessions stand in that lane only.

use agenthub_core::{Outcome, Run, RunEnd, RunFacts, State};

use crate::script::{a_run, at, check_board, run};

fn why(script: &str) -> Vec<String> {
    let board = run(script).board();
    let why = &board.lanes[0].why;
    std::iter::once(&why.decided)
        .chain(&why.beat)
        .map(|e| format!("{}: {}", e.fact.source().name(), e.fact))
        .collect()
}

#[test]
fn l05_1_a_run_runs_while_it_lives_and_its_exit_code_ends_it() {
    check_board("0s r:run /w/api; 99h now", &["r running []"]);
    check_board("0s r:run; 9s r:exits 0", &["r idle []"]);
    check_board("0s r:run; 9s r:exits 3", &["r error []"]);
    check_board("0s r:run; 9s r:killed 15", &["r error []"]);
    check_board("0s r:run; 0s r:refused", &["r error []"]);
    // Nobody saw how it ended: not with 0, as far as anybody knows.
    check_board("0s r:run; 9s r:lost", &["r error []"]);
    for (script, outcome) in [
        ("0s r:run", Outcome::InProgress),
        ("0s r:run; 1s r:exits 0", Outcome::Finished),
        ("0s r:run; 1s r:exits 1", Outcome::Failed),
        ("0s r:run; 1s r:lost", Outcome::Unfinished),
    ] {
        assert_eq!(run(script).board().lanes[0].outcome, outcome, "{script}");
    }
}

#[test]
fn l05_1_an_end_that_was_told_beats_a_loss_and_life_takes_a_loss_back() {
    check_board("0s r:run; 5s r:lost; 4s r:exits 0; 9s now", &["r idle []"]);
    check_board("0s r:run; 5s r:lost; 6s r:lives", &["r running []"]);
    check_board("0s r:run; 5s r:lives; 6s r:lost", &["r error []"]);
    check_board("0s r:run; 5s r:exits 0; 6s r:lives", &["r idle []"]);
}

#[test]
fn l11_a_run_says_why() {
    assert_eq!(why("0s r:run; 1s r:exits 3"), ["run: agy failed (exit code 3)"]);
    assert_eq!(why("0s r:run; 1s r:exits 143"), ["run: agy failed (exit code 143: SIGTERM in it)"]);
    assert_eq!(why("0s r:run; 1s r:killed 2"), ["run: agy was ended by SIGINT, Ctrl-C"]);
    assert_eq!(why("0s r:run; 1s r:killed 64"), ["run: agy was ended by signal 64"]);
    assert_eq!(why("0s r:run; 1s r:refused"), ["run: agy could not be started: not found"]);
    assert_eq!(
        why("0s r:run; 1s s:held; 1s s:of r; 2s s:prompt 0; 3s s:wait 1 run_command"),
        [
            "database: Step 1 waits: run_command",
            "run: agy is at work",
            "database: The prompt of step 0 has no end yet",
            "presence: agy holds the session's lock"
        ]
    );
    let lane = &run("0s r:run; 9s r:exits 3").board().lanes[0];
    assert_eq!(lane.error.as_deref(), Some("agy failed (exit code 3)"));
    assert_eq!((lane.since, lane.why.decided.at), (Some(at(9)), Some(at(9))));
}

/// A run in a folder where another session works.
const TWO: &str = "-1s x:in /w/api; -1s x:held; -1s x:prompt 0; 0s r:run /w/api; 1s s:in /w/api; 1s s:held; 1s s:of r; 2s s:prompt 0";

#[test]
fn l08_a_session_of_a_run_stands_in_its_lane_only() {
    check_board(TWO, &["r running [s]", "api running [x]"]);
    let lane = &run(TWO).board().lanes[0];
    assert_eq!(lane.run.as_ref().map(ToString::to_string).as_deref(), Some("r"));
    assert_eq!((lane.id.0.as_str(), lane.cwd.as_deref()), ("run:r", Some("/w/api")));
    assert_eq!(run(TWO).board().lanes[1].run, None);
}

#[test]
fn l05_1_a_wait_of_its_session_shows_on_top() {
    let waits = format!("{TWO}; 3s s:wait 1 run_command");
    check_board(&waits, &["r waiting [s]", "api running [x]"]);
    let lane = &run(&waits).board().lanes[0];
    assert_eq!(lane.waiting.as_ref().and_then(|w| w.tool.as_deref()), Some("run_command"));
    assert_eq!(lane.since, Some(at(3)));
    check_board(&format!("{waits}; 4s s:answered"), &["r running [s]", "api running [x]"]);
    // Of a sub-agent's too.
    check_board(
        &format!("{TWO}; 3s c:under s; 3s c:prompt 0; 4s c:wait 1 run_command"),
        &["r waiting [c s]", "api running [x]"],
    );
}

#[test]
fn l05_1_its_sessions_turn_and_errors_decide_nothing_else() {
    // The turn is over, the run goes on; an error of the model's is the run's own matter.
    check_board(&format!("{TWO}; 3s s:end 1 4; 4s now"), &["r running [s]", "api running [x]"]);
    check_board(&format!("{TWO}; 3s s:end 1 1; 4s now"), &["r running [s]", "api running [x]"]);
    check_board(&format!("{TWO}; 3s s:end 1 1; 4s s:free; 4s r:exits 0"), &["api running [x]", "r idle []"]);
    check_board(&format!("{TWO}; 4s s:free; 4s r:exits 1"), &["r error []", "api running [x]"]);
}

#[test]
fn l08_it_is_remembered_after_the_process_ended_and_another_process_takes_it_away() {
    let ended = format!("{TWO}; 3s s:end 1 4; 4s s:free; 4s r:exits 0; 5s x:free");
    check_board(&ended, &["api idle []", "r idle []"]);
    // Taken up again by a process that is none of the run's.
    let again = format!("{ended}; 1m s:held; 1m s:of; 1m1s s:prompt 2");
    check_board(&again, &["api running [s]", "r idle []"]);
    // Where no lock tells whose process it is, a turn that began after the run was over is none of the run's.
    let quiet = "0s r:run; 1s s:in /w/api; 1s s:of r; 2s s:prompt 0; 3s s:end 1 4; 4s r:exits 0";
    check_board(&format!("{quiet}; 1m s:prompt 2"), &["api running [s]", "r idle []"]);
    // In another run.
    check_board(
        &format!("{ended}; 1m q:run /w/api; 1m s:held; 1m s:of q; 1m1s s:prompt 2"),
        &["q running [s]", "api idle []", "r idle []"],
    );
    // A run that is not known (its record is gone) has no lane.
    check_board("0s s:in /w/api; 0s s:held; 0s s:of r; 1s s:prompt 0", &["api running [s]"]);
}

#[test]
fn l08_sub_agents_follow_their_parent() {
    check_board(
        &format!("{TWO}; 3s c:under s; 3s c:in /v/else; 4s c:prompt 0"),
        &["r running [s c]", "api running [x]"],
    );
}

#[test]
fn l05_3_without_locks_a_session_goes_with_its_run() {
    let open = "0s r:run; 1s s:in /w/api; 1s s:of r; 2s s:prompt 0; 3s s:wait 1 run_command";
    check_board(open, &["r waiting [s]"]);
    // Its agy is gone: the question is nobody's any more, long before the quiet window.
    check_board(&format!("{open}; 4s r:killed 9"), &["r error []"]);
    check_board(&format!("{open}; 4s c:under s; 4s c:prompt 0; 5s r:exits 0"), &["r idle []"]);
    let w = run(&format!("{open}; 4s r:exits 0"));
    assert_eq!((w.verdict("s").settled, w.verdict("s").outcome), (true, Outcome::Unfinished));
    // What is written later is another agy's.
    assert!(!run(&format!("{open}; 4s r:exits 0; 20s s:write")).verdict("s").settled);
}

#[test]
fn l06_a_quiet_settle_leaves_a_runs_lane_and_other_folders_alone() {
    // A session in the folder falls silent for two minutes: its lane settles, and the run in that folder goes on.
    let quiet = "0s s:in /w/api; 0s s:prompt 0; 0s s:wait 1 run_command; 1s s:answered; 1s r:run /w/api; 1s x:in /v/web; 1s x:held; 2s x:prompt 0; 2s x:live 1";
    check_board(&format!("{quiet}; 1m now"), &["web running [x]", "r running []", "api running [s]"]);
    check_board(&format!("{quiet}; 2m1s now"), &["web running [x]", "r running []", "api idle []"]);
    // And one of the run's own sessions that falls silent clears no wait of the folder's lane.
    let own = "0s x:in /w/api; 0s x:held; 0s x:prompt 0; 0s x:wait 1 run_command; 0s r:run /w/api; 1s s:in /w/api; 1s s:of r; 2s s:prompt 0";
    check_board(&format!("{own}; 3m now"), &["api waiting [x]", "r running []"]);
}

#[test]
fn l07_a_failed_run_stays_until_it_is_dismissed() {
    check_board("0s r:run; 9s r:exits 3; 99h now", &["r error []"]);
    check_board("0s r:run; 9s r:exits 3; 10s r:dismiss-run", &["r idle []"]);
    check_board("0s r:run; 9s r:exits 3; 8s r:dismiss-run; 10s now", &["r error []"]);
    check_board("0s r:run; 9s r:exits 3; 10s r:dismiss-run; 9h now", &[]);
    check_board("0s r:run; 9s r:exits 3; 20s x:installed", &["r idle []"]);
    // One that ended well leaves after the board's window; another run is another lane.
    check_board("0s r:run; 9s r:exits 0; 7h now", &["r idle []"]);
    check_board("0s r:run; 9s r:exits 0; 8h9s now", &[]);
    assert_eq!(run("0s r:run; 9s r:exits 0").board().next_change_at, Some(at(8 * 3_600 + 9)));
    check_board("0s r:run; 9s r:exits 3; 10s q:run; 11s q:exits 0", &["r error []", "q idle []"]);
}

#[test]
fn a_run_of_something_else_is_told_apart() {
    let one = Run { tool: agenthub_core::Tool::Command, program: "make".to_owned(), ..a_run("r") };
    let facts = RunFacts::from_start(at(0)).joined(RunFacts::from_end(at(1), RunEnd::Exited(2)));
    let verdict = Run { facts, ..one }.verdict();
    assert_eq!(
        (verdict.state, verdict.why.fact.to_string().as_str()),
        (State::Error, "make failed (exit code 2)")
    );
}
