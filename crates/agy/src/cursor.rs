//! What must be known of the read before, so that the next one need not read everything again (spec B3).

use serde::{Deserialize, Serialize};

use crate::tally::{GenTally, StepTally};

/// A cursor of another layout is not understood, and all is read anew. Raise it with every change of meaning, that of
/// a tally's counts included.
const VERSION: u32 = 1;

/// Opaque to others: keep it beside what was read, in one transaction (spec Q2), and hand it to the next
/// [`crate::read()`]. It holds counts and row numbers, and the session's title and first prompt, each cut to a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub(crate) version: u32,
    pub(crate) inode: u64,
    pub(crate) trajectory: Option<String>,
    pub(crate) max: Maxima,
    /// Sums over the steps that will not be read again, and over such generator rows.
    pub(crate) steps: StepTally,
    pub(crate) gens: GenTally,
    pub(crate) bad_executions: u64,
    /// Steps older than the newest ones that may still change.
    pub(crate) open: Vec<i64>,
    /// What the rows looked like that are read again: a rewind can reuse their numbers.
    pub(crate) check: u64,
    /// Texts with the step that they were found by: an older step can come to be the first one.
    pub(crate) title: Option<(i64, String)>,
    pub(crate) prompt: Option<(Option<i64>, String)>,
    /// The folder of the first command, where nothing better names one.
    pub(crate) command_cwd: Option<String>,
}

/// The largest row number of each table; `None` for an empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Maxima {
    pub(crate) step: Option<i64>,
    pub(crate) generation: Option<i64>,
    pub(crate) execution: Option<i64>,
    pub(crate) reference: Option<i64>,
}

impl Maxima {
    /// Whether `self` can be what `older` has grown to: nothing was deleted, and there is no new reference, which every
    /// rewind makes.
    pub(crate) fn continues(&self, older: &Maxima) -> bool {
        self.step >= older.step
            && self.generation >= older.generation
            && self.execution >= older.execution
            && self.reference == older.reference
    }
}

impl Default for Cursor {
    /// The cursor of a conversation of which nothing was read.
    fn default() -> Cursor {
        Cursor {
            version: VERSION,
            inode: 0,
            trajectory: None,
            max: Maxima::default(),
            steps: StepTally::default(),
            gens: GenTally::default(),
            bad_executions: 0,
            open: Vec::new(),
            check: 0,
            title: None,
            prompt: None,
            command_cwd: None,
        }
    }
}

impl Cursor {
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to be written; an empty text would only mean that all is read anew.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` when the text is damaged or of another version: read all anew then.
    pub fn from_json(text: &str) -> Option<Cursor> {
        serde_json::from_str(text).ok().filter(|c: &Cursor| c.version == VERSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b03_a_cursor_survives_its_text_and_a_strange_one_is_refused() {
        let mut c = Cursor { trajectory: Some("t".into()), open: vec![3], ..Cursor::default() };
        c.steps.turn = Some((7, None));
        assert_eq!(Cursor::from_json(&c.to_json()), Some(c.clone()));
        c.version += 1;
        for bad in ["", "{}", "[]", "null", "{\"version\":1}", &c.to_json()] {
            assert_eq!(Cursor::from_json(bad), None, "{bad}");
        }
    }
}
