//! L9: any order of the facts, any repetition, a restart in between: the same facts, the same board.

use agenthub_core::fact::{Live, NewestStep};
use agenthub_core::{
    DbView, EventId, Facts, HookEvent, HookKind, Hooks, LockReading, Person, Run, RunEnd, RunFacts, RunId,
    Session, StepRef, Time, TurnEnd, Waiting, Windows, board, board::verdicts,
};
use proptest::{collection::vec, option, prelude::*, sample::Index};

use crate::script::{a_run, at, session};

/// Times lie around the windows: 5 s, 2 min, 8 h.
pub(crate) fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        8 => (0..260i64).prop_map(at),
        1 => (8 * 3_600 - 5..8 * 3_600 + 260i64).prop_map(at),
        1 => (-100_000_000..200_000_000i64).prop_map(at),
    ]
}

fn step() -> impl Strategy<Value = StepRef> {
    (0..6i64, option::of(time())).prop_map(|(idx, at)| StepRef { idx, at })
}

pub(crate) fn view() -> impl Strategy<Value = DbView> {
    let tool = || option::of("[ab]");
    let end = (option::of(time()), 0..6i64, 0..5i32).prop_map(|(at, last_step, reason)| TurnEnd {
        at,
        last_step,
        reason,
    });
    let waiting = (step(), tool()).prop_map(|(step, tool)| Waiting { step, tool, detail: None });
    let live = (step(), tool()).prop_map(|(step, tool)| Live { step, tool, detail: None });
    let newest = prop_oneof![
        (step(), tool()).prop_map(|(step, text)| NewestStep::Error { step, text }),
        step().prop_map(|step| NewestStep::Canceled { step }),
        step().prop_map(|step| NewestStep::Other { step }),
    ];
    (
        option::weighted(0.8, step()),
        option::weighted(0.3, end),
        option::weighted(0.2, waiting),
        option::weighted(0.4, live),
        option::weighted(0.8, newest),
        option::weighted(0.2, time()),
    )
        .prop_map(|(turn, end, waiting, live, newest, aside)| DbView {
            turn,
            end,
            waiting,
            live,
            newest,
            aside,
        })
}

pub(crate) fn hook_event() -> impl Strategy<Value = HookEvent> {
    let kind = prop_oneof![
        3 => option::weighted(0.9, 0..3u32).prop_map(|num| HookKind::Invocation { num }),
        3 => (option::of("[ab]"), option::of(0..6i64)).prop_map(|(name, step)| HookKind::Tool { name, step }),
        2 => Just(HookKind::HeldStop),
        2 => (option::weighted(0.3, "[ab]?"), prop_oneof!["NO_TOOL_CALL", "USER_CANCELED"])
            .prop_map(|(error, reason)| HookKind::Stop { error, reason }),
        1 => Just(HookKind::Seen),
    ];
    (time(), 0..50u32, kind).prop_map(|(at, pid, kind)| HookEvent { at, id: EventId { ns: 0, pid }, kind })
}

/// One piece of evidence, as a source delivers it.
pub(crate) fn piece() -> impl Strategy<Value = Facts> {
    prop_oneof![
        (time(), view()).prop_map(|(t, v)| Facts::from_db(t, v)),
        (time(), any::<bool>()).prop_map(|(t, held)| Facts::from_lock(
            t,
            if held { LockReading::Held } else { LockReading::NotListed }
        )),
        time().prop_map(Facts::from_write),
        hook_event().prop_map(Facts::from_hook),
        hook_event().prop_map(Facts::from_hook),
        (time(), option::of(run_id())).prop_map(|(t, run)| Facts::from_run(t, run)),
    ]
}

fn run_id() -> impl Strategy<Value = RunId> {
    (0..4usize).prop_map(|n| RunId::parse(&format!("r{n}")).unwrap())
}

/// One piece of evidence of a run.
pub(crate) fn run_piece() -> impl Strategy<Value = RunFacts> {
    let end = prop_oneof![
        (0..3i32).prop_map(RunEnd::Exited),
        (1..3i32).prop_map(RunEnd::Killed),
        "[ab]".prop_map(RunEnd::NotStarted),
    ];
    prop_oneof![
        time().prop_map(RunFacts::from_start),
        time().prop_map(RunFacts::from_life),
        time().prop_map(RunFacts::from_loss),
        (time(), end).prop_map(|(t, end)| RunFacts::from_end(t, end)),
    ]
}

fn run_of(pieces: impl IntoIterator<Item = RunFacts>) -> RunFacts {
    pieces.into_iter().fold(RunFacts::default(), RunFacts::joined)
}

