//! Fuzz targets that apply edits and hunks to arbitrary content. Every result must be reversible.

use actum_core::RelPath;
use actum_edit::edit::{Edit, Occurrences, Replacement};
use actum_edit::format::{self, Reading, codex_patch};
use actum_edit::hunk::Patcher;
use actum_edit::{HunkError, LineHunk, Operation, Splice, line_diff};

use super::bytes::Bytes;

/// Applies a JSON Patch, a Codex patch or a text replacement from the input to the content in the input.
pub(super) fn run(input: &[u8]) {
    let (text, content) = Bytes(input).halves();
    let mut edits = Vec::new();
    let target = Some(RelPath::new("a").unwrap());
    if let Ok(operations) = format::parse(text, &Reading { target, ..Reading::default() })
        .or_else(|_| codex_patch::parse(text))
    {
        edits.extend(operations.into_iter().filter_map(|operation| match operation {
            Operation::Edit { edit, .. } => Some(edit),
            Operation::Patch { .. }
            | Operation::Write { .. }
            | Operation::Create { .. }
            | Operation::Take { .. }
            | Operation::Delete { .. }
            | Operation::Rename { .. }
            | Operation::Copy { .. }
            | Operation::Chmod { .. }
            | Operation::ChmodDirectory { .. }
            | Operation::MakeDirectory { .. }
            | Operation::RemoveDirectory { .. }
            | Operation::Link { .. } => None,
        }));
    } else {
        let mut bytes = Bytes(text);
        let (old, new) = (bytes.piece().to_vec(), bytes.piece().to_vec());
        let occurrences = if bytes.byte() == 0 { Occurrences::One } else { Occurrences::All };
        edits.push(Edit::Replace(Replacement { old, new, occurrences }));
    }
    for edit in edits {
        match edit.splices(content) {
            Ok(splices) => check_inverse(content, &splices),
            Err(error) => assert!(!error.to_string().chars().any(char::is_control)),
        }
    }
}

fn check_inverse(content: &[u8], splices: &[Splice]) {
    let new = Splice::apply(splices, content).unwrap();
    assert_eq!(Splice::apply(&Splice::invert(splices), &new).unwrap(), content);
}

/// Checks the hunks of the diff between two contents. They must turn the old content into the new one, even if it arrives in
/// pieces. Applying them to other content may fail, but any result must be reversible.
pub(super) fn hunks(input: &[u8]) {
    let (old, new) = Bytes(input).halves();
    let piece = old.len() % 7 + 1;
    for context in 0..=3 {
        let hunks = line_diff::hunks(old, new, context);
        assert_eq!(patched(&hunks, old, piece).unwrap(), new);
        assert_eq!(hunks.is_empty(), old == new);
        let above = [b"a line above\n", old].concat();
        if let Ok((placed, _)) = LineHunk::relocated(&hunks, &above) {
            // The relocated hunks may not fit, but if the patcher accepts them, the result must be reversible.
            drop(patched(&placed, &above, piece));
        }
        drop(patched(&hunks, new, piece));
    }
}

fn patched(hunks: &[LineHunk], content: &[u8], piece: usize) -> Result<Vec<u8>, HunkError> {
    let mut new = Vec::new();
    let mut patcher = Patcher::new(hunks)?;
    for piece in content.chunks(piece) {
        patcher.feed(piece, |bytes| new.extend_from_slice(bytes))?;
    }
    let splices = patcher.finish(|bytes| new.extend_from_slice(bytes))?;
    assert_eq!(Splice::apply(&splices, content).unwrap(), new);
    check_inverse(content, &splices);
    Ok(new)
}
