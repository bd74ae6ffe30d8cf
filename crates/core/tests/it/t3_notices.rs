//! T3: one notice for each end of a turn and each wait, by whatever fact, however often and in whatever order it is told.

use std::collections::HashMap;

use agenthub_core::{
    Announced, Announcer, Facts, LockReading, Notice, NoticeKind, Subject, Time, Windows, board::verdicts,
};
use proptest::{collection::vec, prelude::*};

use crate::{
    l09_hooked_turns::{End, play, tool},
    script::{START, World, at, id, name_of, run, session, show_time},
};

/// An AgentHub that plays a script and looks after each line, and when it wanted to look again.
struct Play {
    announcer: Announcer,
    kept: HashMap<Subject, Announced>,
    told: Vec<String>,
    due: Option<Time>,
}

impl Play {
    fn started(since: Time, kept: HashMap<Subject, Announced>) -> Play {
        Play { announcer: Announcer::new(since, kept.clone()), kept, told: Vec::new(), due: None }
    }

    fn look(&mut self, w: &World, now: Time) {
        let verdicts = verdicts(&w.sessions, &w.runs, now, &w.windows);
        let look = self.announcer.look(&w.sessions, &verdicts, &w.runs, now);
        assert_eq!(
            look,
            self.announcer.look(&w.sessions, &verdicts, &w.runs, now),
            "until it is kept, it is found again"
        );
        self.announcer.done(&w.sessions, &w.runs, &look);
        // A second look at the same finds nothing.
        let again = self.announcer.look(&w.sessions, &verdicts, &w.runs, now);
        assert_eq!((again.notices, again.announced), (Vec::new(), Vec::new()));
        self.kept.extend(look.announced);
        self.told.extend(look.notices.iter().map(show));
        self.due = look.next_at;
    }

    /// Plays the lines from `from` on.
    fn play(&mut self, script: &str, from: usize) {
        let lines: Vec<&str> = script.split(';').map(str::trim).filter(|l| !l.is_empty()).collect();
        for n in from..lines.len() {
            let before = run(&lines[..n].join(";"));
            let w = run(&lines[..=n].join(";"));
            while let Some(due) = self.due.filter(|due| *due < w.now) {
                self.look(&before, due);
            }
            self.look(&w, w.now);
        }
    }
}

fn show(n: &Notice) -> String {
    let mut words = vec![
        n.kind.name().to_owned(),
        n.session.as_ref().map_or_else(|| n.lane.0.clone(), name_of),
        show_time(Some(n.at)),
    ];
    words.extend(n.tool.clone());
    words.extend(n.detail.clone());
    words.join(" ")
}

/// What AgentHub, which runs since 0s, tells of a script.
#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let mut p = Play::started(at(0), HashMap::new());
    p.play(script, 0);
    assert_eq!(p.told, expected, "after: {script}");
}

#[test]
fn t3_each_end_of_a_turn_is_told_once() {
    // By the executor row, by a Stop, by both in either order.
    check("1s prompt 0; 9s live 1; 20s done 1; 21s end 1; 22s now; 30m now", &["ready s 21s"]);
    check("1s call 0; 20s stop; 22s now; 30m now", &["ready s 20s"]);
    check("1s prompt 0; 1s call 0; 20s stop; 20s end 0; 22s now", &["ready s 20s"]);
    check("1s prompt 0; 1s call 0; 20s end 0; 20s stop; 22s now", &["ready s 20s"]);
    // The database says it long after; agy goes afterwards.
    check("1s held; 1s prompt 0; 1s call 0; 20s stop; 25s end 0; 30s free; 32s now", &["ready s 20s"]);
    // Two turns.
    check("1s prompt 0; 20s end 0; 40s prompt 2; 60s end 2; 61s now", &["ready s 20s", "ready s 1m"]);
}

#[test]
fn t3_an_error_is_told_with_its_reason() {
    check("1s prompt 0; 1s call 0; 20s stop error quota gone; 22s now", &["failed s 20s quota gone"]);
    check("1s prompt 0; 20s end 0 1; 22s now", &["failed s 20s"]);
    // A row says within the grace that a Stop was an error.
    check("1s prompt 0; 1s call 0; 20s stop; 20s end 0 1; 22s now", &["failed s 20s"]);
    // An error message is one after five seconds of silence, and not if agy tries again.
    check("1s prompt 0; 20s error 1 no network; 25s now; 40s now", &["failed s 20s no network"]);
    check("1s prompt 0; 20s error 1 no network; 23s live 2; 40s now", &[]);
}

#[test]
fn t3_an_agy_that_went_in_the_middle_is_told_and_one_that_finished_is_not() {
    check("1s held; 1s prompt 0; 9s live 1; 20s free; 22s now; 30m now", &["ended s 20s"]);
    // Its last rows are read after its lock is gone.
    check("1s held; 1s prompt 0; 9s live 1; 20s free; 20s end 1; 22s now", &["ready s 20s"]);
    check("1s held; 1s prompt 0; 20s end 0; 30s free; 40s now", &["ready s 20s"]);
}

