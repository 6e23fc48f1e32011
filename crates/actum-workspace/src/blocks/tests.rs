//! Tests that block deltas restore the old content exactly, and that damaged deltas are never accepted.

use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::content::Source;
use crate::disk::LinuxDisk;

type Handle = <LinuxDisk as Disk>::Handle;

struct Place {
    _directory: TempDir,
    root: Handle,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let root = LinuxDisk.open_root(directory.path()).unwrap();
    Place { _directory: directory, root }
}

impl Place {
    fn handle(&self, name: &[u8], bytes: &[u8]) -> Handle {
        drop(LinuxDisk.unlink(&self.root, name));
        let file = LinuxDisk.create(&self.root, name, FileMode::PRIVATE).unwrap();
        LinuxDisk.write_at(&file, bytes, 0).unwrap();
        file
    }

    fn file(&self, name: &[u8], bytes: &[u8]) -> Bytes<Handle> {
        Bytes::File(Arc::new(self.handle(name, bytes)), Source::Unnamed)
    }

    fn write(&self, old: &Old<'_, Handle>, new: &Bytes<Handle>, bytes_max: u64) -> Option<Handle> {
        drop(LinuxDisk.unlink(&self.root, b"delta"));
        let written = write(&LinuxDisk, (&self.root, b"delta"), old, new, bytes_max).unwrap();
        let (file, delta) = written?;
        let stored = read_exactly(&LinuxDisk, &file, (0, delta.size)).unwrap().unwrap();
        assert_eq!(LinuxDisk.stat(&file).unwrap().size, delta.size);
        assert_eq!(Digest::of(&stored), delta.sha256);
        Some(file)
    }

    fn has_delta(&self) -> bool {
        LinuxDisk.stat_at(&self.root, b"delta").unwrap().is_some()
    }
}

fn memory(bytes: &[u8]) -> Bytes<Handle> {
    Bytes::Memory(Arc::new(bytes.to_vec()))
}

fn old<'a>(bytes: &'a Bytes<Handle>, content: &[u8]) -> Old<'a, Handle> {
    Old { bytes, size: length(content.len()), digest: Some(Digest::of(content)) }
}

/// Rebuilds the old content with both `rebuild` and `apply`. Returns `None` if `rebuild` rejects the delta.
fn read(delta: &Handle, new: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut rebuilt = Vec::new();
    let is_sound = rebuild(&LinuxDisk, delta, &memory(new), length(size), |piece| {
        rebuilt.extend_from_slice(piece);
    });
    let mut applied = new.to_vec();
    let fits = apply(&LinuxDisk, delta, &mut applied, length(size)).unwrap();
    if !is_sound.unwrap() {
        return None;
    }
    assert!(fits);
    assert_eq!(rebuilt, applied);
    Some(rebuilt)
}

