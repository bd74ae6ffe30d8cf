//! Which sessions agy holds open, told from the kernel's list of locks. The lock files are never opened (spec L3).
//!
//! agy keeps an flock on `presence/<id>.lock` while a session is attached; the file survives. The pid in the list can be
//! dead while a child holds the lock: nothing is ever done to it, and it says at most whose process has the session (L8).

use std::collections::HashMap;

use agenthub_core::SessionId;

use crate::Home;

/// Sessions whose lock is held, each with the process that took it, where the list names one.
pub type Held = HashMap<SessionId, Option<u32>>;

/// The sessions whose presence lock is held now; `None` where the system's list of locks can't be read. Not listed
/// means *gone* only for a lock that was seen held through the same list before: in another PID namespace the list is
/// empty.
pub fn held(home: &Home) -> Option<Held> {
    let locks = system::Locks::read(home)?;
    if locks.is_empty() {
        return Some(Held::new());
    }
    let Ok(files) = std::fs::read_dir(home.presence()) else { return Some(Held::new()) };
    // agy never deletes a lock file: there is one for each conversation ever. The listing's own inode numbers spare a
    // `stat` of each, where this file system lists the numbers that `stat` gives.
    let mut numbers_agree = None;
    let held = files.filter_map(|f| {
        let f = f.ok()?;
        let id = SessionId::parse(f.file_name().to_str()?.strip_suffix(".lock")?)?;
        let agree = *numbers_agree.get_or_insert_with(|| system::lists_true_inode(&f));
        if agree && !locks.name_inode(&f) {
            return None;
        }
        Some((id, locks.holder(&f.path())?))
    });
    Some(held.collect())
}

/// The same for one session.
pub fn held_one(home: &Home, id: &SessionId) -> Option<bool> {
    Some(system::Locks::read(home)?.holder(&home.presence_lock(id)).is_some())
}

#[cfg(target_os = "linux")]
mod system {
    use std::{
        collections::{HashMap, HashSet},
        fs::DirEntry,
        os::unix::fs::{DirEntryExt as _, MetadataExt as _},
        path::Path,
    };

    use crate::Home;

    /// Whether the listing of this file system gives the inode number that `stat` gives; some overlays don't.
    pub(super) fn lists_true_inode(f: &DirEntry) -> bool {
        f.metadata().is_ok_and(|m| m.ino() == f.ino())
    }

    /// A device by its two numbers.
    type Device = (u32, u32);

    /// Held locks by device and inode, with their takers.
    pub(super) struct Locks {
        all: HashMap<(Device, u64), Option<u32>>,
        inodes: HashSet<u64>,
        /// The device of the presence folder's mount. On btrfs the list names it, and `stat` another one.
        mount: Option<Device>,
    }

    impl Locks {
        pub(super) fn read(home: &Home) -> Option<Locks> {
            let all = parse(&std::fs::read_to_string("/proc/locks").ok()?);
            let mount =
                || mount_device(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &home.presence());
            let inodes = all.keys().map(|(_, inode)| *inode).collect();
            Some(Locks { mount: if all.is_empty() { None } else { mount() }, all, inodes })
        }

        pub(super) fn is_empty(&self) -> bool {
            self.all.is_empty()
        }

        /// Whether a lock of any device has the inode that the listing gives for `f`.
        pub(super) fn name_inode(&self, f: &DirEntry) -> bool {
            self.inodes.contains(&f.ino())
        }

        /// Who locked the file at `path`, if anybody did.
        pub(super) fn holder(&self, path: &Path) -> Option<Option<u32>> {
            let m = std::fs::metadata(path).ok()?;
            let own = (rustix::fs::major(m.dev()), rustix::fs::minor(m.dev()));
            [Some(own), self.mount].into_iter().flatten().find_map(|d| self.all.get(&(d, m.ino())).copied())
        }
    }

