//! Signed state of a log: its name, its size and its root (C2SP `tlog-checkpoint`).

use actum_core::Digest;
use actum_core::path::Cut;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The state of a log at one moment, as the text of a signed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the log; not empty, and without line breaks.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// The root of its Merkle tree.
    pub root: Digest,
}

/// A text that is no checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The note has fewer lines than three.
    #[error("a checkpoint has three lines (origin, size, root), each ended by a line feed")]
    Lines,
    /// The first line is empty.
    #[error("the first line, which names the log, is empty")]
    Origin,
    /// The second line is no size.
    #[error("the second line is no size: `{}`", Cut(line.as_bytes(), 40))]
    Size {
        /// The line.
        line: String,
    },
    /// The third line is no digest.
    #[error("the third line is no digest in base64: `{}`", Cut(line.as_bytes(), 60))]
    Root {
        /// The line.
        line: String,
    },
    /// Lines follow that this program does not know.
    #[error("lines follow the root that this program does not know")]
    Extension,
}

impl Checkpoint {
    /// The text that is signed.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }

    /// Reads such a text. Extension lines are refused: nothing of ours writes them.
    ///
    /// # Errors
    /// [`CheckpointError`].
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

    /// The example of the C2SP document.
    const TEXT: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    #[test]
    fn the_published_example_is_read_and_written_alike() {
        let checkpoint = Checkpoint::read(TEXT).unwrap();
        assert_eq!(checkpoint.size, 20_852_163);
        assert_eq!(checkpoint.text(), TEXT);
    }

    #[test]
    fn another_text_is_refused() {
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
