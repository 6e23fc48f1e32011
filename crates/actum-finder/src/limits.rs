//! Limits of the Finder.

/// Most simulations of a catalog.
pub const SIMULATIONS_MAX: usize = 4096;
/// Most frames of a simulation.
pub const FRAMES_MAX: usize = 16;
/// Most parameters of a frame.
pub const PARAMETERS_MAX: usize = 32;
/// Most phrases of a frame in one language.
pub const PHRASES_MAX: usize = 64;
/// Most words of a phrase.
pub const PHRASE_WORDS_MAX: usize = 12;
/// Most alternatives for one word of a phrase.
pub const ALTERNATIVES_MAX: usize = 48;
/// Longest phrase, in characters.
pub const PHRASE_CHARS_MAX: usize = 1024;
/// Most words of a list.
pub const TERMS_MAX: usize = 512;
/// Largest lexicon of a language, in bytes.
pub const LEXICON_BYTES_MAX: usize = 256 << 10;
/// Largest learning table, in bytes.
pub const LEARNING_BYTES_MAX: usize = 256 << 10;
/// Highest learning bonus of a simulation.
pub const BONUS_MAX: u32 = 50;
/// Least distance between the first two scores. Below it the Finder asks.
///
/// INVARIANT: it is not below [`BONUS_MAX`], so that a bonus decides a tie but never turns an order around.
pub const MARGIN: u32 = 50;
/// Most candidates of a clarify packet.
pub const CLARIFY_CANDIDATES_MAX: usize = 2;
/// Longest part of an utterance that a packet repeats, in bytes.
pub const REPEATED_BYTES_MAX: usize = 240;
/// Least length of a function word that is recognised with a typing mistake, in characters.
pub const MISTYPED_CHARS_MIN: usize = 5;
