//! Paths as text in JSON documents.

use actum_api::path::WorkspacePath;

/// The exact text of a path for JSON, or the escaped one where the bytes are no UTF-8.
pub(crate) fn text(bytes: &[u8]) -> String {
    WorkspacePath::new(bytes).path
}
