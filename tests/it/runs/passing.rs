//! What passes through: exit codes, streams, signals.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

use super::*;
use crate::incomplete::without_room;

#[test]
fn l05_1_exit_codes_and_signal_deaths_pass_through_and_show() {
    let rig = Rig::new();
    for (name, script, code, state, why) in [
        ("well", "exit 0", Some(0), "idle", "sh ended (exit code 0)"),
        ("badly", "exit 7", Some(7), "error", "sh failed (exit code 7)"),
        ("most", "exit 255", Some(255), "error", "sh failed (exit code 255)"),
        ("term", "kill -TERM $$", Some(128 + 15), "error", "sh was ended by SIGTERM"),
        ("kill", "kill -KILL $$", Some(128 + 9), "error", "sh was ended by SIGKILL"),
        ("within", "exit 143", Some(143), "error", "sh failed (exit code 143: SIGTERM in it)"),
    ] {
        let out = output(sh(&rig, &["--name", name], script));
        assert_eq!(out.status.code(), code, "{name}");
        assert_eq!(
            (out.stdout.as_slice(), out.stderr.as_slice()),
            (&b""[..], &b""[..]),
            "{name}: nothing of ours"
        );
        let doc = rig.json(&["lanes", "--json"]);
        let lane = doc["lanes"].as_array().unwrap().iter().find(|l| l["name"] == name).unwrap();
        assert_eq!((lane["state"].as_str(), lane["why"]["fact"].as_str()), (Some(state), Some(why)));
        assert!(lane["run_id"].is_string() && lane["why"]["source"] == "run");
        assert_eq!(
            (&lane["tool"], &lane["sessions"]),
            (&serde_json::json!("command"), &serde_json::json!([]))
        );
    }
    // Ctrl-C's signal: a shell leaves its loop only if what it waited for died of it. `$?` is 130.
    let out = output(sh(&rig, &[], "kill -INT $$"));
    assert_eq!((out.status.code(), out.status.signal()), (None, Some(2)));
    let mut outer = Command::new("sh");
    outer.args(["-c", "\"$0\" run -- sh -c 'kill -INT $$'; echo $?"]).arg(env!("CARGO_BIN_EXE_agenthub"));
    outer.env("AGENTHUB_DATA_DIR", rig.data_dir());
    assert_eq!(String::from_utf8_lossy(&output(outer).stdout), "130\n");
}

#[test]
fn a_command_that_can_not_be_started_says_so_and_fails_as_in_a_shell() {
    let rig = Rig::new();
    let plain = rig.home.root().join("plain.txt");
    std::fs::write(&plain, "words").unwrap();
    let folder = rig.home.root().to_str().unwrap().to_owned();
    for (program, code, says) in [
        ("no-such-command-anywhere", 127, "was not found"),
        ("/no/such/folder/agy", 127, "was not found"),
        (plain.to_str().unwrap(), 126, "is not executable"),
        (folder.as_str(), 126, "is not executable"),
    ] {
        let mut command = run(&rig, &["--name", program]);
        command.args([program, "-p", "hello"]);
        let out = output(command);
        assert_eq!(out.status.code(), Some(code), "{program}");
        let err = String::from_utf8(out.stderr).unwrap();
        assert!(err.starts_with("agenthub: ") && err.contains(program) && err.contains(says), "{err}");
        assert!(out.stdout.is_empty());
    }
    let doc = rig.json(&["lanes", "--json"]);
    assert_eq!(doc["lanes"].as_array().unwrap().len(), 4);
    for lane in doc["lanes"].as_array().unwrap() {
        assert_eq!(lane["state"], "error");
        assert!(lane["why"]["fact"].as_str().unwrap().contains("could not be started"), "{lane}");
    }
    // No command at all is wrong use.
    assert_eq!(rig.agenthub(&["run"]).status.code(), Some(2));
    assert_eq!(rig.agenthub(&["run", "--name", "x", "--"]).status.code(), Some(2));
}

