//! Extends splices to whole lines with context. The result is readable, and can be found again after other parts of the
//! content have changed.

use actum_core::count;

use super::Splice;
use crate::search::find_overlapping;

impl Splice {
    /// Extends `splices`, which apply to `content`, to whole lines with up to `context` lines before and after each splice.
    /// Splices that touch or overlap after this are merged. Calling this function on its own result does not add more lines.
    pub fn widened(splices: &[Self], content: &[u8], context: u32) -> Vec<Self> {
        let mut widened: Vec<Wide<'_>> = Vec::with_capacity(splices.len());
        for narrow in splices.iter().map(Narrow::from_splice) {
            let (start, end) = narrow.lines(content, context);
            match widened.last_mut().filter(|last| start <= last.end) {
                Some(last) => {
                    last.end = last.end.max(end);
                    last.parts.push(narrow);
                }
                None => widened.push(Wide { start, end, parts: vec![narrow] }),
            }
        }
        widened.iter().map(|wide| wide.splice(content)).collect()
    }

    /// Finds the position of this splice in `content`, which may have changed in other places since the splice was made. The
    /// original content had `size` bytes.
    ///
    /// Returns `None` unless the old bytes occur exactly once as whole lines, and contain at least one line that the splice does
    /// not change. If they were at the start or end of the original content, they must also be there in `content`.
    pub fn found_in(&self, content: &[u8], size: usize) -> Option<Self> {
        let changed = Narrow::between(0, &self.old, &self.new).lines(&self.old, 0);
        if changed == (0, self.old.len()) {
            return None;
        }
        let is_line = |at: &usize| {
            let end = at.saturating_add(self.old.len());
            let starts = *at == 0 || content.get(at - 1) == Some(&b'\n');
            starts && (end == content.len() || self.old.last() == Some(&b'\n'))
        };
        let mut places = find_overlapping(content, &self.old).filter(is_line);
        let (at, None) = (places.next()?, places.next()) else { return None };
        let ends = |at: u64, size: usize| at.saturating_add(count(self.old.len())) == count(size);
        let began_it = self.offset == 0;
        let ended_it = ends(self.offset, size);
        if (began_it && at != 0) || (ended_it && !ends(count(at), content.len())) {
            return None;
        }
        Some(Self { offset: count(at), ..self.clone() })
    }
}

/// Splice without the bytes that its old and new text have in common at the start and end.
#[derive(Clone, Copy)]
struct Narrow<'a> {
    start: usize,
    end: usize,
    new: &'a [u8],
}

/// Splices that were merged because their extended lines touch or overlap.
struct Wide<'a> {
    start: usize,
    end: usize,
    parts: Vec<Narrow<'a>>,
}

impl<'a> Narrow<'a> {
    fn from_splice(Splice { offset, old, new }: &'a Splice) -> Self {
        Self::between(usize::try_from(*offset).unwrap_or(usize::MAX), old, new)
    }

    /// Removes the common prefix and suffix of `old`, which is at `offset`, and `new`.
    fn between(offset: usize, old: &[u8], new: &'a [u8]) -> Self {
        let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) =
            (old.get(prefix..).unwrap_or_default(), new.get(prefix..).unwrap_or_default());
        let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let start = offset.saturating_add(prefix);
        let end = start.saturating_add(old.len().saturating_sub(suffix));
        Self { start, end, new: new.get(..new.len().saturating_sub(suffix)).unwrap_or_default() }
    }

    /// Returns the byte range of the lines that the splice touches, with `context` additional lines on each side.
    fn lines(&self, content: &[u8], context: u32) -> (usize, usize) {
        let start = line_start(content, self.start);
        // A splice that ends at the start of a line need not include that line, unless the new text ends within a line.
        let is_clean = line_start(content, self.end) == self.end
            && match self.new.last() {
                Some(last) => *last == b'\n',
                None => start == self.start,
            };
        let end = if is_clean { self.end } else { line_end(content, self.end) };
        let up = (0..context).fold(start, |at, _| line_start(content, at.saturating_sub(1)));
        let down = (0..context).fold(end, |at, _| line_end(content, at));
        (up, down)
    }
}

impl Wide<'_> {
    fn splice(&self, content: &[u8]) -> Splice {
        let bytes = |from: usize, to: usize| content.get(from..to).unwrap_or_default();
        let old = bytes(self.start, self.end).to_vec();
        let (mut new, mut done) = (Vec::with_capacity(old.len()), self.start);
        for part in &self.parts {
            new.extend_from_slice(bytes(done, part.start));
            new.extend_from_slice(part.new);
            done = part.end;
        }
        new.extend_from_slice(bytes(done, self.end));
        Splice { offset: count(self.start), old, new }
    }
}

