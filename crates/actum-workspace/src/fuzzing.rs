//! Doors for the fuzzer to what is private; not part of the interface.

use crate::journal::record::Record;

/// Decodes a record of the journal behind its checksums.
pub fn decode_record(bytes: &[u8]) -> bool {
    Record::decode(bytes).is_ok()
}
