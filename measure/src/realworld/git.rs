//! Uses git to compute the change between two trees, and to apply it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Failure;
use super::child::{ChildError, run};
use super::tree::Tree;

/// Time limit of one git command.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(300);

/// All files are treated as bytes. These attributes override all others, including those in a package.
const ATTRIBUTES: &str = "* -text !eol !crlf -ident !filter !working-tree-encoding !diff !merge \
                          !whitespace !export-subst !export-ignore\n";

/// Complete configuration under which git runs.
const CONFIGURATION: [&str; 6] = [
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.fileMode=true",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
];

/// Environment variables that would redirect git, for example if a git hook runs this program.
const VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
];

/// Repository with both trees as commits.
pub(super) struct Repository {
    directory: PathBuf,
}

/// Whether git searches for moved files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renames {
    Found,
    NotLookedFor,
}

/// Files that git found at another path in the old tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    pub(super) moved: Vec<Moved>,
    /// Number of copied files.
    pub(super) copied: usize,
}

/// File that moved, and whose content may have changed as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
}

impl Renames {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Found => &["-M", "-C", "--find-copies-harder"],
            Self::NotLookedFor => &["--no-renames"],
        }
    }
}

impl Repository {
    /// Creates a repository in the empty `directory`, with both trees stored byte for byte.
    pub(super) fn make(directory: &Path, old: &Tree, new: &Tree) -> Result<Self, Failure> {
        initialise(directory)?;
        let stream = directory.join("stream");
        let mut file = BufWriter::new(File::create_new(&stream)?);
        write_commit(&mut file, "old", old)?;
        write_commit(&mut file, "new", new)?;
        file.into_inner()?;
        run(git(directory, &["fast-import", "--quiet"]).stdin(File::open(&stream)?), TIME_MAX)?;
        std::fs::remove_file(stream)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Returns the change as a patch.
    pub(super) fn diff(&self, renames: Renames) -> Result<Vec<u8>, ChildError> {
        let flags = ["diff", "--binary", "--full-index", "--no-textconv", "--no-ext-diff"];
        let arguments = [flags.as_slice(), renames.arguments(), &["old", "new", "--"]].concat();
        run(&mut git(&self.directory, &arguments), TIME_MAX)
    }

    /// Returns the moved and copied files, according to git's rename detection.
    pub(super) fn found(&self) -> Result<Found, ChildError> {
        let flags = ["diff", "--raw", "-z"];
        let renames = Renames::Found.arguments();
        let arguments = [flags.as_slice(), renames, &["old", "new", "--"]].concat();
        Ok(found(&run(&mut git(&self.directory, &arguments), TIME_MAX)?))
    }
}

/// Applies the patch in `tree` with `git apply`, and returns the time it took. The files there are untracked, so git has no prior
/// knowledge of their contents.
pub(super) fn apply(tree: &Path, patch: &Path) -> Result<Duration, Failure> {
    initialise(tree)?;
    let begun = Instant::now();
    let mut command = git(tree, &["apply", "--whitespace=nowarn"]);
    run(command.stdin(File::open(patch)?), TIME_MAX)?;
    Ok(begun.elapsed())
}

/// Creates a repository in `directory` that stores files byte for byte.
pub(crate) fn initialise(directory: &Path) -> Result<(), Failure> {
    run(&mut git(directory, &["init", "--quiet", "--template="]), TIME_MAX)?;
    let information = directory.join(".git").join("info");
    std::fs::create_dir(&information)?;
    std::fs::write(information.join("attributes"), ATTRIBUTES)?;
    Ok(())
}

/// Returns a git command in `directory` that ignores user and system configuration.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    for setting in CONFIGURATION {
        command.args(["-c", setting]);
    }
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("LC_ALL", "C");
    command
}

/// Writes a commit in the format of git-fast-import(1), which stores contents unchanged.
fn write_commit(to: &mut impl Write, branch: &str, tree: &Tree) -> std::io::Result<()> {
    write!(to, "commit refs/heads/{branch}\ncommitter actum <actum> 0 +0000\ndata 0\ndeleteall\n")?;
    for (path, leaf) in &tree.files {
        let mode = if leaf.is_executable() { "100755" } else { "100644" };
        write!(to, "M {mode} inline ")?;
        to.write_all(&quoted(path))?;
        write!(to, "\ndata {}\n", leaf.content.len())?;
        to.write_all(&leaf.content)?;
        to.write_all(b"\n")?;
    }
    Ok(())
}

/// Returns a path with C-style quoting.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for &byte in path {
        match byte {
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', byte]),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'"');
    quoted
}

/// Parses the output of `git diff --raw -z`: `:modes ids status` and one path, or two after `R` and `C`.
fn found(raw: &[u8]) -> Found {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut found = Found::default();
    while let Some(header) = fields.next() {
        let status = header.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
        let Some(from) = fields.next() else { break };
        match status.first() {
            Some(b'R') => {
                let to = fields.next().unwrap_or_default().to_vec();
                found.moved.push(Moved { from: from.to_vec(), to });
            }
            Some(b'C') => found.copied += usize::from(fields.next().is_some()),
            Some(_) | None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree::Modes;
    use super::*;

    #[test]
    fn moves_are_distinguished_from_copies_and_changes() {
        let raw = b":100644 100644 1 2 M\0a\0:100644 100644 1 1 C100\0b\0c\0\
                    :100644 100755 1 2 R090\0d\0e f\0:100644 000000 1 0 D\0g\0";
        let moved = vec![Moved { from: b"d".to_vec(), to: b"e f".to_vec() }];
        assert_eq!(found(raw), Found { moved, copied: 1 });
        assert_eq!(found(b""), Found::default());
    }

    #[test]
    fn gitattributes_of_a_package_have_no_effect() {
        let place = tempfile::tempdir().unwrap();
        let attributes: &[u8] = b"* text=auto eol=lf ident\n*.bin -diff\n";
        let old = Tree::new(&[
            (".gitattributes", attributes, 0o644),
            ("a \"b\"\n\\", b"1\r\n2\r\n", 0o644),
            ("c.bin", b"$Id$\r\n", 0o644),
        ]);
        let new = Tree::new(&[
            (".gitattributes", attributes, 0o644),
            ("a \"b\"\n\\", b"1\r\n3\r\n\xff", 0o755),
            ("d", b"$Id$\r\n", 0o644),
        ]);
        let [repository, work] = ["repository", "work"].map(|name| place.path().join(name));
        std::fs::create_dir(&repository).unwrap();
        let repository = Repository::make(&repository, &old, &new).unwrap();
        assert_eq!(
            repository.found().unwrap().moved,
            [Moved { from: b"c.bin".to_vec(), to: b"d".to_vec() }]
        );
        let patch = place.path().join("patch");
        std::fs::write(&patch, repository.diff(Renames::NotLookedFor).unwrap()).unwrap();
        old.write(&work).unwrap();
        apply(&work, &patch).unwrap();
        assert_eq!(Tree::read(&work).unwrap().check_same(&new, Modes::Executable), Ok(()));
    }
}
