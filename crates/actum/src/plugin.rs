//! Plugin packages, which are third-party actions written in JavaScript. actum reads the entire package first and then
//! runs its steps one by one in a sandbox. No claim of a package is trusted (AA-8 to AA-11).
//!
//! A [`Package`] holds the bytes that were read and checked, and only a private copy of these bytes is executed.
//! [`Steps`] runs each of the three JavaScript files in a separate process. The changes made by `execute` are captured
//! as operations, and the findings of `verify` become checks. [`RollbackEvidence`] proves that `rollback` restored
//! everything, because actum itself compares the files without relying on the package.

mod answer;
mod confinement;
mod directory;
mod error;
mod evidence;
mod modules;
mod node;
mod package;
mod private_copy;
mod steps;

pub use error::{Difference, PluginError};
pub use evidence::RollbackEvidence;
pub use node::{NODE_MAJOR_LEAST, Node};
pub use package::{Package, PackageProblem};
pub use steps::{Call, Executed, Step, Steps};

/// Proof that the operator's policy allows plugin code to run (AA-9). Only the policy reader can create this value, so
/// neither a package nor a plan can grant the permission to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginCode(());

impl PluginCode {
    /// Returns the permission if `by`, the setting in the operator's policy, is true.
    pub(crate) fn allowed(by: bool) -> Option<Self> {
        by.then_some(Self(()))
    }
}
