//! What a host asks of the tracer, and one turn as the tree that it sends.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use super::Host;
use crate::{
    queries,
    tracer::{self, Tracer},
    view::{self, ErrorView, HooksPlan, TracingChange, TracingTests, TracingWish},
    waterfall,
};

impl Host {
    /// One turn of a session as the tree that tracing sends, by the step that began it. Blocks.
    ///
    /// # Errors
    /// `not_found` without such a session or turn, `store` when the store fails.
    pub fn turn_tree(&self, id: &str, step: i64) -> Result<view::TurnTree, ErrorView> {
        let book = self.prices()?.book;
        let id = self.asked(|reader| queries::named(reader, id))?;
        waterfall::tree(self.shared.home(), book, &id, step)
    }

    /// How tracing stands, and what can be chosen. Blocks.
    ///
    /// # Errors
    /// `io` when our own folders can't be used.
    pub fn tracing_status(&self) -> Result<view::TracingScreen, ErrorView> {
        let tracer = self.tracer()?;
        tracer.screen(&|| {
            /// A page asks each second, and logs that name nobody are read whole.
            const FRESH: Duration = Duration::from_secs(30);
            let mut known = self.shared.address.lock().unwrap_or_else(PoisonError::into_inner);
            match *known {
                Some((at, found)) if at.elapsed() < FRESH => found,
                _ => {
                    let found = tracer.finds_address();
                    *known = Some((Instant::now(), found));
                    found
                }
            }
        })
    }

    /// Changes tracing's settings, nothing of agy's. Blocks.
    ///
    /// # Errors
    /// `bad_settings` or `bad_request` for what can't be, `not_found` for a destination that is none.
    pub fn tracing_set(&self, patch: &view::TracingPatch) -> Result<view::TracingSaved, ErrorView> {
        self.tracer()?.set(patch)
    }

    /// Switches tracing on or changes a destination, or shows what that would change. Blocks.
    ///
    /// # Errors
    /// What is wrong in the wish; the codes of the hooks' installer.
    pub fn tracing_install(&self, wish: &TracingWish, dry_run: bool) -> Result<TracingChange, ErrorView> {
        self.tracer()?.install(&tracer::Install::of(wish)?, dry_run)
    }

    /// Takes the tracing hook away; `purge`: destinations and all that waits, too. `token` is of the plan that was shown.
    /// Blocks.
    ///
    /// # Errors
    /// `ECHANGED` when that plan is another one now; the codes of the hooks' installer.
    pub fn tracing_uninstall(
        &self,
        purge: bool,
        dry_run: bool,
        token: Option<&str>,
    ) -> Result<TracingChange, ErrorView> {
        self.tracer()?.uninstall(purge, dry_run, token)
    }

    /// Shows what taking back the tracing hook's last write would change; with the token of that, does it. Blocks.
    ///
    /// # Errors
    /// As [`Host::tracing_uninstall`]; `not_found` when there is nothing to undo.
    pub fn tracing_undo(&self, token: Option<&str>) -> Result<HooksPlan, ErrorView> {
        self.tracer()?.undo(token)
    }

    /// Sends one span to each destination. Blocks for as long as a backend may take.
    ///
    /// # Errors
    /// `bad_request` without any destination.
    pub fn tracing_test(&self) -> Result<TracingTests, ErrorView> {
        self.tracer()?.test()
    }

    pub(super) fn tracer(&self) -> Result<Tracer, ErrorView> {
        Tracer::new(&self.shared.config, self.shared.options.clock.clone())
    }
}
