//! §1 and L7: lanes, what stands on the board, and errors that stay.

use agenthub_core::{State, board};

use crate::script::{at, check_board, run};

#[test]
fn u47_the_worst_active_session_decides_its_lane() {
    // Each state of one session, against each of another in the same folder.
    let states = [
        (State::Idle, "1s X:prompt 0; 2s X:end 1 4"),
        (State::Running, "1s X:prompt 0; 2s X:live 1"),
        (State::Waiting, "1s X:prompt 0; 2s X:wait 1 run_command"),
        (State::Error, "1s X:prompt 0; 2s X:end 1 1"),
    ];
    assert!(State::Error > State::Waiting && State::Waiting > State::Running && State::Running > State::Idle);
    for (a, a_script) in states {
        for (b, b_script) in states {
            let script = format!(
                "0s a:in /w/api; 0s b:in /w/api; 0s a:held; 0s b:held; {}; {}",
                a_script.replace('X', "a"),
                b_script.replace('X', "b")
            );
            let board = run(&script).board();
            assert_eq!(board.lanes.len(), 1, "{script}");
            assert_eq!(board.lanes[0].state, a.max(b), "{script}");
            assert_eq!(board.worst(), Some(a.max(b)));
            assert_eq!(board.count(a.max(b)), 1);
            let first = if a >= b { "a" } else { "b" };
            assert_eq!(board.lanes[0].sessions[0].id, crate::script::id(first), "{script}");
        }
    }
}

#[test]
fn s01_lanes_are_folders_and_sessions_without_one() {
    check_board(
        "0s a:in /w/api; 0s b:in /w/api; 0s c:in /v/api; 0s d:held; 0s e:held; 0s e:unnamed;
         1s a:prompt 0; 2s b:prompt 0; 3s c:prompt 0; 4s d:prompt 0; 5s e:prompt 0",
        &["00000000 running [e]", "d running [d]", "api running [c]", "api running [b a]"],
    );
    // Windows paths, a trailing slash, the root.
    check_board("0s a:in C:\\w\\api; 0s a:prompt 0", &["api running [a]"]);
    check_board("0s a:in /w/api/; 0s a:prompt 0", &["api running [a]"]);
    check_board("0s a:in /; 0s a:prompt 0", &["a running [a]"]);
}

#[test]
fn s01_the_worst_lane_stands_first_then_the_newest() {
    check_board(
        "0s a:in /w/a; 0s b:in /w/b; 0s c:in /w/c; 0s d:in /w/d; 0s e:in /w/e;
         1s a:prompt 0; 2s a:end 1 4; 3s b:prompt 0; 4s b:wait 1; 5s c:prompt 0; 6s d:prompt 0; 7s d:end 1 1; 8s e:prompt 0",
        &["d error [d]", "b waiting [b]", "e running [e]", "c running [c]", "a idle [a]"],
    );
}

#[test]
fn s01_what_writes_by_turns_keeps_its_place() {
    // Two lanes, and two sessions of one lane: whoever wrote last is not first.
    let both = "0s a:in /w/a; 0s b:in /w/b; 0s c:in /w/b; 1s a:prompt 0; 2s b:prompt 0; 3s c:prompt 0";
    for more in
        ["", "; 9s a:live 1", "; 9s a:live 1; 10s b:live 1", "; 9s c:live 1; 10s b:live 1; 11s a:live 2"]
    {
        check_board(&format!("{both}{more}"), &["b running [c b]", "a running [a]"]);
    }
}

