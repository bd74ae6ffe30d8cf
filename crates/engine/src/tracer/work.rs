//! What happens after the hook: each conversation that something happened in is looked at, and what is due is put into
//! the outbox. Whoever comes does it: a child that the hook left behind, the next hook's, the app.
//!
//! Killed anywhere, nothing is lost: a job goes only after what it told is in the register, a conversation stays marked
//! until nothing of it is due, and a turn counts as sent only after the outbox has it. What is done twice is the same
//! spans twice.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use agenthub_agy::{
    Home, Surface,
    trace::{Told, find, trace, trace_from_transcript},
};
use agenthub_core::{
    SessionId, Time,
    trace::{SpanId, Visit},
};

use super::{
    Tracer,
    due::{Due, SETTLING_MS, Sent, Stands, due, stands},
    job::{self, Job, What},
    outbox::Outbox,
    register::{self, Entry, Register, digests},
    settings::TracingSettings,
};
use crate::places::{Held, make_folder};

/// Between two looks at rows that are still to come.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LAST_LOOK: Duration = Duration::from_millis(500);
/// A turn that was sent is looked at again for so long: a title call comes after the end.
const LINGER_MS: i64 = 4_000;
/// After this silence nothing more is expected of a conversation whose turns were all sent.
const REST_MS: i64 = 10 * 60_000;

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// Turns that went into the outbox, as a whole or in part.
    pub turns: u64,
    /// Conversations of which something may still come.
    pub open: u64,
}

/// How long a round may wait for agy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A hook's child: nobody may come after it.
    Waits,
    /// The app comes again.
    Looks,
}

pub(super) struct Work<'a> {
    pub(super) tracer: &'a Tracer,
    pub(super) settings: TracingSettings,
    pub(super) outbox: &'a mut dyn Outbox,
    pub(super) patience: Patience,
    pub(super) until: Instant,
}

type Conversation = (Surface, SessionId);

/// What one look at a conversation came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    sent: u64,
    /// Rows are expected any moment.
    waits: bool,
    /// Something of it may be due later.
    open: bool,
}

