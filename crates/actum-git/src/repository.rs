//! Opens the git repository whose work tree is the workspace, and checks that it is supported.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use actum_core::path::{Cut, InBackticks};
use git2::{ErrorCode, RepositoryOpenFlags, RepositoryState};

use crate::head::Head;
use crate::problem::{GitProblem, ResultExt};
use crate::settings::Settings;
use crate::special;

/// Git repository whose work tree is exactly one directory.
///
/// The repository is opened again for each call, so that no decision relies on outdated data.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
}

/// Open repository that was found to be supported.
pub(crate) struct Handle {
    pub(crate) raw: git2::Repository,
    /// Root of the work tree, with symbolic links resolved.
    pub(crate) root: PathBuf,
    /// Settings that the repository uses. They must be dropped after the repository.
    _settings: Settings,
}

impl Repository {
    /// Opens the repository whose work tree is exactly `root`. Parent directories are not searched, and variables such
    /// as `GIT_DIR` are ignored. Opening a repository changes nothing and runs no programs.
    ///
    /// # Errors
    /// Returns [`GitProblem::NoRepository`], [`GitProblem::Bare`] or [`GitProblem::LinkedWorktree`] if there is no such
    /// repository, and [`GitProblem::OtherOwner`] if git would not trust the directory either (`safe.directory`).
    /// Returns [`GitProblem::Unsupported`] for properties that libgit2 or this crate does not support: SHA-256, other
    /// reference stores, `core.worktree`, and case-insensitive file names. FIFOs or devices in `.git`, and reflogs with
    /// several hard links, are not supported either.
    pub fn open(root: &Path) -> Result<Self, GitProblem> {
        let root = root.canonicalize().doing("resolving the path of the work tree")?;
        reject_special_files(&root)?;
        Handle::open(&root)?;
        Ok(Self { root })
    }

    /// Returns the author name and email address that git would use here: `author.name` and `author.email`, or else
    /// `user.name` and `user.email`. Settings of the repository, the user and the system are considered. Returns `None`
    /// if the name or the address is not set.
    ///
    /// # Errors
    /// Returns [`GitProblem`] if the settings cannot be read.
    pub fn identity(&self) -> Result<Option<(String, String)>, GitProblem> {
        const DOING: &str = "reading the author settings";
        let config = self.handle()?.raw.config().and_then(|mut config| config.snapshot());
        let config = config.doing(DOING)?;
        let one = |field: &str| {
            let keys = [format!("author.{field}"), format!("user.{field}")];
            keys.iter().find_map(|key| match config.get_string(key) {
                Ok(value) if value.trim().is_empty() => None,
                Ok(value) => Some(Ok(value)),
                Err(error) if error.code() == ErrorCode::NotFound => None,
                Err(error) => Some(Err(error)),
            })
        };
        let [name, email] = ["name", "email"].map(one);
        Ok(name.transpose().doing(DOING)?.zip(email.transpose().doing(DOING)?))
    }

    /// Returns the name of the branch that is checked out, without `refs/heads/`.
    ///
    /// # Errors
    /// Returns [`GitProblem::DetachedHead`] or [`GitProblem::UnbornHead`] if there is no branch to commit to.
    pub fn branch(&self) -> Result<String, GitProblem> {
        Ok(Head::read(&self.handle()?.raw)?.branch_name())
    }

    /// Opens the repository for a single call.
    pub(crate) fn handle(&self) -> Result<Handle, GitProblem> {
        Handle::open(&self.root)
    }
}

impl Handle {
    fn open(root: &Path) -> Result<Self, GitProblem> {
        look_at_git_directory(root)?;
        let none: [&Path; 0] = [];
        let raw = git2::Repository::open_ext(root, RepositoryOpenFlags::NO_SEARCH, none);
        let raw = raw.map_err(|error| refusal(root, error))?;
        if raw.is_bare() {
            return Err(GitProblem::Bare { root: root.to_owned() });
        }
        if raw.is_worktree() || raw.commondir() != raw.path() {
            return Err(GitProblem::LinkedWorktree { root: root.to_owned() });
        }
        let unsupported =
            |what: &str| GitProblem::Unsupported { root: root.to_owned(), what: what.to_owned() };
        let workdir = raw.workdir().and_then(|workdir| workdir.canonicalize().ok());
        if workdir.as_deref() != Some(root) {
            return Err(unsupported("`core.worktree` points to another work tree"));
        }
        if let Some(link) = link_within(&raw)? {
            return Err(unsupported(&format!("`.git/{link}` is a symbolic link")));
        }
        if let Some(log) = shared_log(&raw)? {
            return Err(unsupported(&format!(
                "`.git/{log}` has several hard links, and a commit would append to all of them"
            )));
        }
        let settings = Settings::put(&raw)?;
        let config = raw.config().doing("reading the settings")?;
        let is_set = |name| match config.get_bool(name) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(source) => Err(GitProblem::Git { doing: "reading the settings", source }),
        };
        if is_set("core.ignorecase")? == Some(true) {
            return Err(unsupported("it ignores case in file names (`core.ignoreCase`)"));
        }
        if is_set("core.filemode")? == Some(false) {
            return Err(unsupported("it does not track executable bits (`core.fileMode`)"));
        }
        Ok(Self { raw, root: root.to_owned(), _settings: settings })
    }

    /// Returns an error if a git operation such as a merge is not finished.
    pub(crate) fn is_at_rest(&self) -> Result<(), GitProblem> {
        let what = match self.raw.state() {
            RepositoryState::Clean => return Ok(()),
            RepositoryState::Merge => "a merge",
            RepositoryState::Revert | RepositoryState::RevertSequence => "a revert",
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => "a cherry-pick",
            RepositoryState::Bisect => "a bisect",
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => "a rebase",
            RepositoryState::ApplyMailbox => "`git am`",
            RepositoryState::ApplyMailboxOrRebase => "a rebase or `git am`",
        };
        Err(GitProblem::InProgress { what })
    }
}

