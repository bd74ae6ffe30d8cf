//! What a person can do about what the system refused: the end of each error that reaches people.

use std::io;

use agenthub_store::StoreError;

/// What to do where something could not be kept.
pub(crate) const SEE_TO_ROOM: &str = "Check that the disk has room and the data folder can be written.";
const IS_REBUILT: &str = "It is damaged, and is rebuilt from agy's files: try again in a moment.";
const MAKE_ROOM: &str = "The disk is full: make room, then try again.";
const TRY_AGAIN: &str = "Another program is writing in it: try again in a moment.";
const READ_ONLY: &str = "The disk is read-only: have it made writable, then try again.";
const MAY_NOT: &str = "Give yourself the right to read and write there, then try again.";
const IN_THE_WAY: &str = "Move what is in the way, then try again.";
const SEE_TO_IT: &str = "See that its disk is there, has room and can be written, then try again.";
/// All that is said here.
const ALL: [&str; 8] =
    [IS_REBUILT, MAKE_ROOM, TRY_AGAIN, SEE_TO_ROOM, READ_ONLY, MAY_NOT, IN_THE_WAY, SEE_TO_IT];

/// What to do about what SQLite said; `None` where the error says so itself.
pub(crate) fn of_store(e: &StoreError) -> Option<&'static str> {
    match e {
        StoreError::Newer { .. } => None,
        e if e.is_damage() => Some(IS_REBUILT),
        e if e.is_full() => Some(MAKE_ROOM),
        e if e.is_busy() => Some(TRY_AGAIN),
        _ => Some(SEE_TO_ROOM),
    }
}

/// What to do about what the system said of a file or a folder that is ours to write.
pub fn of_io(e: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match e.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => MAKE_ROOM,
        Kind::ReadOnlyFilesystem => READ_ONLY,
        Kind::PermissionDenied => MAY_NOT,
        Kind::NotADirectory | Kind::IsADirectory | Kind::AlreadyExists => IN_THE_WAY,
        _ => SEE_TO_IT,
    }
}

/// What a message says has happened, and what it says to do about that; `also` may be said to do, too.
pub(crate) fn apart<'a>(message: &'a str, also: Option<&str>) -> (&'a str, Option<&'a str>) {
    let at = also.into_iter().chain(ALL).find_map(|way| message.find(way));
    match at.and_then(|at| message.split_at_checked(at)) {
        Some((what, way)) => (what.trim_end(), Some(way)),
        None => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_what_to_do_is_known_of_each_refusal_and_can_be_told_apart_from_it() {
        let kinds = [
            (io::ErrorKind::StorageFull, "make room"),
            (io::ErrorKind::ReadOnlyFilesystem, "read-only"),
            (io::ErrorKind::PermissionDenied, "the right"),
            (io::ErrorKind::NotADirectory, "in the way"),
            (io::ErrorKind::TimedOut, "its disk is there"),
        ];
        for (kind, words) in kinds {
            let way = of_io(&io::Error::from(kind));
            assert!(way.contains(words) && way.ends_with("try again."), "{kind}: {way}");
            let message = format!("The folder can't be written: it is so. {way} Or use another one.");
            let (what, told) = apart(&message, None);
            assert_eq!(what, "The folder can't be written: it is so.");
            assert_eq!(told, Some(&*format!("{way} Or use another one.")));
        }
        assert_eq!(apart("No way out of this.", Some("Elsewhere.")), ("No way out of this.", None));
        assert_eq!(apart("A note. Elsewhere.", Some("Elsewhere.")), ("A note.", Some("Elsewhere.")));
    }
}