/// Up to three runs, some in the folders of the sessions; `r3` is none of them.
pub(crate) fn runs() -> impl Strategy<Value = Vec<Run>> {
    vec((vec(run_piece(), 0..5), option::of(0..3usize)), 0..4).prop_map(|all| {
        let run = |(i, (pieces, folder)): (usize, (Vec<RunFacts>, Option<usize>))| Run {
            cwd: folder.map(|f| format!("/w/{f}")),
            facts: run_of(pieces),
            ..a_run(&format!("r{i}"))
        };
        all.into_iter().enumerate().map(run).collect()
    })
}

fn joined(pieces: impl IntoIterator<Item = Facts>) -> Facts {
    pieces.into_iter().fold(Facts::default(), Facts::joined)
}

pub(crate) fn facts() -> impl Strategy<Value = Facts> {
    vec(piece(), 0..8).prop_map(joined)
}

/// Up to six sessions in up to three folders, with any parents: also of themselves, in circles, or of none that is known.
pub(crate) fn sessions() -> impl Strategy<Value = Vec<Session>> {
    let one = (facts(), option::weighted(0.5, 0..7usize), option::weighted(0.7, 0..3usize));
    vec(one, 1..6).prop_map(|all| {
        all.into_iter()
            .enumerate()
            .map(|(i, (facts, parent, folder))| Session {
                cwd: folder.map(|f| format!("/w/{f}")),
                parent: parent.map(|p| session(&format!("s{p}")).id),
                facts,
                ..session(&format!("s{i}"))
            })
            .collect()
    })
}

