//! Paths in reports, written as text and, if they are not valid UTF-8, also as hexadecimal bytes.

use actum_core::RelPath;
use actum_core::path::{PATH_BYTES_MAX, Quoted};
use actum_document::{Characters, Form, Member, Text};
use serde::{Deserialize, Serialize};

/// Path of a file. It is written to the field `file_path`, and also to `file_path_hex` if it is not valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenFilePath", try_from = "WrittenFilePath")]
pub struct FilePath(pub RelPath);

/// New path of a renamed file. It is written to the field `new_path`, and also to `new_path_hex` if it is not valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenNewPath", try_from = "WrittenNewPath")]
pub struct NewPath(pub RelPath);

#[derive(Serialize, Deserialize)]
struct WrittenFilePath {
    file_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_path_hex: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WrittenNewPath {
    new_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    new_path_hex: Option<String>,
}

/// Maximum length of a path in characters, if each of its bytes is escaped.
const SHOWN_CHARS_MAX: usize = 4 * PATH_BYTES_MAX;
/// Schema of a path that is written as text.
pub(super) const PATH_TEXT: Text = Text::filled(SHOWN_CHARS_MAX, Characters::NoNul);
pub(super) const PATH: Form = Form::Text(PATH_TEXT);
const HEX: Form = Form::Text(Text::filled(2 * PATH_BYTES_MAX, Characters::NoNul));

pub(super) const FILE_PATH: Member = Member::required(
    "file_path",
    PATH,
    "Path of the file, relative to the workspace root. Escaped if it is not valid UTF-8.",
);
pub(super) const FILE_PATH_HEX: Member = Member::optional(
    "file_path_hex",
    HEX,
    "Bytes of the path in hexadecimal digits, if it is not valid UTF-8.",
);
pub(super) const NEW_PATH: Member =
    Member::optional("new_path", PATH, "New path of a renamed file.");
pub(super) const NEW_PATH_HEX: Member = Member::optional(
    "new_path_hex",
    HEX,
    "Bytes of the new path in hexadecimal digits, if it is not valid UTF-8.",
);

/// Returns the path as text, and also its bytes in hexadecimal if it is not valid UTF-8.
fn write(path: &RelPath) -> (String, Option<String>) {
    match std::str::from_utf8(path.as_bytes()) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => {
            let hex = path.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            (Quoted(path.as_bytes()).to_string(), Some(hex))
        }
    }
}

fn read(text: String, hex: Option<String>) -> Result<RelPath, String> {
    let bytes = match hex {
        None => text.into_bytes(),
        Some(hex) => {
            let pairs = hex.as_bytes().chunks(2).map(actum_core::digest::from_hex::<1>);
            let bytes: Option<Vec<[u8; 1]>> = pairs.collect();
            bytes.ok_or("the bytes of the path are not written in hexadecimal digits")?.concat()
        }
    };
    RelPath::new(bytes).map_err(|error| error.to_string())
}

impl From<FilePath> for WrittenFilePath {
    fn from(path: FilePath) -> Self {
        let (file_path, file_path_hex) = write(&path.0);
        Self { file_path, file_path_hex }
    }
}

impl TryFrom<WrittenFilePath> for FilePath {
    type Error = String;

    fn try_from(written: WrittenFilePath) -> Result<Self, String> {
        read(written.file_path, written.file_path_hex).map(Self)
    }
}

impl From<NewPath> for WrittenNewPath {
    fn from(path: NewPath) -> Self {
        let (new_path, new_path_hex) = write(&path.0);
        Self { new_path, new_path_hex }
    }
}

impl TryFrom<WrittenNewPath> for NewPath {
    type Error = String;

    fn try_from(written: WrittenNewPath) -> Result<Self, String> {
        read(written.new_path, written.new_path_hex).map(Self)
    }
}
