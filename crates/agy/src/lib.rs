//! Reads what Google's Antigravity CLI (`agy`) leaves on disk: its conversations, their tokens, their state.
//!
//! Everything here is read-only (spec P5): no file below agy's home is created, written or locked, and no descriptor
//! on one is kept between reads. Every decoder is total: what arrives may be anything (spec Q1). The formats are
//! undocumented; `README.md` beside this crate lists each quirk with its source and the test that holds it.
//!
//! The way through: [`list()`] says which conversations there are, [`read()`] reads one (incrementally, with the
//! [`Cursor`] of the read before), [`timeline()`] tells its course on demand.

pub mod account;
pub mod calls;
pub mod cursor;
pub mod fingerprint;
pub mod home;
pub mod hook_payload;
pub mod hooks;
pub mod index;
pub mod list;
pub mod log;
pub mod presence;
pub mod problem;
pub mod read;
pub mod timeline;
pub mod trace;
pub mod track;
pub mod transcript;
pub mod version;

mod lenient;
mod meta;
mod open;
mod rows;
mod scan;
mod tally;
mod text;
mod vfs;
mod view;
mod wire;

pub use cursor::Cursor;
pub use fingerprint::{Fingerprint, fingerprint, may_be_since};
pub use home::{Home, Surface};
pub use index::Index;
pub use list::{Entry, Listing, list};
pub use problem::{Problem, ProblemCode, ReadError};
pub use read::{Context, ForkRef, Meta, Read, WarningCode, read};
pub use timeline::{
    EntryKind, EntryState, Timeline, TimelineEntry, from_transcript as timeline_from_transcript, timeline,
};
pub use track::{Span, SpanKind, Track, track};
pub use version::version;

/// Whether a command of this name is agy.
pub fn is_agy(program: &str) -> bool {
    let name = program.to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name) == "agy"
}