const DOING: &str = "searching for symbolic links in `.git`";

/// Returns the name of the reference that `HEAD` points to.
fn head_target(raw: &git2::Repository) -> String {
    let head = raw.find_reference("HEAD").ok();
    let branch = head.as_ref().and_then(|head| head.symbolic_target().ok().flatten());
    branch.unwrap_or("refs/heads").to_owned()
}

/// Returns the first reflog that has several hard links. A commit appends to reflogs in place, while all other files
/// are written from scratch and renamed.
fn shared_log(raw: &git2::Repository) -> Result<Option<String>, GitProblem> {
    for log in ["logs/HEAD".to_owned(), format!("logs/{}", head_target(raw))] {
        match fs::symlink_metadata(raw.path().join(&log)) {
            Ok(found) if found.is_file() && found.nlink() > 1 => return Ok(Some(log)),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(GitProblem::Disk { doing: DOING, source: error });
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(None)
}

/// Returns the first symbolic link among the files that a commit writes. libgit2 would follow it and could write
/// outside the work tree.
fn link_within(raw: &git2::Repository) -> Result<Option<String>, GitProblem> {
    let branch = head_target(raw);
    let logged = format!("logs/{branch}");
    for path in ["HEAD", "index", "packed-refs", "objects", "logs/HEAD", &branch, &logged] {
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let part = path.get(..at).unwrap_or(path);
            match fs::symlink_metadata(raw.path().join(part)) {
                Ok(found) if found.is_symlink() => return Ok(Some(part.to_owned())),
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(GitProblem::Disk { doing: DOING, source: error });
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    let entries = fs::read_dir(raw.path().join("objects"));
    for entry in entries.map_err(|source| GitProblem::Disk { doing: DOING, source })? {
        let entry = entry.map_err(|source| GitProblem::Disk { doing: DOING, source })?;
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            return Ok(Some(format!("objects/{}", entry.file_name().to_string_lossy())));
        }
    }
    Ok(None)
}

/// Rejects a repository that has a FIFO or device where libgit2 opens files. If there is no `.git`, the directory
/// itself may be a bare repository.
fn reject_special_files(root: &Path) -> Result<(), GitProblem> {
    let git = root.join(".git");
    let (git, shown) = match fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => (git, ".git/"),
        Err(_) if root.join("HEAD").symlink_metadata().is_ok() => (root.to_owned(), ""),
        // libgit2 does not open anything in this case.
        Ok(_) | Err(_) => return Ok(()),
    };
    let Some(found) = special::find(&git)? else { return Ok(()) };
    let found = InBackticks(found.as_os_str().as_bytes());
    let what = format!("`{shown}{found}` is a FIFO or a device");
    Err(GitProblem::Unsupported { root: root.to_owned(), what })
}

/// Checks that `.git` is a directory and not a link to one, because a directory elsewhere does not belong to this
/// workspace.
fn look_at_git_directory(root: &Path) -> Result<(), GitProblem> {
    match fs::symlink_metadata(root.join(".git")) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(GitProblem::LinkedWorktree { root: root.to_owned() }),
        // The directory itself may be a bare repository.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let is_bare = git2::Repository::open_bare(root).is_ok_and(|raw| raw.is_bare());
            let root = root.to_owned();
            Err(if is_bare { GitProblem::Bare { root } } else { GitProblem::NoRepository { root } })
        }
        Err(source) => Err(GitProblem::Disk { doing: "inspecting `.git`", source }),
    }
}

/// Maximum number of bytes of libgit2's message that an error shows.
const MESSAGE_BYTES_MAX: usize = 200;

fn refusal(root: &Path, error: git2::Error) -> GitProblem {
    let root = root.to_owned();
    if error.code() == ErrorCode::NotFound {
        GitProblem::NoRepository { root }
    } else if error.code() == ErrorCode::Owner {
        GitProblem::OtherOwner { root }
    } else if error.class() == git2::ErrorClass::Repository {
        // libgit2 does not support an extension, a format version or a reference format of the repository.
        let what = format!("it has an {}", Cut(error.message().as_bytes(), MESSAGE_BYTES_MAX));
        GitProblem::Unsupported { root, what }
    } else {
        GitProblem::Git { doing: "opening the repository", source: error }
    }
}
