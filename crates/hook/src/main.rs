//! `agenthub-hook EVENT [TOOL]`: what agy's hooks start, by way of the forwarder script. It appends one event to the
//! journal, rings the running app, and ends, within two seconds whatever happens. It prints nothing, exits with 0, and
//! uses the standard library only: agy waits for it.
//!
//! It knows no event's meaning and reads no JSON. What it can't write down it counts, one byte in a second file
//! that says why.

mod args;
mod body;
mod event;
mod journal;

use std::{
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use body::Missing;
use event::Event;

/// How long agy may take to hand over the event, and how long the journal's disk may take to write it. Together they
/// stay below the two seconds that are promised (spec H6).
const READING: Duration = Duration::from_millis(1_500);
const WRITING: Duration = Duration::from_millis(400);

fn main() {
    let event = Arc::new(Event::now(args::parse(std::env::args_os().skip(1))));
    // Whoever sets it writes the event: the thread that reads, or this one when that takes too long.
    let taken = Arc::new(AtomicBool::new(false));
    let (done, ended) = mpsc::channel();
    let worker = {
        let (event, taken, done) = (Arc::clone(&event), Arc::clone(&taken), done.clone());
        thread::Builder::new().spawn(move || {
            let body = body::read();
            if !taken.swap(true, Ordering::SeqCst) {
                event.deliver(body.as_deref().map_err(|why| *why));
            }
            // Nobody listens once the time is up.
            let _ = done.send(());
        })
    };
    if worker.is_err() {
        // No thread could be had, so nothing would end a reading that hangs.
        event.deliver(Err(Missing::Late));
        exit(0);
    }
    if ended.recv_timeout(READING).is_err() {
        if !taken.swap(true, Ordering::SeqCst) {
            // Written by a thread as well, for a disk may hang, too. Without one the event is lost, and agy goes on.
            let _ = thread::Builder::new().spawn(move || {
                event.deliver(Err(Missing::Late));
                let _ = done.send(());
            });
        }
        let _ = ended.recv_timeout(WRITING);
    }
    exit(0);
}
