//! What a recovery did, for people and for programs.

use actum_core::{RelPath, RunId};
use actum_workspace::Recovery;
use serde::Serialize;

use crate::output::Screen;
use crate::shown_path::ShownPath;

/// What a recovery did.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RecoveryNote {
    /// The run that was taken back.
    unfinished: Option<RunId>,
    /// Paths that were put right after a power cut.
    rewritten: Vec<ShownPath>,
    /// Paths that hold someone else's work and stayed as they are.
    foreign: Vec<ShownPath>,
    /// Paths that the operating system refused to change; they stayed as they are.
    refused: Vec<Refused>,
    /// Files under `.actum/lost` with what was put right and recorded nowhere.
    saved: Vec<String>,
}

/// A path that could not be put back.
#[derive(Debug, Clone, Serialize)]
struct Refused {
    #[serde(flatten)]
    path: ShownPath,
    cause: String,
}

impl RecoveryNote {
    pub(crate) fn of(recovery: Option<&Recovery>) -> Option<Self> {
        recovery.map(|Recovery { unfinished, rewritten, foreign, refused, saved }| Self {
            unfinished: *unfinished,
            rewritten: ShownPath::all(rewritten),
            foreign: ShownPath::all(foreign),
            refused: refused.iter().map(Refused::new).collect(),
            saved: saved.clone(),
        })
    }

    fn left_nothing(&self) -> bool {
        self.foreign.is_empty() && self.refused.is_empty()
    }

    /// What happened, one sentence a line.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let unfinished = self.unfinished.map(|run| {
            if self.left_nothing() {
                format!("run {run} had begun and not ended; it was taken back")
            } else {
                format!(
                    "run {run} had begun and not ended; it was taken back but for what is named here"
                )
            }
        });
        let rewritten = self
            .rewritten
            .iter()
            .map(|path| format!("`{path}` had lost content; it was put right from the journal"));
        let foreign = self
            .foreign
            .iter()
            .map(|path| format!("`{path}` was changed by someone else and stays as it is"));
        let saved = self.saved.iter().map(|name| {
            format!("what one of them held was recorded nowhere; it is kept as .actum/lost/{name}")
        });
        let refused = self.refused.iter().map(|Refused { path, cause }| {
            format!("`{path}` could not be put back ({cause}) and stays as it is")
        });
        let left = foreign.chain(refused);
        unfinished.into_iter().chain(rewritten).chain(saved).chain(left).collect()
    }
}

impl Refused {
    fn new((path, cause): &(RelPath, String)) -> Self {
        Self { path: ShownPath(path.clone()), cause: cause.clone() }
    }
}

/// Tells on standard error that this command found something to recover.
pub(crate) fn tell(screen: &Screen, recovery: Option<&Recovery>) {
    let Some(note) = RecoveryNote::of(recovery) else { return };
    for sentence in note.sentences() {
        screen.note(format_args!("recovery: {sentence}"));
    }
    if !note.left_nothing() {
        screen.note("recovery: `actum status` lists the blocked paths");
    }
}
