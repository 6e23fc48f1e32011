//! Plugin packages: third-party actions in JavaScript. A package is read completely, and runs step by step in a
//! sandbox; nothing that it claims is trusted (AA-8 to AA-11).
//!
//! A [`Package`] holds the bytes that were read and checked; the process runs a private copy of these bytes. [`Steps`]
//! runs each of its three files as a separate process. Changes of `execute` are captured as operations, and findings of
//! `verify` as checks. [`RollbackEvidence`] states whether `rollback` restored everything; actum compares this itself,
//! without the package.

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

/// Permission of the operator's policy to run the code of packages (AA-9). Only the reader of that policy creates it,
/// so neither a package nor a plan can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginCode(());

impl PluginCode {
    /// Returns the permission if the operator's policy grants it.
    pub(crate) fn allowed(by: bool) -> Option<Self> {
        by.then_some(Self(()))
    }
}
