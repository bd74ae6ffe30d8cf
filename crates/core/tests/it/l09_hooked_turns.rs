//! L9: random turns with hooks, told by two sources in any order, are one running period with the right end.

use agenthub_core::fact::{Live, NewestStep};
use agenthub_core::{
    DbView, EventId, Facts, HookEvent, HookKind, LockReading, Outcome, State, StepRef, Time, TurnEnd,
    Windows, derive,
};
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::script::START;

fn ms(t: i64) -> Time {
    START.plus_ms(t)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Stop,
    /// The Stop got lost; the database has its executor row.
    LostStop,
    /// The API failed: an executor row with reason 1, and no Stop.
    ApiError,
    ErrorStop,
}

#[derive(Clone, Debug)]
pub(crate) struct Tool {
    think: i64,
    work: i64,
    /// Its hook is stamped this long after its step is over.
    hook_late: i64,
    /// The turn pauses after it, with a held Stop, for so long.
    pause: Option<i64>,
    /// What was left in the background ends so long before agy goes on.
    behind: Option<i64>,
}

pub(crate) fn tool() -> impl Strategy<Value = Tool> {
    let pause = proptest::option::weighted(0.15, 1_000..1_000_000i64);
    (100..60_000i64, 100..100_000i64, 1..80i64, pause, proptest::option::of(1..500_000i64))
        .prop_map(|(think, work, hook_late, pause, behind)| Tool { think, work, hook_late, pause, behind })
}

impl Tool {
    pub(crate) fn pause(&self) -> Option<i64> {
        self.pause
    }
}

/// Hook events, and what the database holds from a moment on.
pub(crate) struct Turn {
    pub(crate) hooks: Vec<HookEvent>,
    pub(crate) views: Vec<(i64, DbView)>,
    pub(crate) ends: i64,
}

