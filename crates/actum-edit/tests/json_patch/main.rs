//! JSON Patch as byte edits: values change as RFC 6902 specifies, and every other byte is unchanged.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod cases;
mod layout;
mod limits;
mod properties;
mod refusals;

use actum_core::RelPath;
use actum_edit::format::{Reading, parse};
use actum_edit::{Operation, Splice};

/// Returns the splices that the RFC 6902 array `patch` makes in `content`.
fn splices(patch: &str, content: &[u8]) -> Result<Vec<Splice>, String> {
    let target = RelPath::new("file.json").ok();
    let operations = parse(patch.as_bytes(), &Reading { target, ..Reading::default() });
    match operations.map_err(|error| error.to_string())?.as_slice() {
        [Operation::Edit { edit, .. }] => edit.splices(content).map_err(|error| error.to_string()),
        other => panic!("{other:?}"),
    }
}

/// Applies the RFC 6902 array `patch` to `content`.
fn patched(patch: &str, content: &str) -> Result<String, String> {
    let splices = splices(patch, content.as_bytes())?;
    Ok(String::from_utf8(Splice::apply(&splices, content.as_bytes()).unwrap()).unwrap())
}
