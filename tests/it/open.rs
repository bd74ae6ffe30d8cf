//! `agenthub open`: finds the desktop app and tells it what to show, or says what to do without one.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use agy_sim::{Live, LiveSpec};

use crate::rig::{Rig, uuid};

/// A copy of `agenthub` in a folder of its own, where a test says which desktop app is beside it.
struct Installed {
    folder: tempfile::TempDir,
    rig: Rig,
}

impl Installed {
    fn new() -> Installed {
        // Linked, not copied: a program that somebody still has open for writing can't be started, and a test beside this
        // one may just be starting something.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::hard_link(env!("CARGO_BIN_EXE_agenthub"), folder.path().join("agenthub")).unwrap();
        Installed { folder, rig: Rig::new() }
    }

    /// A desktop app that writes down its arguments, then does what the script says.
    fn desktop(&self, folder: &Path, script: &str) {
        std::fs::create_dir_all(folder).unwrap();
        let text = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >'{}'\n{script}\n", self.said().display());
        let write = "rm -f \"$2\"; printf %s \"$1\" >\"$2\"; chmod 755 \"$2\"";
        let mut sh = Command::new("sh");
        sh.args(["-c", write, "sh", &text]).arg(folder.join("agenthub-desktop"));
        assert!(sh.status().unwrap().success());
    }

    fn said(&self) -> PathBuf {
        self.folder.path().join("said")
    }

    fn command(&self, args: &[&str]) -> Command {
        let known = self.rig.command(args);
        let mut command = Command::new(self.folder.path().join("agenthub"));
        command.args(args).env("DISPLAY", ":99");
        for (name, value) in known.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn open(&self, args: &[&str]) -> Output {
        self.command(&[&["open"], args].concat()).output().unwrap()
    }

    /// What the desktop app was told at last.
    #[track_caller]
    fn told(&self, args: &[&str]) -> Vec<String> {
        let _ = std::fs::remove_file(self.said());
        let out = self.open(args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        assert!(out.stdout.is_empty() && out.stderr.is_empty());
        std::fs::read_to_string(self.said()).unwrap().lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn refused(&self, args: &[&str], code: i32, says: &str) {
        let out = self.open(args);
        assert_eq!(out.status.code(), Some(code), "{args:?}");
        let err = String::from_utf8(out.stderr).unwrap();
        assert!(err.contains(says), "{args:?}: {err}");
    }
}

#[test]
fn open_starts_the_desktop_app_beside_it_or_on_the_path_with_the_same_folders() {
    let at = Installed::new();
    at.desktop(at.folder.path(), "exit 0");
    let told = at.told(&[]);
    let folders = [at.rig.config().gemini_dir, at.rig.config().data_dir, at.rig.config().config_dir];
    let expected: Vec<String> = ["--gemini-dir", "--data-dir", "--config-dir"]
        .iter()
        .zip(folders)
        .flat_map(|(o, f)| [(*o).to_owned(), f.display().to_string()])
        .chain(["--window".to_owned()])
        .collect();
    assert_eq!(told, expected);
    // Through a link, and on the path.
    std::fs::remove_file(at.folder.path().join("agenthub-desktop")).unwrap();
    let elsewhere = at.folder.path().join("elsewhere");
    at.desktop(&elsewhere, "exit 0");
    let mut command = at.command(&["open"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(elsewhere).chain(std::env::split_paths(&path))).unwrap();
    let _ = std::fs::remove_file(at.said());
    assert!(command.env("PATH", path).status().unwrap().success());
    assert!(at.said().exists());
}

#[test]
fn open_goes_to_a_lane_by_any_of_its_names_and_to_a_session() {
    let at = Installed::new();
    at.desktop(at.folder.path(), "exit 0");
    let folder = std::fs::canonicalize(at.folder.path()).unwrap().join("api-server");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap().to_owned();
    let id = uuid();
    let mut agy = Live::start(&at.rig.home, LiveSpec::new(&id).cwd(&folder)).unwrap();
    agy.prompt("Go").unwrap();
    let lane = format!("--lane=antigravity:{folder}");
    for what in ["api-server", folder.as_str(), lane.trim_start_matches("--lane=")] {
        assert_eq!(at.told(&[what]).last(), Some(&lane), "{what}");
    }
    assert_eq!(at.told(&[&id]).last(), Some(&format!("--session={id}")));
    for what in [&id.to_uppercase(), &id[..35]] {
        assert_eq!(at.told(&[what]).last(), Some(&format!("--session={id}")), "{what}");
    }
    let ran = at.command(&["run", "--name", "nightly", "--", "true"]).status().unwrap();
    assert!(ran.success());
    let lanes = at.rig.json(&["lanes", "--json"]);
    let run = lanes["lanes"].as_array().unwrap().iter().find_map(|l| l["run_id"].as_str()).unwrap();
    for what in ["nightly", run, &format!("run:{run}")] {
        assert_eq!(at.told(&[what]).last(), Some(&format!("--lane=run:{run}")), "{what}");
    }
    // A folder that is gone has its name still, and one with a run alone leads to that.
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(at.told(&[&format!("{folder}/")]).last(), Some(&lane));
    let here = lanes["lanes"].as_array().unwrap().iter().find(|l| l["run_id"] == run).unwrap()["cwd"]
        .as_str()
        .unwrap();
    assert_eq!(at.told(&[here]).last(), Some(&format!("--lane=run:{run}")), "{here}");
    at.refused(&["no such lane"], 1, "`agenthub lanes` and");
    at.refused(&["00000000-0000-4000-8000-000000000000"], 1, "not_found");
    at.refused(&["cafe"], 1, "not_found");
    assert!(at.command(&["run", "--name", "nightly", "--", "true"]).status().unwrap().success());
    at.refused(&["nightly"], 2, "Say which: run:");
}

#[test]
fn open_says_what_to_do_without_an_app_or_a_screen() {
    let at = Installed::new();
    let mut command = at.command(&["open"]);
    let out = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    if !Path::new("/usr/bin/agenthub-desktop").exists() {
        assert_eq!(out.status.code(), Some(1));
        assert!(err.contains("no_desktop") && err.contains("agenthub lanes"), "{err}");
    }
    at.desktop(at.folder.path(), "exit 7");
    at.refused(&[], 1, "desktop_failed");
    if cfg!(target_os = "linux") {
        let mut command = at.command(&["open"]);
        let out = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap();
        let err = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.code() == Some(1) && err.contains("no_display") && err.contains("watch"), "{err}");
    }
    // An app that comes up is not waited for.
    let pid = at.folder.path().join("pid");
    at.desktop(at.folder.path(), &format!("echo $$ >'{}'; exec sleep 600", pid.display()));
    assert_eq!(at.told(&[]).last().map(String::as_str), Some("--window"));
    let pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let app = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(app, rustix::process::Signal::KILL).expect("it is up");
}
