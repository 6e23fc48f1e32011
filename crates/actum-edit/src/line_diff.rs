//! Compares two contents by lines, and returns the difference as line counts, splices or the hunks of a unified diff.
//!
//! The algorithm is histogram diff with Myers' algorithm as a fallback. Heuristics bound its effort, so hostile content cannot
//! cause excessive running time.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Token, sources::byte_lines};

use crate::{LineHunk, Splice};

/// Number of unchanged lines before and after the changes of a hunk, which is the default of diff(1) and git.
pub const CONTEXT_LINES: u32 = 3;

/// Returns the number of lines that are only in `new`, and the number of lines that are only in `old`.
pub fn count(old: &[u8], new: &[u8]) -> (u64, u64) {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let diff = compare(&input);
    (u64::from(diff.count_additions()), u64::from(diff.count_removals()))
}

/// Returns the splices that turn `old` into `new`, one for each run of changed lines.
pub fn splices(old: &[u8], new: &[u8]) -> Vec<Splice> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let starts = |tokens: &[Token]| {
        let ends = tokens.iter().scan(0usize, |end, token| {
            *end = end.saturating_add(input.interner[*token].len());
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect::<Vec<_>>()
    };
    let (old_starts, new_starts) = (starts(&input.before), starts(&input.after));
    let start = |starts: &[usize], line: u32| {
        usize::try_from(line).ok().and_then(|line| starts.get(line).copied()).unwrap_or(0)
    };
    let diff = compare(&input);
    let splices = diff.hunks().map(|change| {
        let place = start(&old_starts, change.before.start);
        let replaced = old.get(place..start(&old_starts, change.before.end));
        let by =
            new.get(start(&new_starts, change.after.start)..start(&new_starts, change.after.end));
        let bytes = |bytes: Option<&[u8]>| bytes.unwrap_or_default().to_vec();
        Splice { offset: actum_core::count(place), old: bytes(replaced), new: bytes(by) }
    });
    splices.collect()
}

/// Returns the hunks that turn `old` into `new`, each with up to `context` unchanged lines before and after its changes. If
/// both are equal, there are no hunks.
pub fn hunks(old: &[u8], new: &[u8], context: u32) -> Vec<LineHunk> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut diff = compare(&input);
    diff.postprocess_lines(&input);
    let changes: Vec<_> = diff.hunks().collect();
    let old_count = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let line = |tokens: &[imara_diff::Token], index: u32| {
        let token = usize::try_from(index).ok().and_then(|index| tokens.get(index));
        token.map_or(&b""[..], |token| input.interner[*token])
    };
    let near = |a: &imara_diff::Hunk, b: &imara_diff::Hunk| {
        b.before.start - a.before.end <= context.saturating_mul(2)
    };
    let mut hunks = Vec::new();
    for group in changes.chunk_by(near) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let lead = context.min(first.before.start);
        let trail = context.min(old_count - last.before.end);
        let mut body = Vec::new();
        let mut kept = first.before.start - lead;
        for change in group {
            push(&mut body, b' ', kept..change.before.start, |i| line(&input.before, i));
            push(&mut body, b'-', change.before.clone(), |i| line(&input.before, i));
            push(&mut body, b'+', change.after.clone(), |i| line(&input.after, i));
            kept = change.before.end;
        }
        push(&mut body, b' ', kept..kept + trail, |i| line(&input.before, i));
        let old = range(first.before.start - lead, last.before.end + trail);
        let new = range(first.after.start - lead, last.after.end + trail);
        hunks.push(LineHunk {
            old_start: old.0,
            old_lines: old.1,
            new_start: new.0,
            new_lines: new.1,
            at_end: context > 0 && trail == 0 && (lead > 0 || input.before.is_empty()),
            body,
        });
    }
    hunks
}

/// Maximum product of the numbers of old and new lines to compare if nearly all lines repeat.
const REPEATED_PAIRS_MAX: usize = 1 << 28;
/// Lines count as repetitive if fewer than one in this number of lines is distinct.
const REPEATED_SHARE: usize = 16;

