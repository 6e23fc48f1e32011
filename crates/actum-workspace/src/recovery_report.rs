//! Report on a recovery of a workspace.

use actum_core::{RelPath, RunId};

/// Result of a recovery, as reported to the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Run that had begun but not ended, and was rolled back.
    pub unfinished: Option<RunId>,
    /// Paths that were restored after a power cut.
    pub rewritten: Vec<RelPath>,
    /// Paths that were not restored, because another program had changed them. Their recorded images are in
    /// `.actum/lost`.
    pub foreign: Vec<RelPath>,
    /// Paths that were not restored, because the operating system refused the change, each with the reason. Their
    /// recorded images are in `.actum/lost`.
    pub refused: Vec<(RelPath, String)>,
    /// Names of files in `.actum/lost` with content that recovery replaced and that no run had recorded.
    pub saved: Vec<String>,
}

impl Recovery {
    /// Returns true if the recovery has nothing to report.
    pub fn is_quiet(&self) -> bool {
        self.unfinished.is_none()
            && self.rewritten.is_empty()
            && self.saved.is_empty()
            && self.left_nothing()
    }

    /// Returns true if the recovery could restore every path.
    pub fn left_nothing(&self) -> bool {
        self.foreign.is_empty() && self.refused.is_empty()
    }
}
