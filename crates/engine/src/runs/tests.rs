//! Records as a run writes them, and as deaths leave them.

use super::*;

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path()).unwrap();
    places.make_runs().unwrap();
    let folder = places.runs();
    (dir, folder)
}

fn agy_in(folder: &Path) -> RunRecord {
    let run = NewRun {
        name: None,
        program: OsStr::new("/opt/bin/agy"),
        cwd: Some(Path::new("/home/u/api-server")),
    };
    begin(folder, &run).unwrap()
}

#[test]
fn l05_1_a_record_tells_its_run_from_its_beginning_to_its_end() {
    let (_dir, folder) = place();
    let record = agy_in(&folder);
    let id = record.id().clone();
    let read = Record::read(&folder, &id).unwrap();
    assert_eq!((read.run.name.as_str(), read.run.program.as_str()), ("agy · api-server", "agy"));
    assert_eq!((read.run.tool, read.run.cwd.as_deref()), (Tool::Antigravity, Some("/home/u/api-server")));
    assert!(read.run.facts.started.is_some() && read.run.facts.over().is_none());
    assert_eq!(read.lives(&folder), Life::Waited);
    record.started(std::process::id()).unwrap();
    record.ended(&RunEnd::Exited(3)).unwrap();
    let read = Record::read(&folder, &id).unwrap();
    assert_eq!(read.run.facts.end.get(), Some(&RunEnd::Exited(3)));
    assert_eq!(listed(&folder), [(id.clone(), read.len)]);
    assert_eq!(read.roots().count(), 0, "nobody descends from a run that is over");
    remove(&folder, &id).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_record_is_its_owners_alone_and_holds_no_arguments() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_dir, folder) = place();
    let record = agy_in(&folder);
    let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&record.file)), (0o700, 0o600));
}

#[cfg(target_os = "linux")]
#[test]
fn l05_1_who_waited_is_gone_and_the_command_lives_on() {
    let (_dir, folder) = place();
    let record = agy_in(&folder);
    let id = record.id().clone();
    let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    record.started(child.id()).unwrap();
    // A kill -9 lets go of the lock and leaves both files.
    drop(record.held);
    let read = Record::read(&folder, &id).unwrap();
    assert_eq!(read.lives(&folder), Life::Alone);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(read.lives(&folder), Life::None);
    lose(&folder, &id, Time::from_millis(5)).unwrap();
    assert_eq!(Record::read(&folder, &id).unwrap().run.facts.lost, Some(Time::from_millis(5)));
}

#[test]
fn q1_a_cut_line_and_a_strangers_file_spoil_nothing() {
    let (_dir, folder) = place();
    let record = agy_in(&folder);
    let id = record.id().clone();
    // A line that a full disk cut short.
    OpenOptions::new()
        .append(true)
        .open(&record.file)
        .unwrap()
        .write_all(b"{\"ended\":{\"at_us\":12")
        .unwrap();
    assert_eq!(Record::read(&folder, &id).unwrap().run.facts.over(), None);
    record.ended(&RunEnd::Killed(9)).unwrap();
    assert_eq!(Record::read(&folder, &id).unwrap().run.facts.end.get(), Some(&RunEnd::Killed(9)));
    for (name, bytes) in
        [("a.run", &b"not json"[..]), ("b.run", b""), ("c.run", &[0xff; 200_000]), ("D.run", b"{}")]
    {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    std::fs::create_dir(folder.join("e.run")).unwrap();
    for (other, _) in listed(&folder).into_iter().filter(|(other, _)| *other != id) {
        assert!(Record::read(&folder, &other).is_none(), "{other}");
    }
    // A line that a later version writes.
    let later = format!(
        "{}\n{{\"paused\":{{}}}}\n",
        std::fs::read_to_string(folder.join(format!("{id}.run"))).unwrap()
    );
    std::fs::write(folder.join(format!("{id}.run")), later).unwrap();
    assert_eq!(Record::read(&folder, &id).unwrap().run.facts.end.get(), Some(&RunEnd::Killed(9)));
}

#[test]
fn a_name_is_one_short_line() {
    let (_dir, folder) = place();
    let named = |name: &str, program: &str| {
        let run = NewRun { name: Some(name), program: OsStr::new(program), cwd: None };
        let record = begin(&folder, &run).unwrap();
        Record::read(&folder, record.id()).unwrap().run
    };
    assert_eq!(named("nightly\n\u{1b}[2J build", "make").name, "nightly[2J build");
    assert_eq!(named(&"x".repeat(500), "make").name.len(), LONGEST_NAME);
    let unnamed = named("  ", "make");
    assert_eq!((unnamed.name.as_str(), unnamed.tool), ("make", Tool::Command));
    assert_eq!(named(" ", "/").name, "a command");
}