#[test]
fn t3_silence_and_a_person_who_stops_it_are_not_told() {
    check("1s prompt 0; 9s live 1; 3m now; 30m now", &[]);
    check("1s held; 1s prompt 0; 1s call 0; 15m now", &[]);
    // What was quiet and goes on is told at its real end.
    check("1s held; 1s call 0; 15m now; 16m stop; 17m now", &["ready s 16m"]);
    check("1s prompt 0; 9s live 1; 10s canceled 1; 12s now", &[]);
    check("1s prompt 0; 1s call 0; 20s stop USER_CANCELED; 22s now", &[]);
}

#[test]
fn t3_each_wait_is_told_at_once_with_its_tool() {
    check(
        "1s prompt 0; 9s wait 1 run_command; 10s now; 40s answered; 41s wait 2 write_file; 42s now",
        &["waiting s 9s run_command", "waiting s 41s write_file"],
    );
    // A hook that is newer than the read clears it for a moment; it is the same wait afterwards.
    check(
        "1s prompt 0; 9s wait 1 run_command; 10s tool x; 11s wait 1 run_command; 12s now",
        &["waiting s 9s run_command", "waiting s 11s run_command"],
    );
    check(
        "1s prompt 0; 9s wait 1 run_command; 9s tool x; 9s wait 1 run_command; 12s now",
        &["waiting s 9s run_command"],
    );
}

#[test]
fn u50_sub_agents_are_silent_and_their_lane_is_told_when_all_is_done() {
    let agents =
        "1s prompt 0; 2s a:under s; 2s b:under s; 3s a:prompt 0; 3s b:prompt 0; 20s a:end 0; 30s b:end 0;";
    check(&format!("{agents} 40s end 0; 41s now"), &["ready s 40s"]);
    // One that still works keeps its lane running.
    check(
        "1s prompt 0; 2s a:under s; 3s a:prompt 0; 20s end 0; 25s now; 30s a:end 0; 31s now",
        &["ready s 20s"],
    );
    // Its errors are its parent's matter, too; but its wait holds up the person's work.
    check("1s prompt 0; 2s a:under s; 3s a:prompt 0; 20s a:end 0 1; 21s now", &[]);
    check("1s prompt 0; 2s a:under s; 3s a:wait 1 run_command; 4s now", &["waiting a 3s run_command"]);
}

#[test]
fn t3_background_work_is_no_end() {
    // The row of the execution is there before the held Stop is.
    check(
        "1s prompt 0; 1s call 0; 20s end 0; 20s pause; 5m now; 6m call 0; 7m stop; 7m end 1; 8m now",
        &["ready s 7m"],
    );
}

#[test]
fn l10_what_was_before_the_start_is_not_news() {
    for script in [
        "-9s prompt 0; -5s end 0; 1s now",
        "-9s call 0; -5s stop; 1s now",
        "-9s prompt 0; -5s end 0 1; 1s now",
        "-9s prompt 0; -5s wait 1 run_command; 1s now",
        // It went while AgentHub was closed; the lock is read only now.
        "-20m held; -19m prompt 0; -18m live 1; 1s free; 2s now",
    ] {
        let lines = script.split(';').count();
        let mut p = Play::started(at(0), HashMap::new());
        // All of it is found at once.
        p.play(script, lines - 2);
        assert_eq!(p.told, Vec::<String>::new(), "{script}");
    }
    // What was under way is told when it ends.
    let mut p = Play::started(at(0), HashMap::new());
    p.play("-9s prompt 0; -5s live 1; 1s now; 20s end 1; 21s now", 2);
    assert_eq!(p.told, ["ready s 20s"]);
}

#[test]
fn l10_a_restart_tells_nothing_twice_and_forgets_nothing() {
    let script = "1s held; 1s prompt 0; 9s wait 1 run_command; 20s answered; 30s end 1; 31s now; 40s prompt 2; 50s wait 3 edit; 60s now";
    let lines = script.split(';').count();
    let mut whole = Play::started(at(0), HashMap::new());
    whole.play(script, 0);
    assert_eq!(whole.told, ["waiting s 9s run_command", "ready s 30s", "waiting s 50s edit"]);
    for restart in 0..lines {
        let mut before = Play::started(at(0), HashMap::new());
        let first: Vec<&str> = script.split(';').take(restart).collect();
        before.play(&first.join(";"), 0);
        // The app was watching all the time: the engine of another host took over.
        let mut after = Play::started(at(0), before.kept.clone());
        after.play(script, restart);
        assert_eq!([before.told, after.told].concat(), whole.told, "restarted before line {restart}");
    }
}