    /// Lines `1: FLOCK  ADVISORY  WRITE 4242 fd:01:1234 0 EOF`, the device in hex, the inode decimal. A line with `->`
    /// is somebody who waits for a lock. A taker outside this PID namespace has no number here.
    pub(super) fn parse(list: &str) -> HashMap<(Device, u64), Option<u32>> {
        list.lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace().skip(1);
                if words.next()? != "FLOCK" {
                    return None;
                }
                let pid = words.nth(2)?.parse().ok().filter(|pid| *pid > 0);
                let mut place = words.next()?.split(':');
                let major = u32::from_str_radix(place.next()?, 16).ok()?;
                let minor = u32::from_str_radix(place.next()?, 16).ok()?;
                Some((((major, minor), place.next()?.parse().ok()?), pid))
            })
            .collect()
    }

    /// The device of the mount that `folder` is on: that with the longest mount point above it, the last one of equals.
    pub(super) fn mount_device(mountinfo: &str, folder: &Path) -> Option<Device> {
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        mountinfo
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ').skip(2);
                let (major, minor) = words.next()?.split_once(':')?;
                let device = (major.parse().ok()?, minor.parse().ok()?);
                let point = unescaped(words.nth(1)?);
                folder.starts_with(&point).then_some((point.len(), device))
            })
            .max_by_key(|(len, _)| *len)
            .map(|(_, device)| device)
    }

    /// Spaces and the like stand as octal (`\040`).
    fn unescaped(s: &str) -> String {
        let mut parts = s.split('\\');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let code = part.get(..3).and_then(|d| u8::from_str_radix(d, 8).ok());
            match (code, part.get(3..)) {
                (Some(c), Some(rest)) => {
                    out.push(char::from(c));
                    out.push_str(rest);
                }
                _ => {
                    out.push('\\');
                    out.push_str(part);
                }
            }
        }
        out
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::{fs::DirEntry, path::Path};

    use crate::Home;

    pub(super) fn lists_true_inode(_: &DirEntry) -> bool {
        false
    }

    /// macOS tells the files that a process has open (libproc), not their locks, and Windows neither without rights:
    /// both say *unknown* for now, and the quiet window decides (spec L4).
    pub(super) enum Locks {}

    impl Locks {
        pub(super) fn read(_: &Home) -> Option<Locks> {
            None
        }

        pub(super) fn is_empty(&self) -> bool {
            match *self {}
        }

        pub(super) fn name_inode(&self, _: &DirEntry) -> bool {
            match *self {}
        }

        pub(super) fn holder(&self, _: &Path) -> Option<Option<u32>> {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn l03_the_list_of_locks_is_read_as_the_kernel_writes_it() {
        let list = "1: FLOCK  ADVISORY  WRITE 4242 fd:1f:131 0 EOF\n\
                    2: POSIX  ADVISORY  READ 1 08:01:7 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 9 08:01:8 0 EOF\n\
                    3: FLOCK  ADVISORY  READ -1 00:1a:99 0 EOF\n\
                    nonsense\n4: FLOCK\n5: FLOCK a b c d e f\n";
        let expected = HashMap::from([(((0xfd, 0x1f), 131), Some(4242)), (((0, 0x1a), 99), None)]);
        assert_eq!(system::parse(list), expected);
    }

    #[test]
    fn l03_the_device_is_that_of_the_nearest_mount() {
        let mounts = "21 1 0:30 / / rw - btrfs /dev/a rw\n\
                      22 21 0:44 /home /h\\040x rw - btrfs /dev/a rw\n\
                      23 21 8:17 / /h rw - ext4 /dev/b rw\nbroken\n";
        let device = |p| system::mount_device(mounts, Path::new(p));
        assert_eq!(device("/h x/u/.gemini"), Some((0, 44)));
        assert_eq!(device("/h/u"), Some((8, 17)));
        assert_eq!(device("/other"), Some((0, 30)));
        assert_eq!(system::mount_device("", Path::new("/")), None);
    }

    #[test]
    fn l03_a_held_lock_is_seen_and_a_free_one_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::new(temp.path().to_owned());
        std::fs::create_dir_all(home.presence()).unwrap();
        let ids: Vec<_> = ["a", "b"]
            .map(|c| SessionId::parse(&format!("{}-0000-4000-8000-000000000000", c.repeat(8))))
            .into_iter()
            .flatten()
            .collect();
        let files: Vec<_> =
            ids.iter().map(|id| std::fs::File::create(home.presence_lock(id)).unwrap()).collect();
        files[0].try_lock().unwrap();
        // In a PID namespace other than the kernel's view the list can be empty: nothing to test then.
        if held_one(&home, &ids[0]) != Some(true) {
            println!("skipped: /proc/locks does not show this process's own lock");
            return;
        }
        assert_eq!(held_one(&home, &ids[1]), Some(false));
        assert_eq!(held(&home), Some(Held::from([(ids[0].clone(), Some(std::process::id()))])));
        files[0].unlock().unwrap();
        assert_eq!(held(&home), Some(Held::new()));
    }
}
