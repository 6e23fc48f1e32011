//! Size limits of tokens and chain documents, and the format name of chain documents.

/// Maximum size of a token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Maximum size of a token as text, in bytes, which is base64 with padding.
pub const TOKEN_TEXT_BYTES_MAX: usize = TOKEN_BYTES_MAX.div_ceil(3) * 4;
/// Maximum size of a chain document, in bytes. The document of a token of maximum size fits.
pub const CHAIN_BYTES_MAX: usize = 32 << 10;
/// Value of the `format` field in a chain document.
pub(crate) const CHAIN_FORMAT: &str = "actum.lease-chain/1";
