//! L6 and §1: sub-agents, their parents, and what ends with what.

use crate::script::{check_board, check_of, run, show};

/// A parent that runs a sub-agent: `p` has the lock, the child has none of its own.
const PAIR: &str =
    "0s p:in /w/api; 0s p:held; 0s p:prompt 0; 1s p:live 1 invoke_subagent; 2s c:under p; 2s c:prompt 0";

#[test]
fn l09_a_parent_is_not_quiet_while_its_sub_agent_writes() {
    let unknown = "0s p:in /w/api; 0s p:prompt 0; 1s p:live 1 invoke_subagent; 2s c:under p; 2s c:prompt 0";
    for (script, expected) in [
        (format!("{unknown}; 110s c:live 1; 3m now"), "running active, in progress"),
        (format!("{unknown}; 110s c:live 1; 3m50s now"), "idle completed, quiet"),
        // Two levels down.
        (format!("{unknown}; 3s d:under c; 110s d:prompt 0; 3m now"), "running active, in progress"),
    ] {
        check_of("p", &script, expected);
    }
    // Held, with no live step of its own.
    check_of(
        "p",
        "0s p:held; 0s p:prompt 0; 2s c:under p; 110s c:prompt 0; 3m now",
        "running active, in progress",
    );
    check_of("p", "0s p:held; 0s p:prompt 0; 2s c:under p; 110s c:prompt 0; 3m50s now", "idle active, quiet");
}

#[test]
fn u37_a_sub_agents_end_is_not_its_parents() {
    for end in ["c:end 1 4", "c:end 1 1", "c:canceled 1", "c:error 1 quota"] {
        check_of("p", &format!("{PAIR}; 9s {end}; 60s now"), "running active, in progress");
        check_board(&format!("{PAIR}; 9s {end}; 60s now"), &["api running [p c]"]);
    }
}

#[test]
fn l06_gone_takes_the_sub_agents_along() {
    check_of("c", &format!("{PAIR}; 3s c:live 1; 9s p:free"), "idle completed, unfinished");
    check_of("c", &format!("{PAIR}; 3s c:wait 1 run_command; 9s p:free"), "idle completed, unfinished");
    check_of("c", &format!("{PAIR}; 3s c:end 1 4; 9s p:free"), "idle completed, finished");
    check_of("c", &format!("{PAIR}; 3s d:under c; 3s d:prompt 0; 9s p:free"), "idle completed, unfinished");
    check_board(&format!("{PAIR}; 3s c:wait 1 run_command; 9s p:free"), &["api idle []"]);
    assert_eq!(run(&format!("{PAIR}; 3s c:wait 1; 9s p:free")).verdict("c").waiting, None);
    // How it ended does not change when the windows pass.
    for later in ["10s", "2m", "3m", "9h"] {
        check_of("c", &format!("{PAIR}; 3s c:live 1; 9s p:free; {later} now"), "idle completed, unfinished");
        check_of(
            "c",
            &format!("{PAIR}; 8s c:error 1 quota; 9s p:free; {later} now"),
            "error completed, failed",
        );
    }
}

#[test]
fn l06_a_sub_agent_that_lives_on_its_own_stays() {
    check_of("c", &format!("{PAIR}; 3s c:held; 3s c:live 1; 9s p:free"), "running active, in progress");
    check_board(&format!("{PAIR}; 3s c:held; 3s c:live 1; 9s p:free"), &["api running [c]"]);
    // Its own lock let go: then it goes, too.
    check_of(
        "c",
        &format!("{PAIR}; 3s c:held; 3s c:live 1; 9s p:free; 9s c:free"),
        "idle completed, unfinished",
    );
}

#[test]
fn l06_a_sub_agent_at_a_long_step_stays_while_its_parents_agy_is_there() {
    // agy ends the parent's step at once, and the child's command takes ten minutes without a word.
    let pair =
        "0s p:in /w/api; 0s p:held; 0s p:prompt 0; 1s p:end 1 4; 2s c:under p; 2s c:prompt 0; 3s c:live 1";
    check_of("c", &format!("{pair}; 10m now"), "running active, in progress");
    check_board(&format!("{pair}; 10m now"), &["api running [c p]"]);
    check_of("c", &format!("{pair}; 9m p:free; 10m now"), "idle completed, unfinished");
    // Two levels down as well; and one that said its last word goes in silence.
    check_of(
        "d",
        &format!("{pair}; 4s d:under c; 4s d:prompt 0; 5s d:live 1; 10m now"),
        "running active, in progress",
    );
    check_of("c", &format!("{pair}; 9s c:end 1 4; 10m now"), "idle completed, finished");
    let why = run(&format!("{pair}; 10m now")).verdict("c").why;
    assert!(why.beat.iter().any(|e| e.fact == agenthub_core::Fact::ParentOpen), "{why:?}");
}

#[test]
fn l06_a_quiet_parent_settles_its_sub_agents() {
    let unknown = "0s p:in /w/api; 0s p:prompt 0; 1s p:end 1 4; 1s c:under p; 1s c:prompt 0; 1s c:end 1 4";
    check_of("c", &format!("{unknown}; 2m1s now"), "idle completed, finished");
    // One that still asks does so for its parent's person.
    let asks = "0s p:in /w/api; 0s p:prompt 0; 1s c:under p; 1s c:prompt 0; 1s c:wait 1 run_command";
    check_of("p", &format!("{asks}; 3m now"), "idle completed, quiet");
    check_of("c", &format!("{asks}; 3m now"), "waiting active, in progress");
    check_board(&format!("{asks}; 3m now"), &["api waiting [c]"]);
    check_board(&format!("{asks}; 7h now"), &["api waiting [c]"]);
    check_board(&format!("{asks}; 8h1s now"), &[]);
}

#[test]
fn s01_a_sub_agent_gives_its_lane_only_running_and_waiting() {
    let idle = "0s p:in /w/api; 0s p:held; 0s p:prompt 0; 1s p:end 1 4; 2s c:under p; 2s c:prompt 0";
    check_board(&format!("{idle}; 3s c:live 1"), &["api running [c p]"]);
    check_board(&format!("{idle}; 3s c:wait 1 run_command"), &["api waiting [c p]"]);
    check_board(&format!("{idle}; 3s c:end 1 1"), &["api idle [p c]"]);
    check_board(&format!("{idle}; 3s c:end 1 4"), &["api idle [p c]"]);
    // The waiting tool on the lane is the sub-agent's.
    let b = run(&format!("{idle}; 3s c:wait 1 run_command")).board();
    assert_eq!(b.lanes[0].waiting.as_ref().unwrap().tool.as_deref(), Some("run_command"));
}

#[test]
fn s01_a_sub_agent_stands_in_its_parents_lane_wherever_it_works() {
    check_board(&format!("{PAIR}; 2s c:in /elsewhere; 3s c:live 1"), &["api running [p c]"]);
    // Its parent is not known (deleted, or another's): it has a lane of its own.
    check_board("0s c:under p; 0s c:in /w/tool; 0s c:prompt 0", &["tool running [c]"]);
}

#[test]
fn parents_in_a_circle_end() {
    let circle = "0s a:under b; 0s b:under a; 0s a:prompt 0; 0s b:prompt 0; 0s c:under a; 0s c:prompt 0; 0s d:under d; 0s d:prompt 0";
    let w = run(circle);
    assert_eq!(w.board().lanes.iter().map(|l| l.sessions.len()).sum::<usize>(), 4);
    for s in ["a", "b", "c", "d"] {
        assert_eq!(show(&w.verdict(s)), "running active, in progress");
    }
}
