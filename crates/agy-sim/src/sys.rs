//! What std does not do: file times by path, and a signal to a process group. SQLite's POSIX locks on a file are dropped
//! when *any* descriptor of it is closed in the process, so a live conversation may not open its own `.db` to stamp it.

use std::path::Path;
use std::process::Child;

use anyhow::Result;

use crate::clock::At;

/// Sets access and modification time of the file at `path`.
#[cfg(unix)]
pub(crate) fn set_mtime(path: &Path, at: At) -> Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    let time = libc::timespec {
        tv_sec: at.as_micros().div_euclid(1_000_000),
        tv_nsec: at.as_micros().rem_euclid(1_000_000) * 1000,
    };
    let times = [time, time];
    // SAFETY: `name` is a NUL-terminated string and `times` holds two entries; both outlive the call.
    #[expect(unsafe_code, reason = "std stamps open files only, and opening would drop SQLite's locks")]
    let rc = unsafe { libc::utimensat(libc::AT_FDCWD, name.as_ptr(), times.as_ptr(), 0) };
    if rc == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}

/// Sets the modification time of the file at `path`.
#[cfg(not(unix))]
pub(crate) fn set_mtime(path: &Path, at: At) -> Result<()> {
    std::fs::File::options().write(true).open(path)?.set_modified(at.system_time())?;
    Ok(())
}

/// SIGKILL for the process group that `child` leads. Call it before the child is waited for, so that its id is still its.
#[cfg(unix)]
pub(crate) fn kill_group(child: &mut Child) {
    let Ok(id) = libc::pid_t::try_from(child.id()) else { return };
    // SAFETY: a signal to a group that we made; nothing is read or written.
    #[expect(unsafe_code, reason = "std signals single processes only")]
    let _ = unsafe { libc::kill(-id, libc::SIGKILL) };
}

/// Ends `child`.
#[cfg(not(unix))]
pub(crate) fn kill_group(child: &mut Child) {
    // It fails only when the process is gone already.
    let _ = child.kill();
}
