//! Counts model calls: which rows speak of one, and which speak of the same one (spec S3–S5, agy-format §3.6).
//!
//! A call is stored up to four times: in a generator row, in that row's attempts, in a step's metadata and in that
//! step's attempts. All of them are candidates; equal keys are one call.

use agenthub_core::{AtSource, CallKey, CallKind, Model, SessionId, Sighting, Stamp, Time, Tokens};

use crate::{
    tally::{GenTally, Newest, insert},
    wire::{self, Attempt, Chat, Generation, Usage},
};

/// No call has more tokens of a kind than this (spec S5): a number above it is damage.
const MOST_TOKENS: u64 = 1 << 40;

/// Backend names that route, and name no model.
const ROUTES: [&str; 1] = ["gemini-default"];

/// The `response_id` in a key, which is what agy itself calls the call; `None` for a key of a fallback.
pub fn response_id(key: &CallKey) -> Option<&str> {
    key.0.strip_prefix("r:")
}

/// A number in a row is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Impossible;

/// Its tokens; an absent field is 0 (spec S4).
pub(crate) fn tokens(u: &Usage) -> Result<Tokens, Impossible> {
    let thinking = u.thinking.unwrap_or(0);
    let all = [u.input, u.output, u.cache_write, u.cache_read, thinking, u.response.unwrap_or(0)];
    if all.iter().any(|n| *n > MOST_TOKENS) {
        return Err(Impossible);
    }
    Ok(Tokens {
        input: u.input,
        output: u.output,
        cache_read: u.cache_read,
        cache_write: u.cache_write,
        thinking,
    })
}

/// Output must be thinking + response where both are told (spec S4).
fn adds_up(u: &Usage) -> bool {
    match (u.thinking, u.response) {
        (Some(t), Some(r)) => t.checked_add(r) == Some(u.output),
        _ => true,
    }
}

/// The key by an id of agy's, if the usage has one. The kinds of ids are told apart.
pub(crate) fn key_by_id(u: &Usage) -> Option<String> {
    let ids = [("r:", &u.response_id), ("p:", &u.provider_message_id), ("m:", &u.message_id)];
    ids.iter().find(|(_, id)| !id.is_empty()).map(|(kind, id)| {
        let mut key = String::with_capacity(id.len() + 2);
        key.push_str(kind);
        key.push_str(&String::from_utf8_lossy(id));
        key
    })
}

/// The key of a call without any id, by the step that it filled. Trajectory and number are those that the step was born
/// with: a fork copies them, and a rewind renumbers only what comes after.
pub(crate) fn key_by_step(trajectory: &str, idx: i64, created: Option<Time>) -> String {
    format!("s:{trajectory}:{idx}:{}", created.map_or(0, Time::micros))
}

/// Where a call stands that no step is known for. A rewind replaces the trajectory's id and uses row numbers again: a row is
/// known by its time, else by its execution, so that one which a rewind left standing stays the same call; with neither,
/// by the trajectory.
fn key_by_row(row: &GenRow<'_>, execution: &[u8], created: Option<Time>) -> String {
    let (id, idx) = (row.id, row.idx);
    match created {
        Some(at) => format!("g:{id}::{idx}:{}", at.micros()),
        None if !execution.is_empty() => format!("g:{id}:x{:016x}:{idx}:0", wire::hash(execution)),
        None => format!("g:{id}:{}:{idx}:0", row.trajectory.unwrap_or("")),
    }
}

/// What a planner step tells of its call, for the generator rows that point to it.
#[derive(Clone, Debug)]
pub(crate) struct Planner {
    pub(crate) idx: i64,
    pub(crate) created: Option<Time>,
    pub(crate) metadata_index: u32,
    pub(crate) execution: u64,
    pub(crate) is_open: bool,
    pub(crate) has_usage: bool,
    /// Only made where a key is needed: for calls without an id, or without usage.
    pub(crate) key: Option<String>,
}

/// One row's word on one call.
#[derive(Debug)]
struct Candidate {
    sighting: Sighting,
    /// The step that it filled; its line in the transcript may tell the time.
    step: Option<i64>,
    /// Told as an attempt only: if it were the success, its row would repeat it.
    is_attempt: bool,
}

/// A call with its place.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) sighting: Sighting,
    pub(crate) step: Option<i64>,
    pub(crate) failed: bool,
}

/// Collects candidates, and makes sightings of them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    all: Vec<Candidate>,
}

/// What is the same for all usages of one row.
struct Source<'a> {
    kind: CallKind,
    stamp: Option<Stamp>,
    step: Option<i64>,
    fallback: &'a dyn Fn() -> String,
}

