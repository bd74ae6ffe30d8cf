//! The journal: appended to by one write for each event, and read by the app. And the doorbell.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::Write,
    path::Path,
    time::Duration,
};

use crate::event::Lost;

/// The journal's bound; beyond it events are dropped and counted (spec H7). Nobody reads it while the app is closed.
const MOST: u64 = 64 << 20;
/// As many drops as are counted.
const MOST_DROPPED: u64 = 1 << 20;

/// Appends `record` by one write, or says why not. A record that the disk cut short was not written: its reader skips it.
pub(crate) fn append(path: &Path, record: &[u8]) -> Result<(), Lost> {
    let mut file = open(path).ok_or(Lost::Unwritable)?;
    let before = length(&file).ok_or(Lost::Unwritable)?;
    if before.saturating_add(u64::try_from(record.len()).unwrap_or(u64::MAX)) > MOST {
        return Err(Lost::Full);
    }
    // Behind a record that a full disk has cut, this one needs a line of its own, or both would be lost.
    let written = if ends_its_line(&file) {
        file.write(record).is_ok_and(|n| n == record.len())
    } else {
        let apart = [b"\n", record].concat();
        file.write(&apart).is_ok_and(|n| n == apart.len())
    };
    if written { Ok(()) } else { Err(Lost::Unwritable) }
}

fn length(file: &File) -> Option<u64> {
    Some(file.metadata().ok()?.len())
}

/// Whether the last record in it is whole. One that another process writes right now grows, so that it is looked at again;
/// judged too early it costs an empty line, which the reader passes over.
fn ends_its_line(file: &File) -> bool {
    for _ in 0..20 {
        match length(file) {
            None | Some(0) => return true,
            Some(length) if last_byte(file, length).is_none_or(|b| b == b'\n') => return true,
            Some(_) => std::thread::sleep(Duration::from_micros(500)),
        }
    }
    false
}

/// One byte in the file of what was dropped, which says why. Where even that fails nobody can be told.
pub(crate) fn count_one(path: &Path, why: Lost) {
    if let Some(mut file) = open(path)
        && file.metadata().is_ok_and(|m| m.len() < MOST_DROPPED)
    {
        let _ = file.write(&[why as u8]);
    }
}

/// Opens a file of ours for appending, or makes it. Anything else at its place is left alone, a link among it.
fn open(path: &Path) -> Option<File> {
    match std::fs::symlink_metadata(path) {
        Ok(m) if !is_ours(&m) => return None,
        Err(_) => make_folder(path),
        Ok(_) => {}
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).ok()?;
    is_ours(&file.metadata().ok()?).then_some(file)
}

/// The journal's own folder, private. The one above belongs to the app: where it is gone, so is AgentHub.
fn make_folder(path: &Path) {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // It may be there; opening the file tells.
        let _ = builder.create(folder);
    }
}

#[cfg(unix)]
fn is_ours(m: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    #[expect(unsafe_code, reason = "std can't tell whose process this is")]
    mod system {
        unsafe extern "C" {
            // Has no argument and cannot fail.
            pub(super) safe fn geteuid() -> u32;
        }
    }
    m.is_file() && m.uid() == system::geteuid()
}

#[cfg(not(unix))]
fn is_ours(m: &Metadata) -> bool {
    m.is_file()
}

#[cfg(unix)]
fn last_byte(file: &File, length: u64) -> Option<u8> {
    use std::os::unix::fs::FileExt;
    let mut last = [0u8];
    file.read_exact_at(&mut last, length.checked_sub(1)?).ok()?;
    last.first().copied()
}

#[cfg(windows)]
fn last_byte(file: &File, length: u64) -> Option<u8> {
    use std::os::windows::fs::FileExt;
    let mut last = [0u8];
    file.seek_read(&mut last, length.checked_sub(1)?).ok()?;
    last.first().copied()
}

/// One byte to the running app. It never waits, and that nobody listens is no error: the journal has the event.
#[cfg(unix)]
pub(crate) fn ring(path: &Path) {
    let rung = std::os::unix::net::UnixDatagram::unbound().and_then(|bell| {
        bell.set_nonblocking(true)?;
        bell.send_to(b"!", path)
    });
    drop(rung);
}

/// Windows has no datagram socket for this: the app watches the journal's folder.
#[cfg(not(unix))]
pub(crate) fn ring(_: &Path) {}
