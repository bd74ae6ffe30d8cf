//! A run on a terminal: Ctrl-C, Ctrl-Z and the shell's `fg`, as people use them.

use std::{
    fs::File,
    os::{fd::AsFd as _, unix::process::CommandExt as _},
    sync::mpsc,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::*;

/// A program on a terminal of its own. Dropping it hangs the terminal up.
struct Terminal {
    child: Child,
    keys: File,
    shown: mpsc::Receiver<String>,
    text: String,
}

impl Terminal {
    fn start(mut command: Command) -> Terminal {
        let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&host).unwrap();
        unlockpt(&host).unwrap();
        let name = ptsname(&host, Vec::new()).unwrap().into_string().unwrap();
        let side = || File::options().read(true).write(true).open(&name).unwrap();
        command.stdin(side()).stdout(side()).stderr(side());
        #[expect(unsafe_code, reason = "a controlling terminal is taken between fork and exec")]
        // SAFETY: both are single system calls, which may be made there.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin().as_fd())?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        drop(command);
        let keys = File::from(host);
        let mut screen = keys.try_clone().unwrap();
        let (tell, shown) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            // It ends with EIO once nobody has the terminal any more.
            while let Ok(n @ 1..) = screen.read(&mut bytes) {
                if tell.send(String::from_utf8_lossy(&bytes[..n]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, keys, shown, text: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal shows this, after what was waited for before.
    #[track_caller]
    fn shows(&mut self, what: &str) {
        let end = Instant::now() + LATE;
        loop {
            if let Some(at) = self.text.find(what) {
                self.text.drain(..at + what.len());
                return;
            }
            match self.shown.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(more) => self.text.push_str(&more),
                Err(e) => panic!("{what:?} was never shown ({e}): {:?}", self.text),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ctrl_c_reaches_the_command_once_and_its_exit_code_comes_back() {
    let rig = Rig::new();
    let script = "n=0; trap 'n=$((n+1)); echo heard $n' INT; echo ready; while :; do read line && exit $((40+n)); done";
    let mut terminal = Terminal::start(sh(&rig, &[], script));
    terminal.shows("ready");
    terminal.press("\u{3}");
    terminal.shows("heard 1");
    terminal.press("x\n");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(41), "it was heard once");
    assert!(!terminal.text.contains("heard 2"));
}

#[test]
fn ctrl_c_ends_a_command_that_does_not_mind_it_and_us_after_it() {
    use std::os::unix::process::ExitStatusExt as _;
    let rig = Rig::new();
    let mut terminal = Terminal::start(sh(&rig, &["--name", "r"], "echo ready; exec sleep 1000"));
    terminal.shows("ready");
    terminal.press("\u{3}");
    let status = terminal.child.wait().unwrap();
    assert_eq!(status.signal(), Some(2), "{status}");
    assert_eq!(rig.json(&["lanes", "--json"])["lanes"][0]["why"]["fact"], "sh was ended by SIGINT, Ctrl-C");
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_goes_on() {
    let rig = Rig::new();
    let mut shell = Command::new("sh");
    shell.args(["-i"]).env("PS1", "prompt> ").env("ENV", "").env_remove("HISTFILE");
    shell.env("AGENTHUB_DATA_DIR", rig.data_dir()).env("AH", env!("CARGO_BIN_EXE_agenthub"));
    let mut terminal = Terminal::start(shell);
    terminal.shows("prompt> ");
    terminal.press("set -m; \"$AH\" run --name job -- sh -c 'echo rea\"\"dy; cat; exit 9'\n");
    terminal.shows("ready");
    terminal.press("one\n");
    terminal.shows("one\r\none\r\n");
    terminal.press("\u{1a}");
    terminal.shows("prompt> ");
    // Its lane goes on: stopped is not over.
    assert_eq!(rig.json(&["lanes", "--json"])["lanes"][0]["state"], "running");
    terminal.press("echo sh\"\"ell\n");
    terminal.shows("shell\r\n");
    terminal.press("fg\n");
    // The shell names the job that it brings back.
    terminal.shows("exit 9");
    terminal.press("two\n");
    terminal.shows("two\r\ntwo\r\n");
    terminal.press("\u{4}");
    terminal.shows("prompt> ");
    terminal.press("echo code $?\n");
    terminal.shows("code 9\r\n");
    terminal.press("exit\n");
    terminal.child.wait().unwrap();
    assert_eq!(rig.json(&["lanes", "--json"])["lanes"][0]["why"]["fact"], "sh failed (exit code 9)");
}

#[test]
fn a_terminal_that_is_closed_ends_the_command_and_the_run() {
    let rig = Rig::new();
    let mut terminal = Terminal::start(sh(&rig, &["--name", "r"], "echo ready; exec sleep 1000"));
    terminal.shows("ready");
    let pid = pid_of(&terminal.child);
    // What the kernel sends to the whole job when its terminal goes.
    rustix::process::kill_process_group(pid, Signal::HUP).unwrap();
    assert_eq!(terminal.child.wait().unwrap().code(), Some(128 + 1));
    let why = &rig.json(&["lanes", "--json"])["lanes"][0]["why"]["fact"];
    assert_eq!(why, "sh was ended by SIGHUP, its terminal was closed");
}
