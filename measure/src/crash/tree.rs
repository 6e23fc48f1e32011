//! Tree on the disk, and its comparison with a version of the plan.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use actum_workspace::STATE_DIRECTORY;

use super::Failure;
use super::plan::{LINK, Leaf, Version, directories};

/// Maximum number of differences in a report.
const SHOWN_MAX: usize = 6;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Node {
    File { content: Vec<u8>, mode: u32 },
    Directory { mode: u32 },
    Other,
}

/// Everything below a directory, except actum's own state.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
    /// Permission bits of a newly created directory.
    directory_mode: u32,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let mut nodes = BTreeMap::new();
        read_below(root, "", &mut nodes)
            .map_err(|error| format!("reading the tree `{}`: {error}", root.display()))?;
        Ok(Self { nodes, directory_mode: 0o777 & !umask()? })
    }

    pub(super) fn is(&self, version: &Version) -> bool {
        // Most versions already differ in the first file compared.
        let files = self.nodes.iter().filter_map(|(path, node)| match node {
            Node::File { content, mode } => Some((path, content.as_slice(), *mode)),
            Node::Directory { .. } | Node::Other => None,
        });
        files.eq(version.iter().map(|(path, leaf)| (path, &*leaf.content, leaf.mode)))
            && self.differences(version).is_empty()
    }

    /// Describes the differences from `version`.
    pub(super) fn differences(&self, version: &Version) -> Vec<String> {
        let mut wanted: BTreeMap<&str, Node> = version
            .iter()
            .map(|(path, leaf)| {
                let content = leaf.content.to_vec();
                (path.as_str(), Node::File { content, mode: leaf.mode })
            })
            .collect();
        for directory in directories(version) {
            wanted.insert(directory, Node::Directory { mode: self.directory_mode });
        }
        let mut differences = Vec::new();
        for (path, node) in &self.nodes {
            match wanted.remove(path.as_str()) {
                Some(wanted) if wanted == *node => {}
                Some(wanted) => differences.push(format!(
                    "`{path}` is {}, and should be {}",
                    in_words(node),
                    in_words(&wanted)
                )),
                None => {
                    differences.push(format!("`{path}` is {}, and should not be", in_words(node)))
                }
            }
        }
        let missing = |(path, node): (&str, Node)| {
            format!("`{path}` is missing, and should be {}", in_words(&node))
        };
        differences.extend(wanted.into_iter().map(missing));
        differences
    }

    /// Describes the first differences, for a report.
    pub(super) fn differences_in_short(&self, version: &Version) -> String {
        let differences = self.differences(version);
        let more = differences.len().saturating_sub(SHOWN_MAX);
        let mut text = differences.into_iter().take(SHOWN_MAX).collect::<Vec<_>>().join("; ");
        if more > 0 {
            text += &format!("; and {more} more");
        }
        text
    }
}

/// Writes a version into the empty directory `root`.
pub(super) fn write(root: &Path, version: &Version) -> Result<(), Failure> {
    for directory in directories(version) {
        std::fs::create_dir_all(root.join(directory))?;
    }
    for (path, leaf) in version {
        write_leaf(&root.join(path), leaf)?;
    }
    Ok(())
}

/// Creates a file or a symbolic link at an unused path.
pub(super) fn write_leaf(path: &Path, leaf: &Leaf) -> io::Result<()> {
    if leaf.mode == LINK {
        return symlink(OsStr::from_bytes(&leaf.content), path);
    }
    let mut file = File::create_new(path)?;
    file.write_all(&leaf.content)?;
    file.set_permissions(Permissions::from_mode(leaf.mode))
}

fn read_below(root: &Path, at: &str, nodes: &mut BTreeMap<String, Node>) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(at))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if at.is_empty() && name == STATE_DIRECTORY {
            continue;
        }
        let path = if at.is_empty() { name } else { format!("{at}/{name}") };
        let full = root.join(&path);
        let found = std::fs::symlink_metadata(&full)?;
        let mode = found.mode() & 0o7777;
        let node = if found.is_dir() {
            read_below(root, &path, nodes)?;
            Node::Directory { mode }
        } else if found.is_file() {
            Node::File { content: std::fs::read(&full)?, mode }
        } else if found.is_symlink() {
            Node::File {
                content: std::fs::read_link(&full)?.into_os_string().into_vec(),
                mode: LINK,
            }
        } else {
            Node::Other
        };
        nodes.insert(path, node);
    }
    Ok(())
}

fn umask() -> Result<u32, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let umask = text.lines().find_map(|line| line.strip_prefix("Umask:"));
    Ok(u32::from_str_radix(umask.ok_or("the kernel does not tell the umask")?.trim(), 8)?)
}

fn in_words(node: &Node) -> String {
    match node {
        Node::Directory { mode } => format!("a directory {mode:04o}"),
        Node::Other => "neither file nor directory".to_owned(),
        Node::File { content, mode } => {
            let first = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let first: String = String::from_utf8_lossy(first).chars().take(40).collect();
            let zeros = content.iter().filter(|&&byte| byte == 0).count();
            let zeros = if zeros > 0 { format!(", {zeros} of them zero") } else { String::new() };
            let digest = actum_core::Digest::of(content).to_string();
            let digest: String = digest.chars().take(8).collect();
            format!("a file {mode:04o} of {} bytes{zeros} {digest} `{first}`", content.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::plan::Plan;

    #[test]
    fn written_version_matches_and_any_loss_is_detected() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let mut plan = Plan::new(1);
        let version = plan.version(0).unwrap().clone();
        write(root, &version).unwrap();
        assert!(Tree::read(root).unwrap().is(&version));
        assert!(!Tree::read(root).unwrap().is(plan.version(1).unwrap()));
        let (path, leaf) = version.iter().find(|(_, leaf)| leaf.content.len() > 5000).unwrap();
        let mut torn = leaf.content.to_vec();
        torn[4096..].fill(0);
        let set_mode = |mode| {
            std::fs::set_permissions(root.join(path), Permissions::from_mode(mode)).unwrap();
        };
        std::fs::write(root.join(path), torn).unwrap();
        set_mode(leaf.mode);
        let zeros = leaf.content.len() - 4096;
        let message = Tree::read(root).unwrap().differences_in_short(&version);
        assert!(message.contains(&format!("{zeros} of them zero")), "{message}");
        std::fs::write(root.join(path), &leaf.content).unwrap();
        set_mode(0o611);
        assert_eq!(Tree::read(root).unwrap().differences(&version).len(), 1);
        set_mode(leaf.mode);
        std::fs::create_dir(root.join("empty")).unwrap();
        assert!(!Tree::read(root).unwrap().is(&version));
    }
}