#[test]
fn l07_an_error_stays_until_a_new_turn_or_the_person() {
    let failed = "0s a:in /w/api; 0s b:in /w/api; 0s a:prompt 0; 9s a:end 1 1";
    check_board(&format!("{failed}; 9s now"), &["api error [a]"]);
    // Settled, hours later, days later: it stays.
    check_board(&format!("{failed}; 7h now"), &["api error []"]);
    check_board(&format!("{failed}; 99h now"), &["api error []"]);
    // A turn there, of itself or of another session of the lane.
    check_board(&format!("{failed}; 3h a:prompt 2"), &["api running [a]"]);
    check_board(&format!("{failed}; 3h b:prompt 0"), &["api running [b]"]);
    check_board(&format!("{failed}; 3h b:prompt 0; 3h b:end 1 4; 4h now"), &["api idle []"]);
    // Not one that was already running, and not another folder's, and not a sub-agent's.
    check_board(
        &format!("5s b:in /w/api; 5s b:held; 5s b:prompt 0; {failed}; 10s b:live 1"),
        &["api error [a b]"],
    );
    check_board(&format!("{failed}; 3h c:in /v/c; 3h c:prompt 0"), &["api error []", "c running [c]"]);
    check_board(&format!("{failed}; 10s c:under a; 10s c:prompt 0"), &["api error [a c]"]);
    // The person dismissed it; a later one shows again.
    check_board(&format!("{failed}; 20s a:dismiss"), &["api idle [a]"]);
    check_board(&format!("{failed}; 20s a:dismiss; 3h now"), &["api idle []"]);
    check_board(&format!("{failed}; 20s a:dismiss; 9h now"), &[]);
    check_board(&format!("{failed}; 20s a:dismiss; 30s a:prompt 2; 40s a:end 3 1"), &["api error [a]"]);
    // A dismissal of an earlier error is none of this one.
    check_board(&format!("{failed}; 8s a:dismiss; 10s now"), &["api error [a]"]);
}

#[test]
fn l07_an_error_says_its_words() {
    let b = run("0s a:in /w/api; 0s a:prompt 0; 5s a:error 1 quota is used up; 9h now").board();
    assert_eq!(b.lanes[0].error.as_deref(), Some("quota is used up"));
    assert_eq!(b.lanes[0].since, Some(at(5)));
}

#[test]
fn l07_an_error_without_any_time_stands_and_can_be_dismissed() {
    let mut w = run("0s a:in /w/api; 0s a:prompt 0; 5s a:end 1 1");
    let mut view = w.sessions[0].facts.db.get().unwrap().clone();
    (view.turn, view.newest) = (None, None);
    view.end.as_mut().unwrap().at = None;
    w.sessions[0].facts = agenthub_core::Facts::from_db(at(9), view);
    assert_eq!(w.board().lanes[0].state, State::Error);
    let lane = w.board().lanes[0].id.clone();
    w.person.dismissed.insert(lane, at(10));
    assert_eq!(w.board().lanes, []);
}

#[test]
fn l10_errors_from_before_agenthub_are_history() {
    let failed = "0s a:in /w/api; 0s a:prompt 0; 9s a:end 1 1";
    check_board(&format!("{failed}; 10s a:installed; 11s now"), &["api idle [a]"]);
    check_board(&format!("{failed}; 10s a:installed; 20h now"), &[]);
    check_board(&format!("8s a:installed; {failed}; 20h now"), &["api error []"]);
}

#[test]
fn s01_a_lane_leaves_the_board_after_eight_hours() {
    let script = "0s a:in /w/api; 0s a:prompt 0; 9s a:end 1 4";
    check_board(&format!("{script}; 7h now"), &["api idle []"]);
    assert_eq!(run(&format!("{script}; 7h now")).board().next_change_at, Some(at(8 * 3_600 + 9)));
    check_board(&format!("{script}; 8h8s now"), &["api idle []"]);
    check_board(&format!("{script}; 8h9s now"), &[]);
    assert_eq!(run(&format!("{script}; 8h9s now")).board().next_change_at, None);
    // Open, it stays.
    check_board(&format!("0s a:held; {script}; 80h now"), &["api idle [a]"]);
}

#[test]
fn u46_sessions_without_hooks_or_names_are_listed() {
    let script: String =
        (0..35).map(|i| format!("0s s{i}:unnamed; 0s s{i}:in /w/{i}; {i}s s{i}:prompt 0;")).collect();
    let w = run(&script);
    assert_eq!(w.board().lanes.len(), 35);
    assert_eq!(w.board().count(State::Running), 35);
}

#[test]
fn an_empty_board_has_no_worst() {
    let b = run("0s now").board();
    assert_eq!((b.worst(), b.next_change_at), (None, None));
    assert_eq!(
        board(&[], &[], &agenthub_core::Person::default(), at(0), &agenthub_core::Windows::default()),
        b
    );
}
