//! What the agent's hooks told: events with their own times, kept as a set whose union no order can change (spec L1, L9).

use crate::{Latest, Time};

/// Names one hook event: the moment at which its hook started, in nanoseconds, and that process. The same record read
/// twice is the same event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    pub ns: u64,
    pub pid: u32,
}

/// What a hook event says (spec §5).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookKind {
    /// agy is about to call its model. Whether that is a new prompt is judged when the state is derived (H9). `None` when
    /// the event came without its body.
    Invocation { num: Option<u32> },
    /// A tool ended; how, hooks don't tell.
    Tool { name: Option<String>, step: Option<i64> },
    /// A Stop while background work goes on (`fullyIdle: false`).
    HeldStop,
    /// The final Stop of a turn. `error` is set when it is an error stop; `reason` is agy's termination reason in upper
    /// case without its prefix, empty when it gave none.
    Stop { error: Option<String>, reason: String },
    /// A Stop that came without its body: agy lives, and its database knows more.
    Seen,
}

impl HookKind {
    /// agy's own name of the event.
    pub const fn event_name(&self) -> &'static str {
        match self {
            HookKind::Invocation { .. } => "PreInvocation",
            HookKind::Tool { .. } => "PostToolUse",
            HookKind::HeldStop | HookKind::Stop { .. } | HookKind::Seen => "Stop",
        }
    }
}

/// One accepted hook event of a session. Ordered by its time, then its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HookEvent {
    /// When its hook started; cut to its arrival when it claims to be from later.
    pub at: Time,
    pub id: EventId,
    pub kind: HookKind,
}

impl HookEvent {
    pub(crate) const fn is_final_stop(&self) -> bool {
        matches!(self.kind, HookKind::Stop { .. })
    }
}

/// The accepted hook events of a session: the newest, and the newest of each kind that decides something, which may be
/// older than those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Ascending, without repetition, at most [`Hooks::KEPT`].
    recent: Vec<HookEvent>,
    prompt: Latest<EventId>,
    invocation: Latest<EventId>,
    tool: Latest<(EventId, HookKind)>,
    stop: Latest<(EventId, HookKind)>,
}

/// An end that a final Stop told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopEnd<'a> {
    pub(crate) at: Time,
    pub(crate) error: Option<&'a str>,
    pub(crate) reason: &'a str,
}

/// A sign that agy is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work<'a> {
    pub(crate) at: Time,
    /// The tool whose end told it; `None` for a call of the model.
    pub(crate) tool: Option<Option<&'a str>>,
}

/// An invocation this long after the last event is a new prompt (H9).
const PAUSE_MS: i64 = 2 * 60_000;

impl Hooks {
    /// How many of the newest events are kept.
    pub const KEPT: usize = 64;

    /// The fact that one event gives.
    pub fn of(event: HookEvent) -> Hooks {
        let HookEvent { at, id, kind } = &event;
        let mut hooks = Hooks::default();
        match kind {
            HookKind::Invocation { num } => {
                hooks.invocation = Latest::new(*at, *id);
                if *num == Some(0) {
                    hooks.prompt = Latest::new(*at, *id);
                }
            }
            HookKind::Tool { .. } => hooks.tool = Latest::new(*at, (*id, kind.clone())),
            HookKind::Stop { .. } => hooks.stop = Latest::new(*at, (*id, kind.clone())),
            HookKind::HeldStop | HookKind::Seen => {}
        }
        hooks.recent = vec![event];
        hooks
    }

    #[must_use]
    pub fn joined(self, o: Hooks) -> Hooks {
        let mut recent = self.recent;
        if recent.is_empty() {
            recent = o.recent;
        } else {
            recent.extend(o.recent);
            recent.sort();
            recent.dedup();
            let surplus = recent.len().saturating_sub(Hooks::KEPT);
            recent.drain(..surplus);
        }
        Hooks {
            recent,
            prompt: self.prompt.joined(o.prompt),
            invocation: self.invocation.joined(o.invocation),
            tool: self.tool.joined(o.tool),
            stop: self.stop.joined(o.stop),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// The newest events, oldest first.
    pub fn recent(&self) -> &[HookEvent] {
        &self.recent
    }

    pub fn newest(&self) -> Option<&HookEvent> {
        self.recent.last()
    }

    /// The newest final Stop.
    pub(crate) fn stop(&self) -> Option<StopEnd<'_>> {
        match (self.stop.at(), self.stop.get()) {
            (Some(at), Some((_, HookKind::Stop { error, reason }))) => {
                Some(StopEnd { at, error: error.as_deref(), reason })
            }
            _ => None,
        }
    }

    /// The newest call of the model.
    pub(crate) fn invocation(&self) -> Option<Work<'_>> {
        self.invocation.at().map(|at| Work { at, tool: None })
    }

    /// The newest end of a tool.
    pub(crate) fn tool(&self) -> Option<Work<'_>> {
        match (self.tool.at(), self.tool.get()) {
            (Some(at), Some((_, HookKind::Tool { name, .. }))) => {
                Some(Work { at, tool: Some(name.as_deref()) })
            }
            _ => None,
        }
    }

    /// When the newest held Stop began to hold, if it is the newest event of all: any later one releases it.
    pub(crate) fn held(&self) -> Option<Time> {
        self.newest().filter(|e| e.kind == HookKind::HeldStop).map(|e| e.at)
    }

    /// The held Stop that nothing but ends of tools came after, up to `tool`.
    pub(crate) fn held_before(&self, tool: Time) -> Option<Time> {
        let earlier = self.recent.iter().rev().skip_while(|e| e.at > tool);
        let before = earlier.into_iter().find(|e| !matches!(e.kind, HookKind::Tool { .. }))?;
        (before.kind == HookKind::HeldStop).then_some(before.at)
    }

    /// When the prompts among the kept events were, newest first (H9).
    pub fn prompt_times(&self, hold_ms: i64) -> Vec<Time> {
        self.prompts(hold_ms).map(|p| p.at).collect()
    }

    /// The times of the prompts among the events, newest first (H9). `told` says that the agent counted its calls anew;
    /// the others follow from what was stamped before them.
    pub(crate) fn prompts(&self, hold_ms: i64) -> impl Iterator<Item = Prompt> {
        let complete = self.recent.len() < Hooks::KEPT;
        let mut found = Vec::new();
        let mut before: Option<&HookEvent> = None;
        // The held Stop that at most ends of tools came after: what was left in the background.
        let mut paused: Option<Time> = None;
        for e in &self.recent {
            if let HookKind::Invocation { num } = e.kind {
                let told = num == Some(0);
                // Work that goes on after a pause counts from 0 again, in the same turn.
                let goes_on = paused.is_some_and(|held| e.at.ms_since(held) < hold_ms);
                let opens = num.is_some()
                    && match before {
                        None => complete,
                        Some(b) => b.is_final_stop() || e.at.ms_since(b.at) > PAUSE_MS,
                    };
                if !goes_on && (told || opens) {
                    found.push(Prompt { at: e.at, told });
                }
            }
            paused = match e.kind {
                HookKind::HeldStop => Some(e.at),
                HookKind::Tool { .. } => paused,
                _ => None,
            };
            before = Some(e);
        }
        let oldest = self.recent.first().map(|e| e.at);
        // In a turn of very many events its prompt is no longer among the newest.
        let far = self.prompt.at().filter(|p| !complete && oldest.is_some_and(|o| *p < o));
        found.into_iter().rev().chain(far.map(|at| Prompt { at, told: true }))
    }
}

/// An invocation that is a new prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) at: Time,
    pub(crate) told: bool,
}
