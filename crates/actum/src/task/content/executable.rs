//! Executable content: unless the plan declares it, no file gets an interpreter line, and no file becomes a hook.
//!
//! Only `FILE_CREATE` with `executable` sets the permission to execute, so that is not checked here.

use actum_core::RelPath;
use actum_gate::GIT_HOOKS;
use actum_task::{ErrorCode, Work};

use super::File;
use crate::task::problem::ActionProblem;

/// Directories all of whose files are hooks.
const HOOK_DIRECTORIES: [&str; 2] = [".githooks", ".husky"];

pub(super) fn judge(
    work: &Work,
    before: Option<File<'_>>,
    after: File<'_>,
) -> Result<(), ActionProblem> {
    let remedy = match work {
        Work::Create { executable: true, .. } => return Ok(()),
        Work::Create { executable: false, .. } => {
            "the operation does not say `\"executable\": true`"
        }
        Work::Modify(_)
        | Work::Delete
        | Work::Rename { .. }
        | Work::UpdateSchema(_)
        | Work::ExecuteSql(_)
        | Work::RunPipeline(_) => "only a FILE_CREATE with `executable` can say so",
    };
    let path = after.path;
    let undeclared = |what: &str| {
        let message = format!("`{path}` {what}, and {remedy}");
        Err(ActionProblem::new(ErrorCode::UndeclaredExecutable, message))
    };
    // Editing an existing hook is allowed; a file that moves becomes a new hook.
    let lands = before.is_none_or(|before| before.path != path);
    if lands && is_hook(path) {
        return undeclared("would be a hook, which tools run unasked");
    }
    match shebang(after) {
        Some(new) if before.and_then(shebang) != Some(new) => {
            undeclared("would begin with a `#!` line that names what runs it")
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns true if tools run the file automatically. No plan can name `.git` or files in it.
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

/// Returns the interpreter in the first line, with its arguments.
fn shebang(file: File<'_>) -> Option<&[u8]> {
    let rest = file.content.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?.trim_ascii();
    // `#![allow(...)]` is an attribute of Rust.
    let is_attribute = line.starts_with(b"[") && file.path.name().ends_with(b".rs");
    (!is_attribute).then_some(line)
}
