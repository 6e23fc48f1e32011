//! Execution of all steps of a change. If a step is rejected, the remaining steps are still tried, so that the author
//! of the change sees all rejections together.

use std::collections::BTreeSet;

use actum_core::RelPath;
use actum_edit::Operation;

use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::transaction::Transaction;

/// Maximum number of rejected steps that are reported for one change.
const REFUSALS_MAX: usize = 100;

impl<D: Disk> Transaction<'_, D> {
    /// Carries out all steps in order. After a rejected step, steps at unrelated paths are still tried. The error
    /// therefore reports up to 100 independent rejections.
    ///
    /// # Errors
    /// Any [`ErrorKind`] that concerns a step, with further ones in [`Error::also`]. The transaction cannot be used
    /// after an error.
    pub fn operate_all(&mut self, operations: &[Operation]) -> Result<()> {
        let mut refused = Refused::default();
        for operation in operations {
            if refused.concern(operation) {
                refused.at(operation);
                continue;
            }
            match self.operate(operation) {
                Ok(()) => {}
                Err(error) if error.kind.is_refusal() => {
                    refused.at(operation);
                    refused.errors.push(error.kind);
                }
                Err(error) => return Err(error),
            }
            if refused.errors.len() >= REFUSALS_MAX {
                break;
            }
        }
        let mut errors = refused.errors.into_iter();
        match errors.next() {
            None => Ok(()),
            Some(first) => Err(Error { also: errors.collect(), ..Error::from(first) }),
        }
    }
}

/// Rejected steps so far, and the paths at which further rejections would only be consequences.
#[derive(Default)]
struct Refused {
    errors: Vec<ErrorKind>,
    /// Paths of all steps that were not carried out.
    paths: BTreeSet<RelPath>,
    above: BTreeSet<RelPath>,
}

impl Refused {
    fn at(&mut self, operation: &Operation) {
        for path in operation.paths() {
            self.above.extend(above(path));
            self.paths.insert(path.clone());
        }
    }

    /// Returns true if the step affects a path of a skipped step, or any path above or below one.
    fn concern(&self, operation: &Operation) -> bool {
        let related = |path: &RelPath| {
            self.paths.contains(path)
                || self.above.contains(path)
                || above(path).any(|above| self.paths.contains(&above))
        };
        !self.errors.is_empty() && operation.paths().any(related)
    }
}

fn above(path: &RelPath) -> impl Iterator<Item = RelPath> {
    std::iter::successors(path.parent(), RelPath::parent)
}

impl ErrorKind {
    /// Returns true if the error concerns a single step of a change, as opposed to the machine or the workspace.
    fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Path { .. }
                | Self::Scope { .. }
                | Self::Hunk { .. }
                | Self::Edit { .. }
                | Self::TooLargeToSearch { .. }
                | Self::Expected { .. }
                | Self::Missing { .. }
                | Self::Exists { .. }
                | Self::NotAFile { .. }
                | Self::Component { .. }
                | Self::UnderAFile { .. }
                | Self::OtherFileSystem { .. }
                | Self::Private { .. }
                | Self::HardLink { .. }
                | Self::Blocked { .. }
        )
    }
}
