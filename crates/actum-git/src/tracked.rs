//! Finds unchanged files that git tracks, without running git and without reading the files.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, ObjectType, Odb, Oid};

use crate::special;

/// Maximum size of a blob to read, in bytes: 64 MiB.
const BLOB_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of bytes to read from a file that contains a single path, such as `commondir`.
const LINE_BYTES_MAX: u64 = 8 << 10;
/// Bits in the flags of an index entry that identify the side of a merge conflict (gitformat-index(5)).
const STAGE_BITS: u16 = 0x3000;

/// File attributes that git compares to detect whether a file is unchanged. Times are in nanoseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Size of the file in bytes.
    pub size: u64,
    /// Inode number of the file.
    pub inode: u64,
    /// Time of the last change to the file's content.
    pub modified: i64,
    /// Time of the last change to the file's content or attributes.
    pub changed: i64,
}

/// Files that are tracked in the index of a repository or of a linked work tree.
///
/// The index is read when it is first needed, and git objects only when the content of a file is requested. If there is no
/// repository, or if its index cannot be read, the set is empty.
pub struct TrackedFiles {
    index: PathBuf,
    git: PathBuf,
    objects: PathBuf,
    read: OnceCell<Files>,
    /// Object database, opened when the first object is read. The inner `None` means that it cannot be opened.
    database: Option<Option<Odb<'static>>>,
}

/// Tracked files of an index, and all directories that contain one.
#[derive(Default)]
struct Files {
    files: HashMap<Vec<u8>, Tracked>,
    directories: HashSet<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Tracked {
    /// Lowest 32 bits of the file size, because the index does not store more.
    size: u32,
    inode: u32,
    modified: i64,
    changed: i64,
    blob: Oid,
}

impl TrackedFiles {
    /// Returns the tracked files of the repository whose work tree is at `root`.
    pub fn open(root: &Path) -> Self {
        let (own, git) = git_directories(&root.join(".git"));
        let (index, objects) = (own.join("index"), git.join("objects"));
        Self { index, git, objects, read: OnceCell::new(), database: None }
    }

    fn files(&self) -> &Files {
        self.read.get_or_init(|| {
            let mut files = Files::default();
            files.read(&self.index, &self.objects);
            files
        })
    }

    /// Returns true if git tracks at least one file below the directory.
    pub fn has_below(&self, directory: &[u8]) -> bool {
        self.files().directories.contains(directory)
    }

    /// Returns true if `content` has the blob id `blob`.
    pub fn is_content(blob: [u8; 20], content: &[u8]) -> bool {
        Oid::hash_object(ObjectType::Blob, content).is_ok_and(|id| id.as_bytes() == blob)
    }

    /// Returns the id (SHA-1) of the blob for a file, or `None` if the file is untracked, may have changed, or is too
    /// large. The content of the file can still differ from the blob if git converts it, for example its line endings
    /// ([`is_content`](Self::is_content) checks that).
    pub fn blob(&self, path: &[u8], facts: &FileFacts) -> Option<[u8; 20]> {
        if facts.size > BLOB_BYTES_MAX {
            return None; // `read` would reject a blob of this size
        }
        let tracked = self.files().files.get(path)?;
        let found = Tracked {
            size: lowest_bits(facts.size),
            inode: lowest_bits(facts.inode),
            modified: facts.modified,
            changed: facts.changed,
            blob: tracked.blob,
        };
        if found != *tracked {
            return None;
        }
        tracked.blob.as_bytes().try_into().ok()
    }

