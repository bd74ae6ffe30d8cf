//! Our own folders: made private, locked by the one engine, with the names of all files in them.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_agy as agy;
use agenthub_store::InMemory;

use crate::{Config, view::ErrorView, way_out};

/// A lock between processes, held until it is dropped. It goes with its process, too.
#[derive(Debug)]
pub struct Held(File);

impl Held {
    /// `None` when somebody else has it.
    ///
    /// # Errors
    /// When the file can't be made or locked.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Held>> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Held(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing is not enough: a program that another thread starts has a share of it between its fork and its exec.
        drop(self.0.unlock());
    }
}

/// The other way out of a data folder that can't be used.
const ANOTHER: &str = "Or use another folder (--data-dir or AGENTHUB_DATA_DIR).";

/// Files in the data folder.
#[derive(Clone, Debug)]
pub struct Places {
    data_dir: PathBuf,
    /// What stands in for the databases where nothing may be written; it goes with the last of these places.
    memory: Option<Arc<InMemory>>,
}

impl Places {
    /// Makes the data folder, readable by its owner only.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(data_dir: &Path) -> io::Result<Places> {
        make_folder(data_dir)?;
        Ok(Places::at(data_dir))
    }

    /// The same for whoever is told of an error.
    ///
    /// # Errors
    /// `io` with what to do.
    pub(crate) fn made(config: &Config) -> Result<Places, ErrorView> {
        Places::make(&config.data_dir).map_err(|e| {
            let here = config.data_dir.display();
            let way = way_out::of_io(&e);
            let message = format!("The data folder {here} can't be made: {e}. {way} {ANOTHER}");
            ErrorView { code: "io".to_owned(), message }
        })
    }

    /// Makes nothing.
    pub(crate) fn at(data_dir: &Path) -> Places {
        Places { data_dir: data_dir.to_owned(), memory: None }
    }

    /// Makes the folder if that can be, for those that mostly look.
    pub(crate) fn tried(data_dir: &Path) -> Places {
        // Whoever writes into it says why that can't be.
        Places::make(data_dir).unwrap_or_else(|_| Places::at(data_dir))
    }

    /// The same places with databases in memory. Who is given these writes nothing into the folder.
    pub(crate) fn with_memory(self, memory: InMemory) -> Places {
        Places { memory: Some(Arc::new(memory)), ..self }
    }

    /// agy's home. Files of its that can't be read in place are copied into our folder, else into the system's temporary one.
    pub(crate) fn agy_home(&self, gemini_dir: &Path) -> agy::Home {
        let home = agy::Home::new(gemini_dir.to_owned());
        if self.keeps_nothing() { home } else { home.with_private_copies_in(self.copies()) }
    }

    pub(crate) fn keeps_nothing(&self) -> bool {
        self.memory.is_some()
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub fn store(&self) -> PathBuf {
        match &self.memory {
            Some(memory) => memory.store().to_owned(),
            None => self.data_dir.join("agenthub.db"),
        }
    }

    pub fn person(&self) -> PathBuf {
        match &self.memory {
            Some(memory) => memory.person().to_owned(),
            None => self.data_dir.join("person.db"),
        }
    }

    /// The price table that a sync fetched, with what held before.
    pub fn prices(&self) -> PathBuf {
        self.data_dir.join("prices.json")
    }

    /// Held while `prices` is written.
    pub fn prices_lock(&self) -> PathBuf {
        self.data_dir.join("prices.lock")
    }

    /// Where copies of agy's files go when they can't be read in place.
    pub fn copies(&self) -> PathBuf {
        self.data_dir.join("copies")
    }

    /// Holds the folder to one home of agy's: numbers of two homes in one store would be nobody's numbers.
    ///
    /// # Errors
    /// `other_home` when the folder was used with another one, `io` when it can't be written.
    pub(crate) fn belongs_to(&self, gemini_dir: &Path) -> Result<(), ErrorView> {
        let home = std::path::absolute(gemini_dir).unwrap_or_else(|_| gemini_dir.to_owned());
        if self.may_belong_to(gemini_dir)? {
            return Ok(());
        }
        // Of half a name, which a full disk leaves or another process reads meanwhile, everybody would say that the folder is
        // another home's. Of none, after a power cut, that it is nobody's yet.
        replace_private(&self.home_file(), home.to_string_lossy().as_bytes()).map_err(|e| self.unwritable(&e))
    }

    fn home_file(&self) -> PathBuf {
        self.data_dir.join("agy-home")
    }

    /// Whether the folder is this home's already; `false` when it is nobody's yet.
    ///
    /// # Errors
    /// `other_home` when the folder was used with another one.
    pub(crate) fn may_belong_to(&self, gemini_dir: &Path) -> Result<bool, ErrorView> {
        let file = self.home_file();
        let home = std::path::absolute(gemini_dir).unwrap_or_else(|_| gemini_dir.to_owned());
        let Ok(text) = std::fs::read_to_string(&file) else { return Ok(false) };
        let known = PathBuf::from(text.trim_end_matches(['\r', '\n']));
        if known.as_os_str().is_empty() {
            return Ok(false);
        }
        let same = known.to_string_lossy() == home.to_string_lossy()
            || known.canonicalize().is_ok_and(|k| home.canonicalize().is_ok_and(|h| h == k));
        if same {
            return Ok(true);
        }
        Err(ErrorView {
            code: "other_home".to_owned(),
            message: format!(
                "The data folder {} belongs to agy's home {}, not to {}. Use another one (--data-dir or \
                 AGENTHUB_DATA_DIR); if the home was moved, delete {}.",
                self.data_dir.display(),
                known.display(),
                home.display(),
                file.display()
            ),
        })
    }

    /// What to say when the folder refuses us.
    pub(crate) fn unwritable(&self, e: &io::Error) -> ErrorView {
        ErrorView {
            code: "io".to_owned(),
            message: format!(
                "The data folder {} can't be written: {e}. {} {ANOTHER}",
                self.data_dir.display(),
                way_out::of_io(e)
            ),
        }
    }

    /// The lock of the one engine on this folder, held until it is dropped; `None` when somebody else has it.
    ///
    /// # Errors
    /// When the lock file cannot be made.
    pub fn lock(&self) -> io::Result<Option<Held>> {
        Held::take(&self.data_dir.join("engine.lock"))
    }

    /// The address of the engine's question port: a socket in the folder, or in the temporary folder when that path is
    /// too long for one (107 bytes on Linux, 103 on macOS).
    pub fn port(&self) -> PathBuf {
        let near = self.data_dir.join("engine.sock");
        if near.as_os_str().len() <= 100 {
            return near;
        }
        std::env::temp_dir().join(format!("agenthub-{:016x}.sock", self.mark()))
    }

    /// What the tracer keeps: jobs, what was sent, what waits to be sent.
    pub fn tracing(&self) -> PathBuf {
        self.data_dir.join("tracing")
    }

    /// The folder of what `agenthub-hook` writes. Its names are baked into the installed forwarder (spec H7): they never
    /// change.
    pub fn hooks(&self) -> PathBuf {
        self.data_dir.join("hooks")
    }

    /// Hook events, one appended record each.
    pub fn journal(&self) -> PathBuf {
        self.hooks().join("journal")
    }

    /// A datagram socket: one byte says that the journal grew.
    pub fn doorbell(&self) -> PathBuf {
        self.hooks().join("doorbell")
    }

    /// One byte for each hook event that the hook program could not write down, which says why.
    pub fn journal_dropped(&self) -> PathBuf {
        self.hooks().join("dropped")
    }

    /// Makes the folder of the journal, readable by its owner only.
    ///
    /// # Errors
    /// When it cannot be made, or is somebody else's.
    pub fn make_hooks(&self) -> io::Result<()> {
        make_private(&self.hooks())
    }

    /// The folder of what `agenthub run` writes: a record of each run, and a lock that it holds while it lives.
    pub fn runs(&self) -> PathBuf {
        self.data_dir.join("runs")
    }

    /// Makes the folder of the runs, readable by its owner only.
    ///
    /// # Errors
    /// As [`Places::make_hooks`].
    pub fn make_runs(&self) -> io::Result<()> {
        make_private(&self.runs())
    }

    /// A number that names this folder.
    pub fn mark(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut h = DefaultHasher::new();
        self.data_dir.hash(&mut h);
        h.finish()
    }
}

