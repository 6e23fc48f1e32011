//! Limits of the documents of the core.

/// Largest goal, in bytes.
pub const GOAL_BYTES_MAX: usize = 256 << 10;
/// Largest packet of a Finder, in bytes.
pub const PACKET_BYTES_MAX: usize = 128 << 10;
/// Longest utterance of a user, in characters.
pub const UTTERANCE_CHARS_MAX: usize = 4096;
/// Longest normalised intent, in characters.
pub const INTENT_CHARS_MAX: usize = 512;
/// Longest idempotency key of a request, in characters.
pub const REQUEST_KEY_CHARS_MAX: usize = 128;
/// Longest answer to a confirmation prompt, in characters.
pub const ANSWER_CHARS_MAX: usize = 256;
/// Longest language tag, in characters (BCP 47 recommends room for 35).
pub const LANGUAGE_CHARS_MAX: usize = 35;
/// Longest question, message or requested capability of a packet, in characters.
pub const SENTENCE_CHARS_MAX: usize = 500;
/// Most candidates of a packet.
pub const CANDIDATES_MAX: usize = 8;
/// Highest score of a candidate.
pub const SCORE_MAX: i64 = 1_000_000;
/// Longest message to a user, in characters: a prompt shows every field of a packet, escaped.
pub const MESSAGE_CHARS_MAX: usize = 8 * PACKET_BYTES_MAX;
/// Most attempts at one goal.
pub const ATTEMPTS_MAX: i64 = 1000;
/// Most steps of a plan in phase 1 (AEC-18).
pub const STEPS_MAX: usize = 1;
/// Most starts of the effect of a step, including the first. A retry needs the state `REVERTED`.
pub const STARTS_MAX: u32 = 3;
/// Number of ambiguous answers after which a step is refused.
pub const AMBIGUOUS_ANSWERS_MAX: u32 = 2;
/// Validity of a confirmation prompt, in seconds.
pub const PROMPT_SECONDS: i64 = 15 * 60;
