//! Entry points for the fuzzer to private code; not part of the interface.

use crate::journal::record::Record;

/// Decodes a record of the journal, without its checksums.
pub fn decode_record(bytes: &[u8]) -> bool {
    Record::decode(bytes).is_ok()
}
