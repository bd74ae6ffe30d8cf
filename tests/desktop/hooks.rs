//! Hook events on their way to the tray: the real hook program, the real app, the menu as a panel reads it.

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agy_sim::{Home, Live, LiveSpec};
use serde_json::json;

use crate::harness::{desk::Desk, hook_program, until};

const ID: &str = "7b1c9d2e-3f4a-4b5c-8d6e-0123456789ab";
const EVENTS: usize = 500;

struct Hook {
    program: PathBuf,
    /// The folder of the journal and the doorbell.
    folder: PathBuf,
    body: serde_json::Value,
}

impl Hook {
    /// Runs it as agy's forwarder does, and waits for its end as agy does.
    fn run(&self, event: &str, more: &serde_json::Value) {
        let mut body = self.body.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut child = Command::new(&self.program)
            .arg("--journal")
            .arg(self.folder.join("journal"))
            .arg("--doorbell")
            .arg(self.folder.join("doorbell"))
            .args([event, "antigravity"])
            .env_clear()
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(body.to_string().as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn b5_every_hook_event_changes_the_menu() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    desk.app(&[]);
    let tray = desk.tray();
    let mut agy = Live::start(&home, LiveSpec::new(ID).cwd("/work/api-server")).unwrap();
    agy.prompt("Migrate the database").unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    until("a lane at rest", || tray.line("○ api-server"));
    let brain = home.cli().join("brain").join(ID);
    let hook = Hook {
        program: hook_program(),
        folder: desk.home().join(".local/share/agenthub/hooks"),
        body: json!({
            "conversationId": ID,
            "transcriptPath": brain.join(".system_generated/logs/transcript_full.jsonl"),
            "artifactDirectoryPath": brain,
            "workspacePaths": ["/work/api-server"],
            "modelName": "gemini-3.8-flash-high",
        }),
    };
    until("the doorbell", || hook.folder.join("doorbell").exists().then_some(()));
    let begins = json!({ "invocationNum": 0, "initialNumSteps": 1 });
    let ends =
        json!({ "executionNum": 0, "terminationReason": "NO_TOOL_CALL", "error": "", "fullyIdle": true });
    let mut took: Vec<Duration> = (0..EVENTS)
        .map(|n| {
            let (event, body, mark) = if n % 2 == 0 {
                ("PreInvocation", &begins, "● api-server")
            } else {
                ("Stop", &ends, "○ api-server")
            };
            let began = Instant::now();
            hook.run(event, body);
            while tray.line(mark).is_none() {
                assert!(
                    began.elapsed() < Duration::from_secs(60),
                    "event {n} has not come: {:?}",
                    tray.labels()
                );
            }
            began.elapsed()
        })
        .collect();
    took.sort();
    eprintln!(
        "hook's start to changed menu, {EVENTS} events: median {:.1?}, p95 {:.1?}, most {:.1?}",
        took[EVENTS / 2],
        took[EVENTS * 95 / 100],
        took[EVENTS - 1]
    );
}
