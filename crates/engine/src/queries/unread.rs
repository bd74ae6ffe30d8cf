//! A session that no list has, for its file can't be read.

use std::path::Path;

use agenthub_agy as agy;
use agenthub_core::SessionId;

use super::{MOST_NAMED, ambiguous, beginning, not_found};
use crate::{
    convert, doctor,
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
        [(id, p)] => error(id, "shown", p),
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

/// Says that this session can't be `done` something with, for its file can't be read.
fn error(id: &SessionId, done: &str, p: &Problem) -> ErrorView {
    ErrorView {
        code: "unreadable".to_owned(),
        message: format!(
            "The session `{id}` can't be {done}, for its file ({}) can't be read: {} ({}). {}",
            p.file,
            p.message,
            p.code,
            doctor::advice_on_file(&p.code)
        ),
    }
}

/// The same of a conversation that is looked up where it lies. `None`: its file is not there, or can be read.
pub(crate) fn conversation(home: &agy::Home, id: &SessionId, done: &str) -> Option<ErrorView> {
    why(home, id).map(|problem| error(id, done, &problem))
}

/// What is wrong with a conversation's file. `None`: it is not there, or can be read.
pub(super) fn why(home: &agy::Home, id: &SessionId) -> Option<Problem> {
    let of = |p: &agy::Problem| Path::new(&p.file).file_stem().is_some_and(|s| *s == *id.as_str());
    match agy::trace::find(home, id) {
        None => agy::list(home).problems.iter().find(|p| of(p)).map(convert::problem),
        Some(entry) => {
            let e = agy::trace::trace(home, &entry, &|_| false).err()?;
            let file = entry.path.file_name()?.to_string_lossy().into_owned();
            Some(Problem { file, code: e.code().name().to_owned(), message: e.to_string() })
        }
    }
}
