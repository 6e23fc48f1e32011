//! Parses and serializes the documents that a task writes, according to their schemas.

use actum_document::{Diagnostic, JsonPath, ObjectSchema, Problem, reader};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ReportError;

/// Maximum size of a document in bytes, 64 MiB. The largest document is a change log, which has a preview of each change.
pub(super) const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

pub(super) fn read<T: DeserializeOwned>(
    bytes: &[u8],
    shape: &'static ObjectSchema,
) -> Result<T, ReportError> {
    reader::read_as(bytes, DOCUMENT_BYTES_MAX, shape).map_err(ReportError)
}

/// Serializes the document as JSON with line breaks and indentation. Returns an error unless `read` accepts the result.
pub(super) fn write<T: Serialize>(
    document: &T,
    read: fn(&[u8]) -> Result<T, ReportError>,
) -> Result<Vec<u8>, ReportError> {
    written(serde_json::to_vec_pretty(document), read)
}

/// Serializes the document as JSON on one line. Returns an error unless `read` accepts the result.
pub(super) fn write_line<T: Serialize>(
    document: &T,
    read: fn(&[u8]) -> Result<T, ReportError>,
) -> Result<Vec<u8>, ReportError> {
    written(serde_json::to_vec(document), read)
}

fn written<T>(
    bytes: serde_json::Result<Vec<u8>>,
    read: fn(&[u8]) -> Result<T, ReportError>,
) -> Result<Vec<u8>, ReportError> {
    let mut bytes = bytes.map_err(|_| {
        let (path, problem) = (JsonPath::default(), Problem::Unwritable);
        ReportError(Diagnostic { place: None, path, problem })
    })?;
    bytes.push(b'\n');
    read(&bytes).map(|_| bytes)
}
