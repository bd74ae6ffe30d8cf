//! Processes of this machine, as far as a run needs to know them: whether one still lives, and whose child it is.
//!
//! Nothing is ever done to a process here. A pid alone names nobody, for it is given again: a process is its pid and when
//! it started.

use serde::{Deserialize, Serialize};

/// One process, told apart from a later one that got its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// When it started, in the system's own count; only good for comparing.
    pub(crate) since: u64,
}

/// A process and who started it, or took it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) process: Process,
    pub(crate) parent: u32,
}

/// Longer lines of descent are not followed.
const MOST_ANCESTORS: usize = 64;

impl Process {
    /// `None` when there is none with that number, when it is dead already and only waits to be buried, and where this
    /// system does not tell.
    pub(crate) fn of(pid: u32) -> Option<Process> {
        system::look(pid).map(|seen| seen.process)
    }

    pub(crate) fn lives(self) -> bool {
        Process::of(self.pid) == Some(self)
    }
}

/// The nearest of a process and its ancestors for which `is` says something: `Some(None)` when none is, and `None` when
/// that can't be told (one of them is just gone, or the system does not say).
pub(crate) fn nearest<T>(pid: u32, is: impl Fn(Process) -> Option<T>) -> Option<Option<T>> {
    let mut pid = pid;
    for _ in 0..MOST_ANCESTORS {
        let seen = system::look(pid)?;
        if let Some(found) = is(seen.process) {
            return Some(Some(found));
        }
        if seen.parent <= 1 || seen.parent == pid {
            break;
        }
        pid = seen.parent;
    }
    Some(None)
}

pub(crate) use system::{has_open, machine};

#[cfg(target_os = "linux")]
mod system {
    use std::{os::unix::fs::MetadataExt as _, path::Path};

    use super::{Process, Seen};

    pub(super) fn look(pid: u32) -> Option<Seen> {
        parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `4242 (a name) S 17 …`: the name may hold anything, so what follows its last parenthesis counts. State, parent, and
    /// as the 22nd field the start in ticks since the machine started.
    pub(super) fn parse(pid: u32, stat: &str) -> Option<Seen> {
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X" | "x") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let since = fields.nth(17)?.parse().ok()?;
        Some(Seen { process: Process { pid, since }, parent })
    }

    /// Whether the process has this file open; `None` where we may not look.
    pub(crate) fn has_open(pid: u32, path: &Path) -> Option<bool> {
        let file = std::fs::metadata(path).ok()?;
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let same = |fd: std::fs::DirEntry| {
            std::fs::metadata(fd.path()).is_ok_and(|m| (m.dev(), m.ino()) == (file.dev(), file.ino()))
        };
        Some(fds.filter_map(Result::ok).any(same))
    }

    /// Where a pid means something: this boot of this machine, this PID namespace.
    pub(crate) fn machine() -> String {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {}", boot.trim(), namespace.display())
    }
}

#[cfg(target_os = "macos")]
mod system {
    use std::path::Path;

    use super::{Process, Seen};

    /// `SZOMB` of `sys/proc.h`: dead, and not buried yet.
    const ZOMBIE: u32 = 5;

    pub(super) fn look(pid: u32) -> Option<Seen> {
        let number = libc::c_int::try_from(pid).ok()?;
        let size = std::mem::size_of::<libc::proc_bsdinfo>();
        #[expect(
            unsafe_code,
            reason = "libproc has no safe binding here; the buffer is as large as it is told"
        )]
        // SAFETY: an all-zero `proc_bsdinfo` is valid (plain numbers), and the kernel writes at most `size` bytes into it.
        let (found, told) = unsafe {
            let mut found: libc::proc_bsdinfo = std::mem::zeroed();
            let buffer = std::ptr::from_mut(&mut found).cast();
            let told = libc::proc_pidinfo(
                number,
                libc::PROC_PIDTBSDINFO,
                0,
                buffer,
                libc::c_int::try_from(size).ok()?,
            );
            (found, told)
        };
        if usize::try_from(told).ok()? != size || found.pbi_status == ZOMBIE {
            return None;
        }
        let since = found.pbi_start_tvsec.saturating_mul(1_000_000).saturating_add(found.pbi_start_tvusec);
        Some(Seen { process: Process { pid, since }, parent: found.pbi_ppid })
    }

    pub(crate) fn has_open(_: u32, _: &Path) -> Option<bool> {
        None
    }

    /// A start in microseconds since 1970 tells boots apart by itself.
    pub(crate) fn machine() -> String {
        String::new()
    }
}

/// Windows: which process is whose child is not looked up, so a session is not known to be a run's there (spec L8), and
/// that a run lives is told by its lock alone.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use std::path::Path;

    use super::Seen;

    pub(super) fn look(_: u32) -> Option<Seen> {
        None
    }

    pub(crate) fn has_open(_: u32, _: &Path) -> Option<bool> {
        None
    }

    pub(crate) fn machine() -> String {
        String::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn l08_the_systems_line_is_read_whatever_the_name_is() {
        let rest = "17 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 1 1";
        let seen = Seen { process: Process { pid: 4242, since: 987 }, parent: 17 };
        assert_eq!(system::parse(4242, &format!("4242 (a) b (c) S {rest}")), Some(seen));
        assert_eq!(system::parse(4242, &format!("4242 (agy) Z {rest}")), None);
        for bad in ["", "4242 (agy", "4242 (agy) S", "4242 (agy) S x y z"] {
            assert_eq!(system::parse(4242, bad), None, "{bad}");
        }
    }

    #[test]
    fn l08_a_child_is_found_by_its_ancestor_until_it_is_gone() {
        let own = Process::of(std::process::id()).unwrap();
        assert!(own.lives());
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert_ne!(process, own);
        assert_eq!(nearest(child.id(), |p| (p == own).then_some("own")), Some(Some("own")));
        assert_eq!(nearest(child.id(), |_| None::<()>), Some(None));
        child.kill().unwrap();
        // Dead, and not buried: a zombie does not live.
        let started = std::time::Instant::now();
        while process.lives() {
            assert!(started.elapsed().as_secs() < 60, "it stays alive");
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(nearest(child.id(), |p| (p == own).then_some(())), None);
        // Its number, given to another process, is not it.
        assert!(!Process { since: own.since + 1, ..own }.lives());
    }

    #[test]
    fn l08_an_open_file_is_seen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_owned();
        assert_eq!(has_open(std::process::id(), &path), Some(true));
        let kept = file.into_temp_path();
        assert_eq!(has_open(std::process::id(), &path), Some(false));
        drop(kept);
        assert_eq!(has_open(std::process::id(), &path), None);
        assert!(!machine().trim().is_empty());
    }
}
