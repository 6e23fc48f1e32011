//! Paths as text in JSON documents.

use actum_api::path::WorkspacePath;

/// Returns the exact text of a path for JSON, or the escaped one if the bytes are not UTF-8.
pub(crate) fn text(bytes: &[u8]) -> String {
    WorkspacePath::new(bytes).path
}
