//! The way to one place: names and indices from the outside in.

use std::fmt;

use serde_json_path::{NormalizedPath, PathElement};

/// One step of a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::edit) enum Step {
    /// Into the member of this name.
    Name(String),
    /// Into the element with this number, counted from 0.
    Index(usize),
}

/// The steps to a place, none to the whole document.
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

    /// The first steps of it.
    pub(in crate::edit) fn first(&self, steps: usize) -> Self {
        Self(self.0.iter().take(steps).cloned().collect())
    }
}

impl fmt::Display for NodePath {
    /// Writes a normalized path (RFC 9535, section 2.7), not escaped for a terminal.
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