#[test]
fn l08_a_mistyped_option_is_wrong_use_and_no_command() {
    let rig = Rig::new();
    for args in [&["run", "--nmae", "nightly", "--", "true"][..], &["run", "--json", "--", "true"]] {
        let out = rig.agenthub(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
    let lanes = rig.json(&["lanes", "--json"]);
    assert_eq!(lanes["lanes"].as_array().unwrap().len(), 0, "{lanes}");
    // What is the command's stays the command's.
    let out = rig.agenthub(&["run", "echo", "--name", "-x"]);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "--name -x\n");
}

#[test]
fn a_run_that_can_not_be_written_down_runs_all_the_same_and_says_so_once() {
    let rig = Rig::new();
    let file = rig.home.root().join("in the way");
    std::fs::write(&file, "").unwrap();
    let touched = rig.home.root().join("touched");
    let mut command = run(&rig, &[]);
    let script = format!("touch '{}'; echo told; exit 7", touched.display());
    command.args(["sh", "-c", &script]).env("AGENTHUB_DATA_DIR", &file);
    let out = output(command);
    assert_eq!((out.status.code(), &*out.stdout), (Some(7), &b"told\n"[..]));
    assert!(touched.exists());
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(err.contains("in the way") && err.contains("no lane of its own"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    // What can't be started is that, whatever could be written down.
    let mut command = run(&rig, &[]);
    command.arg("/there/is/none").env("AGENTHUB_DATA_DIR", &file);
    assert_eq!(output(command).status.code(), Some(127));
}

#[test]
fn a_run_on_a_full_disk_runs_all_the_same_and_says_so_once() {
    let rig = Rig::new();
    let out = without_room(&rig, 0, &["run", "--", "sh", "-c", "echo told; exit 7"]);
    assert_eq!((out.status.code(), &*out.stdout), (Some(7), &b"told\n"[..]));
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(err.contains("room") && err.contains("no lane of its own"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    let left: Vec<_> = std::fs::read_dir(rig.data_dir().join("runs")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    // Where the record goes while the command runs, its end is said not to be written down, once.
    let gone = format!("rm -f '{}'/*.run; exit 3", rig.data_dir().join("runs").display());
    let out = rig.agenthub(&["run", "--", "sh", "-c", &gone]);
    assert_eq!(out.status.code(), Some(3));
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(err.contains("end can't be written down") && err.lines().count() == 1, "{err}");
}

#[test]
fn what_is_typed_after_the_command_is_the_commands() {
    let rig = Rig::new();
    for words in [
        &["run", "echo", "-p", "a b", "--json", "--data-dir", "x", "--", "--name", "-h"][..],
        &["run", "--", "echo", "-p", "a b", "--json", "--data-dir", "x", "--", "--name", "-h"][..],
    ] {
        let out = rig.agenthub(words);
        let text = String::from_utf8(out.stdout).unwrap();
        assert_eq!(
            text,
            "-p a b --json --data-dir x -- --name -h\n",
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
}

#[test]
fn stdin_and_stdout_pass_through_byte_by_byte() {
    let rig = Rig::new();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let mut command = run(&rig, &[]);
    let mut child = command.arg("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let mut got = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut got).unwrap();
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(got == bytes, "{} bytes of {}", got.len(), bytes.len());
    // A reader that goes away ends the command by SIGPIPE, as it would without us.
    let mut head = Command::new("sh");
    head.args(["-c", "{ \"$0\" run --name pipe -- yes; echo $? >&2; } | head -n 1"])
        .arg(env!("CARGO_BIN_EXE_agenthub"));
    let out = output({
        head.env("AGENTHUB_DATA_DIR", rig.data_dir());
        head
    });
    assert_eq!((out.stdout.as_slice(), out.stderr.as_slice()), (&b"y\n"[..], &b"141\n"[..]));
}

/// Says each signal that it gets, and ends with 42 at the next line of its stdin. A signal breaks its reading, and so does the
/// end of its stdin, after which it must not read for ever.
const HEARS: &str = "for s in HUP INT QUIT TERM USR1 USR2; do trap \"echo $s\" $s; done; echo ready; \
                     for n in $(seq 100); do read line && exit 42; done";

#[test]
fn a_signal_to_us_alone_reaches_the_command_and_we_outlive_it() {
    let rig = Rig::new();
    let mut child =
        sh(&rig, &["--name", "hears"], HEARS).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    for (which, name) in [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::TERM, "TERM"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
    ] {
        signal(pid_of(&child), which);
        assert_eq!(lines.next().as_deref(), Some(name));
    }
    assert_eq!(child.try_wait().unwrap(), None, "we are there while the command is");
    child.stdin.take().unwrap().write_all(b"end\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(42));
}

#[test]
fn a_signal_that_ends_the_command_ends_us_with_its_code() {
    let rig = Rig::new();
    let mut child = run(&rig, &[]);
    let mut child = child.arg("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    command_pid(&rig);
    // Waiting closes it, and `cat` may end of that first.
    let _open = child.stdin.take();
    signal(pid_of(&child), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn what_was_ignored_before_us_stays_ignored() {
    let rig = Rig::new();
    // What `nohup` and a shell's `&` do.
    let mut outer = Command::new("sh");
    outer.args(["-c", "trap '' INT HUP; exec \"$0\" run -- sh -c 'kill -INT $$; kill -HUP $$; echo lives'"]);
    outer.arg(env!("CARGO_BIN_EXE_agenthub")).env("AGENTHUB_DATA_DIR", rig.data_dir());
    let out = output(outer);
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(0), &b"lives\n"[..]));
}

#[test]
fn a_command_that_stops_stops_us_and_goes_on_with_us() {
    let rig = Rig::new();
    let mut command = run(&rig, &[]);
    // A job of its own: the kernel stops no process of a group that nobody could ever continue.
    command.process_group(0);
    let mut child = command.arg("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = command_pid(&rig);
    let state = |pid: Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        stat[stat.rfind(')')? + 2..].chars().next()
    };
    if !std::path::Path::new("/proc/self/stat").exists() {
        println!("skipped in part: no /proc to see who is stopped");
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    signal(pid_of(&child), Signal::TSTP);
    wait_for("both stopped", || {
        (state(pid) == Some('T') && state(pid_of(&child)) == Some('T')).then_some(())
    });
    signal(pid_of(&child), Signal::CONT);
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    assert_eq!(read_all(child.stdout.take().unwrap()), "hello\n");
    assert!(child.wait().unwrap().success());
}
