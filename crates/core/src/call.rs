//! One model request, as one conversation file shows it.

use crate::{Time, Tokens};

/// What tells one call from another everywhere: agy's `response_id`, else a fallback that names the file and the row
/// (spec S3).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey(pub String);

/// Whose work a call was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// Seen in a generator row: it answered a turn.
    Turn,
    /// Seen only in a step: a title or a summary that agy asked for by itself.
    Background,
}

/// Where a call's time was found, best first (agy-format §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AtSource {
    /// The request's own start in its generator row.
    Request,
    /// The start of the step that it filled.
    Step,
    /// A transcript's whole second.
    Transcript,
    /// The conversation file's time: all that was left.
    File,
}

/// A time with its source. Sightings of one call keep the best source, and its earliest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    pub source: AtSource,
    pub at: Time,
}

impl Stamp {
    /// Only a time from the transcript or the file is approximate (spec S8).
    pub fn approximate(self) -> bool {
        matches!(self.source, AtSource::Transcript | AtSource::File)
    }
}

/// The names that agy gives a model. Google can point a number at another model, so the label counts for more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Model {
    /// agy's number; 1000 + N is `MODEL_PLACEHOLDER_MN`. 0 where the row has none.
    pub number: i32,
    /// The backend's name, for example `gemini-3.7-flash`; may be a routing alias.
    pub id: Option<String>,
    /// For people, for example "Gemini 3.1 Pro (High)".
    pub label: Option<String>,
}

impl Model {
    /// agy's own name for its number; `None` where the row has none.
    pub fn placeholder(&self) -> Option<String> {
        match self.number {
            0 => None,
            n if n >= 1_000 => Some(format!("MODEL_PLACEHOLDER_M{}", n - 1_000)),
            n => Some(format!("MODEL_{n}")),
        }
    }
}

/// A call as seen in one row of one conversation. Sightings with equal keys are the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub key: CallKey,
    pub kind: CallKind,
    pub model: Model,
    /// `None` when the row carries no usage message: unknown, which is not zero.
    pub tokens: Option<Tokens>,
    pub stamp: Option<Stamp>,
}

impl Sighting {
    /// Both sightings in one: the larger numbers, the better time, the fuller name. Commutative, associative and
    /// idempotent, so neither order nor repetition of reading matters.
    #[must_use]
    pub fn merged(self, o: Sighting) -> Sighting {
        Sighting {
            key: self.key,
            kind: self.kind.min(o.kind),
            model: Model {
                number: self.model.number.max(o.model.number),
                id: self.model.id.max(o.model.id),
                label: self.model.label.max(o.model.label),
            },
            tokens: match (self.tokens, o.tokens) {
                (Some(a), Some(b)) => Some(a.merged(b)),
                (a, b) => a.or(b),
            },
            stamp: match (self.stamp, o.stamp) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{option, prelude::*};

    fn sighting() -> impl Strategy<Value = Sighting> {
        let stamp = (0..4u8, 0..9i64).prop_map(|(s, t)| Stamp {
            source: [AtSource::Request, AtSource::Step, AtSource::Transcript, AtSource::File][usize::from(s)],
            at: Time::from_micros(t),
        });
        let tokens =
            (0..9u64, 0..9u64).prop_map(|(input, output)| Tokens { input, output, ..Tokens::default() });
        (any::<bool>(), 0..3i32, option::of("[ab]"), option::of(tokens), option::of(stamp)).prop_map(
            |(turn, number, id, tokens, stamp)| Sighting {
                key: CallKey("k".into()),
                kind: if turn { CallKind::Turn } else { CallKind::Background },
                model: Model { number, id, label: None },
                tokens,
                stamp,
            },
        )
    }

    proptest! {
        #[test]
        fn s03_sightings_of_one_call_join(a in sighting(), b in sighting(), c in sighting()) {
            prop_assert_eq!(a.clone().merged(b.clone()), b.clone().merged(a.clone()));
            prop_assert_eq!(a.clone().merged(b.clone()).merged(c.clone()), a.clone().merged(b.merged(c)));
            prop_assert_eq!(a.clone().merged(a.clone()), a);
        }
    }

    #[test]
    fn s08_a_database_time_beats_an_earlier_whole_second() {
        let mk = |source, us| Sighting {
            key: CallKey("k".into()),
            kind: CallKind::Turn,
            model: Model::default(),
            tokens: None,
            stamp: Some(Stamp { source, at: Time::from_micros(us) }),
        };
        let both = mk(AtSource::Transcript, 1).merged(mk(AtSource::Step, 999_111));
        assert!(!both.stamp.unwrap().approximate());
        assert_eq!(both.stamp.unwrap().at, Time::from_micros(999_111));
    }
}
