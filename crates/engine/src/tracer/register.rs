//! What was sent of a conversation, and what its hooks told: one small file each, replaced as a whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use agenthub_agy::Surface;
use agenthub_core::{
    SessionId,
    trace::{StepKey, Trace},
};
use serde::{Deserialize, Serialize};

use super::due::{Heard, Sent};

/// Spans are remembered one by one for so many of the newest turns; older ones are looked at no more.
const WITH_SPANS: usize = 4;
/// A register is a page of text; whatever is larger is something else.
const LARGEST: u64 = 64 << 20;

/// One conversation's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Register {
    #[serde(flatten)]
    pub(crate) heard: Heard,
    /// By the turn's key.
    pub(crate) turns: BTreeMap<String, Entry>,
}

/// What was sent of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    /// Of the turn as it would be if it were complete.
    pub(crate) digest: u64,
    pub(crate) incomplete: bool,
    /// It ended before tracing was switched on: it is never sent by itself.
    pub(crate) skipped: bool,
    /// Digests of its spans by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) spans: BTreeMap<String, u64>,
    /// The conversations of its sub-agents.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) children: BTreeSet<String>,
}

pub(crate) fn name(key: StepKey) -> String {
    // By step, so that the newest stand last.
    format!("{:012}.{}", key.step, key.second)
}

/// The digest of a turn and those of its spans.
pub(crate) fn digests(trace: &Trace) -> (u64, BTreeMap<String, u64>) {
    let spans: BTreeMap<String, u64> =
        trace.visits().iter().map(|v| (v.span.id().to_string(), v.digest())).collect();
    // Which spans there are, and what each says: order does not matter.
    let turn = spans.iter().fold(0u64, |h, (id, d)| {
        let id = id
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        h.wrapping_add((id ^ d.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    });
    (turn, spans)
}

impl Register {
    pub(crate) fn sent(&self, key: StepKey) -> Sent {
        match self.turns.get(&name(key)) {
            None => Sent::Nothing,
            Some(e) if e.incomplete => Sent::Incomplete(e.digest),
            Some(e) => Sent::Whole(e.digest),
        }
    }

    /// Whether a turn needs to be looked at: it was not sent as a whole, or it is one of the newest, whose late rows may
    /// still change it, or `child` is a sub-agent of it.
    pub(crate) fn wants(&self, key: StepKey, child: Option<&SessionId>) -> bool {
        let name = name(key);
        let Some(e) = self.turns.get(&name) else { return true };
        if e.skipped {
            return false;
        }
        let is_new = self.turns.keys().rev().take(2).any(|k| *k == name);
        e.incomplete || is_new || child.is_some_and(|c| e.children.contains(c.as_str()))
    }

    pub(crate) fn note(&mut self, key: StepKey, entry: Entry) {
        self.turns.insert(name(key), entry);
        let keep = self.turns.len().saturating_sub(WITH_SPANS);
        for e in self.turns.values_mut().take(keep) {
            // A turn with sub-agents may change long after.
            if e.children.is_empty() {
                e.spans.clear();
            }
        }
    }

    /// Lost or damaged, it is empty: then turns are sent again, as the same spans.
    pub(crate) fn read(path: &Path) -> Register {
        let Ok(meta) = fs::metadata(path) else { return Register::default() };
        if meta.len() > LARGEST {
            return Register::default();
        }
        let text = fs::read(path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_else(|e| {
            tracing::warn!("{} can't be read, and is begun anew: {e}", path.display());
            Register::default()
        })
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        // What a power cut takes is sent again, as the same spans.
        crate::places::replace_private(path, &serde_json::to_vec(self)?)
    }
}

/// Where a conversation's files are, below one of the tracer's folders.
pub(crate) fn file(folder: &Path, surface: &Surface, id: &SessionId, end: &str) -> PathBuf {
    folder.join(surface.folder()).join(format!("{id}{end}"))
}

/// The conversations that have a file in the folder.
pub(crate) fn conversations(folder: &Path, end: &str) -> Vec<(Surface, SessionId)> {
    let Ok(surfaces) = fs::read_dir(folder) else { return Vec::new() };
    let mut out = Vec::new();
    for s in surfaces.filter_map(Result::ok) {
        let Some(surface) = s.file_name().to_str().and_then(Surface::named) else { continue };
        let Ok(files) = fs::read_dir(s.path()) else { continue };
        out.extend(files.filter_map(|f| {
            let name = f.ok()?.file_name();
            Some((surface.clone(), SessionId::parse(name.to_str()?.strip_suffix(end)?)?))
        }));
    }
    out.sort();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(step: i64) -> StepKey {
        StepKey { step, second: step }
    }

    #[test]
    fn r7_a_register_is_what_it_was_after_a_restart_and_empty_when_it_is_damaged() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b.json");
        let mut r = Register::default();
        r.heard.stopped = Some(agenthub_core::Time::from_micros(5));
        for step in 0..6 {
            let spans = BTreeMap::from([(step.to_string(), u64::MAX)]);
            r.note(key(step), Entry { digest: u64::MAX - 1, spans, ..Entry::default() });
        }
        r.write(&path).unwrap();
        assert_eq!(Register::read(&path), r);
        assert_eq!(r.turns.values().map(|e| e.spans.len()).collect::<Vec<_>>(), [0, 0, 1, 1, 1, 1]);
        assert_eq!(r.sent(key(5)), Sent::Whole(u64::MAX - 1));
        for bad in ["", "[", "[]", "{\"turns\": 3}"] {
            fs::write(&path, bad).unwrap();
            assert_eq!(Register::read(&path), Register::default(), "{bad}");
        }
    }

    #[test]
    fn r7_only_new_turns_and_those_that_can_change_are_looked_at() {
        let child = SessionId::parse("18ee78b4-4643-45db-85df-8abd89b51b1b").unwrap();
        let mut r = Register::default();
        r.note(key(0), Entry { skipped: true, ..Entry::default() });
        r.note(key(1), Entry { children: [child.to_string()].into(), ..Entry::default() });
        r.note(key(2), Entry { incomplete: true, ..Entry::default() });
        r.note(key(3), Entry::default());
        r.note(key(100), Entry::default());
        r.note(key(20), Entry::default());
        let wants = |child: Option<&SessionId>| {
            [0, 1, 2, 3, 20, 100, 101].map(|step| r.wants(key(step), child)).to_vec()
        };
        assert_eq!(wants(None), [false, false, true, false, true, true, true]);
        assert_eq!(wants(Some(&child)), [false, true, true, false, true, true, true]);
    }
}
