//! Plugin packages: actions that somebody else wrote in JavaScript, read whole, run step by step in a sandbox, and
//! believed in nothing (AA-8 to AA-11).
//!
//! A [`Package`] is the bytes that were read and judged; what is run is a private copy of these bytes. [`Steps`]
//! runs each of its three files as a process of its own: what `execute` changes comes back as operations, what
//! `verify` finds as checks, and of `rollback` the [`RollbackEvidence`] tells whether all is as before, as it was
//! compared here and not by the package.

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

/// That the operator's policy lets the code of packages run (AA-9). Only what reads that policy makes one, so no
/// package and no plan can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginCode(());

impl PluginCode {
    /// What the operator's policy says.
    pub(crate) fn allowed(by: bool) -> Option<Self> {
        by.then_some(Self(()))
    }
}
