//! Limits of the Finder.

/// Maximum number of simulations in a catalog.
pub const SIMULATIONS_MAX: usize = 4096;
/// Maximum number of frames in a simulation.
pub const FRAMES_MAX: usize = 16;
/// Maximum number of parameters in a frame.
pub const PARAMETERS_MAX: usize = 32;
/// Maximum number of phrases in a frame, per language.
pub const PHRASES_MAX: usize = 64;
/// Maximum number of words in a phrase.
pub const PHRASE_WORDS_MAX: usize = 12;
/// Maximum number of alternatives for one word of a phrase.
pub const ALTERNATIVES_MAX: usize = 48;
/// Maximum length of a phrase, in characters.
pub const PHRASE_CHARS_MAX: usize = 1024;
/// Maximum number of words in a list.
pub const TERMS_MAX: usize = 512;
/// Maximum size of a lexicon, in bytes.
pub const LEXICON_BYTES_MAX: usize = 256 << 10;
/// Maximum size of a learning table, in bytes.
pub const LEARNING_BYTES_MAX: usize = 256 << 10;
/// Maximum learning bonus of a simulation.
pub const BONUS_MAX: u32 = 50;
/// Minimum difference between the best two scores. If they are closer, the Finder asks the user.
///
/// INVARIANT: the margin is at least [`BONUS_MAX`], so that a bonus can break a tie but cannot reverse the order.
pub const MARGIN: u32 = 50;
/// Maximum number of candidates in a clarify packet.
pub const CLARIFY_CANDIDATES_MAX: usize = 2;
/// Maximum length of the part of an utterance that a packet repeats, in bytes.
pub const REPEATED_BYTES_MAX: usize = 240;
/// Minimum length of a word that is recognised despite a typing mistake, in characters.
pub const MISTYPED_CHARS_MIN: usize = 5;
