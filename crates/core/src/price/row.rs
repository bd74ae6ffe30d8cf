//! Rows of the price table: which may be used at all (spec M2), and what a call costs by one (spec M4).

use std::fmt;

use crate::{
    Tokens,
    price::{Rate, Usd},
};

/// Prompt lengths, in tokens, above which some rows have other rates. A row with another bound is not used.
const BOUNDS: [u64; 4] = [100_000, 128_000, 200_000, 272_000];

/// How many of the bounds a call's prompt is above. Calls of one band cost alike by every row, so sums are kept by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Band(u8);

impl Band {
    /// The band of a call: its whole prompt counts, cached or not.
    pub fn of(t: &Tokens) -> Band {
        let prompt = t.prompt().saturating_add(t.cache_write);
        Band(BOUNDS.iter().map(|b| u8::from(prompt > *b)).sum())
    }

    pub const fn number(self) -> u8 {
        self.0
    }

    pub const fn from_number(n: u8) -> Band {
        Band(n)
    }

    /// Whether all of its prompts are longer than `bound`, one of the bounds.
    fn is_above(self, bound: u64) -> bool {
        BOUNDS.iter().take(usize::from(self.0)).any(|b| *b == bound)
    }
}

/// Rates for one token of each kind. What is `None` has no price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rates {
    pub input: Option<Rate>,
    pub cache_read: Option<Rate>,
    pub cache_write: Option<Rate>,
    /// Thinking is part of it.
    pub output: Option<Rate>,
}

impl Rates {
    pub const fn is_empty(&self) -> bool {
        self.input.is_none()
            && self.cache_read.is_none()
            && self.cache_write.is_none()
            && self.output.is_none()
    }

    /// What these tokens cost. It is the same for a sum of tokens and for the sum of what they cost one by one.
    pub fn cost(&self, t: &Tokens) -> Cost {
        let parts = [
            (self.input, t.input),
            (self.cache_read, t.cache_read),
            (self.cache_write, t.cache_write),
            (self.output, t.output),
        ];
        let mut cost = Cost::default();
        for (rate, tokens) in parts {
            match rate {
                Some(rate) => cost.usd = cost.usd.plus(rate.times(tokens)),
                None => cost.unpriced_tokens = cost.unpriced_tokens.saturating_add(tokens),
            }
        }
        cost
    }
}

/// A sum, and what it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub usd: Usd,
    /// Tokens of parts that have no rate.
    pub unpriced_tokens: u64,
}

impl Cost {
    /// The cost of tokens for which there is no row.
    pub const fn none(t: &Tokens) -> Cost {
        Cost { usd: Usd::ZERO, unpriced_tokens: t.total() }
    }

    /// The sum of the priced parts; `None` when nothing is priced, which is not zero (spec M4). `priced_calls` is the
    /// number of calls among these tokens that have a row.
    pub const fn known(&self, priced_calls: u64, tokens: &Tokens) -> Option<Usd> {
        let total = tokens.total();
        if priced_calls == 0 || (total > 0 && self.unpriced_tokens >= total) { None } else { Some(self.usd) }
    }
}

/// Other rates for calls with a prompt of more than `above` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LongPrompts {
    pub above: u64,
    pub rates: Rates,
}

/// A row that may be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// LiteLLM's key.
    pub key: String,
    /// LiteLLM's `litellm_provider`.
    pub label: String,
    pub rates: Rates,
    /// By bound, shortest first.
    pub long: Vec<LongPrompts>,
}

impl Row {
    /// A row, if it may be used and prices anything.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn new(key: &str, label: &str, rates: Rates, mut long: Vec<LongPrompts>) -> Result<Row, Refused> {
        model_of(key, label)?;
        // A rate of zero is no price: it stands where LiteLLM knows none, or for a preview that is not billed.
        let without_zeros = |r: Rates| {
            let some = |rate: Option<Rate>| rate.filter(|r| !r.is_zero());
            Rates {
                input: some(r.input),
                cache_read: some(r.cache_read),
                cache_write: some(r.cache_write),
                output: some(r.output),
            }
        };
        let rates = without_zeros(rates);
        if rates.input.is_none() && rates.output.is_none() {
            return Err(Refused::NoRate);
        }
        for l in &mut long {
            l.rates = without_zeros(l.rates);
        }
        long.retain(|l| !l.rates.is_empty());
        long.sort_by_key(|l| l.above);
        if long.iter().any(|l| !BOUNDS.contains(&l.above)) {
            return Err(Refused::Bound);
        }
        Ok(Row { key: key.to_owned(), label: label.to_owned(), rates, long })
    }

    /// The rates of calls in `band`. Above a bound of this row only its own rates for long prompts count: a rate that it
    /// lacks there is missing, for the short one would be too low.
    pub fn rates_in(&self, band: Band) -> &Rates {
        self.long.iter().rev().find(|l| band.is_above(l.above)).map_or(&self.rates, |l| &l.rates)
    }

    /// Whether every call costs the same by the other.
    pub fn costs_like(&self, o: &Row) -> bool {
        self.rates == o.rates && self.long == o.long
    }

    /// The model that this row prices, as its vendor calls it.
    pub fn model(&self) -> &str {
        split(&self.key).1
    }

    /// Which row of one model counts: those with both main rates before others, then bare key, `vertex_ai/`, `gemini/`.
    pub(crate) fn order(&self) -> (bool, u8) {
        (self.rates.input.is_none() || self.rates.output.is_none(), split(&self.key).0)
    }
}

