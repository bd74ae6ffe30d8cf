//! Which turn a step belongs to.

use agenthub_core::{Time, trace::StepKey};

use crate::{
    tally::Step,
    wire::{status, step_type},
};

/// A turn's place among the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Position of the step that began it.
    pub(super) first: usize,
    pub(super) key: StepKey,
    /// Positions of all its steps, the first one included.
    pub(super) steps: Vec<usize>,
    /// Since when it is a turn, where it waited before that as a queued message.
    taken_up: Option<Time>,
}

/// Cuts the steps, which come in their order, into turns. Steps before the first one belong to none, unless the
/// conversation begins with work: a sub-agent may have no prompt.
pub(super) fn places(steps: &[Step]) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    for (i, s) in steps.iter().enumerate() {
        if s.starts_turn {
            let waited = s.turn_at != s.created;
            all.push(Place::new(i, s, s.turn_at.filter(|_| waited)));
            continue;
        }
        match turn_of(s, steps, &all) {
            Some(at) => {
                if let Some(place) = all.get_mut(at) {
                    place.steps.push(i);
                }
            }
            None if is_work(s) => all.push(Place::new(i, s, None)),
            None => {}
        }
    }
    all
}

impl Place {
    fn new(first: usize, s: &Step, taken_up: Option<Time>) -> Place {
        Place { first, key: StepKey::new(s.idx, s.created), steps: vec![first], taken_up }
    }
}

fn is_work(s: &Step) -> bool {
    s.is_tool || matches!(s.step_type, step_type::PLANNER | step_type::ERROR_MESSAGE)
}

/// The turn of a step that begins none: that of its execution where one prompt alone has it; else the last one before
/// it, but not one whose message still waited while the step was made.
fn turn_of(s: &Step, steps: &[Step], all: &[Place]) -> Option<usize> {
    // Held turns go on in executions that no prompt has; a queued message may have been taken up within one.
    let of_prompt = |p: &Place| steps.get(p.first).map_or(0, |first| first.execution);
    if s.execution != 0 {
        let mut same = all.iter().enumerate().filter(|(_, p)| of_prompt(p) == s.execution);
        if let (Some((at, _)), None) = (same.next(), same.next()) {
            return Some(at);
        }
    }
    let is_before = |p: &Place| match (p.taken_up, s.created) {
        (Some(taken_up), Some(created)) => created < taken_up,
        _ => false,
    };
    all.iter().rposition(|p| !is_before(p)).or_else(|| all.len().checked_sub(1))
}

/// The steps that tell how a turn ended: not the title calls, which are agy's own affair.
pub(super) fn last_word<'a>(steps: impl DoubleEndedIterator<Item = &'a Step>) -> Option<&'a Step> {
    steps.rev().find(|s| s.step_type != step_type::CHECKPOINT)
}

pub(super) fn is_canceled(s: &Step) -> bool {
    matches!(s.status, status::CANCELED | status::INTERRUPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(idx: i64, step_type: i64, at: i64, execution: u64) -> Step {
        Step {
            idx,
            step_type,
            status: status::DONE,
            created: Some(Time::from_micros(at)),
            completed: None,
            execution,
            starts_turn: step_type == step_type::USER_INPUT,
            turn_at: Some(Time::from_micros(at)),
            is_tool: step_type::is_tool(step_type),
            is_bad: false,
            odd: Vec::new(),
        }
    }

    const USER: i64 = step_type::USER_INPUT;
    const PLANNER: i64 = step_type::PLANNER;
    const TOOL: i64 = step_type::GENERIC;

    fn turns(steps: &[Step]) -> Vec<Vec<i64>> {
        let idx = |at: &usize| steps[*at].idx;
        places(steps).iter().map(|p| p.steps.iter().map(idx).collect()).collect()
    }

    #[test]
    fn r2_a_turn_goes_from_a_prompt_to_the_next_one() {
        let steps = [
            step(0, USER, 10, 1),
            step(1, 90, 11, 1),
            step(2, PLANNER, 12, 1),
            step(3, TOOL, 13, 1),
            // Held: it goes on in another execution.
            step(4, PLANNER, 90, 2),
            step(5, USER, 100, 3),
            step(6, PLANNER, 101, 3),
        ];
        assert_eq!(turns(&steps), [vec![0, 1, 2, 3, 4], vec![5, 6]]);
    }

    #[test]
    fn r2_what_runs_on_while_a_message_waits_belongs_to_the_turn_before() {
        let mut queued = step(2, USER, 12, 2);
        queued.turn_at = Some(Time::from_micros(50));
        let steps = |execution: u64| {
            [
                step(0, USER, 10, execution),
                step(1, PLANNER, 11, execution),
                queued.clone(),
                step(3, TOOL, 13, execution),
                step(4, PLANNER, 14, execution),
                step(5, PLANNER, 51, execution * 2),
            ]
        };
        assert_eq!(turns(&steps(1)), [vec![0, 1, 3, 4], vec![2, 5]]);
        // Also where agy told no executions.
        let mut untold = steps(0);
        untold[2].execution = 0;
        assert_eq!(turns(&untold), [vec![0, 1, 3, 4], vec![2, 5]]);
    }

    #[test]
    fn r2_a_conversation_without_a_prompt_is_one_turn_from_its_first_work() {
        let steps = [step(0, 98, 1, 0), step(1, PLANNER, 2, 0), step(2, TOOL, 3, 0)];
        assert_eq!(turns(&steps), [vec![1, 2]]);
        assert_eq!(places(&steps)[0].key, StepKey { step: 1, second: 0 });
        assert!(places(&[step(0, 98, 1, 0)]).is_empty());
    }

    proptest::proptest! {
        /// Whatever the rows say, a step is in at most one turn, and a prompt begins its own.
        #[test]
        fn q01_every_step_is_in_one_turn(raw in proptest::collection::vec((0..3usize, -5..50i64, 0..4u64, proptest::option::of(0..60i64)), 0..40)) {
            let steps: Vec<Step> = raw.iter().enumerate().map(|(i, (kind, at, execution, turn_at))| {
                let mut s = step(i as i64, [USER, PLANNER, TOOL][*kind], *at, *execution);
                s.turn_at = turn_at.map(Time::from_micros);
                s
            }).collect();
            let mut seen: Vec<usize> = places(&steps).iter().flat_map(|p| p.steps.clone()).collect();
            seen.sort_unstable();
            let n = seen.len();
            seen.dedup();
            proptest::prop_assert_eq!(seen.len(), n);
            proptest::prop_assert_eq!(n, steps.len(), "all of these are work or prompts");
        }
    }
}
