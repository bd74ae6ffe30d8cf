//! AgentHub's own SQLite: what was read from agy's files, and the cursor that says so, always in one transaction.
//!
//! One file per table, each with its migration, its row and its reads and writes. The store knows nothing of agy's
//! formats: cursors and fingerprints are opaque text to it.

mod calls;
mod conversations;
mod costs;
mod deletions;
mod finding;
mod gone;
mod hooks;
mod lanes;
mod listing;
mod memory;
mod models;
mod notices;
mod open;
mod own_prices;
mod person;
mod rollup;
mod runs;
mod sessions;
mod sums;
mod usage;
mod writing;

pub use conversations::{Conversation, Verdict};
pub use finding::FoundInside;
pub use hooks::{HookChange, HookCount, HookRecord};
pub use listing::{Filter, ListedTotals, Page, Sort};
pub use memory::InMemory;
pub use models::ModelRow;
pub use notices::{NoticeFate, NoticeRow};
pub use open::{Change, FORMAT, Opened, Store, StoreError};
pub use person::{Dismissal, OwnPrice, PersonStore};
pub use runs::SessionRun;
pub use sessions::{Lineage, SessionRecord, SessionRow};
pub use usage::{By, ModelSum, Sum, Used};
