//! L9: a random turn, looked at at random moments, is one running period with the right end.

use agenthub_core::fact::{Live, NewestStep};
use agenthub_core::{
    DbView, Facts, LockReading, Outcome, Person, Session, State, StepRef, Time, TurnEnd, Waiting, Windows,
    board,
};
use proptest::{collection::vec, prelude::*};

use crate::script::{at, session};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Answer,
    ApiError,
    Esc,
    /// A headless refusal: an error message, and no executor row.
    Refused,
    Killed,
}

#[derive(Clone, Debug)]
struct Tool {
    /// Seconds of thinking before it, below the quiet window.
    think: i64,
    /// Seconds of work; a long one writes nothing meanwhile.
    work: i64,
    /// Seconds that it asks for permission first.
    asks: Option<i64>,
    /// It starts together with the one before.
    parallel: bool,
    fails: bool,
    /// The API fails once before it, and agy tries again within this many seconds.
    hiccup: Option<i64>,
}

fn tool(locks: bool) -> impl Strategy<Value = Tool> {
    // Without a lock, silence beyond 2 min settles: then tools are short.
    let longest = if locks { 7_200 } else { 100 };
    (
        1..100i64,
        prop_oneof![1..5i64, 1i64..longest],
        proptest::option::weighted(0.2, 1i64..longest),
        any::<bool>(),
        any::<bool>(),
        proptest::option::weighted(0.2, 1..5i64),
    )
        .prop_map(|(think, work, asks, parallel, fails, hiccup)| Tool {
            think,
            work,
            asks,
            parallel,
            fails,
            hiccup,
        })
}

/// What the database shows from a moment on.
struct Moment {
    s: i64,
    view: DbView,
}

struct Turn {
    moments: Vec<Moment>,
    ends_at: i64,
    gone_at: Option<i64>,
}

/// Plays a turn that starts at 10 s.
fn play(tools: &[Tool], end: End) -> Turn {
    let mut moments = vec![Moment { s: 0, view: DbView::default() }];
    let mut now = 10;
    let mut idx = 0;
    let mut view = DbView::default();
    let step = |idx, s| StepRef { idx, at: Some(at(s)) };
    view.turn = Some(step(0, now));
    view.newest = Some(NewestStep::Other { step: step(0, now) });
    moments.push(Moment { s: now, view: view.clone() });
    // Live steps and when each is done; the view shows the newest one.
    let mut running: Vec<(i64, i64, i64)> = Vec::new();
    let newest_live = |view: &mut DbView, running: &[(i64, i64, i64)]| {
        view.live = running.iter().max().map(|(idx, started, _)| Live {
            step: step(*idx, *started),
            tool: Some("run_command".into()),
            detail: None,
        });
    };
    for t in tools {
        if !t.parallel || running.is_empty() {
            running.sort_by_key(|(_, _, done)| *done);
            while !running.is_empty() {
                now = running.remove(0).2.max(now);
                newest_live(&mut view, &running);
                moments.push(Moment { s: now, view: view.clone() });
            }
            if let Some(again) = t.hiccup {
                now += 1;
                idx += 1;
                view.newest = Some(NewestStep::Error { step: step(idx, now), text: None });
                moments.push(Moment { s: now, view: view.clone() });
                now += again.min(4);
                idx += 1;
                view.newest = Some(NewestStep::Other { step: step(idx, now) });
                moments.push(Moment { s: now, view: view.clone() });
            }
            now += t.think;
        }
        idx += 1;
        view.newest = Some(NewestStep::Other { step: step(idx, now) });
        if let Some(asks) = t.asks {
            view.waiting =
                Some(Waiting { step: step(idx, now), tool: Some("run_command".into()), detail: None });
            moments.push(Moment { s: now, view: view.clone() });
            now += asks;
            running.iter_mut().for_each(|r| r.2 = r.2.max(now + 1));
            view.waiting = None;
        }
        // A failed tool (status 7) is over like any other.
        running.push((idx, now, now + if t.fails { 1 } else { t.work }));
        newest_live(&mut view, &running);
        moments.push(Moment { s: now, view: view.clone() });
    }
    if matches!(end, End::Answer | End::ApiError | End::Refused) {
        running.sort_by_key(|(_, _, done)| *done);
        while !running.is_empty() {
            now = running.remove(0).2.max(now);
            newest_live(&mut view, &running);
            moments.push(Moment { s: now, view: view.clone() });
        }
    }
    now += 1;
    idx += 1;
    let mut ends_at = now;
    let mut gone_at = None;
    match end {
        End::Answer | End::ApiError => {
            let reason = if end == End::Answer { 4 } else { 1 };
            view.end = Some(TurnEnd { at: Some(at(now)), last_step: idx, reason });
            view.newest = Some(NewestStep::Other { step: step(idx, now) });
        }
        End::Esc => {
            view.live = None;
            view.newest = Some(NewestStep::Canceled { step: step(idx, now) });
        }
        End::Refused => {
            view.newest = Some(NewestStep::Error { step: step(idx, now), text: Some("quota".into()) });
            ends_at = now + 5;
        }
        End::Killed => gone_at = Some(now),
    }
    moments.push(Moment { s: now, view });
    Turn { moments, ends_at, gone_at }
}

