//! Journals and doorbells that are not what they should be, and disks without room.

use std::{
    os::unix::{fs::symlink, net::UnixDatagram},
    process::Command,
    time::Duration,
};

use crate::{Place, run};

#[test]
fn h7_the_doorbell_rings_after_the_event_is_written() {
    let place = Place::new("bell");
    std::fs::create_dir(place.root.join("hooks")).unwrap();
    let bell = UnixDatagram::bind(place.doorbell()).unwrap();
    bell.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    place.event(&["Stop"], b"{}");
    let mut told = [0u8; 8];
    assert_eq!(bell.recv(&mut told).unwrap(), 1);
    // What is dropped does not ring.
    place.event(&["Nothing"], b"{}");
    bell.set_nonblocking(true).unwrap();
    assert!(bell.recv(&mut told).is_err());
}

#[test]
fn h7_a_doorbell_that_cannot_ring_costs_no_event() {
    let place = Place::new("bells");
    std::fs::create_dir(place.root.join("hooks")).unwrap();
    // Nobody there.
    place.event(&["Stop"], b"{}");
    // Its process died.
    drop(UnixDatagram::bind(place.doorbell()).unwrap());
    place.event(&["Stop"], b"{}");
    // A plain file, which must stay what it is.
    std::fs::remove_file(place.doorbell()).unwrap();
    std::fs::write(place.doorbell(), "mine").unwrap();
    place.event(&["Stop"], b"{}");
    assert_eq!(std::fs::read_to_string(place.doorbell()).unwrap(), "mine");
    // Longer than a socket's address holds.
    let mut c = place.command(&["Stop"]);
    c.env("AGENTHUB_HOOK_DOORBELL", place.root.join("x".repeat(200)));
    run(c, b"{}");
    // A listener that does not listen: its queue is full, and nobody waits.
    std::fs::remove_file(place.doorbell()).unwrap();
    let bell = UnixDatagram::bind(place.doorbell()).unwrap();
    let sender = UnixDatagram::unbound().unwrap();
    sender.set_nonblocking(true).unwrap();
    while sender.send_to(b"!", place.doorbell()).is_ok() {}
    place.event(&["Stop"], b"{}");
    drop(bell);
    assert_eq!(place.records().len(), 5);
    assert_eq!(place.count_dropped(), 0);
}

#[test]
fn h7_a_journal_that_is_not_ours_is_left_alone() {
    let place = Place::new("foreign");
    // A folder.
    std::fs::create_dir_all(place.journal()).unwrap();
    place.event(&["Stop"], b"{}");
    assert_eq!(place.count_dropped(), 1);
    std::fs::remove_dir(place.journal()).unwrap();
    // A link, to whatever.
    let target = place.root.join("target");
    std::fs::write(&target, "mine").unwrap();
    symlink(&target, place.journal()).unwrap();
    place.event(&["Stop"], b"{}");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    assert_eq!(place.count_dropped(), 2);
    std::fs::remove_file(place.journal()).unwrap();
    // A pipe that nobody reads, which would keep whoever opens it.
    assert!(Command::new("mkfifo").arg(place.journal()).status().unwrap().success());
    place.event(&["Stop"], b"{}");
    assert_eq!(place.count_dropped(), 3);
    std::fs::remove_file(place.journal()).unwrap();
    // Somebody else's file.
    std::fs::write(place.journal(), "theirs").unwrap();
    if std::os::unix::fs::chown(place.journal(), Some(65_534), None).is_err() {
        println!("skipped: only root can give a file away");
        return;
    }
    place.event(&["Stop"], b"{}");
    assert_eq!(std::fs::read_to_string(place.journal()).unwrap(), "theirs");
    assert_eq!(place.count_dropped(), 4);
}

#[test]
fn a_data_folder_that_is_gone_is_not_made_again() {
    let place = Place::new("gone");
    std::fs::remove_dir_all(&place.root).unwrap();
    place.event(&["Stop"], b"{}");
    assert!(!place.root.exists());
}

/// Runs `script` with the program's words as its arguments.
fn in_shell(place: &Place, wrapper: &[&str], script: &str) -> bool {
    let hook = place.command(&["Stop"]);
    let mut words = wrapper.iter().copied().chain(["sh", "-c", script]);
    let mut c = Command::new(words.next().unwrap());
    c.args(words).arg(&place.root).arg(hook.get_program()).args(hook.get_args());
    c.status().is_ok_and(|s| s.success())
}

#[test]
fn h7_a_full_disk_cuts_a_record_and_the_next_one_is_whole() {
    let place = Place::new("disk");
    // In a mount table of its own, so that nothing of it is left.
    let script = r#"
        mount -t tmpfs -o size=64k none "$0" || exit 9
        mkdir "$0/hooks"
        for n in 1 2 3; do head -c 30000 /dev/zero | tr '\0' x | "$@" || exit 1; done
        cp "$0/hooks/journal" "$0.full"
        : > "$0/hooks/journal.room" && rm "$0/hooks/journal.room"
        mount -o remount,size=256k "$0"
        printf '{"n":4}' | "$@" || exit 1
        cp "$0/hooks/journal" "$0.after"; cp "$0/hooks/dropped" "$0.dropped" || : > "$0.dropped"
    "#;
    let ran = in_shell(&place, &["unshare", "-m"], script) || in_shell(&place, &["unshare", "-rm"], script);
    let beside =
        |end: &str| place.root.with_file_name(format!("{}.{end}", place.root.file_name().unwrap().display()));
    if !ran {
        println!("skipped: no disk of 64 KB can be mounted here");
        return;
    }
    let after = crate::records(&std::fs::read(beside("after")).unwrap());
    let lengths: Vec<_> = after.iter().map(|(_, body)| body.len()).collect();
    assert_eq!(lengths, [30_000, 30_000, 7]);
    for end in ["full", "after", "dropped"] {
        std::fs::remove_file(beside(end)).unwrap();
    }
}

#[test]
fn h7_a_bounded_file_size_is_survived_too() {
    let place = Place::new("limit");
    // Ignored signals stay ignored in what the shell starts: the write then fails instead of killing.
    let script = r#"trap '' XFSZ; ulimit -f 20; for n in 1 2 3; do head -c 6000 /dev/zero | tr '\0' x | "$@" || exit 1; done"#;
    assert!(in_shell(&place, &[], script));
    assert_eq!(place.records().len(), 1);
    assert_eq!(place.count_dropped(), 2);
    place.event(&["Stop"], b"{}");
    assert_eq!(place.records().len(), 2);
}
