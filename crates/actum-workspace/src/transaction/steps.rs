//! Execution of all steps of a change. If some are refused, the others are tried too, so that the author of the change
//! sees every refusal at once.

use std::collections::BTreeSet;

use actum_core::RelPath;
use actum_edit::Operation;

use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::transaction::Transaction;

/// Number of refusals of one change that are reported.
const REFUSALS_MAX: usize = 100;

impl<D: Disk> Transaction<'_, D> {
    /// Carries out all steps, in order. After a refusal the steps at other paths are still tried. So the error reports
    /// each refusal that does not follow from another, up to 100 of them.
    ///
    /// # Errors
    /// Any [`ErrorKind`] about a step, with others in [`Error::also`]; the transaction is then no longer usable.
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

/// Refusals so far, and the paths at which no further refusal can be reported.
#[derive(Default)]
struct Refused {
    errors: Vec<ErrorKind>,
    /// Paths of steps that were not done, and the directories above them.
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

    /// Returns true if a step is at, above or below a path of a step that was not done.
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
    /// Returns true if it concerns one step of a change, and not the machine or the workspace.
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
