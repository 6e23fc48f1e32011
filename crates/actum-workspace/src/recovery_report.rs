//! Report of a recovery.

use actum_core::{RelPath, RunId};

/// Report of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovery {
    /// The run that had begun and not ended; it was taken back.
    pub unfinished: Option<RunId>,
    /// Paths that were put right after a power cut.
    pub rewritten: Vec<RelPath>,
    /// Paths that had changed since; they were left as they are, and their images are under
    /// `.actum/lost`.
    pub foreign: Vec<RelPath>,
    /// Paths that the operating system refused to change, with its reason; they too were left as
    /// they are, and their images are under `.actum/lost`.
    pub refused: Vec<(RelPath, String)>,
    /// Files under `.actum/lost`, by name: what a power cut left in files that were put right, where
    /// no run had recorded it.
    pub saved: Vec<String>,
}

impl Recovery {
    /// Whether there is nothing to report.
    pub fn is_quiet(&self) -> bool {
        self.unfinished.is_none()
            && self.rewritten.is_empty()
            && self.saved.is_empty()
            && self.left_nothing()
    }

    /// Whether every path could be recovered.
    pub fn left_nothing(&self) -> bool {
        self.foreign.is_empty() && self.refused.is_empty()
    }
}
