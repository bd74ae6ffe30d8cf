//! The SQLite file system layer that can't write: agy's files are opened through it only (spec P5).
//!
//! A plain read-only open of a closed WAL database creates a `-wal` and a `-shm` beside it and leaves them. This layer
//! is the system's own one with two answers changed: databases, logs and journals are opened read-only and never
//! created, and nothing is ever deleted. It knows nothing of agy.
#![expect(unsafe_code, reason = "SQLite takes a file system layer only as a C struct with C functions")]

use std::{
    ffi::{CStr, c_char, c_int},
    sync::OnceLock,
};

use rusqlite::ffi;

/// The layer's name, for `vfs=` in a database URI.
pub(crate) const NAME: &str = "agy-ro";
const C_NAME: &CStr = c"agy-ro";

type Open = unsafe extern "C" fn(
    *mut ffi::sqlite3_vfs,
    ffi::sqlite3_filename,
    *mut ffi::sqlite3_file,
    c_int,
    *mut c_int,
) -> c_int;

/// The system's own open, set once before the layer can be used.
static SYSTEM_OPEN: OnceLock<Open> = OnceLock::new();
type FullPath = unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *const c_char, c_int, *mut c_char) -> c_int;
/// The system's own way to make a path whole.
static SYSTEM_FULL_PATH: OnceLock<FullPath> = OnceLock::new();
static REGISTERED: OnceLock<bool> = OnceLock::new();

/// Registers the layer once per process; `false` if SQLite refused, and then nothing must be opened.
pub(crate) fn register() -> bool {
    *REGISTERED.get_or_init(|| {
        // SAFETY: initialising is idempotent and thread-safe, and the default layer lives as long as the process.
        let system = unsafe {
            if ffi::sqlite3_initialize() != ffi::SQLITE_OK {
                return false;
            }
            ffi::sqlite3_vfs_find(std::ptr::null()).as_ref()
        };
        let Some((system, open)) = system.and_then(|s| Some((s, s.xOpen?))) else { return false };
        let Some(full_path) = system.xFullPathname else { return false };
        if SYSTEM_OPEN.set(open).is_err() || SYSTEM_FULL_PATH.set(full_path).is_err() {
            return false;
        }
        // The struct is plain data; its private data pointer is that of the system's layer, whose functions we keep.
        let mut ours = *system;
        ours.zName = C_NAME.as_ptr();
        ours.pNext = std::ptr::null_mut();
        ours.xOpen = Some(open_read_only);
        ours.xDelete = Some(refuse_delete);
        ours.xFullPathname = Some(full_already);
        leave_owners_alone(system);
        // SAFETY: SQLite keeps the pointer for ever, so the struct is leaked on purpose, once.
        unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(ours)), 0) == ffi::SQLITE_OK }
    })
}

/// As root SQLite gives each `-wal` and `-shm` that it opens to the owner of the database, also when it is theirs already:
/// a write to the file's record, which makes an event. The call goes through a table of the system's layer that all
/// layers share; nothing of ours needs it either.
fn leave_owners_alone(system: &ffi::sqlite3_vfs) {
    unsafe extern "C" fn done(_: c_int, _: u32, _: u32) -> c_int {
        0
    }
    #[cfg(unix)]
    if let Some(set) = system.xSetSystemCall {
        let chown: unsafe extern "C" fn(c_int, u32, u32) -> c_int = done;
        // SAFETY: the table holds `fchown(int, uid_t, gid_t)` under this name and calls it as that.
        let call: ffi::sqlite3_syscall_ptr = unsafe { std::mem::transmute(chown as *const ()) };
        let layer = std::ptr::from_ref(system).cast_mut();
        // SAFETY: `layer` is the system's own, for as long as the process lives. A refusal leaves all as it was.
        unsafe { set(layer, c"fchown".as_ptr(), call) };
    }
}

/// SQLite's `xOpen`: what belongs to a database is opened read-only, temporary files as asked.
///
/// # Safety
/// Called by SQLite only, with arguments that its own layer accepts.
unsafe extern "C" fn open_read_only(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let ofs_database = ffi::SQLITE_OPEN_MAIN_DB
        | ffi::SQLITE_OPEN_WAL
        | ffi::SQLITE_OPEN_MAIN_JOURNAL
        | ffi::SQLITE_OPEN_SUPER_JOURNAL;
    let mut flags = flags;
    if flags & ofs_database != 0 {
        flags &= !(ffi::SQLITE_OPEN_CREATE
            | ffi::SQLITE_OPEN_READWRITE
            | ffi::SQLITE_OPEN_EXCLUSIVE
            | ffi::SQLITE_OPEN_DELETEONCLOSE);
        flags |= ffi::SQLITE_OPEN_READONLY;
    }
    match SYSTEM_OPEN.get() {
        // SAFETY: the arguments are SQLite's own, and `vfs` carries the system layer's private data.
        Some(open) => unsafe { open(vfs, name, file, flags, out) },
        None => ffi::SQLITE_CANTOPEN,
    }
}

/// SQLite's `xDelete`: SQLite deletes the `-wal` of an empty database, and it is not ours to delete.
///
/// # Safety
/// Called by SQLite only; no argument is looked at.
unsafe extern "C" fn refuse_delete(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int) -> c_int {
    ffi::SQLITE_IOERR_DELETE
}

/// SQLite's `xFullPathname`: a path from the root that we open is free of links at its end already, and the system's own answer
/// looks at each folder of it again, at each open.
///
/// # Safety
/// Called by SQLite only: `path` ends with a zero byte, and `out` has room for `room` bytes.
unsafe extern "C" fn full_already(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: as above.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes_with_nul();
    if bytes.first() != Some(&b'/') {
        return match SYSTEM_FULL_PATH.get() {
            // SAFETY: the arguments are SQLite's own, and `vfs` carries the system layer's private data.
            Some(full) => unsafe { full(vfs, path, room, out) },
            None => ffi::SQLITE_CANTOPEN,
        };
    }
    if bytes.len() > usize::try_from(room).unwrap_or(0) {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: the room was checked, and SQLite's buffers don't overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len()) };
    ffi::SQLITE_OK
}
