//! Doctor's look. It is asked for when something is wrong, so it needs nothing that can be.

use std::sync::Arc;

use agenthub_store::InMemory;

use super::{Host, Options, Shared, store_error};
use crate::{
    Config, doctor,
    places::Places,
    view::{DoctorDocument, ErrorView, HostNote},
    way_out,
};

impl Host {
    /// Looks once, as [`Host::once`] does. Where that can't be, for the data folder can't be written or the store can't be used,
    /// it looks all the same: at a copy in memory of what the store knows, and at agy's files. Nothing is written then, and
    /// [`Host::doctor`] says why.
    ///
    /// # Errors
    /// `other_home` when the data folder is another home's: then the wrong one is looked at. `store` when there is no memory.
    pub fn for_doctor(config: Config, options: Options) -> Result<Host, ErrorView> {
        let why = match Host::once(config.clone(), options.clone()) {
            Err(e) if e.code != "other_home" => e,
            done => return done,
        };
        let at = Places::at(&config.data_dir);
        let look = |memory: InMemory| {
            let shared = Shared::over(at.clone().with_memory(memory), config.clone(), options.clone());
            if let Some(mut engine) = shared.engine()? {
                engine.once();
            }
            Ok(shared)
        };
        let copied = InMemory::copied(&at.store(), &at.person()).map_err(|e| store_error(&e));
        // What was copied may be of a newer AgentHub, or damaged: then agy's files alone have to do.
        let shared =
            copied.and_then(look).or_else(|_| InMemory::new().map_err(|e| store_error(&e)).and_then(look))?;
        Ok(Host { shared: Arc::new(Shared { unusable: Some(why), ..shared }), thread: None })
    }

    /// What is wrong and what to do about it. Blocks.
    ///
    /// # Errors
    /// `store` when the store fails.
    pub fn doctor(&self) -> Result<DoctorDocument, ErrorView> {
        self.doctor_with(&[])
    }

    /// The same with what only the asking host knows: what it notes on its board, it finds here, too.
    ///
    /// # Errors
    /// `store` when the store fails.
    pub fn doctor_with(&self, own: &[HostNote]) -> Result<DoctorDocument, ErrorView> {
        let status = self.hooks().map(|hooks| hooks.status());
        let tracing = self.tracer().and_then(|tracer| tracer.status());
        let own: Vec<HostNote> = own.iter().cloned().chain(self.unusable()).collect();
        let asked = doctor::Asked { status, tracing, places: &self.shared.places, own: &own };
        self.asked(|reader| doctor::document(reader, &self.snapshot(), &self.shared.config, &asked))
    }

    /// That nothing is kept, and why.
    fn unusable(&self) -> Option<HostNote> {
        let why = self.shared.unusable.as_ref()?;
        let (what, way) = way_out::apart(&why.message, None);
        let what = format!("{} What follows was read just now, and is kept nowhere.", sentence(what));
        let message = way.map_or_else(|| what.clone(), |way| format!("{what} {way}"));
        Some(HostNote { code: "store_unusable".to_owned(), message })
    }
}

/// With a capital at its beginning and a full stop at its end.
fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}
