//! Files in `conversations/` that are no conversation, and what a reader must say of each.

use std::fs;

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::call::Call;
use crate::clock::At;
use crate::conversation::{Conversation, Turn};
use crate::home::Home;
use crate::rng::Rng;
use crate::traps::Planted;
use crate::truth::Problem;

/// A kind of bad file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadFile {
    /// `<uuid>.db` of 0 bytes, as agy makes it beforehand: `empty`.
    Empty,
    /// Text in a `<uuid>.db`: `not_a_database`.
    Text,
    /// A database cut in the middle: `corrupt`.
    Truncated,
    /// A database with other tables: `no_such_table`.
    OtherTables,
    /// A `<uuid>.pb` without a `.db`: `legacy_pb`.
    LegacyPb,
    /// A conversation whose name is no UUID: `not_a_uuid`.
    NotAUuid,
    /// A folder named `<uuid>.db`: `not_a_file`.
    Folder,
    /// A symlink that names itself: `symlink_loop`.
    SymlinkLoop,
}

impl BadFile {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Empty,
        Self::Text,
        Self::Truncated,
        Self::OtherTables,
        Self::LegacyPb,
        Self::NotAUuid,
        Self::Folder,
        Self::SymlinkLoop,
    ];

    /// Writes it and says what a reader must list.
    pub fn write(self, home: &Home, id: &str) -> Result<Problem> {
        let path = home.db(id);
        let (file, code) = match self {
            Self::Empty => {
                fs::write(&path, "")?;
                (format!("{id}.db"), "empty")
            }
            Self::Text => {
                fs::write(&path, "This is not a database, it only has its name.\n".repeat(40))?;
                (format!("{id}.db"), "not_a_database")
            }
            Self::Truncated => {
                small(id).write(home)?;
                let file = fs::File::options().write(true).open(&path)?;
                // The schema and most of the tables' roots are there; pages further on are not.
                file.set_len(4096 * 5 + 1234)?;
                (format!("{id}.db"), "corrupt")
            }
            Self::OtherTables => {
                let conn = Connection::open(&path)?;
                conn.execute_batch(
                    "CREATE TABLE notes (id INTEGER PRIMARY KEY, text); INSERT INTO notes VALUES (1, 'x')",
                )?;
                crate::schema::close(conn)?;
                (format!("{id}.db"), "no_such_table")
            }
            Self::LegacyPb => {
                fs::write(home.pb(id), Rng::named(id).bytes(3000))?;
                (format!("{id}.pb"), "legacy_pb")
            }
            Self::NotAUuid => {
                let name = format!("copy of {id}");
                small(&name).write(home)?;
                // A name that is no UUID has no files elsewhere.
                fs::remove_dir_all(home.cli().join("brain").join(&name))?;
                fs::remove_file(home.presence(&name))?;
                (format!("{name}.db"), "not_a_uuid")
            }
            Self::Folder => {
                fs::create_dir(&path)?;
                (format!("{id}.db"), "not_a_file")
            }
            Self::SymlinkLoop => {
                symlink(&format!("{id}.db"), &path)?;
                (format!("{id}.db"), "symlink_loop")
            }
        };
        Ok(Problem { file, code: code.to_owned() })
    }
}

fn small(id: &str) -> Conversation {
    let turn =
        Turn::prompt("A conversation that nobody can read").call(Call::model(1016)).call(Call::model(1016));
    Conversation::new(id).at(At::unix(1_795_000_000)).turn(turn)
}

#[cfg(unix)]
fn symlink(target: &str, path: &std::path::Path) -> Result<()> {
    std::os::unix::fs::symlink(target, path).context("symlink")
}

#[cfg(not(unix))]
fn symlink(_target: &str, path: &std::path::Path) -> Result<()> {
    anyhow::bail!("no symlinks here: {}", path.display())
}

pub(crate) fn plant(home: &Home, rng: &mut Rng, out: &mut Planted) -> Result<()> {
    for kind in BadFile::ALL {
        if cfg!(not(unix)) && kind == BadFile::SymlinkLoop {
            continue;
        }
        out.problems.push(kind.write(home, &rng.uuid())?);
    }
    unreadable(home, rng, out)
}

/// A sound conversation of mode 000. Root can read it all the same: then it is a session, not a problem.
fn unreadable(home: &Home, rng: &mut Rng, out: &mut Planted) -> Result<()> {
    let id = rng.uuid();
    let turn = Turn::prompt("Behind a closed door").call(Call::model(1016));
    let recording = Conversation::new(&id).at(At::unix(1_795_100_000)).turn(turn).write(home)?;
    let path = home.db(&id);
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000))
        .context("cannot close the file")?;
    if fs::File::open(&path).is_ok() {
        out.accounts.push(recording.account());
    } else {
        out.problems.push(Problem { file: format!("{id}.db"), code: "permission".to_owned() });
    }
    Ok(())
}
