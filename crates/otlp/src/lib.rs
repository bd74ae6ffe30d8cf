//! Where spans go: the tree of a turn becomes OpenTelemetry's messages, and these go to the backends that a person chose,
//! at once or, from a queue on disk, later (spec §9).
//!
//! It knows nothing of agy, of settings files' places or of when a turn is over. Nothing here is sent unless it is called,
//! and no header's value is ever printed: see [`Secret`].

pub mod answer;
pub mod destination;
pub mod encode;
pub mod endpoint;
pub mod file;
pub mod header;
pub mod names;
pub mod preset;
pub mod probe;
pub mod queue;
pub mod send;

pub use answer::{Answer, Fate};
pub use destination::{CacheWriteName, Destination, DestinationId, Profiles};
pub use encode::{Encoding, Sender};
pub use endpoint::Endpoint;
pub use header::{Header, HeaderName, Secret, Secrets};
pub use preset::Preset;
pub use queue::Queue;
pub use send::{Batch, Target, Transport};

/// Something in a person's settings that cannot work, said so that they can mend it. The code is for programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into() }
    }
}
