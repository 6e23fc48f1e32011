//! Results of a recovery, for users and for programs.

use actum_api::path::WorkspacePath;
use actum_api::recovery::{Recovered, RefusedPath};
use actum_core::RelPath;
use actum_workspace::Recovery;

use crate::output::Screen;

/// Converts a recovery for documents.
pub(crate) fn document(recovery: &Recovery) -> Recovered {
    let Recovery { unfinished, rewritten, foreign, refused, saved } = recovery;
    let refused_path =
        |(path, cause): &(RelPath, String)| RefusedPath { path: path.into(), cause: cause.clone() };
    Recovered {
        unfinished: *unfinished,
        rewritten: WorkspacePath::all(rewritten),
        foreign: WorkspacePath::all(foreign),
        refused: refused.iter().map(refused_path).collect(),
        saved: saved.clone(),
    }
}

fn left_nothing(recovered: &Recovered) -> bool {
    recovered.foreign.is_empty() && recovered.refused.is_empty()
}

/// Returns the results of a recovery, one sentence a line.
pub(crate) fn sentences(recovered: &Recovered) -> Vec<String> {
    let unfinished = recovered.unfinished.map(|run| {
        if left_nothing(recovered) {
            format!("run {run} had begun and not ended; it was taken back")
        } else {
            format!(
                "run {run} had begun and not ended; it was taken back but for what is named here"
            )
        }
    });
    let rewritten = recovered
        .rewritten
        .iter()
        .map(|path| format!("`{path}` had lost content; it was put right from the journal"));
    let foreign = recovered
        .foreign
        .iter()
        .map(|path| format!("`{path}` was changed by someone else and stays as it is"));
    let saved = recovered.saved.iter().map(|name| {
        format!("what one of them held was recorded nowhere; it is kept as .actum/lost/{name}")
    });
    let refused = recovered.refused.iter().map(|RefusedPath { path, cause }| {
        format!("`{path}` could not be put back ({cause}) and stays as it is")
    });
    let left = foreign.chain(refused);
    unfinished.into_iter().chain(rewritten).chain(saved).chain(left).collect()
}

/// Reports on standard error that this command recovered something.
pub(crate) fn tell(screen: &Screen, recovery: Option<&Recovery>) {
    let Some(recovered) = recovery.map(document) else { return };
    for sentence in sentences(&recovered) {
        screen.note(format_args!("recovery: {sentence}"));
    }
    if !left_nothing(&recovered) {
        screen.note("recovery: `actum status` lists the blocked paths");
    }
}
