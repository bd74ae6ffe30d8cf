//! A session that no list has, for its file can't be read.

use std::path::Path;

use agenthub_core::SessionId;

use super::{MOST_NAMED, ambiguous, beginning, not_found};
use crate::{
    doctor,
    view::{ErrorView, Problem},
};

/// Why there is no session of this id, or whose id begins so: `unreadable` with what is wrong with its file and what to do, or
/// `not_found` where there is no such file; `bad_request` for the beginning of several.
pub(super) fn session(problems: &[Problem], asked: &str) -> ErrorView {
    let start = match SessionId::parse(asked) {
        Some(id) => id.to_string(),
        None => match beginning(asked) {
            Ok(start) => start,
            Err(e) => return e,
        },
    };
    let id_of = |p: &Problem| SessionId::parse(Path::new(&p.file).file_stem()?.to_str()?);
    let named = problems.iter().filter_map(|p| Some((id_of(p)?, p)));
    let found: Vec<(SessionId, &Problem)> = named.filter(|(id, _)| id.as_str().starts_with(&start)).collect();
    match found.as_slice() {
        [] => not_found(asked),
        [(id, p)] => ErrorView {
            code: "unreadable".to_owned(),
            message: format!(
                "The session `{id}` can't be shown, for its file ({}) can't be read: {} ({}). {}",
                p.file,
                p.message,
                p.code,
                doctor::advice_on_file(&p.code)
            ),
        },
        several => {
            let most = usize::try_from(MOST_NAMED).unwrap_or_default();
            let mut names: Vec<String> = several.iter().take(most).map(|(id, _)| id.to_string()).collect();
            if several.len() > most {
                names.push("and more".to_owned());
            }
            ambiguous(asked, &names)
        }
    }
}
