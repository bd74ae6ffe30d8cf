//! Whether what a host tells is all that there is.

use super::Host;
use crate::{doctor, view::ErrorView};

impl Host {
    /// This host, if all that was read could be kept: else lists would lack it, and sums be too low.
    ///
    /// # Errors
    /// `store` when something could not be kept, with what to do.
    pub fn whole(self) -> Result<Host, ErrorView> {
        let board = std::sync::Arc::clone(&self.snapshot().board);
        match board.notes.iter().find(|n| n.code == "source_failed") {
            None => Ok(self),
            Some(note) => {
                // The note is also for one who reads on by itself.
                let then = if note.message.ends_with("try again.") { "" } else { " Then try again." };
                Err(ErrorView { code: "store".to_owned(), message: format!("{}{then}", note.message) })
            }
        }
    }

    /// So many files could not be read: nothing of them is in any list or sum. A whole folder is a note's.
    pub fn unread(&self) -> usize {
        let home = &self.config().gemini_dir;
        self.snapshot().problems.iter().filter(|p| doctor::is_of_one_file(p, home)).count()
    }
}
