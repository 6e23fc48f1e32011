//! Write scope of an action: compares the paths that its plan allows with the paths that it really changes (AA-4).

use actum_action::PlanScope;
use actum_core::path::Quoted;
use actum_core::{PathRule, RelPath, Scope};
use actum_edit::Operation;
use actum_record::receipt::PathEffect;

use super::action_error::ActionError;
use crate::reason::Reason;

/// Parsed scope of a plan. Its entries are plain paths, not patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    files: Vec<RelPath>,
    dirs: Vec<RelPath>,
    /// Whether `allowedDirs` contains `.`, which allows changes in the whole workspace.
    is_everything: bool,
    forbidden: Vec<RelPath>,
}

/// Entry of `allowedDirs` that allows the whole workspace.
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

    /// Converts the plan's scope into a scope that the gates evaluate. It is less strict, because a rule for a file
    /// also covers all paths below it, so [`Self::check`] is needed as well.
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

    /// Checks that the requested operations write only to paths within the scope.
    pub(super) fn check_asked(&self, operations: &[Operation]) -> Result<(), ActionError> {
        // Skip the source of a copy, which is only read.
        let written = operations.iter().flat_map(|operation| {
            let is_copy = matches!(operation, Operation::Copy { .. });
            operation.paths().skip(usize::from(is_copy))
        });
        self.check_covers(written)
    }

    /// Checks that the actual effects of a change stay within the scope.
    pub(super) fn check(&self, change: &[PathEffect]) -> Result<(), ActionError> {
        let (files, directories): (Vec<_>, Vec<_>) =
            change.iter().partition(|effect| effect.effect.is_of_file());
        self.check_covers(files.iter().flat_map(|effect| effect.paths()))?;
        // A directory with a changed file below it is covered by the check of that file.
        let has_file = |path: &RelPath| {
            files.iter().flat_map(|effect| effect.paths()).any(|file| file.starts_with(path))
        };
        let alone = directories.iter().map(|effect| &effect.path.0).filter(|path| !has_file(path));
        for path in alone {
            if !self.is_everything && !self.dirs.iter().any(|dir| path.starts_with(dir)) {
                let message = format!(
                    "the directory `{path}` would be created or removed, but it is not in or below a directory of \
                     `scope.allowedDirs`"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
        }
        Ok(())
    }

    /// Returns whether the scope allows writing every path in these directories.
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
                    "`{path}` would be changed, but `scope.forbiddenFiles` contains `{forbidden}`"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
            let is_allowed = self.is_everything
                || self.files.contains(path)
                || self.dirs.iter().any(|dir| dir != path && path.starts_with(dir));
            if !is_allowed && self.files.is_empty() && self.dirs.is_empty() {
                let message = format!(
                    "`{path}` would be changed, but the plan's `scope` allows no paths: add it to \
                     `scope.allowedFiles`, or its directory to `scope.allowedDirs`"
                );
                return Err(ActionError::rejected(Reason::OutsideScope, message));
            }
            if !is_allowed {
                let message = format!(
                    "`{path}` would be changed, but it is neither in `scope.allowedFiles` nor below a directory of \
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
            let message = format!("invalid path `{given}` in `scope.{list}`: {}", error.problem);
            ActionError::rejected(Reason::ScopeUnusable, message)
        })
    });
    read.collect()
}

fn rule(path: &RelPath) -> Result<PathRule, ActionError> {
    PathRule::exactly(path).ok_or_else(|| {
        let message =
            format!("the scope contains `{path}`, which has too many components for a rule");
        ActionError::rejected(Reason::ScopeUnusable, message)
    })
}
