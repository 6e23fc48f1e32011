//! Recognises Google API keys that are public by design: a Firebase key only identifies a project, and a Maps
//! key is restricted to its web page.

/// Number of bytes before a Google API key that are searched for signs of a public key.
const BEFORE_BYTES: usize = 384;
const BEHIND_BYTES: usize = 256;

/// Words that usually appear near a public key in a web page or app configuration.
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

/// Returns true if the text around the key at `at` shows that the key is public.
pub(super) fn is_public(content: &[u8], at: usize) -> bool {
    let end = content.len().min(at.saturating_add(BEHIND_BYTES));
    let around = content.get(at.saturating_sub(BEFORE_BYTES)..end).unwrap_or_default();
    WORDS.iter().any(|word| memchr::memmem::find(around, word.as_bytes()).is_some())
}
