//! What can be wrong with a file, as a closed list: the window and `--json` branch on the code, never on the text.

/// Why a file gives no session (spec S10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemCode {
    NotADatabase,
    Corrupt,
    NoSuchTable,
    Empty,
    LegacyPb,
    NotAUuid,
    NotAFile,
    SymlinkLoop,
    Permission,
    Busy,
    NoHome,
}

impl ProblemCode {
    pub const fn name(self) -> &'static str {
        match self {
            ProblemCode::NotADatabase => "not_a_database",
            ProblemCode::Corrupt => "corrupt",
            ProblemCode::NoSuchTable => "no_such_table",
            ProblemCode::Empty => "empty",
            ProblemCode::LegacyPb => "legacy_pb",
            ProblemCode::NotAUuid => "not_a_uuid",
            ProblemCode::NotAFile => "not_a_file",
            ProblemCode::SymlinkLoop => "symlink_loop",
            ProblemCode::Permission => "permission",
            ProblemCode::Busy => "busy",
            ProblemCode::NoHome => "no_home",
        }
    }
}

/// A file that gives no session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file's name, or the folder's path for `NoHome` and for a `conversations/` that can't be listed.
    pub file: String,
    pub code: ProblemCode,
    /// For people; holds no prompt text.
    pub message: String,
}

/// Why a conversation could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("not a SQLite database")]
    NotADatabase,
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    #[error("a database, but not agy's: {0}")]
    NoSuchTable(String),
    #[error("an empty file: agy made it before its first write")]
    Empty,
    #[error("not a regular file")]
    NotAFile,
    #[error("a symbolic link that leads to itself")]
    SymlinkLoop,
    #[error("no permission to read it")]
    Permission,
    #[error("it can't be read at this moment: {0}")]
    Busy(String),
}

impl ReadError {
    pub const fn code(&self) -> ProblemCode {
        match self {
            ReadError::NotADatabase => ProblemCode::NotADatabase,
            ReadError::Corrupt(_) => ProblemCode::Corrupt,
            ReadError::NoSuchTable(_) => ProblemCode::NoSuchTable,
            ReadError::Empty => ProblemCode::Empty,
            ReadError::NotAFile => ProblemCode::NotAFile,
            ReadError::SymlinkLoop => ProblemCode::SymlinkLoop,
            ReadError::Permission => ProblemCode::Permission,
            ReadError::Busy(_) => ProblemCode::Busy,
        }
    }

    /// Whether this is said of the file's content, and so stands until the file changes. The others are tried again at
    /// the next pass (spec S10).
    pub const fn is_verdict(&self) -> bool {
        match self {
            ReadError::NotADatabase
            | ReadError::Corrupt(_)
            | ReadError::NoSuchTable(_)
            | ReadError::Empty
            | ReadError::NotAFile
            | ReadError::SymlinkLoop => true,
            ReadError::Permission | ReadError::Busy(_) => false,
        }
    }
}
