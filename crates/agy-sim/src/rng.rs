//! A small deterministic generator (SplitMix64), so that a seed names a world for ever and no dependency can change it.

use std::ops::Range;

/// Deterministic random numbers, ids and choices.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The generator that belongs to a name (FNV-1a of it), used for conversations that are built by hand.
    pub fn named(name: &str) -> Self {
        Self::new(
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    /// The next 64 bits.
    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of the range; the start for an empty one.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        let width = range.end.saturating_sub(range.start).max(1);
        range.start + self.u64() % width
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.range(0..100) < percent
    }

    /// One of the items; the slice must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.range(0..items.len() as u64) as usize;
        #[expect(
            clippy::indexing_slicing,
            reason = "`at` is below the length; an empty list is a bug of the caller"
        )]
        &items[at]
    }

    /// A version 4 UUID in lower case.
    pub fn uuid(&mut self) -> String {
        let (a, b) = (self.u64(), self.u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48 & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }

    /// A response id as Google's API makes it: 23 characters of base64url.
    pub fn response_id(&mut self) -> String {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        (0..23).map(|_| char::from(*self.pick(ALPHABET))).collect()
    }

    /// `n` bytes without meaning.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(n + 8);
        while out.len() < n {
            out.extend_from_slice(&self.u64().to_le_bytes());
        }
        out.truncate(n);
        out
    }
}
