//! What the hook leaves for later: one small file per event, put in place by rename, so that it is whole or not there
//! (spec R4). The hook writes them, whoever works next reads them: a child of the hook, the app, the next hook.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use agenthub_agy::Surface;
use agenthub_core::{SessionId, Time};
use serde_json::{Map, Value};

/// What agy hands over is at most this long; more is read to its end, and the event goes on without its body.
pub(crate) const MOST_BODY: usize = 1 << 20;
/// Files that are looked at in one pass.
const MOST_JOBS: usize = 10_000;
const END: &str = ".job";
const MARK: &str = "AHT1";

/// An event that matters to the tracer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) surface: Surface,
    pub(crate) conversation: SessionId,
    pub(crate) what: What,
    /// When its hook started.
    pub(crate) at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A turn, or a part of one, begins.
    Begins,
    /// A Stop while background work goes on.
    Held,
    Stopped,
}

/// Why an event is left aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    /// Not one of the two events, or a call within a turn.
    NotAsked,
    /// No conversation id, or no transcript below agy's home.
    NotOurs,
}

/// Whether the event needs anything at all: a call within a turn, of which there are about fifty in a session, does not.
pub(crate) fn matters(event: &str, body: &[u8]) -> bool {
    match event {
        "Stop" => true,
        "PreInvocation" => {
            let body: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
            body.get("invocationNum").and_then(Value::as_i64).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Puts an event into the folder.
///
/// # Errors
/// When it can't be written.
pub(crate) fn put(folder: &Path, event: &str, at_ns: u128, body: &[u8]) -> io::Result<()> {
    crate::places::make_folder(folder)?;
    let name = format!("{at_ns:020}-{}", std::process::id());
    let new = folder.join(format!(".{name}"));
    let mut bytes = format!("{MARK} {event} {at_ns}\n").into_bytes();
    bytes.extend_from_slice(body);
    super::write_private(&new, &bytes)?;
    fs::rename(&new, folder.join(format!("{name}{END}")))
}

/// What stands in the folder, oldest first: each file with its event, or why it is none.
pub(crate) fn all(folder: &Path, root: &Path) -> Vec<(PathBuf, Result<Job, Aside>)> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = files
        .filter_map(|f| Some(f.ok()?.path()))
        .filter(|p| p.to_string_lossy().ends_with(END))
        .take(MOST_JOBS)
        .collect();
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| {
            // Gone meanwhile: somebody else did it.
            let bytes = read(&path).ok()?;
            let job = parse(&bytes, root);
            Some((path, job))
        })
        .collect()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, MOST_BODY as u64 + 4096), &mut bytes)?;
    Ok(bytes)
}

fn parse(bytes: &[u8], root: &Path) -> Result<Job, Aside> {
    let end = bytes.iter().position(|b| *b == b'\n').ok_or(Aside::NotOurs)?;
    let (head, body) = bytes.split_at(end);
    let head = std::str::from_utf8(head).map_err(|_| Aside::NotOurs)?;
    let mut words = head.split(' ');
    let (Some(MARK), Some(event), Some(ns)) = (words.next(), words.next(), words.next()) else {
        return Err(Aside::NotOurs);
    };
    let ns: i128 = ns.parse().map_err(|_| Aside::NotOurs)?;
    let at = Time::from_micros(i64::try_from(ns / 1_000).map_err(|_| Aside::NotOurs)?);
    let body: Map<String, Value> = serde_json::from_slice(body).map_err(|_| Aside::NotOurs)?;
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let conversation = text("conversationId").and_then(SessionId::parse).ok_or(Aside::NotOurs)?;
    let surface = match text("transcriptPath").filter(|p| !p.trim().is_empty()) {
        Some(path) => Surface::of_transcript(root, path).ok_or(Aside::NotOurs)?,
        // The hook could not take the body over, and gives the id alone.
        None if body.len() == 1 => Surface::CLI,
        None => return Err(Aside::NotOurs),
    };
    let what = match event {
        "PreInvocation" => What::Begins,
        "Stop" if body.get("fullyIdle") == Some(&Value::Bool(false)) => What::Held,
        "Stop" => What::Stopped,
        _ => return Err(Aside::NotAsked),
    };
    Ok(Job { surface, conversation, what, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "18ee78b4-4643-45db-85df-8abd89b51b1b";

    fn body(root: &Path, folder: &str, more: &str) -> Vec<u8> {
        let path = root.join(folder).join("brain/x/t.jsonl");
        format!("{{\"conversationId\":\"{ID}\",\"transcriptPath\":{path:?}{more}}}").into_bytes()
    }

    #[test]
    fn r4_a_call_within_a_turn_is_nothing() {
        assert!(matters("Stop", b"") && matters("PreInvocation", b"{\"invocationNum\": 0}"));
        assert!(matters("PreInvocation", b"no json"), "rather once too often");
        assert!(!matters("PreInvocation", b"{\"invocationNum\": 3}") && !matters("PostToolUse", b"{}"));
    }

    #[test]
    fn r7_r12_an_event_says_what_it_is_and_whose() {
        let temp = tempfile::tempdir().unwrap();
        let (root, folder) = (temp.path().join(".gemini"), temp.path().join("jobs"));
        let cases: [(&str, Vec<u8>); 8] = [
            ("PreInvocation", body(&root, "antigravity-cli", ",\"invocationNum\":0")),
            ("Stop", body(&root, "antigravity-ide", ",\"fullyIdle\":false")),
            ("Stop", body(&root, "antigravity", ",\"fullyIdle\":true")),
            ("Stop", format!("{{\"conversationId\":\"{ID}\"}}").into_bytes()),
            ("Stop", b"{\"conversationId\":\"nobody\"}".to_vec()),
            ("Stop", body(Path::new("/elsewhere"), "antigravity-cli", "")),
            ("Stop", b"torn".to_vec()),
            ("PostToolUse", body(&root, "antigravity-cli", "")),
        ];
        for (n, (event, body)) in cases.iter().enumerate() {
            put(&folder, event, 1_782_640_471_000_000_000 + n as u128, body).unwrap();
        }
        let all = all(&folder, &root);
        let told: Vec<_> = all
            .iter()
            .map(|(_, j)| j.as_ref().map(|j| (j.surface.folder().to_owned(), j.what)).map_err(|e| *e))
            .collect();
        assert_eq!(
            told,
            [
                Ok(("antigravity-cli".to_owned(), What::Begins)),
                Ok(("antigravity-ide".to_owned(), What::Held)),
                Ok(("antigravity".to_owned(), What::Stopped)),
                Ok(("antigravity-cli".to_owned(), What::Stopped)),
                Err(Aside::NotOurs),
                Err(Aside::NotOurs),
                Err(Aside::NotOurs),
                Err(Aside::NotAsked),
            ]
        );
        assert_eq!(all[0].1.as_ref().unwrap().at, Time::from_micros(1_782_640_471_000_000));
        std::fs::write(folder.join("00-1.job"), b"\xff\n\n").unwrap();
        assert_eq!(super::all(&folder, &root)[0].1, Err(Aside::NotOurs));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&all[0].0)), (0o700, 0o600));
        }
    }
}
