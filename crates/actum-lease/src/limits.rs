//! Limits of tokens and chain documents, and the name of their format.

/// Longest token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Longest text of a token, in bytes: base64 with padding.
pub const TOKEN_TEXT_BYTES_MAX: usize = TOKEN_BYTES_MAX.div_ceil(3) * 4;
/// Longest chain document, in bytes: that of a token of the largest size fits.
pub const CHAIN_BYTES_MAX: usize = 32 << 10;
/// Value of `format` in a chain document.
pub(crate) const CHAIN_FORMAT: &str = "actum.lease-chain/1";