    /// Returns the content of a blob after git2 has verified it against the id. Returns `None` if the blob cannot be read
    /// or is larger than 64 MiB.
    pub fn read(&mut self, blob: [u8; 20]) -> Option<Vec<u8>> {
        let database = self.database.get_or_insert_with(|| {
            // libgit2 would block on a FIFO in the object directory.
            let is_safe = special::find(&self.git).is_ok_and(|found| found.is_none());
            let database = is_safe.then(|| Odb::new().ok()).flatten()?;
            database.add_disk_alternate(self.objects.to_str()?).ok()?;
            Some(database)
        });
        let database = database.as_ref()?;
        let id = Oid::from_bytes(&blob).ok()?;
        let (size, kind) = database.read_header(id).ok()?;
        if kind != ObjectType::Blob || u64::try_from(size).is_ok_and(|size| size > BLOB_BYTES_MAX) {
            return None;
        }
        Some(database.read(id).ok()?.data().to_vec())
    }
}

impl Files {
    fn read(&mut self, path: &Path, objects: &Path) {
        // Opening a FIFO would block forever.
        let Ok(written) = fs::symlink_metadata(path) else { return };
        if !written.is_file() {
            return;
        }
        let Ok(index) = Index::open(path) else { return };
        // Blobs are not reported if the repository borrows objects from another repository.
        let has_own_objects = fs::symlink_metadata(objects.join("info/alternates")).is_err();
        let written = nanoseconds(written.mtime(), written.mtime_nsec());
        for entry in index.iter().filter(|entry| entry.flags & STAGE_BITS == 0) {
            let mut above = entry.path.as_slice();
            while let Some(end) = above.iter().rposition(|byte| *byte == b'/') {
                above = above.get(..end).unwrap_or_default();
                if !self.directories.insert(above.to_vec()) {
                    break;
                }
            }
            let tracked = Tracked::new(&entry);
            // If a file changes within the same clock tick in which the index is written, it looks unchanged (racy-git).
            if has_own_objects && tracked.modified < written {
                self.files.insert(entry.path, tracked);
            }
        }
    }
}

impl Tracked {
    fn new(entry: &IndexEntry) -> Self {
        let time = |time: &git2::IndexTime| {
            nanoseconds(i64::from(time.seconds()), i64::from(time.nanoseconds()))
        };
        Self {
            size: entry.file_size,
            inode: entry.ino,
            modified: time(&entry.mtime),
            changed: time(&entry.ctime),
            blob: entry.id,
        }
    }
}

/// Returns the git directory of a work tree, and the common git directory that contains the objects
/// (gitrepository-layout(5)).
#[expect(clippy::disallowed_methods, reason = "git's own files are reached by their paths")]
fn git_directories(git: &Path) -> (PathBuf, PathBuf) {
    let is_file = fs::symlink_metadata(git).is_ok_and(|found| found.is_file());
    let line = |path: &Path| {
        // Opening a FIFO would block forever.
        if !fs::symlink_metadata(path).ok()?.is_file() {
            return None;
        }
        let mut text = Vec::new();
        fs::File::open(path).ok()?.take(LINE_BYTES_MAX).read_to_end(&mut text).ok()?;
        Some(text.trim_ascii_end().to_vec())
    };
    let joined = |base: &Path, path: &[u8]| base.join(std::ffi::OsStr::from_bytes(path));
    let linked = is_file.then(|| line(git)).flatten();
    let Some(linked) = linked.as_deref().and_then(|text| text.strip_prefix(b"gitdir: ")) else {
        return (git.to_owned(), git.to_owned());
    };
    let own = joined(git.parent().unwrap_or(git), linked);
    let common = match line(&own.join("commondir")) {
        Some(common) => joined(&own, &common),
        None => own.clone(),
    };
    (own, common)
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// Truncates a value to its lowest 32 bits.
fn lowest_bits(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make repositories")]
mod tests {
    use git2::{Repository, Signature};

    use super::*;

    fn facts(path: &Path) -> FileFacts {
        let found = fs::symlink_metadata(path).unwrap();
        FileFacts {
            size: found.size(),
            inode: found.ino(),
            modified: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed: nanoseconds(found.ctime(), found.ctime_nsec()),
        }
    }

    /// Issue 27: the content of an unchanged file before a run can be read from git's objects.
    #[test]
    fn only_unchanged_files_are_identified_by_their_blob() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "one\n").unwrap();
        let long_ago =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::open(root.join("a/b/c")).unwrap().set_modified(long_ago).unwrap();
        let repository = Repository::init(root).unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("a/b/c")).unwrap();
        index.write().unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let author = Signature::now("a", "a@b").unwrap();
        repository.commit(Some("HEAD"), &author, &author, "x", &tree, &[]).unwrap();
        let other = directory.path().join("other");
        let linked = repository.worktree("other", &other, None).unwrap();
        fs::File::open(other.join("a/b/c")).unwrap().set_modified(long_ago).unwrap();
        let linked = Repository::open_from_worktree(&linked).unwrap();
        let mut index = linked.index().unwrap();
        index.add_path(Path::new("a/b/c")).unwrap();
        index.write().unwrap();
        for root in [root, other.as_path()] {
            let mut tracked = TrackedFiles::open(root);
            assert!(tracked.has_below(b"a/b") && tracked.has_below(b"a"));
            assert!(!tracked.has_below(b"c"));
            let blob = tracked.blob(b"a/b/c", &facts(&root.join("a/b/c"))).unwrap();
            assert_eq!(tracked.read(blob).unwrap(), b"one\n");
            assert_eq!(tracked.read([7; 20]), None);
        }
        fs::write(root.join("a/b/c"), "two\n").unwrap();
        let tracked = TrackedFiles::open(root);
        assert_eq!(tracked.blob(b"a/b/c", &facts(&root.join("a/b/c"))), None);
        assert!(!TrackedFiles::open(Path::new("/none")).has_below(b"a"));
    }
}
