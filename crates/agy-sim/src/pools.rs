//! Words for made-up conversations: folders, prompts, answers, tools.

use serde_json::{Value, json};

use crate::call::{Outcome, ToolUse};
use crate::rng::Rng;

pub(crate) const FOLDERS: &[&str] = &[
    "/home/user/src/payments-gateway",
    "/home/user/src/api-server",
    "/home/user/src/atlas-web",
    "/home/user/src/dotfiles",
    "/home/user/src/ingest-pipeline",
    "/home/user/work/mobile-app",
    "/home/user/work/infra",
    "/home/user/src/ספריית-תשלומים",
];

pub(crate) const PROMPTS: &[&str] = &[
    "Find out why the nightly job fails since Tuesday and fix it",
    "Rename the retry module and keep the old path as a re-export",
    "Write a test for the case in which two webhooks arrive in the same second",
    "The build is slow; look where the time goes and suggest three changes",
    "Move the date handling to one place, all of it in UTC",
    "Review my last commit and be honest",
    "Add a flag for dry runs to the importer",
    "Why does the session cookie vanish after a redirect?",
    "Update the changelog and the README for the new settings",
    "Split the big handler into smaller functions without changing behaviour",
];

pub(crate) const TITLES: &[&str] = &[
    "Fixing the Nightly Job",
    "Renaming the Retry Module",
    "Testing Concurrent Webhooks",
    "Speeding Up the Build",
    "Unifying Date Handling",
    "Reviewing the Last Commit",
    "Adding a Dry Run Flag",
    "Tracing the Lost Session Cookie",
    "Documenting New Settings",
    "Splitting the Big Handler",
];

const SENTENCES: &[&str] = &[
    "I read the failing test first and then the code that it covers.",
    "The cause is an off-by-one in the window that the query uses.",
    "I changed the smallest thing that makes the test pass.",
    "Two callers rely on the old order, so I kept it.",
    "The log shows the same request twice with different ids.",
    "There is no test for the empty case; I added one.",
    "This needs a migration, which I wrote but did not run.",
];

pub(crate) fn prose(rng: &mut Rng, sentences: u64) -> String {
    (0..sentences).map(|_| *rng.pick(SENTENCES)).collect::<Vec<_>>().join(" ")
}

/// A tool that a call could ask for in `folder`; without a folder nothing tells of one.
pub(crate) fn tool(rng: &mut Rng, folder: Option<&str>) -> ToolUse {
    let root = folder.unwrap_or("");
    let mut args = match rng.range(0..5) {
        0 | 1 => json!({"CommandLine": "cargo test --workspace", "WaitMsBeforeAsync": 5000,
            "toolAction": "Running tests", "toolSummary": "Test run"}),
        2 => json!({"AbsolutePath": format!("{root}/src/lib.rs"), "StartLine": 1, "EndLine": 200,
            "toolAction": "Reading lib.rs", "toolSummary": "File view"}),
        3 => json!({"Query": "fn retry", "SearchPath": format!("{root}/src"), "CaseInsensitive": true,
            "toolAction": "Searching", "toolSummary": "Search"}),
        _ => json!({"TargetFile": format!("{root}/src/window.rs"), "Instruction": "Fix the bound",
            "toolAction": "Editing window.rs", "toolSummary": "Edit"}),
    };
    let name = match &args {
        Value::Object(map) if map.contains_key("CommandLine") => "run_command",
        Value::Object(map) if map.contains_key("AbsolutePath") => "view_file",
        Value::Object(map) if map.contains_key("Query") => "grep_search",
        _ => "replace_file_content",
    };
    if let (Value::Object(map), "run_command", Some(folder)) = (&mut args, name, folder) {
        map.insert("Cwd".to_owned(), json!(folder));
    }
    let outcome = if rng.chance(4) { Outcome::Failed } else { Outcome::Ok };
    let lines = rng.range(1..6);
    let text = format!(
        "The command exited with code {}.\n{}",
        u8::from(outcome == Outcome::Failed),
        prose(rng, lines)
    );
    ToolUse::new(name, args).result(&text).outcome(outcome).ms(rng.range(40..9000))
}
