//! Edits of one value in a YAML file.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at what it did not expect"
)]

mod layout;
mod limits;
mod members;
mod properties;
mod refusals;

use std::num::NonZeroU32;

use actum_edit::edit::json_patch::JsonText;
use actum_edit::edit::{JsonPath, YamlUpdate};
use actum_edit::{Edit, Splice};

fn update(path: &str, value: &str) -> YamlUpdate {
    let (path, value) = (JsonPath::new(path).unwrap(), JsonText::new(value).unwrap());
    YamlUpdate { path, document: None, value }
}

/// Applies the edit to one document of `file`.
fn edited_in(document: u32, path: &str, value: &str, file: &str) -> Result<String, String> {
    let document = NonZeroU32::new(document);
    let edit = Edit::Yaml(YamlUpdate { document, ..update(path, value) });
    let splices = edit.splices(file.as_bytes()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(Splice::apply(&splices, file.as_bytes()).unwrap()).unwrap())
}

/// Applies the edit to `file`.
fn edited(path: &str, value: &str, file: &str) -> Result<String, String> {
    let splices = Edit::Yaml(update(path, value)).splices(file.as_bytes());
    let splices = splices.map_err(|error| error.to_string())?;
    Ok(String::from_utf8(Splice::apply(&splices, file.as_bytes()).unwrap()).unwrap())
}

/// Checks a file as a whole before and after one edit.
fn check(path: &str, value: &str, before: &str, after: &str) {
    assert_eq!(edited(path, value, before).as_deref(), Ok(after), "{path} {value}");
}