/// Why a row of LiteLLM's file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refused {
    /// A reseller's, or of a vendor that agy does not offer.
    Label,
    /// The label would do, but not for this model.
    Family,
    /// It prices something else than text: images, speech, embeddings.
    Mode,
    /// No rate for input or output, or zero.
    NoRate,
    /// Rates for long prompts from a bound on that is not known here.
    Bound,
    /// A rate that is no number, or cannot be kept exactly.
    Unreadable,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Label => "another vendor or a reseller",
            Refused::Family => "another family of models",
            Refused::Mode => "not priced for text",
            Refused::NoRate => "no rate, or zero",
            Refused::Bound => "an unknown bound for long prompts",
            Refused::Unreadable => "an unreadable rate",
        })
    }
}

/// Labels that may price Gemini, Claude and GPT-OSS.
const GEMINI: [&str; 3] = ["vertex_ai", "vertex_ai-language-models", "gemini"];
const CLAUDE: &str = "vertex_ai-anthropic_models";
const GPT_OSS: &str = "vertex_ai-openai_models";

/// The place of a key's prefix in the order of rows, and the model without it.
fn split(key: &str) -> (u8, &str) {
    match key.split_once('/') {
        Some(("vertex_ai", model)) => (1, model),
        Some(("gemini", model)) => (2, model),
        _ => (0, key),
    }
}

