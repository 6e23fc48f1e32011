//! Public keys for Google's APIs in web pages: Firebase identifies a project by one, and Maps restricts a key
//! to its page.

/// Number of bytes around a key that are examined.
const BEFORE_BYTES: usize = 384;
const BEHIND_BYTES: usize = 256;

/// Words near such a key.
const WORDS: [&str; 12] = [
    "authDomain",
    "messagingSenderId",
    "firebaseConfig",
    "firebaseapp.com",
    "initializeApp(",
    "maps.googleapis.com/maps",
    "maps/api/js",
    "maps/api/staticmap",
    "maps/embed",
    "current_key",
    "FIREBASE",
    "GCM_SENDER_ID",
];

/// Returns true if the key at `at` is intended to be public, judging by the text around it.
pub(super) fn is_public(content: &[u8], at: usize) -> bool {
    let end = content.len().min(at.saturating_add(BEHIND_BYTES));
    let around = content.get(at.saturating_sub(BEFORE_BYTES)..end).unwrap_or_default();
    WORDS.iter().any(|word| memchr::memmem::find(around, word.as_bytes()).is_some())
}
