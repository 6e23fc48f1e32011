//! Path to a single node: member names and array indices from the root of a document.

use std::fmt;

use serde_json_path::{NormalizedPath, PathElement};

/// Step of a node path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::edit) enum Step {
    /// Selects the member with this name.
    Name(String),
    /// Selects the element with this index, counted from 0.
    Index(usize),
}

/// Steps from the root of a document to a node. An empty path refers to the whole document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::edit) struct NodePath(pub(in crate::edit) Vec<Step>);

impl NodePath {
    pub(super) fn new(path: &NormalizedPath<'_>) -> Self {
        let step = |element: &PathElement<'_>| match element {
            PathElement::Name(name) => Step::Name((*name).to_owned()),
            PathElement::Index(index) => Step::Index(*index),
        };
        Self(path.iter().map(step).collect())
    }

    /// Returns a path that consists of the first `steps` steps.
    pub(in crate::edit) fn first(&self, steps: usize) -> Self {
        Self(self.0.iter().take(steps).cloned().collect())
    }
}

impl fmt::Display for NodePath {
    /// Formats a normalized path (RFC 9535, section 2.7). Control characters are not escaped for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Name(name) => {
                write!(f, "['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))
            }
            Step::Index(index) => write!(f, "[{index}]"),
        })
    }
}