/// Makes a folder that only its owner can enter; one that is there stays as it is.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut b = std::fs::DirBuilder::new();
    b.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut b, 0o700);
    b.create(folder)
}

fn make_private(folder: &Path) -> io::Result<()> {
    make_folder(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o700);
        if std::fs::metadata(folder)?.permissions().mode() & 0o777 != 0o700 {
            std::fs::set_permissions(folder, mode)?;
        }
    }
    Ok(())
}

/// Puts a file of ours in place by rename, whole or not at all, readable by its owner only. Not synced: a power cut may leave it
/// empty, or the one before.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    io::Write::write_all(&mut file, bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p7_one_engine_per_data_folder() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::make(&dir.path().join("a/b")).unwrap();
        let first = places.lock().unwrap();
        assert!(first.is_some());
        assert!(places.lock().unwrap().is_none());
        drop(first);
        assert!(places.lock().unwrap().is_some());
    }

    #[test]
    fn h7_a_folder_with_an_empty_mark_is_nobodys_yet() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::make(dir.path()).unwrap();
        let home = dir.path().join(".gemini");
        std::fs::write(places.home_file(), "").unwrap();
        assert!(!places.may_belong_to(&home).unwrap());
        places.belongs_to(&home).unwrap();
        assert!(places.may_belong_to(&home).unwrap());
        assert_eq!(places.may_belong_to(Path::new("/another")).unwrap_err().code, "other_home");
    }

    #[cfg(unix)]
    #[test]
    fn the_data_folder_is_private_and_its_port_fits() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("x".repeat(90)).join("y".repeat(90));
        let places = Places::make(&long).unwrap();
        assert_eq!(std::fs::metadata(&long).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(places.port().as_os_str().len() <= 100);
    }
}