/// Returns the start of the line that contains the offset `at`.
fn line_start(content: &[u8], at: usize) -> usize {
    let before = content.get(..at.min(content.len())).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)
}

/// Returns the end of the line that contains the offset `at`, including its newline.
fn line_end(content: &[u8], at: usize) -> usize {
    let at = at.min(content.len());
    let rest = content.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(content.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(splices: &[Splice]) -> Vec<(u64, &str, &str)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        splices.iter().map(|s| (s.offset, text(&s.old), text(&s.new))).collect()
    }

    /// FO-5
    #[test]
    fn splice_is_widened_to_whole_lines_with_context() {
        let old = "a\nb\nc\nd\ne\n";
        let splices = Splice::between(old.as_bytes(), b"a\nb\ncX\nd\ne\n");
        let widened = |context| Splice::widened(&splices, old.as_bytes(), context);
        assert_eq!(text(&splices), [(5, "", "X")]);
        assert_eq!(text(&widened(0)), [(4, "c\n", "cX\n")]);
        assert_eq!(text(&widened(1)), [(2, "b\nc\nd\n", "b\ncX\nd\n")]);
        assert_eq!(text(&widened(9)), [(0, old, "a\nb\ncX\nd\ne\n")]);
        let line = Splice::between(old.as_bytes(), b"a\nb\nnew\nc\nd\ne\n");
        assert_eq!(text(&Splice::widened(&line, old.as_bytes(), 0)), [(4, "", "new\n")]);
    }

    /// FO-5
    #[test]
    fn splice_is_located_at_the_only_match_of_its_lines() {
        let found = |(offset, old, new): (u64, &str, &str), size, content: &str| {
            let splice = Splice { offset, old: old.into(), new: new.into() };
            splice.found_in(content.as_bytes(), size).map(|splice| splice.offset)
        };
        let middle = (2, "b\nc\n", "b\nX\n");
        assert_eq!(found(middle, 8, "new\na\nb\nc\nd\n"), Some(6));
        assert_eq!(found(middle, 8, "ab\nc\nd\n"), None, "not at the start of a line");
        assert_eq!(found(middle, 8, "b\nc\nb\nc\nd\n"), None, "at two places");
        assert_eq!(found(middle, 8, "b\nd\n"), None);
        let overlapping = (2, "b\nb\n", "b\n");
        assert_eq!(found(overlapping, 9, "a\nb\nb\nb\ny\n"), None, "at two places that overlap");
        let first = (0, "b\nc\n", "X\nc\n");
        assert_eq!(found(first, 6, "b\nc\nd\n"), Some(0));
        assert_eq!(found(first, 6, "new\nb\nc\nd\n"), None, "it began the file");
        let last = (2, "b\nc", "b\nX");
        assert_eq!(found(last, 5, "new\na\nb\nc"), Some(6));
        assert_eq!(found(last, 5, "a\nb\ncd\n"), None, "not at the end of a line");
        assert_eq!(found((2, "b\nc\n", "b\nX\n"), 6, "a\nb\nc\nmore\n"), None, "it ended the file");
        for (old, new) in [("", "x"), ("x", "y"), ("x\n", "y\n"), ("x\n", "")] {
            assert_eq!(found((9, old, new), 99, old), None, "no line stays: {old:?}");
        }
    }

    proptest! {
        /// FO-5
        #[test]
        fn widened_splices_make_the_same_change(
            lines in proptest::collection::vec("[ab]{0,2}\n?", 0..9),
            cuts in proptest::collection::vec((0usize..20, 0usize..4, "[ab\n]{0,3}"), 0..4),
            context in 0u32..4,
        ) {
            let old = lines.concat().into_bytes();
            let (mut splices, mut from) = (Vec::new(), 0usize);
            for (gap, length, new) in cuts {
                let start = (from + gap).min(old.len());
                let end = (start + length).min(old.len());
                let new = new.into_bytes();
                splices.push(Splice { offset: count(start), old: old[start..end].to_vec(), new });
                from = end;
            }
            let new = Splice::apply(&splices, &old).unwrap();
            let widened = Splice::widened(&splices, &old, context);
            prop_assert_eq!(&Splice::apply(&widened, &old).unwrap(), &new);
            for splice in &widened {
                let start = usize::try_from(splice.offset).unwrap();
                prop_assert_eq!(line_start(&old, start), start);
                let end = start + splice.old.len();
                prop_assert!(splice.new.last().is_none_or(|&b| b == b'\n') || end == old.len());
            }
            let inverse = Splice::invert(&widened);
            prop_assert_eq!(&Splice::apply(&inverse, &new).unwrap(), &old);
        }
    }
}