#[test]
fn t3_a_run_decides_when_its_lane_is_told() {
    let turn = "1s r:run; 1s s:held; 1s s:of r; 2s s:prompt 0; 9s s:end 0;";
    check(&format!("{turn} 20s now"), &[]);
    check(&format!("{turn} 10s r:exits 0; 11s s:free; 20s now"), &["ready s 10s"]);
    check(&format!("{turn} 10s r:exits 3; 11s s:free; 20s now"), &["failed s 10s agy failed (exit code 3)"]);
    check(&format!("{turn} 10s r:lost; 11s r:lost; 20s now"), &["ended s 10s"]);
    check("1s r:run; 10s r:exits 0; 20s now", &["ready run:r 10s"]);
    // A permission of its session still shows.
    check("1s r:run; 1s s:held; 1s s:of r; 2s s:prompt 0; 3s s:wait 1 edit; 4s now", &["waiting s 3s edit"]);
    // It is over since before the start.
    let mut p = Play::started(at(0), HashMap::new());
    p.play("-9s r:run; -5s r:exits 1; 1s now", 2);
    p.play("-9s r:run; -5s r:exits 1; 1s now; 2s q:run; 3s q:lost; 4s now", 3);
    assert_eq!(p.told, ["ended run:q 3s"]);
}

fn prefix(script: &str, n: usize) -> String {
    script.split(';').take(n).collect::<Vec<_>>().join(";")
}

#[test]
fn t3_notices_name_their_lane_and_say_how_long_it_took() {
    let script = "1s in /src/api; 1s prompt 0; 193s end 0; 194s now";
    let announcer = Announcer::new(START, HashMap::new());
    let w = run(&prefix(script, 3));
    let look = announcer.look(&w.sessions, &verdicts(&w.sessions, &[], w.now, &w.windows), &[], w.now);
    let n = look.notices.first().expect("a notice");
    assert_eq!((n.lane_name.as_str(), n.lane.0.as_str()), ("api", "antigravity:/src/api"));
    assert_eq!((n.kind, n.duration_ms(), n.confirmed), (NoticeKind::Ready, Some(192_000), true));
    assert_eq!(n.session, Some(id("s")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A turn of up to 20 tools with pauses, told by hooks and by the database, each late by its own, at any moments.
    #[test]
    fn t3_a_turn_is_one_notice_whoever_tells_first(
        tools in vec(tool(), 1..=20),
        end in prop_oneof![Just(End::Stop), Just(End::LostStop), Just(End::ApiError), Just(End::ErrorStop)],
        hooks_late in 0..300i64,
        rows_late in 0..300i64,
        looks in vec(any::<u32>(), 0..60),
        locks in any::<bool>(),
        restart in proptest::option::of(any::<u32>()),
        hooked in any::<bool>(),
    ) {
        let turn = play(&tools, end);
        let hooked = hooked || end == End::ErrorStop || tools.iter().any(|t| t.pause().is_some());
        let hooks: Vec<_> = turn.hooks.iter().filter(|_| hooked).cloned().collect();
        let ms = |t: i64| START.plus_ms(t);
        let mut times: Vec<i64> = looks.iter().map(|l| i64::from(*l) % (turn.ends + 5_000)).collect();
        times.extend(hooks.iter().map(|h| h.at.ms_since(START) + hooks_late));
        times.extend(turn.views.iter().map(|(t, _)| t + rows_late));
        times.extend([turn.ends + 2_000, turn.ends + 60_000]);
        times.sort_unstable();
        let restart = restart.map(|r| i64::from(r) % (turn.ends + 5_000));
        let (mut kept, mut told) = (HashMap::new(), Vec::new());
        let mut announcer = Announcer::new(START, HashMap::new());
        let mut s = session("s");
        let mut restarted = restart.is_none();
        let mut due: Option<Time> = None;
        let mut times = std::collections::VecDeque::from(times);
        while let Some(t) = times.pop_front() {
            if let Some(d) = due.filter(|d| *d < ms(t)) {
                times.push_front(t);
                times.push_front(d.ms_since(START));
                due = None;
                continue;
            }
            if !restarted && restart <= Some(t) {
                restarted = true;
                announcer = Announcer::new(START, std::mem::take(&mut kept));
            }
            for h in hooks.iter().filter(|h| h.at.plus_ms(hooks_late) <= ms(t)) {
                s.facts = s.facts.joined(Facts::from_hook(h.clone()));
            }
            if let Some((wrote, view)) = turn.views.iter().rfind(|(at, _)| at + rows_late <= t) {
                s.facts = s.facts.joined(Facts::from_db(ms(t), view.clone())).joined(Facts::from_write(ms(wrote + rows_late)));
            }
            if locks {
                s.facts = s.facts.joined(Facts::from_lock(ms(t), LockReading::Held));
            }
            let sessions = [s.clone()];
            let verdicts = verdicts(&sessions, &[], ms(t), &Windows::default());
            let look = announcer.look(&sessions, &verdicts, &[], ms(t));
            announcer.done(&sessions, &[], &look);
            kept.extend(look.announced);
            told.extend(look.notices);
            due = look.next_at;
            prop_assert!(told.is_empty() || t >= turn.ends, "told at {} of {}: {:?}", t, turn.ends, told);
        }
        let kind = match end {
            End::Stop | End::LostStop => NoticeKind::Ready,
            End::ApiError | End::ErrorStop => NoticeKind::Failed,
        };
        prop_assert_eq!(told.iter().map(|n| n.kind).collect::<Vec<_>>(), vec![kind]);
    }
}
