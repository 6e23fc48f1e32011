//! Changes between two trees, path by path.

use super::tree::{Leaf, Tree};

/// Number of leading bytes that git searches for a NUL to classify a file as binary.
const LOOKED_AT_MAX: usize = 8000;

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Added { new: Leaf },
    Deleted { old: Leaf },
    Modified { old: Leaf, new: Leaf },
}

/// Change with text on both sides and an unchanged mode.
pub(super) struct TextChange<'a> {
    /// Path of the change, which must be text as well.
    pub(super) path: &'a str,
    pub(super) kind: TextKind<'a>,
}

pub(super) enum TextKind<'a> {
    Added { new: &'a str },
    Modified { old: &'a str, new: &'a str },
}

impl Change {
    /// Returns the change if it can be expressed in a format with only text and no modes.
    pub(super) fn text(&self) -> Option<TextChange<'_>> {
        let path = std::str::from_utf8(&self.path).ok()?;
        let kind = match &self.kind {
            Kind::Added { new } if !new.is_executable() => TextKind::Added { new: text(new)? },
            Kind::Modified { old, new } if old.is_executable() == new.is_executable() => {
                TextKind::Modified { old: text(old)?, new: text(new)? }
            }
            Kind::Added { .. } | Kind::Modified { .. } | Kind::Deleted { .. } => return None,
        };
        Some(TextChange { path, kind })
    }

    /// Whether the change adds or removes bytes of a binary file, in git's definition.
    pub(super) fn is_binary(&self) -> bool {
        match &self.kind {
            Kind::Added { new: leaf } | Kind::Deleted { old: leaf } => is_binary(&leaf.content),
            Kind::Modified { old, new } => {
                old.content != new.content && (is_binary(&old.content) || is_binary(&new.content))
            }
        }
    }

    /// Makes this change in `tree`.
    pub(super) fn make_in(&self, tree: &mut Tree) {
        match &self.kind {
            Kind::Added { new } | Kind::Modified { new, .. } => tree.put(&self.path, new.clone()),
            Kind::Deleted { .. } => tree.remove(&self.path),
        }
    }
}

/// Returns the changes that lead from `old` to `new`, sorted by path.
pub(super) fn changes(old: &Tree, new: &Tree) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, old) in &old.files {
        let kind = match new.files.get(path).cloned() {
            None => Kind::Deleted { old: old.clone() },
            Some(new)
                if new.content == old.content && new.is_executable() == old.is_executable() =>
            {
                continue;
            }
            Some(new) => Kind::Modified { old: old.clone(), new },
        };
        changes.push(Change { path: path.clone(), kind });
    }
    let added = new.files.iter().filter(|(path, _)| !old.files.contains_key(*path));
    changes.extend(
        added.map(|(path, new)| Change {
            path: path.clone(),
            kind: Kind::Added { new: new.clone() },
        }),
    );
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

pub(super) fn text(leaf: &Leaf) -> Option<&str> {
    std::str::from_utf8(&leaf.content).ok()
}

fn is_binary(content: &[u8]) -> bool {
    content.iter().take(LOOKED_AT_MAX).any(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_transform_the_old_tree_into_the_new_one() {
        let old = Tree::new(&[("a", b"1", 0o644), ("b", b"2", 0o644), ("c", b"3", 0o644)]);
        let new = Tree::new(&[("a", b"1", 0o600), ("b", b"2", 0o755), ("d/e", b"\0", 0o644)]);
        let changes = changes(&old, &new);
        let paths: Vec<&[u8]> = changes.iter().map(|change| change.path.as_slice()).collect();
        assert_eq!(paths, [b"b".as_slice(), b"c", b"d/e"]);
        assert_eq!(changes.iter().map(Change::is_binary).collect::<Vec<_>>(), [false, false, true]);
        let mut made = old;
        changes.iter().for_each(|change| change.make_in(&mut made));
        assert_eq!(super::changes(&made, &new), []);
    }

    #[test]
    fn only_utf_8_modifications_without_a_mode_change_are_text() {
        let old = Tree::new(&[("a", b"1", 0o644), ("b", b"2", 0o644), ("c", b"\xff", 0o644)]);
        let new = Tree::new(&[("a", b"2", 0o644), ("b", b"3", 0o755), ("d", b"", 0o755)]);
        let changes = changes(&old, &new);
        let texts: Vec<&str> =
            changes.iter().filter_map(|change| Some(change.text()?.path)).collect();
        assert_eq!(texts, ["a"]);
    }
}