impl Calls {
    /// A step's usage and attempts. `kind` is that of the step; `key` makes the key for usages without an id.
    ///
    /// # Errors
    /// [`Impossible`], and then nothing of the row counts.
    pub(crate) fn step(
        &mut self,
        idx: i64,
        kind: CallKind,
        created: Option<Time>,
        meta: (&Option<Usage>, &[Attempt]),
        key: &dyn Fn() -> String,
    ) -> Result<Vec<u64>, Impossible> {
        let stamp = created.map(|at| Stamp { source: AtSource::Step, at });
        let source = Source { kind, stamp, step: Some(idx), fallback: key };
        self.row(meta.0, meta.1, &source, |u| Model { number: u.model, id: None, label: None })
    }

    /// All usages of one row; returns the hashed keys of those that don't add up.
    fn row(
        &mut self,
        usage: &Option<Usage>,
        attempts: &[Attempt],
        source: &Source<'_>,
        model: impl Fn(&Usage) -> Model,
    ) -> Result<Vec<u64>, Impossible> {
        let before = self.all.len();
        let mut odd = Vec::new();
        // The successful attempt repeats the row's own usage, nearly always to the byte.
        let others = attempts.iter().filter_map(|a| a.usage.as_ref()).filter(|u| usage.as_ref() != Some(*u));
        let attempts = others.map(|u| (u, true));
        for (u, is_attempt) in usage.iter().map(|u| (u, false)).chain(attempts) {
            let Ok(tokens) = tokens(u) else {
                self.all.truncate(before);
                return Err(Impossible);
            };
            let key = key_by_id(u).unwrap_or_else(source.fallback);
            if !adds_up(u) {
                odd.push(wire::hash(key.as_bytes()));
            }
            self.push(key, source, model(u), Some(tokens), is_attempt);
        }
        Ok(odd)
    }

    fn push(
        &mut self,
        key: String,
        source: &Source<'_>,
        model: Model,
        tokens: Option<Tokens>,
        is_attempt: bool,
    ) {
        let sighting = Sighting { key: CallKey(key), kind: source.kind, model, tokens, stamp: source.stamp };
        self.all.push(Candidate { sighting, step: source.step, is_attempt });
    }

    /// A generator row, told into `tally`. `find` looks for its planner step; `is_background` says whether one of its
    /// steps is a checkpoint; `is_newest` whether it is the table's last row.
    pub(crate) fn generation(
        &mut self,
        row: &GenRow<'_>,
        tally: &mut GenTally,
        find: &dyn Fn(&Generation) -> Option<Planner>,
    ) {
        let Ok(g) = wire::decode::<Generation>(row.data) else {
            tally.bad += 1;
            return;
        };
        // An injected answer is no model call.
        let Some(chat) = g.chat.as_ref().filter(|_| g.injected.is_none()) else { return };
        let created = wire::time(chat.start.as_ref().and_then(|s| s.created_at));
        let usages = chat.usage.iter().chain(chat.attempts.iter().filter_map(|a| a.usage.as_ref()));
        let mut has_usage = false;
        let mut has_all_ids = true;
        for u in usages {
            has_usage = true;
            has_all_ids &= key_by_id(u).is_some();
        }
        let planner = if created.is_none() || !has_usage || !has_all_ids { find(&g) } else { None };
        let first_step = g.step_indices.first().map(|i| i64::from(*i));
        let source = Source {
            kind: CallKind::Turn,
            stamp: created.map(|at| Stamp { source: AtSource::Request, at }).or_else(|| {
                let at = planner.as_ref()?.created?;
                Some(Stamp { source: AtSource::Step, at })
            }),
            step: planner.as_ref().map(|p| p.idx).or(first_step),
            fallback: &|| {
                planner
                    .as_ref()
                    .and_then(|p| p.key.clone())
                    .unwrap_or_else(|| key_by_row(row, &g.execution_id, created))
            },
        };
        if !has_usage {
            let told_by_step = planner.as_ref().is_some_and(|p| p.has_usage);
            // While the answer streams, its usage may still come.
            let to_come = row.is_newest && planner.as_ref().is_some_and(|p| p.is_open);
            if g.error.is_empty() && !told_by_step && !to_come {
                tally.without_usage += 1;
                self.push((source.fallback)(), &source, model(chat, chat.model), None, false);
            }
            return;
        }
        let of = |u: &Usage| model(chat, u.model);
        match self.row(&chat.usage, &chat.attempts, &source, of) {
            Ok(odd) => insert(&mut tally.odd, odd.into_iter()),
            Err(Impossible) => {
                tally.bad += 1;
                return;
            }
        }
        if let Some(u) = chat.usage.as_ref().filter(|_| !(row.is_background)(&g)) {
            tally.newest = Some(newest(row.idx, chat, u));
        }
    }

    /// One sighting per key, sorted by key. `step_time` is asked for calls that the database has no time for; `file`
    /// is the last resort.
    pub(crate) fn sightings(self, file: Time, step_time: impl FnMut(i64) -> Option<Time>) -> Vec<Sighting> {
        self.placed(file, step_time).map(|p| p.sighting).collect()
    }

