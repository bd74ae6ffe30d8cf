//! Tells the engine that the journal grew: a datagram socket that hooks ring, or else file events of its folder.

use std::path::Path;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::places::Places;

/// Rings while it is kept.
#[derive(Debug)]
pub(crate) struct Doorbell {
    #[cfg(unix)]
    _socket: Option<socket::Socket>,
    _watcher: Option<RecommendedWatcher>,
}

impl Doorbell {
    /// Calls `ring` from a thread of its own. The caller holds the lock of the data folder: a socket that lies there is that
    /// of a dead process.
    pub(crate) fn hang(places: &Places, ring: impl Fn() + Send + Sync + Clone + 'static) -> Doorbell {
        if let Err(e) = places.make_hooks() {
            tracing::warn!("the folder for hook events can't be made: {e}");
        }
        #[cfg(unix)]
        match socket::Socket::bind(&places.doorbell(), ring.clone()) {
            Ok(socket) => return Doorbell { _socket: Some(socket), _watcher: None },
            Err(e) => tracing::info!("no doorbell ({e}); the journal's folder is watched instead"),
        }
        Doorbell {
            #[cfg(unix)]
            _socket: None,
            _watcher: watch(&places.hooks(), ring),
        }
    }
}

/// File events of the journal's folder. Our own reading makes some as well; only what can mean a longer file counts.
fn watch(folder: &Path, ring: impl Fn() + Send + 'static) -> Option<RecommendedWatcher> {
    let told = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|e| e.kind.is_modify() || e.kind.is_create()) {
            ring();
        }
    });
    let mut watcher = told.ok()?;
    watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

#[cfg(unix)]
mod socket {
    use std::{
        io,
        os::unix::{fs::FileTypeExt as _, net::UnixDatagram},
        path::{Path, PathBuf},
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    /// What a ring means is read from the journal: of rings so close to each other one is enough.
    const BREATH: Duration = Duration::from_millis(2);

    #[derive(Debug)]
    pub(super) struct Socket {
        path: PathBuf,
        over: Arc<AtomicBool>,
    }

    impl Socket {
        pub(super) fn bind(path: &Path, ring: impl Fn() + Send + 'static) -> io::Result<Socket> {
            if std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
                std::fs::remove_file(path)?;
            }
            let socket = UnixDatagram::bind(path)?;
            let over = Arc::new(AtomicBool::new(false));
            let ended = Arc::clone(&over);
            std::thread::Builder::new().name("agenthub-doorbell".to_owned()).spawn(move || {
                let mut byte = [0u8; 1];
                while !ended.load(Ordering::SeqCst) {
                    if socket.recv(&mut byte).is_err() {
                        return;
                    }
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    ring();
                    std::thread::sleep(BREATH);
                    // What rang meanwhile is answered once more, after this.
                    if socket.set_nonblocking(true).is_err() {
                        return;
                    }
                    let mut again = false;
                    for _ in 0..10_000 {
                        if socket.recv(&mut byte).is_err() {
                            break;
                        }
                        again = true;
                    }
                    if again && !ended.load(Ordering::SeqCst) {
                        ring();
                    }
                    if socket.set_nonblocking(false).is_err() {
                        return;
                    }
                }
            })?;
            Ok(Socket { path: path.to_owned(), over })
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            self.over.store(true, Ordering::SeqCst);
            // Wakes the thread; it ends by itself.
            let woken = UnixDatagram::unbound().and_then(|s| {
                s.set_nonblocking(true)?;
                s.send_to(b"!", &self.path)
            });
            drop(woken);
            // Left behind it would be replaced; without it hooks know at once that nobody listens.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{os::unix::net::UnixDatagram, sync::mpsc, time::Duration};

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn hang(places: &Places) -> (Doorbell, mpsc::Receiver<()>) {
        let (tell, rung) = mpsc::channel();
        let bell = Doorbell::hang(places, move || {
            let _ = tell.send(());
        });
        (bell, rung)
    }

    fn ring(places: &Places) -> bool {
        let bell = UnixDatagram::unbound().unwrap();
        bell.set_nonblocking(true).unwrap();
        bell.send_to(b"!", places.doorbell()).is_ok()
    }

    #[test]
    fn h07_a_ring_is_heard_and_a_dead_socket_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::make(dir.path()).unwrap();
        places.make_hooks().unwrap();
        drop(UnixDatagram::bind(places.doorbell()).unwrap());
        let (bell, rung) = hang(&places);
        assert!(ring(&places));
        rung.recv_timeout(SOON).unwrap();
        drop(bell);
        assert!(!ring(&places) && !places.doorbell().exists());
        let (_bell, rung) = hang(&places);
        assert!(ring(&places));
        rung.recv_timeout(SOON).unwrap();
    }

    #[test]
    fn h07_a_plain_file_in_its_place_stays_and_the_folder_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::make(dir.path()).unwrap();
        places.make_hooks().unwrap();
        std::fs::write(places.doorbell(), "mine").unwrap();
        let (bell, rung) = hang(&places);
        std::fs::write(places.journal(), "x").unwrap();
        rung.recv_timeout(SOON).unwrap();
        drop(bell);
        assert_eq!(std::fs::read_to_string(places.doorbell()).unwrap(), "mine");
    }

    #[test]
    fn h07_a_path_too_long_for_a_socket_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::make(&dir.path().join("x".repeat(120))).unwrap();
        let (_bell, rung) = hang(&places);
        std::fs::write(places.journal(), "x").unwrap();
        rung.recv_timeout(SOON).unwrap();
    }
}
