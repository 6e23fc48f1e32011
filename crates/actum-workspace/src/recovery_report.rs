//! Report of a recovery.

use actum_core::{RelPath, RunId};

/// Report of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovery {
    /// The run that had begun and not ended; it was rolled back.
    pub unfinished: Option<RunId>,
    /// Paths that were restored after a power cut.
    pub rewritten: Vec<RelPath>,
    /// Paths that had changed since; they were not restored, and their images are under `.actum/lost`.
    pub foreign: Vec<RelPath>,
    /// Paths that the operating system refused to change, with its reason. They were not restored either, and their
    /// images are under `.actum/lost`.
    pub refused: Vec<(RelPath, String)>,
    /// Files under `.actum/lost`, by name: content that a power cut left in restored files, where no run had recorded
    /// it.
    pub saved: Vec<String>,
}

impl Recovery {
    /// Returns true if there is nothing to report.
    pub fn is_quiet(&self) -> bool {
        self.unfinished.is_none()
            && self.rewritten.is_empty()
            && self.saved.is_empty()
            && self.left_nothing()
    }

    /// Returns true if every path could be recovered.
    pub fn left_nothing(&self) -> bool {
        self.foreign.is_empty() && self.refused.is_empty()
    }
}