pub(crate) fn person() -> impl Strategy<Value = Person> {
    (option::of(time()), option::of(time()), 0..3usize).prop_map(|(dismissed, errors_since, folder)| {
        let lane = agenthub_core::LaneId(format!("antigravity:/w/{folder}"));
        Person { dismissed: dismissed.map(|t| (lane, t)).into_iter().collect(), errors_since }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn l09_joining_facts_is_a_semilattice(a in facts(), b in facts(), c in facts()) {
        prop_assert_eq!(a.clone().joined(b.clone()), b.clone().joined(a.clone()));
        prop_assert_eq!(a.clone().joined(b.clone()).joined(c.clone()), a.clone().joined(b.joined(c)));
        prop_assert_eq!(&a.clone().joined(a.clone()), &a);
        prop_assert_eq!(a.clone().joined(Facts::default()), a);
    }

    #[test]
    fn l09_any_order_any_repetition_and_a_restart_give_the_same_facts(
        pieces in vec(piece(), 0..12),
        order in vec(any::<Index>(), 0..40),
        split in any::<Index>(),
        now in time(),
    ) {
        let once = joined(pieces.clone());
        // A delivery in any order, with repetitions, in which every piece comes at least once, in reverse at that.
        let mut delivered: Vec<Facts> = Vec::new();
        if !pieces.is_empty() {
            delivered.extend(order.iter().map(|i| i.get(&pieces).clone()));
        }
        delivered.extend(pieces.iter().rev().cloned());
        prop_assert_eq!(&joined(delivered.clone()), &once);
        // A restart in between: what was kept before it joins what came after.
        if !delivered.is_empty() {
            let (before, after) = delivered.split_at(split.index(delivered.len()));
            prop_assert_eq!(&joined(before.to_vec()).joined(joined(after.to_vec())), &once);
        }
        let windows = Windows::default();
        let of = |facts: Facts| board(&[Session { facts, ..session("s") }], &[], &Person::default(), now, &windows);
        prop_assert_eq!(of(joined(delivered)), of(once));
    }

    #[test]
    fn l09_the_newest_hook_events_are_kept_and_the_newest_of_each_kind(
        events in vec(hook_event(), 0..200), keys in vec(any::<u32>(), 200), split in any::<Index>(),
    ) {
        let union = |events: &[HookEvent]| {
            events.iter().cloned().map(Hooks::of).fold(Hooks::default(), Hooks::joined)
        };
        let once = union(&events);
        let mut sorted = events.clone();
        sorted.sort();
        sorted.dedup();
        let newest: Vec<_> = sorted.iter().rev().take(Hooks::KEPT).rev().cloned().collect();
        prop_assert_eq!(once.recent(), newest.as_slice());
        let mut shuffled: Vec<_> = keys.into_iter().zip(events.clone()).collect();
        shuffled.sort_by_key(|(k, _)| *k);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(_, e)| e).collect();
        prop_assert_eq!(&union(&shuffled), &once);
        let (a, b) = shuffled.split_at(split.index(shuffled.len() + 1));
        prop_assert_eq!(&union(a).joined(union(b)), &once);
        prop_assert_eq!(&union(&[shuffled.clone(), events].concat()), &once);
    }

    #[test]
    fn l09_a_run_joins_in_any_order_too(
        pieces in vec(run_piece(), 0..8), order in vec(any::<Index>(), 0..20), split in any::<Index>(),
        sessions in sessions(), person in person(), now in time(),
    ) {
        let once = run_of(pieces.clone());
        let mut delivered: Vec<RunFacts> = Vec::new();
        if !pieces.is_empty() {
            delivered.extend(order.iter().map(|i| i.get(&pieces).clone()));
        }
        delivered.extend(pieces.into_iter().rev());
        prop_assert_eq!(&run_of(delivered.clone()), &once);
        if !delivered.is_empty() {
            let (before, after) = delivered.split_at(split.index(delivered.len()));
            prop_assert_eq!(&run_of(before.to_vec()).joined(run_of(after.to_vec())), &once);
        }
        let of = |facts| [Run { facts, ..a_run("r0") }];
        prop_assert_eq!(
            board(&sessions, &of(run_of(delivered)), &person, now, &Windows::default()),
            board(&sessions, &of(once), &person, now, &Windows::default())
        );
    }

    #[test]
    fn l09_hook_then_poll_is_poll_then_hook(
        before in facts(), hook in hook_event(), poll in (time(), view()), now in time(),
    ) {
        let windows = Windows::default();
        let (hook, poll) = (Facts::from_hook(hook), Facts::from_db(poll.0, poll.1));
        let one = before.clone().joined(hook.clone()).joined(poll.clone());
        let other = before.joined(poll).joined(hook);
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(
            agenthub_core::derive(&one, None, now, &windows),
            agenthub_core::derive(&other, None, now, &windows)
        );
    }

    #[test]
    fn l09_the_order_of_sessions_does_not_matter(
        all in sessions(),
        runs in runs(),
        keys in vec(any::<u32>(), 6),
        person in person(),
        now in time(),
    ) {
        let windows = Windows::default();
        let mut shuffled: Vec<(u32, Session)> = keys.into_iter().zip(all.clone()).collect();
        shuffled.sort_by_key(|(k, _)| *k);
        let shuffled: Vec<Session> = shuffled.into_iter().map(|(_, s)| s).collect();
        let backwards: Vec<Run> = runs.iter().rev().cloned().collect();
        prop_assert_eq!(
            board(&shuffled, &backwards, &person, now, &windows),
            board(&all, &runs, &person, now, &windows)
        );
    }

    #[test]
    fn l09_a_board_of_anything_is_sound(
        all in sessions(), runs in runs(), person in person(), now in time(),
    ) {
        let windows = Windows::default();
        let board = board(&all, &runs, &person, now, &windows);
        let verdicts = verdicts(&all, &runs, now, &windows);
        prop_assert_eq!(verdicts.len(), all.len());
        // Each active session stands in exactly one lane, and settled ones in none.
        let shown: Vec<_> = board.lanes.iter().flat_map(|l| &l.sessions).map(|s| s.id.clone()).collect();
        for (s, v) in all.iter().zip(&verdicts) {
            prop_assert_eq!(shown.iter().filter(|i| **i == s.id).count(), usize::from(!v.settled));
            prop_assert!(v.next_change_at.is_none_or(|t| t > now));
            prop_assert_eq!(v.waiting.is_some(), v.state == agenthub_core::State::Waiting);
            if v.settled {
                prop_assert!(matches!(v.state, agenthub_core::State::Idle | agenthub_core::State::Error));
            }
        }
        // A run has one lane, which says of it what it says itself, but for a wait of its sessions and a dismissal.
        for r in &runs {
            let lanes: Vec<_> = board.lanes.iter().filter(|l| l.run.as_ref() == Some(&r.id)).collect();
            prop_assert!(lanes.len() <= 1);
            let state = r.verdict().state;
            prop_assert!(state != agenthub_core::State::Running || lanes.len() == 1);
            for lane in lanes {
                let waits = lane.sessions.iter().any(|s| s.verdict.state == agenthub_core::State::Waiting);
                prop_assert_eq!(waits, lane.state == agenthub_core::State::Waiting);
                prop_assert!(waits || lane.state == state || lane.state == agenthub_core::State::Idle);
            }
        }
        prop_assert!(board.next_change_at.is_none_or(|t| t > now));
        prop_assert!(board.lanes.is_sorted_by(|a, b| a.state >= b.state));
    }
}
