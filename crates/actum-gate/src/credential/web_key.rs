//! Keys for Google's APIs that a web page shows to everybody: Firebase identifies a project by one,
//! and a map restricts its own to the page that it is on.

/// How much of the content around a key is looked at.
const BEFORE_BYTES: usize = 384;
const BEHIND_BYTES: usize = 256;

/// Words that stand near such a key.
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

/// Whether the key that begins at `at` is meant to be public, by what stands around it.
pub(super) fn is_public(content: &[u8], at: usize) -> bool {
    let end = content.len().min(at.saturating_add(BEHIND_BYTES));
    let around = content.get(at.saturating_sub(BEFORE_BYTES)..end).unwrap_or_default();
    WORDS.iter().any(|word| memchr::memmem::find(around, word.as_bytes()).is_some())
}
