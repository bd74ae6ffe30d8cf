//! Times a listing and a first scan of a home beside a bare read by SQLite: `scan GEMINI_DIR`. For looking at the reader
//! alone; `cargo xtask bench` measures it with the store.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use agenthub_agy::{Entry, Home, Index, list, read};
use agenthub_core::Time;

fn main() {
    let Some(root) = std::env::args_os().nth(1) else { return };
    let home = Home::new(root.into());
    let mut best = [f64::MAX; 5];
    let mut calls = 0;
    for _ in 0..5 {
        let (t, listing) = timed(|| list(&home));
        let entries = listing.entries;
        let (bare, _) = timed(|| entries.iter().map(|e| bare(e).unwrap_or(0)).sum::<usize>());
        let (load, index) = timed(|| Index::load(&home));
        let (one, n) = timed(|| scan(&home, &entries, &index, 1));
        let (two, _) = timed(|| scan(&home, &entries, &index, 2));
        calls = n;
        for (b, t) in best.iter_mut().zip([t, bare, load, one, two]) {
            *b = b.min(t);
        }
    }
    let [t, bare, load, one, two] = best;
    println!("list {t:.1} ms, index {load:.1} ms, {calls} sightings");
    println!(
        "bare {bare:.0} ms, read {one:.0} ms ({:.2}x), by two {two:.0} ms ({:.2}x)",
        one / bare,
        two / bare
    );
}

fn timed<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let t = f();
    (began.elapsed().as_secs_f64() * 1e3, t)
}

fn scan(home: &Home, entries: &[Entry], index: &Index, threads: usize) -> usize {
    let (next, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                while let Some(e) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let n = read(home, e, None, Time::from_micros(1), index).map_or(0, |r| r.sightings.len());
                    calls.fetch_add(n, Ordering::Relaxed);
                }
            });
        }
    });
    calls.into_inner()
}

/// The floor of B1: the same columns, not decoded.
fn bare(e: &Entry) -> rusqlite::Result<usize> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY
        | rusqlite::OpenFlags::SQLITE_OPEN_URI
        | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = rusqlite::Connection::open_with_flags(format!("file:{}?immutable=1", e.path.display()), flags)?;
    let mut bytes = 0;
    for (sql, blob) in [
        ("SELECT idx, step_type, status, metadata FROM steps", 3),
        ("SELECT idx, data FROM gen_metadata", 1),
        ("SELECT idx, data FROM executor_metadata", 1),
        ("SELECT id, data FROM trajectory_metadata_blob", 1),
    ] {
        let mut all = db.prepare(sql)?;
        let mut rows = all.query([])?;
        while let Some(r) = rows.next()? {
            bytes += r.get_ref(blob)?.as_blob_or_null().ok().flatten().map_or(0, <[u8]>::len);
        }
    }
    Ok(bytes)
}
