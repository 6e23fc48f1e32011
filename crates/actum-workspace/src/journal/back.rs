//! Data that rebuilds the bytes before a run from the bytes that the run left.

use actum_edit::Splice;
use actum_edit::line_diff::CONTEXT_LINES;

use crate::journal::codec::{DecodeError, Decoder, Encoder};

/// Numbers of context lines that may be recorded around a change. The smallest number that makes the change unique is
/// used.
const CONTEXTS: [u32; 3] = [CONTEXT_LINES, 10, 30];
/// Limit on searching contents for unique changes, as the size of the content in bytes times the number of changes.
const SEARCHED_MAX: usize = 32 << 20;

/// Data that rebuilds the bytes before a run from the bytes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Back {
    /// Splices that are part of the record.
    Splices(Splices),
    /// Block delta in the keep directory, under the name [`blocks_name`](crate::journal::record::blocks_name).
    Blocks,
}

/// Splices that turn the bytes after a run into the bytes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splices {
    pub(crate) splices: Vec<Splice>,
    /// Number of the first line of each splice in the content that the run left. Empty unless the splices are whole
    /// lines with context lines.
    pub(crate) lines: Vec<u64>,
    /// True if each splice, with its context lines, occurred exactly once in the content that the run left.
    pub(crate) is_unique: bool,
}

impl Splices {
    /// Wraps splices that have no context lines.
    pub(crate) fn raw(splices: Vec<Splice>) -> Self {
        Self { splices, lines: Vec::new(), is_unique: false }
    }

    /// Extends splices to whole lines of `left` with context lines around them. `left` is the content after the run.
    pub(crate) fn with_lines(splices: &[Splice], left: &[u8]) -> Self {
        let widened = |context| Splice::widened(splices, left, context);
        let is_unique = |splices: &Vec<Splice>| {
            splices.len().saturating_mul(left.len()) <= SEARCHED_MAX
                && splices.iter().all(|splice| splice.found_in(left, left.len()).is_some())
        };
        let unique = CONTEXTS.into_iter().map(widened).find(is_unique);
        let (splices, is_unique) = match unique {
            Some(splices) => (splices, true),
            None => (widened(CONTEXT_LINES), false),
        };
        let (mut line, mut counted) = (1u64, 0usize);
        let lines = splices.iter().map(|splice| {
            let start = usize::try_from(splice.offset).unwrap_or(usize::MAX);
            let above = left.get(counted..start).unwrap_or_default();
            line = line.saturating_add(memchr::memchr_iter(b'\n', above).count() as u64);
            counted = start;
            line
        });
        Self { lines: lines.collect(), splices, is_unique }
    }
}

impl Back {
    /// Returns the splices, if they are part of the record.
    pub(crate) fn splices(&self) -> Option<&Splices> {
        match self {
            Self::Splices(splices) => Some(splices),
            Self::Blocks => None,
        }
    }

    pub(crate) fn encode(back: Option<&Self>, e: &mut Encoder) {
        let Splices { splices, lines, is_unique } = match back {
            None => return e.u8(0),
            Some(Self::Blocks) => return e.u8(4),
            Some(Self::Splices(splices)) => splices,
        };
        e.u8(match (lines.is_empty(), is_unique) {
            (true, _) => 1,
            (false, false) => 2,
            (false, true) => 3,
        });
        e.length(splices.len());
        for splice in splices {
            e.u64(splice.offset);
            e.bytes(&splice.old);
            e.bytes(&splice.new);
        }
        lines.iter().for_each(|line| e.u64(*line));
    }

    pub(crate) fn decode(d: &mut Decoder<'_>) -> Result<Option<Self>, DecodeError> {
        let kind = d.u8("a splice list")?;
        match kind {
            0 => return Ok(None),
            4 => return Ok(Some(Self::Blocks)),
            _ => {}
        }
        let count = d.count("a splice list")?;
        let mut splices = Vec::with_capacity(count);
        for _ in 0..count {
            let offset = d.u64("a splice")?;
            let old = d.bytes("a splice")?.to_vec();
            let new = d.bytes("a splice")?.to_vec();
            splices.push(Splice { offset, old, new });
        }
        let is_unique = match kind {
            1 => return Ok(Some(Self::Splices(Splices::raw(splices)))),
            2 => false,
            3 => true,
            _ => return Err(DecodeError("a splice list")),
        };
        let lines = splices.iter().map(|_| d.u64("a line number")).collect::<Result<_, _>>()?;
        Ok(Some(Self::Splices(Splices { splices, lines, is_unique })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FO-5
    #[test]
    fn more_context_lines_are_recorded_for_ambiguous_changes() {
        let block = "a\nb\nc\nn\nd\ne\nf\n";
        let old = format!("one\n{block}two\n{block}").replacen('n', "x", 1);
        let left = old.replacen('x', "n", 1);
        let old = old.replacen("n\nd", "x\nd", 0);
        let back =
            Splices::with_lines(&Splice::between(left.as_bytes(), old.as_bytes()), left.as_bytes());
        assert!(back.is_unique);
        assert_eq!(back.lines, [1]);
        assert!(back.splices[0].old.starts_with(b"one\n"));
        let repeated = "x\n".repeat(200);
        let shorter = "x\n".repeat(199);
        let splices = Splice::between(repeated.as_bytes(), shorter.as_bytes());
        assert!(!Splices::with_lines(&splices, repeated.as_bytes()).is_unique);
    }

    #[test]
    fn back_record_round_trips() {
        let splice = Splice { offset: 7, old: b"a\n".to_vec(), new: b"b\nc\n".to_vec() };
        let in_lines = |is_unique| {
            Back::Splices(Splices { splices: vec![splice.clone()], lines: vec![3], is_unique })
        };
        for back in [
            None,
            Some(Back::Splices(Splices::raw(vec![splice.clone()]))),
            Some(in_lines(false)),
            Some(in_lines(true)),
            Some(Back::Blocks),
        ] {
            let mut e = Encoder::default();
            Back::encode(back.as_ref(), &mut e);
            let bytes = e.finish();
            let mut d = Decoder::new(&bytes);
            assert_eq!(Back::decode(&mut d).unwrap(), back);
            assert!(d.is_empty());
        }
        assert!(Back::decode(&mut Decoder::new(&[5, 0, 0, 0, 0, 0, 0, 0, 0])).is_err());
    }
}
