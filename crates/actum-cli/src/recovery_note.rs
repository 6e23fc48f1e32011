//! Messages and JSON documents about the results of a recovery.

use actum_api::path::WorkspacePath;
use actum_api::recovery::{Recovered, RefusedPath};
use actum_core::RelPath;
use actum_workspace::Recovery;

use crate::output::Screen;

/// Converts the results of a recovery to their form in JSON documents.
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

/// Describes the results of a recovery, one sentence per line.
pub(crate) fn sentences(recovered: &Recovered) -> Vec<String> {
    let unfinished = recovered.unfinished.map(|run| {
        if left_nothing(recovered) {
            format!("run {run} was interrupted and has been rolled back")
        } else {
            format!(
                "run {run} was interrupted and has been rolled back, except for the paths listed here"
            )
        }
    });
    let rewritten = recovered
        .rewritten
        .iter()
        .map(|path| format!("`{path}` had lost content, which was restored from the journal"));
    let foreign = recovered
        .foreign
        .iter()
        .map(|path| format!("`{path}` was changed by another process and was left unchanged"));
    let saved = recovered.saved.iter().map(|name| {
        format!("one of these paths had unrecorded content, which was saved as .actum/lost/{name}")
    });
    let refused = recovered.refused.iter().map(|RefusedPath { path, cause }| {
        format!("`{path}` could not be restored ({cause}) and was left unchanged")
    });
    let left = foreign.chain(refused);
    unfinished.into_iter().chain(rewritten).chain(saved).chain(left).collect()
}

/// Prints notes about the interrupted run that this command recovered, if there was one.
pub(crate) fn print(screen: &Screen, recovery: Option<&Recovery>) {
    let Some(recovered) = recovery.map(document) else { return };
    for sentence in sentences(&recovered) {
        screen.note(format_args!("recovery: {sentence}"));
    }
    if !left_nothing(&recovered) {
        screen.note("recovery: `actum status` lists the blocked paths");
    }
}
