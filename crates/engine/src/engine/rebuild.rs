//! A store that turns out to be damaged while the engine runs is begun anew from agy's files (spec Q3).

use agenthub_core::Time;
use agenthub_store as store;

use super::{Engine, Journal};
use crate::{convert, places::Places, way_out};

/// Stores that are damaged again and again lie on a disk that can't be helped by one more.
const MOST_REBUILDS: u32 = 3;

impl Engine {
    pub(super) fn failed(&mut self, e: &store::StoreError) {
        tracing::error!("{e}");
        self.damaged |= e.damaged() == Some(&*self.places.store());
        let said =
            format!("What was read could not be kept: {e}. {}", way_out::of_store(e).unwrap_or_default());
        self.unkept = Some(said.clone());
        self.notes.insert("source_failed", said);
    }

    /// A host could not read the store. It is looked at with a new connection: ours may still have the pages that the file
    /// has lost.
    pub(crate) fn doubt(&mut self) {
        self.damaged |= !store::Store::is_sound(&self.places.store());
    }

    /// Begins the store anew, if it is damaged, and says so. What agy's files can't give is taken from the person's file;
    /// the next pass reads the rest. Says whether there is something to read.
    pub(super) fn mend(&mut self) -> bool {
        if !self.damaged || self.rebuilds >= MOST_REBUILDS {
            return false;
        }
        self.rebuilds += 1;
        let aside = match self.store.begin_anew() {
            Ok(aside) => aside,
            Err(e) => {
                tracing::error!("{e}");
                let way_out = way_out::of_store(&e).unwrap_or_default();
                let said = format!("The damaged store could not be replaced: {e}. {way_out}");
                self.notes.insert("source_failed", said);
                return false;
            }
        };
        self.damaged = false;
        self.unkept = None;
        self.notes.remove("source_failed");
        self.notes.insert("store_rebuilt", note(&aside));
        let taken = self.read_person().and_then(|()| self.store.take_back_gone(&self.places.person()));
        if let Err(e) = taken {
            self.failed(&e);
        }
        let held: Vec<_> = self.known.iter().filter(|(_, k)| k.ever_held).map(|(id, _)| id.clone()).collect();
        if let Err(e) = self.store.set_ever_held(&held) {
            self.failed(&e);
        }
        for k in self.known.values_mut() {
            (k.fingerprint, k.problem) = (None, None);
        }
        for f in self.followed.values_mut() {
            f.cursor = None;
        }
        // Its position was in the store. Events that are read once more are the same events.
        self.journal = Journal::new(&self.places);
        self.journal.look_aside();
        true
    }
}

/// The person's own file. One that was damaged and had to be begun anew is given what the store knows of it.
///
/// # Errors
/// When it can't be opened or made.
pub(crate) fn persons(places: &Places, now: Time) -> Result<store::PersonStore, store::StoreError> {
    let persons = store::PersonStore::open(&places.person(), now)?;
    if persons.is_renewed()
        && let Ok(store) = store::Store::reader(&places.store())
    {
        // What one table of the store does not give, another may.
        for id in store.deleted().unwrap_or_default() {
            persons.delete(&id, now)?;
        }
        for own in store.own_prices().unwrap_or_default() {
            persons.set_price(&own, now)?;
        }
    }
    Ok(persons)
}

/// What the person is told of their own file.
pub(super) const PERSON_NOTE: &str = "The file of what you said (deleted sessions, dismissed errors, prices and aliases of \
    your own) was damaged. AgentHub has put into a new one what it still knew of that; the list of past notifications is \
    lost. The damaged one is kept beside it, as person.db.damaged-1 or a later number.";

/// What the person is told.
pub(super) fn note(aside: &std::path::Path) -> String {
    format!(
        "The store was damaged and is being rebuilt from agy's files. The damaged one is kept as {}.",
        convert::for_people(aside)
    )
}
