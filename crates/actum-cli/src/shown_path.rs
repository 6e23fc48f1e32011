//! Conversion of paths to text for JSON documents.

use actum_api::path::WorkspacePath;

/// Converts a path to text for JSON, with escapes if its bytes are not valid UTF-8.
pub(crate) fn text(bytes: &[u8]) -> String {
    WorkspacePath::new(bytes).path
}
