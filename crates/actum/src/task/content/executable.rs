//! Detects executable content. Unless the plan declares it, an action may not add a `#!` interpreter line to a file or
//! create a hook.
//!
//! The execute permission is not checked here, because only `FILE_CREATE` with `executable` can set it.

use actum_core::RelPath;
use actum_gate::GIT_HOOKS;
use actum_task::{ErrorCode, Work};

use super::File;
use crate::task::problem::ActionProblem;

/// Names of directories in which every file is a hook.
const HOOK_DIRECTORIES: [&str; 2] = [".githooks", ".husky"];

pub(super) fn judge(
    work: &Work,
    before: Option<File<'_>>,
    after: File<'_>,
) -> Result<(), ActionProblem> {
    let remedy = match work {
        Work::Create { executable: true, .. } => return Ok(()),
        Work::Create { executable: false, .. } => {
            "the operation does not set `\"executable\": true`"
        }
        Work::Modify(_)
        | Work::Delete
        | Work::Rename { .. }
        | Work::UpdateSchema(_)
        | Work::ExecuteSql(_)
        | Work::RunPipeline(_) => "only `FILE_CREATE` can declare that with `executable`",
    };
    let path = after.path;
    let undeclared = |what: &str| {
        let message = format!("`{path}` {what}, but {remedy}");
        Err(ActionProblem::new(ErrorCode::UndeclaredExecutable, message))
    };
    // Editing an existing hook is allowed, but moving a file to the path of a hook creates a new one.
    let lands = before.is_none_or(|before| before.path != path);
    if lands && is_hook(path) {
        return undeclared("would be a hook, which tools run automatically");
    }
    match shebang(after) {
        Some(new) if before.and_then(shebang) != Some(new) => {
            undeclared("would start with a `#!` interpreter line")
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether tools such as git run the file automatically. The hooks in `.git` need no check, because no plan can
/// name files in that directory.
fn is_hook(path: &RelPath) -> bool {
    let lies_in = |component: &[u8]| {
        HOOK_DIRECTORIES.iter().any(|name| component.eq_ignore_ascii_case(name.as_bytes()))
    };
    let parent = path.parent();
    let mut above = parent.iter().flat_map(RelPath::components);
    let is_among_hooks = || {
        let parent = parent.as_ref().map(RelPath::name);
        parent.is_some_and(|name| name.eq_ignore_ascii_case(b"hooks"))
            && GIT_HOOKS.iter().any(|name| path.name().eq_ignore_ascii_case(name.as_bytes()))
    };
    above.any(lies_in) || is_among_hooks()
}

/// Returns the interpreter and its arguments from the `#!` line of a file, if the file has one.
fn shebang(file: File<'_>) -> Option<&[u8]> {
    let rest = file.content.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?.trim_ascii();
    // In a Rust file, `#![allow(...)]` is an attribute and not an interpreter line.
    let is_attribute = line.starts_with(b"[") && file.path.name().ends_with(b".rs");
    (!is_attribute).then_some(line)
}
