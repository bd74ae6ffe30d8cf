//! The diagnostics bundle, on the person's word.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use agenthub_core::day_of;

use super::Host;
use crate::{
    bundle, convert,
    usage::export::{failed, write_at, write_new},
    view::{Bundle, ErrorView, SCHEMA},
};

impl Host {
    /// Writes what somebody who is to help needs to know into a file that is not there yet; it can be shared as it is.
    /// Blocks.
    ///
    /// # Errors
    /// `io` when it can't be written, or is there already; `store` when the store fails.
    pub fn bundle(&self, file: &Path) -> Result<Bundle, ErrorView> {
        let (bytes, entries) = self.bundled()?;
        write_at(file, &bytes).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => ErrorView {
                code: "io".to_owned(),
                message: format!(
                    "{} is there already and was left as it is. Name another file, or remove that one first.",
                    file.display()
                ),
            },
            _ => failed(file, &e),
        })?;
        Ok(written(file.to_owned(), entries))
    }

    /// The same into a folder, under a name that is free. Blocks.
    ///
    /// # Errors
    /// As [`Host::bundle`].
    pub fn bundle_into(&self, folder: &Path) -> Result<Bundle, ErrorView> {
        let (bytes, entries) = self.bundled()?;
        let day = day_of(self.now(), &self.time_zone()).map(|d| d.to_string()).unwrap_or_default();
        let file = write_new(folder, &format!("agenthub-diagnostics-{day}"), "zip", &bytes)?;
        Ok(written(file, entries))
    }

    fn bundled(&self) -> Result<(Vec<u8>, Vec<String>), ErrorView> {
        let snapshot = self.snapshot();
        bundle::archive(&bundle::Told {
            places: &self.shared.places,
            now: self.now(),
            board: &snapshot.board,
            doctor: self.doctor()?,
            settings: self.settings(),
            hooks: self.hooks_status(),
            tracing: self.tracing_status().map(|screen| screen.status),
            prices: self.pricing_status(),
        })
    }
}

fn written(file: PathBuf, entries: Vec<String>) -> Bundle {
    Bundle {
        schema: SCHEMA,
        file_short: convert::for_people(&file),
        folder: file.parent().map(|f| f.display().to_string()).unwrap_or_default(),
        file: file.display().to_string(),
        entries,
    }
}