/// Computes the difference between two contents. For long texts that consist of only a few distinct lines, every diff algorithm
/// is slow. For these, everything between the common prefix and the common suffix counts as changed.
fn compare(input: &InternedInput<&[u8]>) -> Diff {
    let (old, new) = (input.before.len(), input.after.len());
    let different = usize::try_from(input.interner.num_tokens()).unwrap_or(usize::MAX);
    let repeats = different < old.max(new) / REPEATED_SHARE;
    if repeats && old.saturating_mul(new) > REPEATED_PAIRS_MAX {
        let common = |a: &[Token], b: &[Token]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let start = common(&input.before, &input.after);
        let rest = |lines: &'_ [Token]| lines.iter().skip(start).rev().copied().collect::<Vec<_>>();
        let end = common(&rest(&input.before), &rest(&input.after));
        // Give the lines in between unique tokens that the other side does not have, so that there is nothing to match.
        let (mut before, mut after) = (input.before.clone(), input.after.clone());
        let mut next = input.interner.num_tokens();
        for lines in [&mut before, &mut after] {
            let stop = lines.len() - end;
            for token in lines.iter_mut().take(stop).skip(start) {
                *token = Token(next);
                next = next.wrapping_add(1);
            }
        }
        let mut diff = Diff::default();
        diff.compute_with(Algorithm::Histogram, &before, &after, next);
        return diff;
    }
    Diff::compute(Algorithm::Histogram, input)
}

/// Converts a range of lines to the start and count of a hunk header. An empty range starts at the line before it.
fn range(start: u32, end: u32) -> (u32, u32) {
    (start + u32::from(end > start), end - start)
}

fn push<'a>(body: &mut Vec<u8>, sign: u8, lines: Range<u32>, line: impl Fn(u32) -> &'a [u8]) {
    for index in lines {
        let line = line(index);
        body.push(sign);
        body.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            body.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunk::Patcher;
    use proptest::prelude::*;

    fn patched(old: &[u8], hunks: &[LineHunk]) -> Vec<u8> {
        let mut new = Vec::new();
        let mut patcher = Patcher::new(hunks).unwrap();
        patcher.feed(old, |bytes| new.extend_from_slice(bytes)).unwrap();
        patcher.finish(|bytes| new.extend_from_slice(bytes)).unwrap();
        new
    }

    #[test]
    fn hunk_includes_context_lines_around_the_change() {
        let hunks = hunks(b"a\nb\nc\nd\ne\nf\ng\nh\n", b"a\nb\nc\nd\nE\nf\ng\nh\n", 2);
        assert_eq!(hunks.len(), 1);
        let hunk = &hunks[0];
        let header = (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
        assert_eq!(header, (3, 5, 3, 5));
        assert_eq!(hunk.body, b" c\n d\n-e\n+E\n f\n g\n");
    }

    #[test]
    fn distant_changes_become_separate_hunks() {
        let old: String = (0..20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("2\n", "two\n").replace("17\n", "");
        let hunks = hunks(old.as_bytes(), new.as_bytes(), CONTEXT_LINES);
        assert!(hunks.len() > 1);
        assert_eq!(patched(old.as_bytes(), &hunks), new.as_bytes());
    }

    #[test]
    fn diffs_equal_and_empty_content() {
        assert!(hunks(b"a\n", b"a\n", 3).is_empty());
        assert_eq!(hunks(b"", b"a\n", 3)[0].body, b"+a\n");
        assert_eq!(hunks(b"a", b"", 3)[0].body, b"-a\n\\ No newline at end of file\n");
        assert_eq!(count(b"a\nb\nc\n", b"a\nx\ny\nc\n"), (2, 1));
        assert_eq!(count(b"a", b"a\n"), (1, 1));
    }

    fn text() -> impl Strategy<Value = String> {
        (proptest::collection::vec("[abc]{0,2}", 0..30), any::<bool>()).prop_map(|(lines, end)| {
            let text = lines.join("\n");
            if end && !text.is_empty() { text + "\n" } else { text }
        })
    }

    proptest! {
        #[test]
        fn hunks_turn_the_old_content_into_the_new(
            old in text(), new in text(), context in 0u32..4,
        ) {
            let hunks = hunks(old.as_bytes(), new.as_bytes(), context);
            prop_assert_eq!(patched(old.as_bytes(), &hunks), new.as_bytes());
            let cost = LineHunk::cost(&hunks);
            prop_assert_eq!(hunks.is_empty(), cost == (0, 0));
        }

        #[test]
        fn splices_turn_the_old_content_into_the_new(old in text(), new in text()) {
            let splices = splices(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(Splice::apply(&splices, old.as_bytes()).unwrap(), new.as_bytes());
        }
    }
}
