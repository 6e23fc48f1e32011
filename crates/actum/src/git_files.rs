//! Facts of the git repository around a workspace about its files.

use std::path::{Path, PathBuf};

use actum_core::RelPath;
use actum_git::{FileFacts, IgnoredDirectories, TrackedFiles};
use actum_workspace::disk::Stat;
use actum_workspace::{BlobId, KnownFiles, read_file};

/// Largest file with ignore patterns, in bytes.
const PATTERNS_BYTES_MAX: u64 = 1 << 20;
/// Largest file that is compared with its blob, in bytes.
const CONTENT_BYTES_MAX: u64 = 64 << 20;
/// Directories of package managers and interpreters, which are caches although they have no cache tag.
const CACHES: [&[u8]; 3] = [b"node_modules", b"__pycache__", b".venv"];

/// Reads a file below a root.
type ReadFile = Box<dyn Fn(&[u8]) -> Option<Vec<u8>>>;

/// Files that the repository at the root of a workspace tracks, and directories that it ignores.
pub struct GitFiles {
    root: PathBuf,
    tracked: TrackedFiles,
    ignored: IgnoredDirectories<ReadFile>,
}

impl GitFiles {
    /// Opens the facts of the repository at `root`, if it exists.
    pub fn open(root: &Path) -> Self {
        let tracked = TrackedFiles::open(root);
        let root: PathBuf = root.to_owned();
        let place = root.clone();
        let read: ReadFile = Box::new(move |path| {
            // Workspace paths never lead into `.git`.
            let (place, path) = match path.strip_prefix(b".git/") {
                Some(below) => (place.join(".git"), below),
                None => (place.clone(), path),
            };
            read_file(&place, &RelPath::new(path).ok()?, PATTERNS_BYTES_MAX).ok()?
        });
        Self { root, tracked, ignored: IgnoredDirectories::new(read) }
    }
}

impl KnownFiles for GitFiles {
    /// Returns true for an ignored directory or a cache, unless it has a tracked file.
    fn leaves_out(&mut self, directory: &RelPath) -> bool {
        (CACHES.contains(&directory.name()) || self.ignored.has(directory.as_bytes()))
            && !self.tracked.has_below(directory.as_bytes())
    }

    fn blob(&mut self, path: &RelPath, stat: &Stat) -> Option<BlobId> {
        let facts = FileFacts {
            size: stat.size,
            inode: stat.inode,
            modified: stat.modified.0,
            changed: stat.changed.0,
        };
        let blob = self.tracked.blob(path.as_bytes(), &facts)?;
        // With attributes and settings git can store another content, so the content itself is compared.
        let content = read_file(&self.root, path, CONTENT_BYTES_MAX).ok().flatten()?;
        TrackedFiles::is_content(blob, &content).then_some(BlobId(blob))
    }

    fn read(&mut self, blob: BlobId) -> Option<Vec<u8>> {
        self.tracked.read(blob.0)
    }
}