/// Every whole second on which something happens, the windows' moments after it, and the given random ones.
fn check_one_period(turn: &Turn, locks: bool, reads: &[u16]) -> Result<(), TestCaseError> {
    let windows = Windows::default();
    let last = turn.moments.last().map_or(0, |m| m.s) + 7;
    let mut looks: Vec<i64> = reads.iter().map(|r| i64::from(*r) % last).collect();
    looks.extend([5, 10, turn.ends_at - 1, turn.ends_at, last]);
    // Without a lock a wait or a tool is quiet only as long as nobody reads it; agy's writes are read as they come.
    looks.extend(turn.moments.iter().map(|m| m.s));
    looks.retain(|s| *s >= 0);
    looks.sort_unstable();
    looks.dedup();
    let mut facts = Facts::default();
    let mut seen: Vec<(i64, State, Outcome)> = Vec::new();
    let mut wakes: Option<Time> = None;
    let mut record = |s: i64, facts: &Facts, now: Time| {
        let b = board(
            &[Session { facts: facts.clone(), ..session("s") }],
            &[],
            &Person::default(),
            now,
            &windows,
        );
        let (state, outcome) = b.lanes.first().map_or((State::Idle, Outcome::None), |l| (l.state, l.outcome));
        seen.push((s, state, outcome));
        b.next_change_at
    };
    for s in looks {
        while let Some(t) = wakes.filter(|t| *t < at(s)) {
            wakes = record(t.ms_since(at(0)) / 1_000, &facts, t);
        }
        let shown = turn.moments.iter().rfind(|m| m.s <= s);
        if let Some(m) = shown {
            facts = facts.joined(Facts::from_db(at(s), m.view.clone())).joined(Facts::from_write(at(m.s)));
        }
        if locks {
            let free = turn.gone_at.is_some_and(|g| g <= s);
            let reading = if free { LockReading::NotListed } else { LockReading::Held };
            facts = facts.joined(Facts::from_lock(at(s), reading));
        }
        wakes = record(s, &facts, at(s));
    }
    for (s, state, _) in &seen {
        let busy = matches!(state, State::Running | State::Waiting);
        prop_assert_eq!(busy, (10..turn.ends_at).contains(s), "{} at {} s of {:?}", state.name(), s, seen);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn l09_a_random_turn_is_one_running_period(
        (locks, tools) in any::<bool>().prop_flat_map(|locks| (Just(locks), vec(tool(locks), 1..=20))),
        end in prop_oneof![Just(End::Answer), Just(End::ApiError), Just(End::Esc), Just(End::Refused), Just(End::Killed)],
        reads in vec(any::<u16>(), 0..40),
    ) {
        // Without a lock nobody notices a kill but the quiet window.
        let end = if end == End::Killed && !locks { End::Answer } else { end };
        let turn = play(&tools, end);
        check_one_period(&turn, locks, &reads)?;
        let view = turn.moments.last().unwrap().view.clone();
        let mut facts = Facts::from_db(at(turn.ends_at), view).joined(Facts::from_write(at(turn.ends_at - 5)));
        if locks {
            facts = facts.joined(Facts::from_lock(at(0), LockReading::Held));
        }
        if let Some(gone) = turn.gone_at {
            facts = facts.joined(Facts::from_lock(at(gone), LockReading::NotListed));
        }
        let v = agenthub_core::derive(&facts, None, at(turn.ends_at), &Windows::default());
        let (state, outcome) = match end {
            End::Answer => (State::Idle, Outcome::Finished),
            End::ApiError | End::Refused => (State::Error, Outcome::Failed),
            End::Esc => (State::Idle, Outcome::Canceled),
            End::Killed => (State::Idle, Outcome::Unfinished),
        };
        prop_assert_eq!((v.state, v.outcome), (state, outcome));
        prop_assert_eq!(v.settled, end == End::Killed);
    }
}
