//! Repository in a temporary directory, created by the `git` program.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use actum_core::{Digest, FileMode, FileState, RelPath, RunId, Timestamp};
use actum_git::{
    Author, Before, Change, Checked, CommitId, Committed, GitProblem, IndexOutcome, Message,
    NewFile, Outcome, Repository, Revert, RunNote,
};

/// Returns the id of the run whose commits the tests make.
pub fn run() -> RunId {
    RunId::from_random(42)
}

/// Returns the id of the run that reverts the first one.
pub fn undo() -> RunId {
    RunId::from_random(43)
}

pub fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

pub struct Repo {
    home: tempfile::TempDir,
    pub root: PathBuf,
}

/// Change of one path by a run: the bytes and whether they are executable, or `None` for a deletion.
pub type Step<'a> = (&'a str, Option<(&'a [u8], bool)>);

impl Repo {
    /// Creates a repository without a commit.
    pub fn unborn() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("work");
        fs::create_dir(&root).unwrap();
        let repo = Self { home, root };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// Creates a repository with one commit that contains these files.
    pub fn with(files: &[(&str, &[u8])]) -> Self {
        let repo = Self::unborn();
        for (path, bytes) in files {
            repo.write(path, bytes);
        }
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        repo
    }

    pub fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
            .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(directory)
            .env("HOME", self.home.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z");
        git
    }

    pub fn try_git(&self, arguments: &[&str]) -> Output {
        self.command(&self.root, arguments).output().unwrap()
    }

    /// Runs git, which must succeed, and returns its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Creates a directory next to the work tree.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let place = self.path(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub fn open(&self) -> Repository {
        Repository::open(&self.root).unwrap()
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub fn tree(&self) -> String {
        self.git(&["rev-parse", "HEAD^{tree}"]).trim().to_owned()
    }

    pub fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    /// Returns the path and bytes of everything below `.git`, to check that nothing changed.
    pub fn git_directory(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut open = vec![self.root.join(".git")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    found.push((path, bytes));
                }
            }
        }
        found.sort();
        found
    }

    /// Returns the current state of the file at a path in the work tree.
    pub fn state(&self, path: &RelPath) -> Option<FileState> {
        let place = self.root.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
        let found = fs::symlink_metadata(&place).ok().filter(fs::Metadata::is_file)?;
        let (sha256, size) = (Digest::of(&fs::read(&place).unwrap()), found.len());
        Some(FileState { sha256, size, mode: FileMode::new(found.permissions().mode()) })
    }

    pub fn before(&self, paths: &[&str]) -> Vec<Before> {
        let before = |path: &&str| Before { path: rel(path), state: self.state(&rel(path)) };
        paths.iter().map(before).collect()
    }

    pub fn check(&self, paths: &[&str]) -> Result<Checked, GitProblem> {
        self.open().check(&self.before(paths))
    }

    /// Changes the work tree as a run would.
    pub fn apply(&self, steps: &[Step<'_>]) {
        for (path, _) in steps.iter().filter(|(_, after)| after.is_none()) {
            if self.path(path).is_file() {
                fs::remove_file(self.path(path)).unwrap();
            }
            let mut parent = self.path(path);
            while parent.pop() && parent != self.root && fs::remove_dir(&parent).is_ok() {}
        }
        for (path, after) in steps {
            if let Some((bytes, executable)) = after {
                self.write(path, bytes);
                let mode = if *executable { 0o755 } else { 0o644 };
                fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }

    /// Commits steps that have already been applied.
    pub fn commit(&self, checked: &Checked, steps: &[Step<'_>]) -> Result<Outcome, GitProblem> {
        let paths: Vec<RelPath> = steps.iter().map(|(path, _)| rel(path)).collect();
        let mut changes = Vec::new();
        for (path, (_, after)) in paths.iter().zip(steps) {
            let mode = |executable| FileMode::REGULAR.with_executable(executable);
            let after = after.map(|(bytes, executable)| NewFile { bytes, mode: mode(executable) });
            changes.push(Change { path, after });
        }
        self.open().commit(checked, &changes, &message(), &author())
    }

    /// Checks, applies and commits the steps, all of which must succeed.
    pub fn run(&self, steps: &[Step<'_>]) -> CommitId {
        let paths: Vec<&str> = steps.iter().map(|(path, _)| *path).collect();
        let checked = self.check(&paths).unwrap();
        self.apply(steps);
        whole(self.commit(&checked, steps).unwrap())
    }

    pub fn revert(&self, commit: CommitId) -> Result<Revert, GitProblem> {
        self.open().revert(commit, run(), |path| self.state(path))
    }

    /// Writes the files of a revert and commits it, which must succeed.
    pub fn commit_revert(&self, revert: &Revert) -> CommitId {
        let text = |path: &RelPath| String::from_utf8(path.as_bytes().to_vec()).unwrap();
        let names: Vec<String> = revert.files().iter().map(|file| text(&file.path)).collect();
        let step = |file: &'_ actum_git::Restored| {
            file.to.as_ref().map(|to| (to.bytes.clone(), to.executable))
        };
        let contents: Vec<_> = revert.files().iter().map(step).collect();
        let steps: Vec<Step<'_>> = names
            .iter()
            .zip(&contents)
            .map(|(name, to)| (name.as_str(), to.as_ref().map(|(bytes, x)| (bytes.as_slice(), *x))))
            .collect();
        self.apply(&steps);
        let message = revert.message(undo());
        let made =
            self.open().commit(revert.checked(), &revert.changes(), &message, &author()).unwrap();
        whole(made)
    }
}

pub fn message() -> Message {
    Message::of_run(&RunNote {
        run: run(),
        task: Some("task-1"),
        plan: Some("plan-1"),
        subject: "Change some files",
        body: "As planned.",
    })
}

pub fn author() -> Author {
    Author::new("Ada", "ada@example.org", Timestamp::from_micros(1_767_323_045_000_000)).unwrap()
}

/// Returns the id of a commit whose index was updated.
pub fn whole(outcome: Outcome) -> CommitId {
    match outcome {
        Outcome::Committed(Committed { id, index: IndexOutcome::Updated }) => id,
        other => panic!("{other:?}"),
    }
}