pub(crate) fn play(tools: &[Tool], end: End) -> Turn {
    let mut hooks = Vec::new();
    let mut tell = |t: i64, kind: HookKind| {
        let id = EventId { ns: u64::try_from(t).unwrap(), pid: 7 };
        hooks.push(HookEvent { at: ms(t), id, kind });
    };
    let step = |idx, t| StepRef { idx, at: Some(ms(t)) };
    let mut view = DbView {
        turn: Some(step(0, 0)),
        newest: Some(NewestStep::Other { step: step(0, 0) }),
        ..DbView::default()
    };
    let mut views = vec![(0, view.clone())];
    let (mut now, mut idx, mut num) = (5, 0, 0);
    tell(now, HookKind::Invocation { num: Some(0) });
    for t in tools {
        now += t.think;
        idx += 1;
        view.end = None;
        view.live = Some(Live { step: step(idx, now), tool: None, detail: None });
        view.newest = Some(NewestStep::Other { step: step(idx, now) });
        views.push((now, view.clone()));
        now += t.work;
        view.live = None;
        views.push((now, view.clone()));
        now += t.hook_late;
        tell(now, HookKind::Tool { name: None, step: Some(idx) });
        num += 1;
        if let Some(pause) = t.pause {
            // The held Stop comes first; the executor row is written while background work goes on.
            now += 50;
            tell(now, HookKind::HeldStop);
            view.end = Some(TurnEnd { at: Some(ms(now - 20)), last_step: idx, reason: 4 });
            views.push((now, view.clone()));
            if let Some(behind) = t.behind {
                tell(now + (pause - behind).max(1), HookKind::Tool { name: None, step: Some(idx) });
            }
            now += pause;
            num = 0;
        }
        now += 20;
        tell(now, HookKind::Invocation { num: Some(num) });
    }
    now += 3_000;
    idx += 1;
    view.newest = Some(NewestStep::Other { step: step(idx, now) });
    let row = |reason| Some(TurnEnd { at: Some(ms(now)), last_step: idx, reason });
    let ends = now + 10;
    match end {
        End::Stop => {
            tell(ends, HookKind::Stop { error: None, reason: "NO_TOOL_CALL".into() });
            view.end = row(4);
        }
        End::LostStop => view.end = row(4),
        End::ApiError => view.end = row(1),
        End::ErrorStop => {
            tell(ends, HookKind::Stop { error: Some("quota".into()), reason: "ERROR".into() });
            view.end = row(4);
        }
    }
    views.push((ends, view));
    Turn { hooks, views, ends }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn l09_a_random_turn_with_hooks_is_one_running_period(
        tools in vec(tool(), 1..=20),
        end in prop_oneof![Just(End::Stop), Just(End::LostStop), Just(End::ApiError), Just(End::ErrorStop)],
        late in 0..1_500i64,
        locks in any::<bool>(),
        looks in vec(any::<u32>(), 0..60),
    ) {
        let turn = play(&tools, end);
        let windows = Windows::default();
        let mut looks: Vec<i64> = looks.iter().map(|l| i64::from(*l) % (turn.ends + 5_000)).collect();
        looks.extend(turn.hooks.iter().map(|h| h.at.ms_since(START)));
        looks.extend(turn.views.iter().map(|(t, _)| t + late));
        looks.sort_unstable();
        let mut facts = Facts::default();
        for t in looks.into_iter().filter(|t| *t >= 5) {
            for h in turn.hooks.iter().filter(|h| h.at <= ms(t)) {
                facts = facts.joined(Facts::from_hook(h.clone()));
            }
            if let Some((wrote, view)) = turn.views.iter().rfind(|(at, _)| at + late <= t) {
                facts = facts.joined(Facts::from_db(ms(t), view.clone())).joined(Facts::from_write(ms(wrote + late)));
            }
            if locks {
                facts = facts.joined(Facts::from_lock(ms(t), LockReading::Held));
            }
            let v = derive(&facts, None, ms(t), &windows);
            // Whatever is told first, the end is known at the latest when the database has it.
            let known = if matches!(end, End::Stop | End::ErrorStop) { turn.ends } else { turn.ends + late };
            if t < turn.ends {
                prop_assert_eq!(v.state, State::Running, "at {} of {}: {:?}", t, turn.ends, v.why);
                prop_assert!(v.since.is_some_and(|s| s.ms_since(START) <= 5), "since {:?}", v.since);
            } else if t >= known {
                let (state, outcome) = match end {
                    End::Stop | End::LostStop => (State::Idle, Outcome::Finished),
                    End::ApiError | End::ErrorStop => (State::Error, Outcome::Failed),
                };
                prop_assert_eq!((v.state, v.outcome), (state, outcome), "at {} of {}: {:?}", t, turn.ends, v.why);
            }
        }
    }

    #[test]
    fn l09_the_same_evidence_in_any_order_is_the_same_turn(
        tools in vec(tool(), 1..=20),
        order in vec(any::<Index>(), 0..200),
        split in any::<Index>(),
        after in 0..2_000_000i64,
    ) {
        let turn = play(&tools, End::Stop);
        let mut pieces: Vec<Facts> = turn.hooks.iter().cloned().map(Facts::from_hook).collect();
        pieces.extend(turn.views.iter().map(|(t, v)| Facts::from_db(ms(*t), v.clone())));
        let joined = |all: &[Facts]| all.iter().cloned().fold(Facts::default(), Facts::joined);
        let once = joined(&pieces);
        let mut told: Vec<Facts> = order.iter().map(|i| i.get(&pieces).clone()).collect();
        told.extend(pieces.iter().rev().cloned());
        // A restart: what was kept joins what is read anew.
        let (before, rest) = told.split_at(split.index(told.len()));
        prop_assert_eq!(&joined(before).joined(joined(rest)), &once);
        let (now, windows) = (ms(turn.ends + after), Windows::default());
        prop_assert_eq!(derive(&joined(&told), None, now, &windows), derive(&once, None, now, &windows));
    }
}
