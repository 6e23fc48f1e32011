//! One-line summaries of operations, for logs.

use std::collections::BTreeSet;

use actum_core::RelPath;

use super::Operation;

/// Maximum number of characters of a path in a summary.
const SUMMARY_PATH_CHARS_MAX: usize = 200;

/// Converts a path to text, and replaces the start of a long path with `…`.
fn shortened(path: &RelPath) -> String {
    let text = String::from_utf8_lossy(path.as_bytes());
    match text.chars().count().checked_sub(SUMMARY_PATH_CHARS_MAX) {
        None | Some(0) => text.into_owned(),
        Some(over) => format!("…{}", text.chars().skip(over).collect::<String>()),
    }
}

impl Operation {
    /// Summarizes operations in one line, for logs. The summary contains the effect of the first operation, and the number of
    /// other paths that the operations name. Long paths are shortened, and invalid UTF-8 is replaced, but nothing is escaped.
    pub fn summary(operations: &[Self]) -> String {
        let Some(first) = operations.first() else { return "change nothing".to_owned() };
        let verb = match first {
            Self::Create { .. } | Self::Take { expected: None, .. } => "create",
            Self::Patch { .. } | Self::Edit { .. } | Self::Write { .. } | Self::Take { .. } => {
                "edit"
            }
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
            Self::Copy { .. } => "copy",
            Self::Chmod { .. } | Self::ChmodDirectory { .. } => "chmod",
            Self::MakeDirectory { .. } => "make directory",
            Self::RemoveDirectory { .. } => "remove directory",
            Self::Link { .. } => "link",
        };
        let named: Vec<String> = first.paths().map(shortened).collect();
        let all: BTreeSet<&RelPath> = operations.iter().flat_map(Self::paths).collect();
        let of_first: BTreeSet<&RelPath> = first.paths().collect();
        let more = match all.len().saturating_sub(of_first.len()) {
            0 => String::new(),
            more => format!(" +{more} more"),
        };
        format!("{verb} {}{more}", named.join(" -> "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::EmptyParents;

    /// FO-9
    #[test]
    fn a_summary_names_the_first_effect_and_counts_the_other_paths() {
        let path = |text: &str| RelPath::new(text).unwrap();
        let create = |text| Operation::Create { path: path(text), content: Vec::new(), mode: None };
        let rename = |from, to| {
            let (from, to) = (path(from), path(to));
            Operation::Rename { from, to, parents: EmptyParents::Keep }
        };
        let of = Operation::summary;
        assert_eq!(of(&[]), "change nothing");
        assert_eq!(of(&[create("a")]), "create a");
        assert_eq!(of(&[create("a"), create("a")]), "create a");
        assert_eq!(of(&[rename("a", "b"), create("b"), create("c")]), "rename a -> b +1 more");
        let longest = "x".repeat(SUMMARY_PATH_CHARS_MAX);
        assert_eq!(of(&[create(&longest)]), format!("create {longest}"));
        assert_eq!(of(&[create(&format!("a/{longest}"))]), format!("create …{longest}"));
    }
}
