//! AgentHub's domain: what a session, a lane and a call are, and which state follows from the facts that are known.
//!
//! Pure by rule: no files, no clock, no environment, no wire formats (`clippy.toml` beside this crate bans them).
//! Time comes in as a value, and nothing here can fail.

pub mod board;
pub mod call;
pub mod derive;
pub mod fact;
pub mod hook;
pub mod notice;
pub mod price;
pub mod run;
pub mod session;
pub mod time;
pub mod tokens;
pub mod trace;
pub mod why;
pub mod words;

pub use board::{Board, BoardSession, Lane, LaneId, Person, board};
pub use call::{AtSource, CallKey, CallKind, Model, Sighting, Stamp};
pub use derive::{Outcome, Presence, State, Verdict, Windows, derive};
pub use fact::{DbView, Facts, Latest, Live, LockReading, StepRef, TurnEnd, Waiting};
pub use hook::{EventId, HookEvent, HookKind, Hooks};
pub use notice::{Announced, Announcer, Held, Look, Notice, NoticeKind, QuietHours, Rules, Subject};
pub use run::{Run, RunEnd, RunFacts, RunId, RunVerdict};
pub use session::{Session, SessionId, Tool};
pub use time::{Time, day_of};
pub use tokens::Tokens;
pub use trace::Trace;
pub use why::{Evidence, Fact, Source, Why};
