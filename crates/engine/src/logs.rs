//! What the hosts say on stderr, once more in files of bounded size, so that a diagnostics bundle has it when somebody
//! asks. Nothing that people or models wrote is ever logged (spec Q4).

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// A file is put aside at this size, in place of the one that was put aside before.
const MOST: u64 = 256 * 1024;

/// Where lines go: stderr, and `log` in the data folder. A line is one write. What can't be written is left out: there is
/// nobody to complain to.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Nothing goes to stderr.
    quiet: bool,
    open: Arc<Mutex<Option<File>>>,
}

impl LogFile {
    /// Nothing is opened before the first line.
    pub fn new(data_dir: &Path) -> LogFile {
        LogFile { path: data_dir.join("log"), quiet: false, open: Arc::default() }
    }

    /// Lines go to the file alone, for a command that says itself what a person shall know.
    pub fn quiet(data_dir: &Path) -> LogFile {
        LogFile { quiet: true, ..LogFile::new(data_dir) }
    }

    fn keep(&self, line: &[u8]) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |file: &File| file.metadata().map_or(true, |m| m.len() >= MOST);
        let mut file = match open.take().filter(|file| !full(file)) {
            Some(file) => file,
            None => {
                // Another process may have put the full one aside already.
                let file = append(&self.path)?;
                if full(&file) {
                    std::fs::rename(&self.path, aside(&self.path))?;
                    append(&self.path)?
                } else {
                    file
                }
            }
        };
        file.write_all(line)?;
        *open = Some(file);
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !self.quiet {
            let _ = io::stderr().write_all(line);
        }
        let _ = self.keep(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("old")
}

/// The newest whole lines, at most so many bytes of them.
pub(crate) fn newest(data_dir: &Path, most: u64) -> String {
    let path = data_dir.join("log");
    let mut bytes = Vec::new();
    for path in [aside(&path), path] {
        let Ok(mut file) = File::open(path) else { continue };
        let len = file.metadata().map_or(0, |m| m.len());
        if file.seek(SeekFrom::Start(len.saturating_sub(most))).is_ok() {
            // What could be read of it is better than nothing.
            let _ = file.take(most).read_to_end(&mut bytes);
        }
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let cut = bytes.len().saturating_sub(most);
    let text = String::from_utf8_lossy(bytes.get(cut..).unwrap_or_default()).into_owned();
    match text.split_once('\n') {
        Some((_, whole)) if cut > 0 => whole.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q4_the_log_is_bounded_and_its_newest_lines_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let log = LogFile::new(dir.path());
        assert_eq!(newest(dir.path(), 1_000), "");
        let other = LogFile::new(dir.path());
        for n in 0..30_000 {
            let line = format!("{n:05} something went wrong, and this says what\n");
            (if n % 2 == 0 { &log } else { &other }).keep(line.as_bytes()).unwrap();
        }
        let size = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().len();
        assert!(size("log") <= MOST + 100 && size("log.old") <= MOST + 100);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        let text = newest(dir.path(), 300_000);
        let lines: Vec<usize> = text.lines().map(|l| l[..5].parse().unwrap()).collect();
        assert!(lines.len() > 5_000 && lines.windows(2).all(|p| p[1] == p[0] + 1), "whole lines, in order");
        assert_eq!(lines.last(), Some(&29_999));
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = LogFile::new(&dir.path().join("absent"));
        assert_eq!(log.write(b"a line\n").unwrap(), 7);
    }
}
