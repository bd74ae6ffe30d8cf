//! A batch's place in the queue, which its file's name tells whole: the file itself is the gzipped request and nothing else,
//! so that any tool can read it.

use agenthub_core::Time;

pub(super) const ENDING: &str = ".pb.gz";

/// Sorted by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) since: Time,
    pub(super) turn: u64,
    pub(super) part: u32,
    pub(super) of: u32,
    pub(super) spans: u64,
}

impl Entry {
    /// `1790000000000000-00f067aa0ba902b7-0-of-3-250-spans.pb.gz`
    pub(super) fn name(&self) -> String {
        let Entry { since, turn, part, of, spans } = self;
        format!("{:016}-{turn:016x}-{part}-of-{of}-{spans}-spans{ENDING}", since.micros())
    }

    pub(super) fn parse(name: &str) -> Option<Entry> {
        let mut parts = name.strip_suffix(ENDING)?.split('-');
        let since = Time::from_micros(parts.next()?.parse().ok()?);
        let turn = u64::from_str_radix(parts.next()?, 16).ok()?;
        let part = parts.next()?.parse().ok()?;
        let ("of", of) = (parts.next()?, parts.next()?.parse().ok()?) else { return None };
        let (spans, "spans", None) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()) else {
            return None;
        };
        let entry = Entry { since, turn, part, of, spans };
        // One name for one entry: `+5` and `005` are numbers, too.
        (entry.name() == name).then_some(entry)
    }

    /// The two that this one becomes when it is too large. Their numbers are no other part's.
    pub(super) fn halves(&self, first_spans: u64) -> Option<[Entry; 2]> {
        let (part, of) = (self.part.checked_mul(2)?, self.of.checked_mul(2)?);
        let first = Entry { part, of, spans: first_spans, ..self.clone() };
        let second =
            Entry { part: part + 1, of, spans: self.spans.saturating_sub(first_spans), ..self.clone() };
        Some([first, second])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn r8_a_name_says_it_all_and_sorts_by_age(
            a in (0..9_999_999_999_999_999_i64, any::<u64>(), any::<u32>(), any::<u32>(), any::<u64>()),
            b in 0..9_999_999_999_999_999_i64,
        ) {
            let entry = |us: i64| Entry { since: Time::from_micros(us), turn: a.1, part: a.2, of: a.3, spans: a.4 };
            prop_assert_eq!(Entry::parse(&entry(a.0).name()), Some(entry(a.0)));
            prop_assert_eq!(entry(a.0).name() < entry(b).name(), a.0 < b);
        }

        #[test]
        fn q1_other_names_are_none_of_ours(name in "\\PC{0,60}|[0-9a-f-]{0,40}-of-[0-9]{1,3}-[0-9]{1,3}-spans.pb.gz") {
            if let Some(entry) = Entry::parse(&name) {
                prop_assert_eq!(entry.name(), name);
            }
        }
    }

    #[test]
    fn r8_halves_are_other_entries() {
        let whole = Entry { since: Time::from_micros(7), turn: 1, part: 1, of: 3, spans: 9 };
        let [a, b] = whole.halves(4).unwrap();
        assert_eq!((a.part, a.of, a.spans), (2, 6, 4));
        assert_eq!((b.part, b.of, b.spans), (3, 6, 5));
        assert_eq!(Entry { of: u32::MAX, ..whole }.halves(1), None);
    }
}
