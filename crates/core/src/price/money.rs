//! Amounts and rates, exact to 10⁻¹⁵ USD.
//!
//! They are whole numbers of that unit, so that sums can be kept by differences, in any order, in integer columns.

use std::{fmt, str::FromStr};

use rust_decimal::Decimal;

/// Decimal places that a rate for one token can have. LiteLLM's have at most 11 so far.
const PLACES: u32 = 15;
const ONE_USD: i128 = 10_i128.pow(PLACES);
/// The unit of the larger part of an amount that is kept in two columns: 10⁻⁵ USD.
const LARGE: i128 = 10_i128.pow(10);

/// An amount of US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i128);

impl Usd {
    pub const ZERO: Usd = Usd(0);

    #[must_use]
    pub const fn plus(self, o: Usd) -> Usd {
        Usd(self.0.saturating_add(o.0))
    }

    #[must_use]
    pub const fn negated(self) -> Usd {
        Usd(self.0.saturating_neg())
    }

    /// As two integers, whose sums over many rows fit 64 bits each: units of 10⁻⁵ USD, and the rest in 10⁻¹⁵ USD.
    pub fn parts(self) -> (i64, i64) {
        let part = |n: i128| i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX });
        // Both with the amount's sign, so that an amount and its negative cancel out in each column.
        (part(self.0 / LARGE), part(self.0 % LARGE))
    }

    /// For those who calculate on; an amount beyond 7.9·10¹³ USD is cut to that.
    pub fn decimal(self) -> Decimal {
        Decimal::try_from_i128_with_scale(self.0, PLACES).map_or(Decimal::MAX, |d| d.normalize())
    }

    /// From sums of `parts`.
    pub fn from_parts(large: i64, small: i64) -> Usd {
        Usd(i128::from(large).saturating_mul(LARGE).saturating_add(i128::from(small)))
    }
}

impl std::iter::Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(all: I) -> Usd {
        all.fold(Usd::ZERO, Usd::plus)
    }
}

/// All its digits and no more: `0.0470754`, `0`, `1250000`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let all = self.0.unsigned_abs();
        let one = ONE_USD.unsigned_abs();
        let fraction = format!("{:015}", all % one);
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{}{dot}{fraction}", all / one)
    }
}

/// USD for one token. Never negative; a table's rate is never zero either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRate {
    /// Not a decimal number.
    NotANumber,
    Negative,
    /// More decimal places than are kept; it is not rounded.
    TooFine,
    /// More than 10,000 USD for a million tokens.
    TooLarge,
}

impl fmt::Display for BadRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadRate::NotANumber => "is not a number such as `0.075`",
            BadRate::Negative => "is negative",
            BadRate::TooFine => "has more decimal places than can be kept exactly",
            BadRate::TooLarge => "is more than 10,000 USD for a million tokens",
        })
    }
}

impl Rate {
    const MOST: i128 = ONE_USD / 100;

    /// USD for one token, in the digits of a JSON number: `3e-07`, `0.0000025`.
    ///
    /// # Errors
    /// When it is no number, or one that cannot be kept exactly.
    pub fn parse(text: &str) -> Result<Rate, BadRate> {
        Rate::scaled(text, 0)
    }

    /// USD for a million tokens, as people write prices: `0.30`.
    ///
    /// # Errors
    /// As [`Rate::parse`].
    pub fn parse_per_million(text: &str) -> Result<Rate, BadRate> {
        Rate::scaled(text, -6)
    }

