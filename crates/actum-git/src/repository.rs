//! Repository whose work tree is the workspace, and the requirements on it.

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

/// Repository whose work tree is exactly one directory.
///
/// It is opened again for each call, so that no decision uses facts that were read earlier.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
}

/// Repository that is open, and of a supported kind.
pub(crate) struct Handle {
    pub(crate) raw: git2::Repository,
    /// The work tree, by its real path.
    pub(crate) root: PathBuf,
    /// The settings, which are dropped last: the repository reads them.
    _settings: Settings,
}

impl Repository {
    /// Opens the repository whose work tree is exactly `root`. Directories above are not searched, and variables like
    /// `GIT_DIR` do not count. Nothing is changed, and nothing is executed.
    ///
    /// # Errors
    /// [`GitProblem::NoRepository`], [`GitProblem::Bare`], [`GitProblem::LinkedWorktree`], [`GitProblem::OtherOwner`]
    /// if git would not trust the directory either (`safe.directory`). [`GitProblem::Unsupported`] if libgit2 or this
    /// crate does not support it: SHA-256, other stores of references, `core.worktree`, or names that are compared
    /// without case. A FIFO or device in `.git`, or a reflog with other names, is not supported either.
    pub fn open(root: &Path) -> Result<Self, GitProblem> {
        let root = root.canonicalize().doing("looking for the work tree")?;
        reject_special_files(&root)?;
        Handle::open(&root)?;
        Ok(Self { root })
    }

    /// Returns the name and the address that git commits with here: `author.name` and `author.email`, otherwise
    /// `user.name` and `user.email`. They are those of the repository, of the user or of the system. `None` if one of
    /// the two is missing.
    ///
    /// # Errors
    /// [`GitProblem`] where the settings cannot be read.
    pub fn identity(&self) -> Result<Option<(String, String)>, GitProblem> {
        const DOING: &str = "reading who commits";
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
    /// [`GitProblem::DetachedHead`], [`GitProblem::UnbornHead`] where a commit is not possible either.
    pub fn branch(&self) -> Result<String, GitProblem> {
        Ok(Head::read(&self.handle()?.raw)?.branch_name())
    }

    /// Opens the repository for one call.
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
            return Err(unsupported("`core.worktree` names another work tree"));
        }
        if let Some(link) = link_within(&raw)? {
            return Err(unsupported(&format!("`.git/{link}` is a symbolic link")));
        }
        if let Some(log) = shared_log(&raw)? {
            return Err(unsupported(&format!(
                "`.git/{log}` has another name (a hard link), and a commit appends to it under all its names"
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
            return Err(unsupported("its names are compared without case (`core.ignoreCase`)"));
        }
        if is_set("core.filemode")? == Some(false) {
            return Err(unsupported("it does not follow executable bits (`core.fileMode`)"));
        }
        Ok(Self { raw, root: root.to_owned(), _settings: settings })
    }

    /// Refuses a repository in which an operation of git is half done.
    pub(crate) fn is_at_rest(&self) -> Result<(), GitProblem> {
        let what = match self.raw.state() {
            RepositoryState::Clean => return Ok(()),
            RepositoryState::Merge => "a merge",
            RepositoryState::Revert | RepositoryState::RevertSequence => "a revert",
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => "a cherry-pick",
            RepositoryState::Bisect => "a bisection",
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => "a rebase",
            RepositoryState::ApplyMailbox => "a mailbox of patches",
            RepositoryState::ApplyMailboxOrRebase => "a rebase or a mailbox of patches",
        };
        Err(GitProblem::InProgress { what })
    }
}

const DOING: &str = "looking for links in `.git`";

/// Returns the reference that `HEAD` names.
fn head_target(raw: &git2::Repository) -> String {
    let head = raw.find_reference("HEAD").ok();
    let branch = head.as_ref().and_then(|head| head.symbolic_target().ok().flatten());
    branch.unwrap_or("refs/heads").to_owned()
}

/// Returns the first reflog that a commit appends to, in place, and that has other names. All other files are written
/// from scratch and renamed.
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

/// Returns the first symbolic link among the files that a commit writes: libgit2 would follow it out of the work tree.
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

/// Rejects a repository with a FIFO or device where libgit2 opens files. Without `.git` the directory may itself be the
/// inside of a bare repository.
fn reject_special_files(root: &Path) -> Result<(), GitProblem> {
    let git = root.join(".git");
    let (git, shown) = match fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => (git, ".git/"),
        Err(_) if root.join("HEAD").symlink_metadata().is_ok() => (root.to_owned(), ""),
        // It is not opened.
        Ok(_) | Err(_) => return Ok(()),
    };
    let Some(found) = special::find(&git)? else { return Ok(()) };
    let found = InBackticks(found.as_os_str().as_bytes());
    let what = format!("`{shown}{found}` is a FIFO or a device");
    Err(GitProblem::Unsupported { root: root.to_owned(), what })
}

/// Checks that `.git` is a directory, and no link to one: a directory elsewhere does not belong to this workspace.
fn look_at_git_directory(root: &Path) -> Result<(), GitProblem> {
    match fs::symlink_metadata(root.join(".git")) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(GitProblem::LinkedWorktree { root: root.to_owned() }),
        // The directory may itself be the inside of a bare repository.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let is_bare = git2::Repository::open_bare(root).is_ok_and(|raw| raw.is_bare());
            let root = root.to_owned();
            Err(if is_bare { GitProblem::Bare { root } } else { GitProblem::NoRepository { root } })
        }
        Err(source) => Err(GitProblem::Disk { doing: "looking for `.git`", source }),
    }
}

/// Number of bytes of libgit2's message that are reported.
const SAID_BYTES_MAX: usize = 200;

fn refusal(root: &Path, error: git2::Error) -> GitProblem {
    let root = root.to_owned();
    if error.code() == ErrorCode::NotFound {
        GitProblem::NoRepository { root }
    } else if error.code() == ErrorCode::Owner {
        GitProblem::OtherOwner { root }
    } else if error.class() == git2::ErrorClass::Repository {
        // libgit2 does not know an extension, a version or a kind of names.
        let what = format!("it has an {}", Cut(error.message().as_bytes(), SAID_BYTES_MAX));
        GitProblem::Unsupported { root, what }
    } else {
        GitProblem::Git { doing: "opening the repository", source: error }
    }
}
