//! Limits on the documents of the Agent Execution Core.

/// Maximum size of a goal request, in bytes.
pub const GOAL_BYTES_MAX: usize = 256 << 10;
/// Maximum size of a packet of a Finder, in bytes.
pub const PACKET_BYTES_MAX: usize = 128 << 10;
/// Maximum length of a user's utterance, in characters.
pub const UTTERANCE_CHARS_MAX: usize = 4096;
/// Maximum length of a normalised intent, in characters.
pub const INTENT_CHARS_MAX: usize = 512;
/// Maximum length of the idempotency key of a request, in characters.
pub const REQUEST_KEY_CHARS_MAX: usize = 128;
/// Maximum length of an answer to a confirmation prompt, in characters.
pub const ANSWER_CHARS_MAX: usize = 256;
/// Maximum length of a language tag, in characters. BCP 47 recommends to support at least 35.
pub const LANGUAGE_CHARS_MAX: usize = 35;
/// Maximum length of a question, message or requested capability in a packet, in characters.
pub const SENTENCE_CHARS_MAX: usize = 500;
/// Maximum number of candidates in a packet.
pub const CANDIDATES_MAX: usize = 8;
/// Maximum score of a candidate.
pub const SCORE_MAX: i64 = 1_000_000;
/// Maximum length of a message to the user, in characters. It is large because a prompt shows every field of a packet
/// in escaped form.
pub const MESSAGE_CHARS_MAX: usize = 8 * PACKET_BYTES_MAX;
/// Maximum number of attempts at a goal.
pub const ATTEMPTS_MAX: i64 = 1000;
/// Maximum number of steps in a plan, in phase 1 (AEC-18).
pub const STEPS_MAX: usize = 1;
/// Maximum number of times that the effect of a step may be started, including the first time. A step can be retried
/// only in the state `REVERTED`.
pub const STARTS_MAX: u32 = 3;
/// Number of ambiguous answers after which a step is refused.
pub const AMBIGUOUS_ANSWERS_MAX: u32 = 2;
/// Time after which a confirmation prompt expires, in seconds.
pub const PROMPT_SECONDS: i64 = 15 * 60;
