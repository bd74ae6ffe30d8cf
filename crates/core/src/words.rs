//! Numbers with the word for what they count.

use std::fmt::Display;

/// `one` where there is one, else `many`.
pub fn plural<'a, N: PartialEq + From<u8>>(n: N, one: &'a str, many: &'a str) -> &'a str {
    if n == N::from(1) { one } else { many }
}

/// "1 turn", "2 turns".
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(n: N, one: &str, many: &str) -> String {
    format!("{n} {}", plural(n, one, many))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let turns = |n: u32| counted(n, "turn", "turns");
        assert_eq!([0, 1, 2, 11, 21].map(turns), ["0 turns", "1 turn", "2 turns", "11 turns", "21 turns"]);
        assert_eq!(plural(1_usize, "is", "are"), "is");
    }
}