/// Returns pseudo-random content of `size` bytes in which no block repeats.
fn content(size: usize, seed: u64) -> Vec<u8> {
    let words = (0u64..).map(|at| (at ^ (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.flat_map(u64::to_be_bytes).take(size).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    /// FO-5
    #[test]
    fn delta_of_any_edits_restores_the_old_content(
        size in 0usize..600_000,
        grown in -70_000isize..70_000,
        edits in proptest::collection::vec((0usize..600_000, 1usize..9000), 0..12),
        in_files in any::<bool>(),
    ) {
        let place = place();
        let before = content(size, 1);
        let mut after = before.clone();
        after.resize(size.saturating_add_signed(grown), 7);
        for (at, count) in edits {
            let start = at.min(after.len());
            let end = (start + count).min(after.len());
            after[start..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        }
        let (a, b) = match in_files {
            true => (place.file(b"old", &before), place.file(b"new", &after)),
            false => (memory(&before), memory(&after)),
        };
        let delta = place.write(&old(&a, &before), &b, u64::MAX).unwrap();
        prop_assert_eq!(read(&delta, &after, before.len()), Some(before.clone()));
        let delta = place.write(&old(&b, &after), &a, u64::MAX).unwrap();
        prop_assert_eq!(read(&delta, &before, after.len()), Some(after));
    }
}

/// FO-9
#[test]
fn delta_contains_only_the_differing_blocks() {
    let place = place();
    let before = content(64 * BLOCK_BYTES + 100, 1);
    let mut after = before.clone();
    for at in [3 * BLOCK_BYTES + 17, 4 * BLOCK_BYTES, 9 * BLOCK_BYTES - 1, 64 * BLOCK_BYTES + 99] {
        after[at] ^= 1;
    }
    let bytes = memory(&before);
    place.write(&old(&bytes, &before), &memory(&after), u64::MAX).unwrap();
    let size = LinuxDisk.stat_at(&place.root, b"delta").unwrap().unwrap().size;
    let lines = "3 2\n8 1\n64 1\nactum blocks 1 4\n";
    assert_eq!(size, length(4 * BLOCK_BYTES + lines.len()));
}

/// FO-9
#[test]
fn delta_over_its_size_limit_is_discarded() {
    let place = place();
    let (before, after) = (content(9 << 20, 1), content(9 << 20, 2));
    let bytes = memory(&before);
    for (bytes_max, is_kept) in [(1 << 20, false), (8 << 20, false), (10 << 20, true)] {
        let delta = place.write(&old(&bytes, &before), &memory(&after), bytes_max);
        assert_eq!((delta.is_some(), place.has_delta()), (is_kept, is_kept), "{bytes_max}");
    }
}

/// FO-5
#[test]
fn no_delta_is_made_from_unexpected_old_content() {
    let place = place();
    let (before, other) = (content(300_000, 1), content(300_000, 2));
    let (bytes, new) = (place.file(b"old", &other), memory(&before));
    let changed = Old { digest: Some(Digest::of(&before)), ..old(&bytes, &other) };
    assert!(place.write(&changed, &new, u64::MAX).is_none());
    let cut_off = Old { size: 300_001, digest: None, ..changed };
    assert!(place.write(&cut_off, &new, u64::MAX).is_none());
    assert!(!place.has_delta());
}

/// FO-5
#[test]
fn damaged_delta_never_restores_the_old_content() {
    let place = place();
    let before = content(5 * BLOCK_BYTES + 100, 1);
    let mut after = before.clone();
    after[BLOCK_BYTES] ^= 1;
    after.truncate(5 * BLOCK_BYTES + 10);
    let bytes = memory(&before);
    let delta = place.write(&old(&bytes, &before), &memory(&after), u64::MAX).unwrap();
    let size = LinuxDisk.stat(&delta).unwrap().size;
    let mut sound = vec![0; usize::try_from(size).unwrap()];
    LinuxDisk.read_at(&delta, &mut sound, 0).unwrap();
    assert_eq!(read(&delta, &after, before.len()).as_ref(), Some(&before));
    // The padding of the last block is not checked, because no reader uses it.
    let filling = BLOCK_BYTES + 100..2 * BLOCK_BYTES;
    for at in (0..sound.len()).filter(|at| !filling.contains(at)) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        let file = place.handle(b"damaged", &damaged);
        assert_ne!(read(&file, &after, before.len()).as_ref(), Some(&before), "bit at {at}");
    }
    for cut in (0..sound.len()).step_by(7) {
        let file = place.handle(b"damaged", &sound[..cut]);
        assert_ne!(read(&file, &after, before.len()).as_ref(), Some(&before), "{cut} bytes");
    }
}

/// FO-9
#[test]
fn delta_with_too_many_runs_for_a_shell_is_discarded() {
    let place = place();
    let before = vec![0; 2 * (RUNS_MAX + 1) * BLOCK_BYTES];
    for (runs, is_kept) in [(RUNS_MAX, true), (RUNS_MAX + 1, false)] {
        let mut after = before.clone();
        (0..runs).for_each(|run| after[2 * run * BLOCK_BYTES] = 1);
        let bytes = memory(&before);
        let delta = place.write(&old(&bytes, &before), &memory(&after), u64::MAX);
        assert_eq!((delta.is_some(), place.has_delta()), (is_kept, is_kept), "{runs}");
        if let Some(delta) = delta {
            assert!(read(&delta, &after, before.len()) == Some(before.clone()));
        }
    }
}
