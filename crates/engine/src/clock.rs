//! What time it is: the system's clock, or one that a test turns by hand.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use agenthub_core::Time;

/// Cheap to clone; clones of a hand-set clock show the same time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    Hand(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `at` until it is set.
    pub fn hand(at: Time) -> Clock {
        Clock::Hand(Arc::new(AtomicI64::new(at.micros())))
    }

    pub fn now(&self) -> Time {
        match self {
            Clock::System => {
                let us = jiff::Timestamp::now().as_microsecond();
                Time::from_micros(us)
            }
            Clock::Hand(us) => Time::from_micros(us.load(Ordering::SeqCst)),
        }
    }

    /// Sets a hand-set clock; the system's clock is not ours to set.
    pub fn set(&self, at: Time) {
        if let Clock::Hand(us) = self {
            us.store(at.micros(), Ordering::SeqCst);
        }
    }
}
