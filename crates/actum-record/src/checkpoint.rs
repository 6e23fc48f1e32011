//! Checkpoints, which state the name, size and Merkle root of a log (C2SP `tlog-checkpoint`).

use actum_core::Digest;
use actum_core::path::Cut;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// State of a log at one point in time, which becomes the text of a signed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Name of the log, which is not empty and has no line breaks.
    pub origin: String,
    /// Number of entries in the log.
    pub size: u64,
    /// Root of the log's Merkle tree.
    pub root: Digest,
}

/// Error for a text that is not a valid checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The text has fewer than three lines, or does not end with a line feed.
    #[error("expected three lines (origin, size, root), each ending with a line feed")]
    Lines,
    /// The first line, which contains the name of the log, is empty.
    #[error("the first line must contain the name of the log, but it is empty")]
    Origin,
    /// The second line is not a canonical decimal number.
    #[error("the second line must contain the size of the log, found `{}`", Cut(line.as_bytes(), 40))]
    Size {
        /// Content of the line.
        line: String,
    },
    /// The third line is not a SHA-256 digest in base64.
    #[error("the third line must contain a digest in base64, found `{}`", Cut(line.as_bytes(), 60))]
    Root {
        /// Content of the line.
        line: String,
    },
    /// The text continues after the root, with extension lines.
    #[error("unexpected lines after the root; checkpoint extensions are not supported")]
    Extension,
}

impl Checkpoint {
    /// Formats the checkpoint as the text to be signed.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }

    /// Parses the text of a checkpoint. Rejects extension lines, because actum never writes them.
    ///
    /// # Errors
    /// Returns [`CheckpointError`] if the text is not a valid checkpoint.
    pub fn read(text: &str) -> Result<Self, CheckpointError> {
        let text = text.strip_suffix('\n').ok_or(CheckpointError::Lines)?;
        let mut lines = text.split('\n');
        let mut line = || lines.next().ok_or(CheckpointError::Lines);
        let (origin, size, root) = (line()?, line()?, line()?);
        if lines.next().is_some() {
            return Err(CheckpointError::Extension);
        }
        if origin.is_empty() {
            return Err(CheckpointError::Origin);
        }
        let read: Option<u64> = size.parse().ok().filter(|read: &u64| read.to_string() == size);
        let size = read.ok_or_else(|| CheckpointError::Size { line: size.to_owned() })?;
        let bytes = STANDARD.decode(root).ok().and_then(|bytes| bytes.try_into().ok());
        let root = bytes
            .map(Digest::from_bytes)
            .ok_or_else(|| CheckpointError::Root { line: root.to_owned() })?;
        Ok(Self { origin: origin.to_owned(), size, root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example checkpoint from the C2SP specification.
    const TEXT: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    #[test]
    fn published_checkpoint_example_round_trips() {
        let checkpoint = Checkpoint::read(TEXT).unwrap();
        assert_eq!(checkpoint.size, 20_852_163);
        assert_eq!(checkpoint.text(), TEXT);
    }

    #[test]
    fn malformed_checkpoint_is_rejected() {
        let cases = [
            ("", CheckpointError::Lines),
            ("a\n1\n", CheckpointError::Lines),
            (TEXT.trim_end(), CheckpointError::Lines),
            (&TEXT.replace("example.com/behind-the-sofa", ""), CheckpointError::Origin),
            (&format!("{TEXT}more\n"), CheckpointError::Extension),
            (&TEXT.replace("20852163", "+1"), CheckpointError::Size { line: "+1".into() }),
            (&TEXT.replace("20852163", "007"), CheckpointError::Size { line: "007".into() }),
        ];
        for (text, error) in cases {
            assert_eq!(Checkpoint::read(text), Err(error), "{text:?}");
        }
        for root in [
            "",
            "AAAA",
            "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I",
            "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=",
        ] {
            let text = format!("a\n1\n{root}\n");
            assert!(matches!(Checkpoint::read(&text), Err(CheckpointError::Root { .. })), "{root}");
        }
    }
}
