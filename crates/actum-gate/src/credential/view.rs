//! Normalises content for the credential scan by decoding UTF-16 and removing zero-width characters.

use std::borrow::Cow;

/// Content in the form that the scan searches, with the mapping between both positions.
pub(super) struct View<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Number of content bytes per byte of the view: 2 for UTF-16, otherwise 1.
    width: usize,
    /// Positions in the view where bytes were removed, each with the total number of bytes removed up to there.
    left_out: Vec<(usize, usize)>,
}

/// Number of bytes at the start of the content that are examined to detect UTF-16.
const SAMPLE_BYTES: usize = 1024;

impl<'a> View<'a> {
    /// Creates the view of `content`, which borrows the content if nothing needs to be changed.
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self::decode(find_low_byte(content), content)
    }

    /// Creates the view of `content`. For UTF-16, `low` is the index of the low byte in each two-byte code
    /// unit; for other encodings, it is `None`.
    pub(super) fn decode(low: Option<usize>, content: &'a [u8]) -> Self {
        if let Some(low) = low {
            let units =
                content.chunks_exact(2).map(|unit| match (unit.get(low), unit.get(1 - low)) {
                    (Some(&byte), Some(0)) if byte.is_ascii() => byte,
                    _ => u8::MAX,
                });
            return Self { bytes: Cow::Owned(units.collect()), width: 2, left_out: Vec::new() };
        }
        if content.is_ascii() {
            return Self { bytes: Cow::Borrowed(content), width: 1, left_out: Vec::new() };
        }
        Self::without_zero_width(content)
    }

    fn without_zero_width(content: &'a [u8]) -> Self {
        let (mut bytes, mut left_out) = (Vec::new(), Vec::new());
        let (mut copied, mut from) = (0, 0);
        while let Some(at) =
            memchr::memchr3(0xe2, 0xef, 0xc2, content.get(from..).unwrap_or_default())
        {
            let at = from + at;
            let length = zero_width(content.get(at..).unwrap_or_default());
            from = at + length.max(1);
            // A byte order mark at the start of the content is kept, because it cannot split a credential.
            if length > 0 && at > 0 {
                bytes.extend_from_slice(content.get(copied..at).unwrap_or_default());
                copied = at + length;
                left_out.push((bytes.len(), copied - bytes.len()));
            }
        }
        if left_out.is_empty() {
            return Self { bytes: Cow::Borrowed(content), width: 1, left_out };
        }
        bytes.extend_from_slice(content.get(copied..).unwrap_or_default());
        Self { bytes: Cow::Owned(bytes), width: 1, left_out }
    }

    /// Converts a position in the content to a position in the view.
    pub(super) fn to_view(&self, at: usize) -> usize {
        let before = self.left_out.partition_point(|&(place, bytes)| place + bytes <= at);
        let left_out = before.checked_sub(1).and_then(|last| self.left_out.get(last));
        at.saturating_sub(left_out.map_or(0, |&(_, bytes)| bytes)) / self.width
    }

    /// Converts a position in the view to a position in the content.
    pub(super) fn to_content(&self, at: usize) -> usize {
        let before = self.left_out.partition_point(|&(place, _)| place <= at);
        let left_out = before.checked_sub(1).and_then(|last| self.left_out.get(last));
        at * self.width + left_out.map_or(0, |&(_, bytes)| bytes)
    }
}

/// Returns the index of the low byte in each code unit if `content` is UTF-16. It must have a byte order mark,
/// or a zero at one index in at least a quarter of its code units and none at the other.
pub(super) fn find_low_byte(content: &[u8]) -> Option<usize> {
    match content {
        [0xff, 0xfe, ..] => return Some(0),
        [0xfe, 0xff, ..] => return Some(1),
        _ => {}
    }
    let sample = content.get(..SAMPLE_BYTES).unwrap_or(content);
    memchr::memchr(0, sample)?;
    let empty =
        |which: usize| sample.iter().skip(which).step_by(2).filter(|&&byte| byte == 0).count();
    match (empty(0), empty(1)) {
        (0, high) if high * 8 >= sample.len() => Some(0),
        (high, 0) if high * 8 >= sample.len() => Some(1),
        _ => None,
    }
}

/// Returns the length of the zero-width character at the start of `rest` in bytes, or 0 if it starts otherwise.
fn zero_width(rest: &[u8]) -> usize {
    match rest {
        // U+200B to U+200F, U+2060 to U+2064, U+FEFF, and the soft hyphen (U+00AD).
        [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0..=0xa4, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
        [0xc2, 0xad, ..] => 2,
        _ => 0,
    }
}
