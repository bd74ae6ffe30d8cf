//! The hook and the switch, together: tracing is never on without its hook, whatever fails or ends in between (spec R1).
//!
//! So what switches it on comes after the hook and what switches it off before, and a failure of the second takes back the
//! first. A hook without tracing does nothing; tracing without a hook looks as if it were at work.

use serde_json::{Value, json};

use super::Tracer;
use crate::{
    hooks::Hooks,
    view::{ErrorView, HooksAction, HooksPlan, SCHEMA, TracingChange},
};

const KEPT: &str = "Destinations and headers are kept; `--purge` takes them away.";
const LEFT: &str =
    "The hook that was put in place before could not be taken back; it does nothing while tracing is off.";

/// A plan that was shown and is another one now is not carried out (spec H2).
pub(super) fn as_shown(plan: &HooksPlan, token: Option<&str>) -> Result<(), ErrorView> {
    if token.is_none_or(|t| t == plan.token) {
        return Ok(());
    }
    Err(ErrorView {
        code: "ECHANGED".to_owned(),
        message: format!("{} has changed since. Nothing was written; look at the new difference.", plan.file),
    })
}

impl Tracer {
    /// Puts the hook in place as planned, then does the rest. A hook that was not there before goes again if that fails.
    ///
    /// # Errors
    /// The codes of H3; those of `rest`.
    pub(super) fn with_hook<T>(
        &self,
        hooks: &Hooks,
        plan: HooksPlan,
        rest: impl FnOnce() -> Result<T, ErrorView>,
    ) -> Result<(HooksPlan, T), ErrorView> {
        let was_there = hooks.is_there();
        let plan = if plan.changes { hooks.apply(&plan.token)? } else { plan };
        match rest() {
            Ok(done) => Ok((plan, done)),
            Err(e) if was_there || !plan.applied => Err(e),
            Err(e) => Err(match hooks.plan(HooksAction::Undo).and_then(|undo| hooks.apply(&undo.token)) {
                Ok(_) => e,
                Err(_) => ErrorView { message: format!("{} {LEFT}", e.message), ..e },
            }),
        }
    }

    /// Switches tracing off, then takes the hook away as planned. If that fails it is on again.
    fn without_hook(&self, hooks: &Hooks, plan: HooksPlan) -> Result<HooksPlan, ErrorView> {
        let was_on = self.settings().0.enabled;
        let switched = |on: bool| self.settings_file().merge(&json!({ "tracing": { "enabled": on } }));
        if self.has_section() {
            switched(false)?;
        }
        if !plan.changes {
            return Ok(plan);
        }
        hooks.apply(&plan.token).inspect_err(|_| {
            if was_on {
                let _ = switched(true);
            }
        })
    }

    /// Switches tracing off: the hook goes, with its script. `purge`: destinations, secrets and all that waits, too.
    ///
    /// # Errors
    /// `ECHANGED` when the plan that was shown under this token is another one now; the codes of H3. Nothing else is taken
    /// away then.
    pub fn uninstall(
        &self,
        purge: bool,
        dry_run: bool,
        token: Option<&str>,
    ) -> Result<TracingChange, ErrorView> {
        let hooks = Hooks::tracing(&self.config)?;
        let mut plan = hooks.plan(HooksAction::Remove)?;
        let kept = || self.has_section() || self.secrets_path().exists();
        let notes = match purge {
            true => self.what_goes(dry_run),
            false => kept().then(|| KEPT.to_owned()).into_iter().collect(),
        };
        if !dry_run {
            as_shown(&plan, token)?;
            plan = self.without_hook(&hooks, plan)?;
            if purge {
                if self.has_section() {
                    self.settings_file().merge(&json!({ "tracing": Value::Null }))?;
                }
                self.purge()?;
            }
        }
        Ok(TracingChange { schema: SCHEMA, plan, destination: None, notes, applied: !dry_run })
    }

    /// Shows what taking back the last write of hooks.json would change, or does it with the token of what was shown.
    /// Tracing is on afterwards if its hook is there.
    ///
    /// # Errors
    /// `not_found` when there is nothing to undo; as [`Tracer::uninstall`].
    pub fn undo(&self, token: Option<&str>) -> Result<HooksPlan, ErrorView> {
        let hooks = Hooks::tracing(&self.config)?;
        let plan = hooks.plan(HooksAction::Undo)?;
        let Some(token) = token else { return Ok(plan) };
        as_shown(&plan, Some(token))?;
        if !hooks.would_be_there(HooksAction::Undo)? {
            return self.without_hook(&hooks, plan);
        }
        let on = || {
            let before = self.settings().0;
            let mut after = before.clone();
            self.switch(&before, &mut after, true);
            if before.enabled { Ok(None) } else { self.write_settings(&before, &after, &["enabled"]) }
        };
        self.with_hook(&hooks, plan, on).map(|(plan, _)| plan)
    }
}
