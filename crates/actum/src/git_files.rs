//! Access to the git repository at the workspace root: tracked files and ignored directories.

use std::path::{Path, PathBuf};

use actum_core::RelPath;
use actum_git::{FileFacts, IgnoredDirectories, TrackedFiles};
use actum_workspace::disk::Stat;
use actum_workspace::{BlobId, KnownFiles, read_file};

/// Maximum size in bytes of a file with ignore patterns.
const PATTERNS_BYTES_MAX: u64 = 1 << 20;
/// Maximum size in bytes of a file whose content is compared with its git blob.
const CONTENT_BYTES_MAX: u64 = 64 << 20;
/// Names of well-known cache directories, of package managers and interpreters, that contain no `CACHEDIR.TAG`.
const CACHES: [&[u8]; 3] = [b"node_modules", b"__pycache__", b".venv"];

/// Function that reads a file below a fixed root, or returns `None` if the file cannot be read.
type ReadFile = Box<dyn Fn(&[u8]) -> Option<Vec<u8>>>;

/// Tracked files and ignored directories of the git repository at the root of a workspace.
pub struct GitFiles {
    root: PathBuf,
    tracked: TrackedFiles,
    ignored: IgnoredDirectories<ReadFile>,
}

impl GitFiles {
    /// Prepares access to the git repository at `root`. Nothing is read until it is needed.
    pub fn open(root: &Path) -> Self {
        let tracked = TrackedFiles::open(root);
        let root: PathBuf = root.to_owned();
        let place = root.clone();
        let read: ReadFile = Box::new(move |path| {
            // A `RelPath` cannot lead into `.git`, so read files of the repository relative to that directory.
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
    /// Returns true if the directory is ignored or a cache and contains no tracked file.
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
        // Git attributes and settings can make the stored blob differ from the file, so compare the content itself.
        let content = read_file(&self.root, path, CONTENT_BYTES_MAX).ok().flatten()?;
        TrackedFiles::is_content(blob, &content).then_some(BlobId(blob))
    }

    fn read(&mut self, blob: BlobId) -> Option<Vec<u8>> {
        self.tracked.read(blob.0)
    }
}