    fn scaled(text: &str, shift: i32) -> Result<Rate, BadRate> {
        let text = text.trim();
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, e)) => (digits, e.parse::<i32>().map_err(|_| BadRate::NotANumber)?),
            None => (text, 0),
        };
        // A number of ours begins with a digit: `Decimal` would take `.5`, `+1` and `1_000` too.
        let shape = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        if digits.is_empty() || !digits.chars().all(shape) {
            return Err(BadRate::NotANumber);
        }
        let number = match Decimal::from_str_exact(digits) {
            Ok(n) => n.normalize(),
            // Too many digits to be exact, or no number at all.
            Err(rust_decimal::Error::Underflow) => return Err(BadRate::TooFine),
            Err(_) if Decimal::from_str(digits).is_ok() => return Err(BadRate::TooFine),
            Err(_) => return Err(BadRate::NotANumber),
        };
        if number.is_zero() {
            return Ok(Rate(0));
        }
        if number.is_sign_negative() {
            return Err(BadRate::Negative);
        }
        let places = i64::from(PLACES) - i64::from(number.scale()) + i64::from(exponent) + i64::from(shift);
        let units = if places >= 0 {
            let factor = u32::try_from(places).ok().and_then(|p| 10_i128.checked_pow(p));
            factor.and_then(|f| number.mantissa().checked_mul(f)).ok_or(BadRate::TooLarge)?
        } else {
            // A mantissa without trailing zeros is shortened only where it would lose digits.
            let divisor = u32::try_from(-places).ok().and_then(|p| 10_i128.checked_pow(p));
            let divisor = divisor.ok_or(BadRate::TooFine)?;
            if number.mantissa() % divisor != 0 {
                return Err(BadRate::TooFine);
            }
            number.mantissa() / divisor
        };
        match u64::try_from(units) {
            Ok(rate) if units <= Rate::MOST => Ok(Rate(rate)),
            _ => Err(BadRate::TooLarge),
        }
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn times(self, tokens: u64) -> Usd {
        Usd(i128::from(self.0).saturating_mul(i128::from(tokens)))
    }

    /// USD for a million tokens, all its digits: `0.075`.
    pub fn per_million(self) -> String {
        self.times(1_000_000).to_string()
    }

    /// USD for one token, all its digits: `0.000000075`.
    pub fn per_token(self) -> String {
        self.times(1).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn m6_a_rate_is_read_from_its_digits() {
        for (text, per_token) in [
            ("3e-07", "0.0000003"),
            ("3E-07", "0.0000003"),
            ("2.5e-07", "0.00000025"),
            ("1.25e-6", "0.00000125"),
            ("0.0000025", "0.0000025"),
            ("0.00000250000", "0.0000025"),
            ("12e-6", "0.000012"),
            ("1e-15", "0.000000000000001"),
            ("0.01", "0.01"),
            ("1e-2", "0.01"),
            ("0", "0"),
            ("0.0", "0"),
            ("0e9", "0"),
            (" 7.5e-08 ", "0.000000075"),
        ] {
            assert_eq!(Rate::parse(text).map(Rate::per_token).as_deref(), Ok(per_token), "{text}");
        }
        assert_eq!(Rate::parse_per_million("0.30"), Rate::parse("3e-07"));
        assert_eq!(Rate::parse_per_million("12"), Rate::parse("1.2e-05"));
        assert_eq!(Rate::parse_per_million("10000").unwrap().per_million(), "10000");
    }

    #[test]
    fn m6_what_cannot_be_kept_exactly_is_refused_and_not_rounded() {
        for (text, bad) in [
            ("", BadRate::NotANumber),
            ("free", BadRate::NotANumber),
            ("1,5", BadRate::NotANumber),
            ("0x10", BadRate::NotANumber),
            ("1e", BadRate::NotANumber),
            ("1e-7.5", BadRate::NotANumber),
            ("--1", BadRate::NotANumber),
            ("NaN", BadRate::NotANumber),
            ("-1e-07", BadRate::Negative),
            ("1e-16", BadRate::TooFine),
            ("1.2000000000000001e-07", BadRate::TooFine),
            ("0.1234567890123456789012345678901234567890", BadRate::TooFine),
            ("1e-999", BadRate::TooFine),
            ("0.0100001", BadRate::TooLarge),
            ("1", BadRate::TooLarge),
            ("1e999", BadRate::TooLarge),
            ("99999999999999999999999", BadRate::TooLarge),
        ] {
            assert_eq!(Rate::parse(text), Err(bad), "{text}");
        }
    }

    #[test]
    fn m6_amounts_show_all_their_digits() {
        for (units, text) in [
            (0, "0"),
            (1, "0.000000000000001"),
            (47_075_400_000_000, "0.0470754"),
            (1_500_000_000_000_000, "1.5"),
            (1_250_000 * ONE_USD, "1250000"),
            (-1_500_000_000_000_000, "-1.5"),
        ] {
            assert_eq!(Usd(units).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn m6_sums_by_parts_are_exact(all in proptest::collection::vec(-(1_i128 << 90)..(1_i128 << 90), 0..40)) {
            let direct: Usd = all.iter().map(|n| Usd(*n)).sum();
            let parts = all.iter().map(|n| Usd(*n).parts());
            // As SQL adds the columns up.
            let (large, small) = parts.fold((0, 0), |(l, s), (a, b)| (l + i128::from(a), s + i128::from(b)));
            prop_assert!(i64::try_from(small).is_ok());
            if let Ok(large) = i64::try_from(large) {
                prop_assert_eq!(Usd::from_parts(large, i64::try_from(small).unwrap()), direct);
            }
        }

        #[test]
        fn m6_a_rate_times_tokens_is_exact(rate in 1..=10_000_000_000_000_u64, tokens in 0..=1_u64 << 50) {
            let text = format!("{rate}e-15");
            prop_assert_eq!(Rate::parse(&text).unwrap().times(tokens), Usd(i128::from(rate) * i128::from(tokens)));
        }
    }
}