/// The model that a row prices, if rows of this key and label may be used (spec M2).
///
/// # Errors
/// [`Refused::Label`] or [`Refused::Family`].
pub fn model_of<'a>(key: &'a str, label: &str) -> Result<&'a str, Refused> {
    let (_, model) = split(key);
    let plain = |model: &str| !model.contains('/');
    let fits = if GEMINI.contains(&label) {
        model.starts_with("gemini-") && plain(model)
    } else if label == CLAUDE {
        model.starts_with("claude-") && plain(model)
    } else if label == GPT_OSS {
        model.strip_prefix("openai/").is_some_and(|m| m.starts_with("gpt-oss-") && plain(m))
    } else {
        return Err(Refused::Label);
    };
    if fits { Ok(model) } else { Err(Refused::Family) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn rates(input: &str, cache_read: &str, output: &str) -> Rates {
        let rate = |t: &str| (!t.is_empty()).then(|| Rate::parse_per_million(t).unwrap());
        Rates { input: rate(input), cache_read: rate(cache_read), cache_write: None, output: rate(output) }
    }

    #[test]
    fn m2_only_the_vendors_own_labels_price_a_family() {
        for (key, label, model) in [
            ("gemini-3.8-flash", "vertex_ai-language-models", Ok("gemini-3.8-flash")),
            ("vertex_ai/gemini-3.8-flash", "vertex_ai", Ok("gemini-3.8-flash")),
            ("gemini/gemini-3.8-flash", "gemini", Ok("gemini-3.8-flash")),
            ("vertex_ai/claude-opus-4-6", "vertex_ai-anthropic_models", Ok("claude-opus-4-6")),
            ("vertex_ai/openai/gpt-oss-120b-maas", "vertex_ai-openai_models", Ok("openai/gpt-oss-120b-maas")),
            ("kyma/gemini-3.8-flash", "kyma", Err(Refused::Label)),
            ("databricks/databricks-gemini-3-1-pro", "databricks", Err(Refused::Label)),
            ("openrouter/google/gemini-3.8-flash", "openrouter", Err(Refused::Label)),
            ("claude-opus-4-6", "anthropic", Err(Refused::Label)),
            ("vertex_ai/claude-opus-4-6", "vertex_ai", Err(Refused::Family)),
            ("vertex_ai/gemini-3.8-flash", "vertex_ai-anthropic_models", Err(Refused::Family)),
            ("vertex_ai/google/gemma-4-26b-a4b-it-maas", "vertex_ai-openai_models", Err(Refused::Family)),
            ("vertex_ai/xai/grok-4.7", "vertex_ai", Err(Refused::Family)),
            ("kyma/gemini-3.8-flash", "gemini", Err(Refused::Family)),
            ("gemini/x/gemini-3.8-flash", "gemini", Err(Refused::Family)),
            ("gemini/gemini-3.8-flash/fast", "gemini", Err(Refused::Family)),
            ("gemini-3.8-flash", "", Err(Refused::Label)),
        ] {
            assert_eq!(model_of(key, label), model, "{key} of {label}");
        }
    }

    #[test]
    fn m2_a_rate_of_zero_is_no_price() {
        let row = |r| Row::new("gemini/gemini-exp-1114", "gemini", r, Vec::new());
        assert_eq!(row(rates("0", "0", "0")), Err(Refused::NoRate));
        assert_eq!(row(Rates::default()), Err(Refused::NoRate));
        assert_eq!(row(rates("", "0.1", "")), Err(Refused::NoRate));
        let half = row(rates("0", "0", "3")).unwrap();
        assert_eq!(half.rates, rates("", "", "3"));
    }

    #[test]
    fn m4_a_missing_rate_leaves_its_part_unpriced() {
        let t =
            Tokens { input: 1_000_000, output: 500_000, cache_read: 10, cache_write: 7, thinking: 400_000 };
        let c = rates("2", "", "12").cost(&t);
        assert_eq!((c.usd.to_string().as_str(), c.unpriced_tokens), ("8", 17));
        assert_eq!(c.known(1, &t), Some(c.usd));
        // Nothing that it used has a rate: that is no price, and not zero.
        let t = Tokens { cache_write: 9, ..Tokens::default() };
        let c = rates("2", "", "12").cost(&t);
        assert_eq!(c.known(1, &t), None);
        assert_eq!(Cost::none(&t).known(0, &t), None);
        // A call that used nothing at all costs nothing, if it has a price.
        let nothing = Tokens::default();
        assert_eq!(rates("2", "", "12").cost(&nothing).known(1, &nothing), Some(Usd::ZERO));
        assert_eq!(Cost::none(&nothing).known(0, &nothing), None);
    }

    #[test]
    fn m4_the_whole_prompt_of_a_call_decides_its_rates() {
        let row = Row::new(
            "gemini-3.1-pro-preview",
            "vertex_ai-language-models",
            rates("2", "0.2", "12"),
            vec![LongPrompts { above: 200_000, rates: rates("4", "0.4", "18") }],
        )
        .unwrap();
        let cost = |t: Tokens| row.rates_in(Band::of(&t)).cost(&t).usd.to_string();
        // 200,000 is not above; neither the cached part nor the answer alone decides.
        assert_eq!(cost(Tokens { input: 100_000, cache_read: 100_000, ..Tokens::default() }), "0.22");
        assert_eq!(cost(Tokens { input: 100_000, cache_read: 100_001, ..Tokens::default() }), "0.4400004");
        assert_eq!(cost(Tokens { input: 1, output: 300_000, ..Tokens::default() }), "3.600002");
        assert_eq!(cost(Tokens { input: 200_001, output: 10, ..Tokens::default() }), "0.800184");
        // A rate that it lacks for long prompts is missing there.
        let lacking = Row::new(
            "gemini-x",
            "gemini",
            rates("2", "0.2", "12"),
            vec![LongPrompts { above: 200_000, rates: rates("4", "", "18") }],
        )
        .unwrap();
        let t = Tokens { input: 200_000, cache_read: 5, ..Tokens::default() };
        assert_eq!(lacking.rates_in(Band::of(&t)).cost(&t).unpriced_tokens, 5);
    }

    #[test]
    fn m4_a_row_with_a_bound_that_is_not_known_is_not_used() {
        let long = |above| vec![LongPrompts { above, rates: rates("4", "", "18") }];
        let row = |above| Row::new("gemini-x", "gemini", rates("2", "", "12"), long(above));
        assert_eq!(row(150_000), Err(Refused::Bound));
        for bound in BOUNDS {
            let row = row(bound).unwrap();
            let prompt = |input| Band::of(&Tokens { input, ..Tokens::default() });
            assert_eq!(row.rates_in(prompt(bound)), &rates("2", "", "12"), "{bound}");
            assert_eq!(row.rates_in(prompt(bound + 1)), &rates("4", "", "18"), "{bound}");
            assert_eq!(row.rates_in(prompt(u64::MAX)), &rates("4", "", "18"), "{bound}");
        }
    }

    proptest! {
        #[test]
        fn m6_the_cost_of_a_sum_is_the_sum_of_costs(
            all in proptest::collection::vec((0..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 40), 0..30),
            has in any::<[bool; 4]>(),
        ) {
            let rate = |i: usize, text| has[i].then(|| Rate::parse(text).unwrap());
            let r = Rates {
                input: rate(0, "3.3333e-07"),
                cache_read: rate(1, "7.7e-09"),
                cache_write: rate(2, "1e-15"),
                output: rate(3, "0.01"),
            };
            let all: Vec<Tokens> = all
                .into_iter()
                .map(|(input, output, cache_read, cache_write)| {
                    Tokens { input, output, cache_read, cache_write, thinking: 0 }
                })
                .collect();
            let together = r.cost(&all.iter().copied().sum());
            prop_assert_eq!(together.usd, all.iter().map(|t| r.cost(t).usd).sum());
            prop_assert_eq!(together.unpriced_tokens, all.iter().map(|t| r.cost(t).unpriced_tokens).sum::<u64>());
        }
    }
}
