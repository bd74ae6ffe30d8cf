//! Telling the person: what the board's verdicts say is new is kept, and shown to hosts, in one go.

use std::sync::Arc;

use agenthub_core::{Announcer, Notice, Run, Session, Time, Verdict, notice::TOGETHER_MS};
use agenthub_store::{self as store, NoticeFate, NoticeRow};

use super::Engine;
use crate::{convert, notices, settings::Zone, view::NoticePart};

/// So many of the newest notices are in each snapshot: more than can come up between two looks of a host.
const IN_SNAPSHOT: u32 = 20;
/// What was announced is remembered for so long.
const REMEMBERED_MS: i64 = 30 * 24 * 3_600_000;

/// What the engine knows of notices.
#[derive(Debug)]
pub(super) struct Notices {
    announcer: Announcer,
    /// When the clock alone would find more.
    pub(super) due: Option<Time>,
    /// The one that is to be shown and may still be joined by others.
    open: Option<Open>,
    /// The newest ones, as the history has them.
    pub(super) newest: Vec<NoticeRow>,
}

#[derive(Clone, Debug)]
struct Open {
    row: NoticeRow,
    parts: Vec<NoticePart>,
}

impl Notices {
    /// `since` is when this host began to watch: what happened before is not news (L10).
    pub(super) fn read(persons: &store::PersonStore, since: Time) -> Result<Notices, store::StoreError> {
        persons.forget_announced_before(since.plus_ms(-REMEMBERED_MS))?;
        let announced = persons.announced()?.into_iter().collect();
        let newest = persons.notices(IN_SNAPSHOT)?;
        Ok(Notices { announcer: Announcer::new(since, announced), due: None, open: None, newest })
    }
}

impl Engine {
    /// Keeps what is new since the last look, and says whether there was something to tell.
    pub(super) fn announce(
        &mut self,
        sessions: &[Session],
        verdicts: &[Verdict],
        runs: &[Run],
        now: Time,
    ) -> bool {
        if !self.watches {
            return false;
        }
        let look = self.notices.announcer.look(sessions, verdicts, runs, now);
        self.notices.due = look.next_at;
        if look.announced.is_empty() {
            self.notices.announcer.done(sessions, runs, &look);
            return false;
        }
        let (rows, open) = self.rows(&look.notices, now);
        match self.persons.keep_notices(&rows, &look.announced) {
            Ok(ids) => {
                self.notices.announcer.done(sessions, runs, &look);
                self.notices.open = open.map(|mut o| {
                    // Its row is the one that is pending; there is at most one.
                    let at = rows.iter().position(|r| r.fate == NoticeFate::Pending);
                    if let Some(id) = at.and_then(|at| ids.get(at)) {
                        o.row.id = *id;
                    }
                    o
                });
                !rows.is_empty() && self.reread_notices()
            }
            Err(e) => {
                // Nothing was kept, so nothing is told: the next look finds it again.
                self.failed(&e);
                false
            }
        }
    }

    /// The rows that these notices make, and the one which later ones may join.
    fn rows(&self, found: &[Notice], now: Time) -> (Vec<NoticeRow>, Option<Open>) {
        let settings = &self.settings.values;
        let (rules, zone) = (notices::rules(settings), Zone::of(settings).zone);
        let mut open = self.notices.open.clone().filter(|o| now.ms_since(o.row.at) <= TOGETHER_MS);
        let mut rows = Vec::new();
        let mut added = false;
        for n in found {
            let used = self.used_for(n);
            let part =
                notices::part(n, used.map(|s| s.tokens.total()), used.as_ref().and_then(convert::cost));
            match (rules.held(n, now, &zone), &mut open) {
                (Some(held), _) => rows.push(NoticeRow {
                    id: 0,
                    at: now,
                    round: 0,
                    fate: NoticeFate::Held,
                    why: Some(notices::held_words(held)),
                    content: content(&[part]),
                }),
                (None, Some(o)) => {
                    o.row.round += i64::from(!added);
                    o.parts.push(part);
                    added = true;
                }
                (None, None) => {
                    let row = NoticeRow {
                        id: 0,
                        at: now,
                        round: 0,
                        fate: NoticeFate::Pending,
                        why: None,
                        content: String::new(),
                    };
                    open = Some(Open { row, parts: vec![part] });
                    added = true;
                }
            }
        }
        if let Some(o) = open.as_mut().filter(|_| added) {
            o.row.content = content(&o.parts);
            o.row.fate = NoticeFate::Pending;
            rows.push(o.row.clone());
        }
        (rows, open)
    }

    /// What the turn used, where it is known.
    fn used_for(&self, n: &Notice) -> Option<store::Sum> {
        let from = n.turn_at?;
        if !n.confirmed || n.duration_ms().is_none() {
            return None;
        }
        let of = |id| self.store.used_between(id, from, n.at).ok();
        let sum = n.sessions.iter().filter_map(of).fold(store::Sum::default(), store::Sum::plus);
        (sum.calls > sum.unknown).then_some(sum)
    }

    /// Reads the history anew, and says whether the newest of it changed.
    pub(super) fn reread_notices(&mut self) -> bool {
        match self.persons.notices(IN_SNAPSHOT) {
            Ok(rows) => {
                let changed = rows != self.notices.newest;
                self.notices.newest = rows;
                changed
            }
            Err(e) => {
                self.failed(&e);
                false
            }
        }
    }

    /// The newest notices as hosts show them.
    pub(super) fn shown_notices(&self, now: Time) -> Arc<Vec<crate::view::Notification>> {
        let settings = &self.settings.values;
        Arc::new(self.notices.newest.iter().filter_map(|r| notices::notification(r, settings, now)).collect())
    }
}

fn content(parts: &[NoticePart]) -> String {
    // Plain strings and numbers always have a text.
    serde_json::to_string(parts).unwrap_or_default()
}
