//! Edits of one value in a JSON file, which may contain comments.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at what it did not expect"
)]

mod comments;
mod layout;
mod limits;
mod properties;
mod refusals;

use actum_edit::edit::json_patch::JsonText;
use actum_edit::edit::{JsonPath, JsonValueEdit};
use actum_edit::{Edit, Splice};

fn add(path: &str, key: &str, value: &str) -> JsonValueEdit {
    let (path, value) = (JsonPath::new(path).unwrap(), JsonText::new(value).unwrap());
    JsonValueEdit::AddProperty { path, key: key.to_owned(), value }
}

fn remove(path: &str, key: &str) -> JsonValueEdit {
    JsonValueEdit::RemoveProperty { path: JsonPath::new(path).unwrap(), key: key.to_owned() }
}

fn update(path: &str, value: &str) -> JsonValueEdit {
    let (path, value) = (JsonPath::new(path).unwrap(), JsonText::new(value).unwrap());
    JsonValueEdit::UpdateValue { path, value }
}

/// Applies the edit to `file`.
fn edited(edit: JsonValueEdit, file: &str) -> Result<String, String> {
    let splices = Edit::JsonValue(edit).splices(file.as_bytes());
    let splices = splices.map_err(|error| error.to_string())?;
    Ok(String::from_utf8(Splice::apply(&splices, file.as_bytes()).unwrap()).unwrap())
}

/// Checks a file as a whole before and after one edit.
fn check(edit: JsonValueEdit, before: &str, after: &str) {
    assert_eq!(edited(edit.clone(), before).as_deref(), Ok(after), "{edit:?}");
}
