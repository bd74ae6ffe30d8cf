//! Whether what a host tells is all that there is.

use super::Host;
use crate::view::ErrorView;

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
}