    /// The same with the steps that they filled.
    pub(crate) fn placed(
        mut self,
        file: Time,
        mut step_time: impl FnMut(i64) -> Option<Time>,
    ) -> impl Iterator<Item = Placed> {
        self.all.sort_by(|a, b| a.sighting.key.cmp(&b.sighting.key));
        let mut out: Vec<Candidate> = Vec::with_capacity(self.all.len());
        for c in self.all {
            match out.pop() {
                Some(last) if last.sighting.key == c.sighting.key => out.push(Candidate {
                    step: last.step.or(c.step),
                    is_attempt: last.is_attempt && c.is_attempt,
                    sighting: last.sighting.merged(c.sighting),
                }),
                last => {
                    out.extend(last);
                    out.push(c);
                }
            }
        }
        out.into_iter().map(move |c| {
            let mut sighting = c.sighting;
            sighting.stamp = sighting.stamp.or_else(|| match c.step.and_then(&mut step_time) {
                Some(at) => Some(Stamp { source: AtSource::Transcript, at }),
                None => Some(Stamp { source: AtSource::File, at: file }),
            });
            Placed { sighting, step: c.step, failed: c.is_attempt }
        })
    }
}

/// A generator row before it is decoded.
pub(crate) struct GenRow<'a> {
    pub(crate) id: &'a SessionId,
    pub(crate) trajectory: Option<&'a str>,
    pub(crate) idx: i64,
    pub(crate) data: &'a [u8],
    pub(crate) is_newest: bool,
    pub(crate) is_background: &'a dyn Fn(&Generation) -> bool,
}

/// The names that a generator row has for its model; an attempt by another model has only its number.
fn model(chat: &Chat, number: i32) -> Model {
    let own = chat.usage.as_ref().map_or(0, |u| u.model);
    let of_row = if own == 0 { chat.model } else { own };
    if number != 0 && number != of_row {
        return Model { number, id: None, label: None };
    }
    let id = [&chat.response_model, &chat.response_model_full]
        .into_iter()
        .filter_map(|b| wire::text(b))
        .find(|id| !ROUTES.contains(&id.as_str()));
    Model { number: of_row, id, label: wire::text(&chat.display_name) }
}

fn newest(idx: i64, chat: &Chat, u: &Usage) -> Newest {
    let m = model(chat, u.model);
    let window = chat.start.as_ref().and_then(|s| s.window.as_ref());
    let parts = window.and_then(|w| w.breakdown.as_ref()).map_or(&[][..], |b| &b.parts);
    Newest {
        idx,
        number: m.number,
        id: m.id,
        label: m.label,
        used: u.input.saturating_add(u.cache_read),
        max: window.and_then(|w| u64::try_from(w.max_tokens).ok()).filter(|n| *n > 0),
        parts: parts
            .iter()
            .filter_map(|p| Some((wire::text(&p.name)?, u64::try_from(p.tokens).ok()?)))
            .take(64)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s06_a_route_is_no_model() {
        let chat = |name: &'static str, full: &'static str| Chat {
            model: 1016,
            response_model: name.into(),
            response_model_full: full.into(),
            ..Chat::default()
        };
        assert_eq!(model(&chat("gemini-default", ""), 1016).id, None);
        assert_eq!(
            model(&chat("gemini-default", "gemini-3.7-flash"), 1016).id.as_deref(),
            Some("gemini-3.7-flash")
        );
        assert_eq!(model(&chat("gemini-pro-default", ""), 0).number, 1016);
        // An attempt by another model is not called by this one's name.
        assert_eq!(
            model(&chat("gemini-pro-default", ""), 1050),
            Model { number: 1050, id: None, label: None }
        );
    }

    #[test]
    fn s04_u01_every_number_comes_from_its_own_field() {
        let u = Usage {
            model: 1072,
            input: 2,
            output: 30,
            cache_write: 4,
            cache_read: 5,
            thinking: Some(9),
            response: Some(21),
            ..Usage::default()
        };
        let t = tokens(&u).unwrap();
        assert_eq!(t, Tokens { input: 2, output: 30, cache_read: 5, cache_write: 4, thinking: 9 });
        assert_eq!(t.total(), 41);
        assert!(adds_up(&u));
        assert!(!adds_up(&Usage { response: Some(20), ..u.clone() }));
        assert!(adds_up(&Usage { thinking: None, ..u.clone() }), "only where both are told");
        assert!(!adds_up(&Usage { thinking: Some(u64::MAX), ..u.clone() }));
        assert!(tokens(&Usage { cache_read: MOST_TOKENS, ..u.clone() }).is_ok());
        assert_eq!(tokens(&Usage { cache_read: MOST_TOKENS + 1, ..u }), Err(Impossible));
    }
}
