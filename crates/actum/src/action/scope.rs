//! Write scope of an action: the lists of its plan, compared with its real effects (AA-4).

use actum_action::PlanScope;
use actum_core::path::Quoted;
use actum_core::{PathRule, RelPath, Scope};
use actum_edit::Operation;
use actum_record::receipt::PathEffect;

use super::action_error::ActionError;
use crate::reason::Reason;

/// Parsed scope of a plan. Its entries are paths, not patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    files: Vec<RelPath>,
    dirs: Vec<RelPath>,
    /// True if `allowedDirs` has `.`, which allows the whole workspace.
    is_everything: bool,
    forbidden: Vec<RelPath>,
}

/// Entry of `allowedDirs` that stands for the workspace itself.
const ROOT: &str = ".";

impl Places {
    pub(super) fn new(scope: &PlanScope) -> Result<Self, ActionError> {
        let dirs = scope.allowed_dirs.iter().filter(|dir| *dir != ROOT);
        Ok(Self {
            files: paths("allowedFiles", scope.allowed_files.iter())?,
            dirs: paths("allowedDirs", dirs)?,
            is_everything: scope.allowed_dirs.iter().any(|dir| dir == ROOT),
            forbidden: paths("forbiddenFiles", scope.forbidden_files.iter())?,
        })
    }

    /// Returns the scope as the gates judge it. A rule for a path also covers all paths below it, so [`Self::check`] is
    /// needed as well.
    pub(super) fn scope(&self) -> Result<Scope, ActionError> {
        let rules =
            |paths: &[&RelPath]| paths.iter().map(|path| rule(path)).collect::<Result<Vec<_>, _>>();
        let allowed: Vec<&RelPath> = self.files.iter().chain(&self.dirs).collect();
        let allow = match self.is_everything {
            true => None,
            false => Some(rules(&allowed)?),
        };
        Ok(Scope { allow, deny: rules(&self.forbidden.iter().collect::<Vec<_>>())? })
    }

    /// Checks that the requested operations stay within the scope.
    pub(super) fn check_asked(&self, operations: &[Operation]) -> Result<(), ActionError> {
        // A copy does not change its source.
        let written = operations.iter().flat_map(|operation| {
            let is_copy = matches!(operation, Operation::Copy { .. });
            operation.paths().skip(usize::from(is_copy))
        });
        self.check_covers(written)
    }

    /// Checks that the computed effects stay within the scope.
    pub(super) fn check(&self, change: &[PathEffect]) -> Result<(), ActionError> {
        let (files, directories): (Vec<_>, Vec<_>) =
            change.iter().partition(|effect| effect.effect.is_of_file());
        self.check_covers(files.iter().flat_map(|effect| effect.paths()))?;
        // A directory needs its own permission only if no file below it changes.
        let has_file = |path: &RelPath| {
            files.iter().flat_map(|effect| effect.paths()).any(|file| file.starts_with(path))
        };
        let alone = directories.iter().map(|effect| &effect.path.0).filter(|path| !has_file(path));
        for path in alone {
            if !self.is_everything && !self.dirs.iter().any(|dir| path.starts_with(dir)) {
                let message = format!(
                    "the directory `{path}` would be made or removed, and it is none of `scope.allowedDirs` nor \
                     below one"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
        }
        Ok(())
    }

    /// Returns true if everything in these directories may be written.
    pub(super) fn cover_all(&self, directories: &[RelPath]) -> bool {
        directories.iter().all(|directory| {
            let is_allowed =
                self.is_everything || self.dirs.iter().any(|dir| directory.starts_with(dir));
            let is_touched =
                |path: &RelPath| path.starts_with(directory) || directory.starts_with(path);
            is_allowed && !self.forbidden.iter().any(is_touched)
        })
    }

    fn check_covers<'p>(
        &self,
        paths: impl Iterator<Item = &'p RelPath>,
    ) -> Result<(), ActionError> {
        for path in paths {
            if let Some(forbidden) = self.forbidden.iter().find(|of| path.starts_with(of)) {
                let message = format!(
                    "`{path}` would be changed, and `scope.forbiddenFiles` has `{forbidden}`"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
            let is_allowed = self.is_everything
                || self.files.contains(path)
                || self.dirs.iter().any(|dir| dir != path && path.starts_with(dir));
            if !is_allowed && self.files.is_empty() && self.dirs.is_empty() {
                let message = format!(
                    "`{path}` would be changed, and the plan has no `scope` that allows anything: name it in \
                     `scope.allowedFiles`, or a directory in `scope.allowedDirs`"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
            if !is_allowed {
                let message = format!(
                    "`{path}` would be changed, and it is neither in `scope.allowedFiles` nor below one of \
                     `scope.allowedDirs`"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
        }
        Ok(())
    }
}

fn paths<'s>(
    list: &str,
    texts: impl Iterator<Item = &'s String>,
) -> Result<Vec<RelPath>, ActionError> {
    let read = texts.map(|text| {
        let plain = text.strip_suffix('/').unwrap_or(text);
        RelPath::new(plain).map_err(|error| {
            let given = Quoted(text.as_bytes());
            let message =
                format!("`scope.{list}` has `{given}`, which cannot be used: {}", error.problem);
            ActionError::rejected(Reason::ScopeUnusable, message)
        })
    });
    read.collect()
}

fn rule(path: &RelPath) -> Result<PathRule, ActionError> {
    PathRule::exactly(path).ok_or_else(|| {
        let message = format!("the scope has `{path}`, which has too many names for a rule");
        ActionError::rejected(Reason::ScopeUnusable, message)
    })
}
