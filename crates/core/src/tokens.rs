//! Token counts of a call, and the only ways to combine them.

/// What one or more calls used, in tokens.
///
/// `input` excludes cache reads; `output` includes `thinking` (agy-format §3.2). Thinking is shown apart and is never
/// added on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub thinking: u64,
}

impl Tokens {
    /// Input, output, cache read and cache write together (spec S4).
    pub const fn total(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// The tokens that stood in the prompt: what the model had before it, cached or not.
    pub const fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read)
    }

    #[must_use]
    pub const fn plus(self, o: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(o.input),
            output: self.output.saturating_add(o.output),
            cache_read: self.cache_read.saturating_add(o.cache_read),
            cache_write: self.cache_write.saturating_add(o.cache_write),
            thinking: self.thinking.saturating_add(o.thinking),
        }
    }

    /// One call seen twice, perhaps once while it streamed: the larger of each number (spec S3).
    #[must_use]
    pub fn merged(self, o: Tokens) -> Tokens {
        Tokens {
            input: self.input.max(o.input),
            output: self.output.max(o.output),
            cache_read: self.cache_read.max(o.cache_read),
            cache_write: self.cache_write.max(o.cache_write),
            thinking: self.thinking.max(o.thinking),
        }
    }
}

impl std::iter::Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(all: I) -> Tokens {
        all.fold(Tokens::default(), Tokens::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens() -> impl Strategy<Value = Tokens> {
        (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(i, o, r, w, t)| {
            Tokens {
                input: i.into(),
                output: o.into(),
                cache_read: r.into(),
                cache_write: w.into(),
                thinking: t.into(),
            }
        })
    }

    proptest! {
        #[test]
        fn s04_thinking_is_never_added_on_top(t in tokens()) {
            prop_assert_eq!(t.total(), t.input + t.output + t.cache_read + t.cache_write);
            prop_assert_eq!(Tokens { thinking: 0, ..t }.total(), t.total());
        }

        #[test]
        fn s03_merging_is_a_join(a in tokens(), b in tokens(), c in tokens()) {
            prop_assert_eq!(a.merged(b), b.merged(a));
            prop_assert_eq!(a.merged(b).merged(c), a.merged(b.merged(c)));
            prop_assert_eq!(a.merged(a), a);
        }
    }
}