impl Work<'_> {
    pub(super) fn run(&mut self) -> anyhow::Result<Worked> {
        let mut worked = Worked::default();
        let mut done: BTreeSet<Conversation> = BTreeSet::new();
        // Those with news first; then each that is marked, once.
        while let Some((conversation, news)) = self.next(&done) {
            let again = !done.insert(conversation.clone());
            let look = self.conversation(&conversation)?;
            match look {
                Some(look) => {
                    worked.turns += look.sent;
                    worked.open += u64::from(look.open);
                }
                // Somebody else has it, and will see the news.
                None if again && news => break,
                None => {}
            }
            if Instant::now() >= self.until {
                break;
            }
        }
        Ok(worked)
    }

    /// The next conversation to look at, and whether there is news of it.
    fn next(&self, done: &BTreeSet<Conversation>) -> Option<(Conversation, bool)> {
        let with_news: Vec<Conversation> = self.jobs().into_keys().collect();
        let fresh = with_news.iter().find(|c| !done.contains(c)).or(with_news.first()).cloned();
        let marked =
            || register::conversations(&self.tracer.open(), ".open").into_iter().find(|c| !done.contains(c));
        fresh.map(|c| (c, true)).or_else(|| marked().map(|c| (c, false)))
    }

    /// The jobs by conversation. What is none of ours is dropped.
    fn jobs(&self) -> BTreeMap<Conversation, Vec<(PathBuf, Job)>> {
        let mut out: BTreeMap<Conversation, Vec<(PathBuf, Job)>> = BTreeMap::new();
        for (path, job) in job::all(&self.tracer.jobs(), &self.tracer.config.gemini_dir) {
            match job {
                Ok(job) => {
                    out.entry((job.surface.clone(), job.conversation.clone())).or_default().push((path, job));
                }
                Err(why) => {
                    tracing::debug!("a hook event is dropped: {why:?}");
                    let _ = fs::remove_file(path);
                }
            }
        }
        out
    }

    /// Looks at one conversation until nothing is expected of it any moment. `None`: somebody else does.
    fn conversation(&mut self, c: &Conversation) -> anyhow::Result<Option<Look>> {
        let Some(lock) = self.lock(c)? else { return Ok(None) };
        let mut all = Look::default();
        let mut pause = FIRST_LOOK;
        let mut sent_at: Option<Time> = None;
        loop {
            if self.hear(c)? {
                pause = FIRST_LOOK;
            }
            let look = self.look(c, None)?;
            all = Look { sent: all.sent + look.sent, ..look };
            let now = self.tracer.now();
            if look.sent > 0 {
                sent_at = Some(now);
                self.outbox.send(self.until);
            }
            let lingers = sent_at.is_some_and(|t| now.ms_since(t) < LINGER_MS);
            let waits = self.patience == Patience::Waits && (look.waits || lingers);
            if !waits || Instant::now() + pause >= self.until {
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LAST_LOOK);
        }
        self.mark(c, all.open)?;
        drop(lock);
        Ok(Some(all))
    }

    fn lock(&self, (surface, id): &Conversation) -> anyhow::Result<Option<Held>> {
        let path = register::file(&self.tracer.locks(), surface, id, ".lock");
        make_folder(path.parent().unwrap_or(&path))?;
        Ok(Held::take(&path)?)
    }

    fn register_of(&self, (surface, id): &Conversation) -> PathBuf {
        register::file(&self.tracer.turns(), surface, id, ".json")
    }

    /// Takes over what hooks told; `true` if there was something.
    fn hear(&self, c: &Conversation) -> anyhow::Result<bool> {
        let Some(jobs) = self.jobs().remove(c) else { return Ok(false) };
        let path = self.register_of(c);
        let mut register = Register::read(&path);
        let heard = &mut register.heard;
        for (_, job) in &jobs {
            let at = Some(job.at);
            heard.last = heard.last.max(at);
            match job.what {
                What::Begins => heard.begun = heard.begun.max(at),
                What::Held => heard.held = heard.held.max(at),
                What::Stopped => heard.stopped = heard.stopped.max(at),
            }
        }
        // The mark first, then the register, then the jobs: killed between any two, it is only done again.
        self.mark(c, true)?;
        register.write(&path)?;
        for (path, _) in jobs {
            let _ = fs::remove_file(path);
        }
        Ok(true)
    }

    fn mark(&self, (surface, id): &Conversation, open: bool) -> anyhow::Result<()> {
        let path = register::file(&self.tracer.open(), surface, id, ".open");
        if open {
            if !path.exists() {
                make_folder(path.parent().unwrap_or(&path))?;
                super::write_private(&path, b"")?;
            }
        } else if let Err(e) = fs::remove_file(&path)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(e.into());
        }
        Ok(())
    }

    /// Puts what is due of a conversation into the outbox. `child` is the sub-agent that brought us here.
    fn look(&mut self, c: &Conversation, child: Option<&SessionId>) -> anyhow::Result<Look> {
        let (surface, id) = c;
        // A switch counts at once, also for a child that waits.
        self.settings = self.tracer.settings().0;
        if !self.settings.is_on() || !self.settings.wants(surface) {
            return Ok(Look::default());
        }
        let tracer = self.tracer;
        let forest = tracer.forest(surface, &self.settings);
        if child.is_none() {
            let root = forest.root(id);
            if root != *id {
                return self.look_at_root(&(surface.clone(), root), id);
            }
        }
        let path = self.register_of(c);
        let mut register = Register::read(&path);
        let now = tracer.now();
        let told = match told(&forest.home, id, &register, child) {
            Known::Told(told) => told,
            // agy writes it just now.
            Known::NotNow => return Ok(Look { waits: true, open: true, sent: 0 }),
            Known::Never => {
                // It may still be made: the hook can be earlier than the file.
                let within = |ms| register.heard.last.is_some_and(|t| now.ms_since(t) < ms);
                return Ok(Look { waits: within(SETTLING_MS), open: within(REST_MS), sent: 0 });
            }
        };
        let mut look = Look::default();
        let mut all_over = true;
        for turn in &told.turns {
            let stands = stands(turn, &register.heard, told.wrote, now);
            if !matches!(stands, Stands::Over | Stands::Abandoned) {
                look.waits |= stands == Stands::Settles;
                all_over = false;
                continue;
            }
            let sent = register.sent(turn.key);
            // A transcript's time is cut to the second.
            let ended = turn.span.extent.to.plus_ms(if told.from_transcript { 999 } else { 0 });
            if sent == Sent::Nothing && self.settings.since().is_some_and(|t| ended < t) {
                register.note(turn.key, Entry { skipped: true, ..Entry::default() });
                register.write(&path)?;
                continue;
            }
            // What the database told is better than what the transcript would.
            if told.from_transcript && sent != Sent::Nothing {
                continue;
            }
            let (mut trace, children) = forest.tree(id, turn);
            let (digest, spans) = digests(&trace);
            let before =
                register.turns.get(&register::name(turn.key)).map(|e| e.spans.clone()).unwrap_or_default();
            let (incomplete, only) = match due(stands, sent, digest) {
                Due::Nothing => continue,
                Due::All { incomplete } => (incomplete, None),
                Due::Changes => {
                    let id = |v: &Visit<'_>| v.span.id().to_string();
                    let changed =
                        trace.visits().into_iter().filter(|v| before.get(&id(v)) != spans.get(&id(v)));
                    (false, Some(changed.map(|v| v.span.id()).collect::<HashSet<SpanId>>()))
                }
            };
            trace.turn.incomplete = incomplete;
            self.outbox.put(&trace, only.as_ref())?;
            let children = children.iter().map(ToString::to_string).collect();
            register.note(turn.key, Entry { digest, incomplete, skipped: false, spans, children });
            register.write(&path)?;
            look.sent += 1;
        }
        // The rows of the turn that was stopped may all still be to come.
        let stopped = register.heard.stopped.filter(|t| now.ms_since(*t) < SETTLING_MS);
        look.waits |= !told.from_transcript && stopped.is_some_and(|t| told.wrote < t);
        let sign = register.heard.last.max(Some(told.wrote)).unwrap_or(now);
        look.open = look.waits || !all_over || now.ms_since(sign) < REST_MS;
        Ok(look)
    }

    /// A sub-agent's turns are its root's: that one is looked at in its place.
    fn look_at_root(&mut self, root: &Conversation, child: &SessionId) -> anyhow::Result<Look> {
        let Some(lock) = self.lock(root)? else {
            // Whoever has it may have read the sub-agent before this: to be looked at again.
            return Ok(Look { sent: 0, waits: true, open: true });
        };
        let look = self.look(root, Some(child))?;
        if look.open {
            self.mark(root, true)?;
        }
        drop(lock);
        Ok(Look { open: false, waits: false, ..look })
    }
}

/// What is known of a conversation.
enum Known {
    Told(Told),
    NotNow,
    Never,
}

fn told(home: &Home, id: &SessionId, register: &Register, child: Option<&SessionId>) -> Known {
    let want = |key| register.wants(key, child);
    let error = match find(home, id) {
        None => None,
        Some(entry) => match trace(home, &entry, &want) {
            Ok(told) => return Known::Told(told),
            Err(e) => Some(e),
        },
    };
    // Busy, locked, or without our rights for now.
    if error.as_ref().is_some_and(|e| !e.is_verdict()) {
        return Known::NotNow;
    }
    trace_from_transcript(home, id, &want).map_or(Known::Never, Known::Told)
}
