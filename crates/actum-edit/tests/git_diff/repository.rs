//! Git repository in a temporary directory, used to write and apply diffs with git.

#![expect(clippy::disallowed_methods, reason = "git is a program, and works on files")]

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use actum_core::RelPath;
use tempfile::TempDir;

use crate::model::Tree;

pub(crate) struct Repository(TempDir);

impl Repository {
    /// Creates an empty repository with the object format `sha1` or `sha256`.
    pub(crate) fn new(format: &str) -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q", "--object-format", format], b"").unwrap();
        repository
    }

    /// Returns the diff between two trees, with all renames and copies that git detects.
    pub(crate) fn diff(&self, before: &Tree, after: &Tree) -> Vec<u8> {
        self.diff_with(&["--binary", "-M", "-C", "--find-copies-harder"], before, after)
    }

    /// Returns the diff that git writes with these options.
    pub(crate) fn diff_with(&self, flags: &[&str], before: &Tree, after: &Tree) -> Vec<u8> {
        let [before, after] = [before, after].map(|tree| {
            self.put(tree);
            self.git(&["add", "-A"], b"").unwrap();
            String::from_utf8(self.git(&["write-tree"], b"").unwrap()).unwrap()
        });
        let range = [before.trim_end(), after.trim_end()];
        self.git(&[&["diff"], flags, &range].concat(), b"").unwrap()
    }

    /// Applies a diff to a tree with `git apply`, or returns git's error message. Do not use it in the repository that made the
    /// diff, because git reuses contents it already has and ignores those in the diff.
    pub(crate) fn apply(&self, tree: &Tree, diff: &[u8]) -> Result<Tree, String> {
        self.apply_with(&[], tree, diff)
    }

    /// Applies a diff with these options.
    pub(crate) fn apply_with(
        &self,
        flags: &[&str],
        tree: &Tree,
        diff: &[u8],
    ) -> Result<Tree, String> {
        self.put(tree);
        self.git(&[&["apply", "--whitespace=nowarn"], flags].concat(), diff)?;
        let mut tree = Tree::default();
        self.read(self.0.path(), &mut tree);
        Ok(tree)
    }

    /// Replaces the files of the repository with those of `tree`.
    fn put(&self, tree: &Tree) {
        for entry in fs::read_dir(self.0.path()).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".git" => {}
                true => fs::remove_dir_all(entry.path()).unwrap(),
                false => fs::remove_file(entry.path()).unwrap(),
            }
        }
        for (path, (content, executable)) in &tree.0 {
            let file = self.0.path().join(std::str::from_utf8(path.as_bytes()).unwrap());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, content).unwrap();
            let mode = if *executable { 0o755 } else { 0o644 };
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        }
    }

    /// Adds the files below `directory` to `tree`.
    fn read(&self, directory: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            if metadata.is_dir() && entry.file_name() != ".git" {
                self.read(&path, tree);
            } else if metadata.is_file() {
                let name = path.strip_prefix(self.0.path()).unwrap().to_str().unwrap();
                let executable = metadata.permissions().mode() & 0o100 != 0;
                let file = (fs::read(&path).unwrap(), executable);
                tree.0.insert(RelPath::new(name).unwrap(), file);
            }
        }
    }

    /// Runs git without any user or system configuration. Returns its output, or its error message.
    fn git(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut git = Command::new("git")
            .args(["-c", "core.safecrlf=false", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CEILING_DIRECTORIES", self.0.path().parent().unwrap())
            .env("LC_ALL", "C")
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_WORK_TREE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Git may stop reading as soon as it finds an error. The diffs of the tests fit into the pipe buffer.
        drop(git.stdin.take().unwrap().write_all(input));
        let output = git.wait_with_output().unwrap();
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
