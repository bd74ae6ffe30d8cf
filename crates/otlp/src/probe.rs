//! One span that says nothing but that it came through (R11): what a person sends to see whether a destination works.

use std::time::{Duration, Instant};

use agenthub_core::Time;
use agenthub_core::trace::{SpanId, TraceId};

use crate::encode::batch;
use crate::queue::Attempt;
use crate::{Answer, Encoding, Target, Transport as _};

/// What a test gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Where it went, without what is secret in it.
    pub endpoint: String,
    /// To look for it in the backend.
    pub trace_id: String,
    pub answer: Answer,
    pub took: Duration,
}

impl Probe {
    /// Sends one span, past the queue and its pauses.
    pub fn send(target: &Target, encoding: &Encoding, now: Time, limit: Duration) -> Probe {
        // Each test is another trace, or a backend would show the first one only.
        let random: [u8; 16] = std::array::from_fn(|_| fastrand::u8(..));
        let trace = TraceId::from_random(&random);
        let request = encoding.test_request(&trace, &SpanId::from_random(&random), now);
        let began = Instant::now();
        let answer = target.send(&batch(&request), limit);
        let endpoint = target.endpoint().to_string();
        Probe { endpoint, trace_id: trace.to_string(), answer, took: began.elapsed() }
    }

    /// For [`Queue::note`](crate::Queue::note), so that the last attempt is shown everywhere.
    pub fn attempt(&self, at: Time) -> Attempt {
        Attempt::new(at, 1, &self.answer, self.took)
    }
}
