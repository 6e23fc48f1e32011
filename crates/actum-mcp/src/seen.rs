//! Digests of the files that the client has seen, for detecting edits that are based on outdated content.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use actum_core::{Digest, RelPath};
use actum_record::receipt::PathEffect;

/// Maximum number of files whose digest is remembered. Beyond that, the file that was seen longest ago is forgotten, and later
/// edits to it are no longer checked.
const FILES_MAX: usize = 4096;

/// Digests of the files that a client has read or changed, as of the last time.
#[derive(Debug, Default)]
pub struct Seen(Mutex<Files>);

#[derive(Debug, Default)]
struct Files {
    digests: HashMap<RelPath, (Digest, u64)>,
    clock: u64,
}

/// File whose content has changed since the client last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Path of the file.
    pub path: RelPath,
    /// Digest of the content that the client last saw.
    pub seen: Digest,
    /// Digest of the current content, or `None` if the file does not exist.
    pub found: Option<Digest>,
}

impl Seen {
    /// Records that the client has seen a file whose content has this digest.
    pub fn note(&self, path: &RelPath, digest: Digest) {
        self.files().note(path, digest);
    }

    /// Returns the digest of the content that the client last saw of a file.
    pub fn digest(&self, path: &RelPath) -> Option<Digest> {
        self.files().digests.get(path).map(|(digest, _)| *digest)
    }

    /// Returns the first file that a change modifies although its content differs from the content that the client last saw.
    pub fn find_stale(&self, effects: &[PathEffect]) -> Option<Stale> {
        let files = self.files();
        effects.iter().find_map(|effect| {
            let before = effect.from.as_ref().unwrap_or(&effect.path);
            let (seen, _) = files.digests.get(&before.0)?;
            let found = effect.before.as_ref().map(|state| state.sha256);
            (found != Some(*seen)).then(|| Stale { path: before.0.clone(), seen: *seen, found })
        })
    }

    /// Records the new content of files that the client itself has changed.
    pub fn note_change(&self, effects: &[PathEffect]) {
        let mut files = self.files();
        for effect in effects {
            if let Some(from) = &effect.from {
                files.digests.remove(&from.0);
            }
            match &effect.after {
                Some(state) => files.note(&effect.path.0, state.sha256),
                None => drop(files.digests.remove(&effect.path.0)),
            }
        }
    }

    /// Forgets files that have changed in a way that the client cannot know.
    pub fn forget(&self, effects: &[PathEffect]) {
        let mut files = self.files();
        for effect in effects {
            files.digests.remove(&effect.path.0);
            if let Some(from) = &effect.from {
                files.digests.remove(&from.0);
            }
        }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        // A poisoned lock is harmless, because a panic cannot leave the digests in an inconsistent state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn note(&mut self, path: &RelPath, digest: Digest) {
        self.clock += 1;
        self.digests.insert(path.clone(), (digest, self.clock));
        if self.digests.len() > FILES_MAX {
            let oldest = self.digests.iter().min_by_key(|(_, (_, clock))| *clock);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                self.digests.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use actum_core::path_name::PathName;
    use actum_core::{FileMode, FileState};
    use actum_record::receipt::EffectKind;

    use super::*;

    fn path(name: &str) -> RelPath {
        RelPath::new(name).unwrap()
    }

    fn effect(name: &str, before: Option<&str>, after: Option<&str>) -> PathEffect {
        let state = |content: &str| FileState {
            sha256: Digest::of(content.as_bytes()),
            size: 1,
            mode: FileMode::PRIVATE,
        };
        PathEffect {
            added: 0,
            after: after.map(state),
            before: before.map(state),
            effect: EffectKind::Modified,
            from: None,
            path: PathName(path(name)),
            removed: 0,
        }
    }

    /// Issue 27
    #[test]
    fn edit_of_a_file_changed_since_reading_is_stale() {
        let seen = Seen::default();
        seen.note(&path("a"), Digest::of(b"1"));
        assert_eq!(seen.find_stale(&[effect("a", Some("1"), Some("2"))]), None);
        assert_eq!(seen.find_stale(&[effect("b", Some("9"), Some("2"))]), None);
        let stale = |found| Stale { path: path("a"), seen: Digest::of(b"1"), found };
        let changed = seen.find_stale(&[effect("a", Some("x"), Some("2"))]);
        assert_eq!(changed, Some(stale(Some(Digest::of(b"x")))));
        assert_eq!(seen.find_stale(&[effect("a", None, Some("2"))]), Some(stale(None)));
    }

    /// Issue 27
    #[test]
    fn own_changes_are_not_stale() {
        let seen = Seen::default();
        seen.note_change(&[effect("a", None, Some("1")), effect("b", None, Some("1"))]);
        assert_eq!(seen.digest(&path("a")), Some(Digest::of(b"1")));
        assert_eq!(seen.find_stale(&[effect("a", Some("1"), Some("2"))]), None);
        seen.note_change(&[effect("a", Some("1"), None)]);
        assert_eq!(seen.digest(&path("a")), None);
        seen.forget(&[effect("b", Some("1"), None)]);
        assert_eq!(seen.digest(&path("b")), None);
    }

    /// Issue 27
    #[test]
    fn oldest_seen_file_is_evicted_first() {
        let seen = Seen::default();
        for number in 0..=FILES_MAX {
            seen.note(&path(&format!("f{number}")), Digest::of(b""));
        }
        assert_eq!(seen.digest(&path("f0")), None);
        assert!(seen.digest(&path("f1")).is_some());
        assert!(seen.digest(&path(&format!("f{FILES_MAX}"))).is_some());
    }
}
