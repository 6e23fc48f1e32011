//! Finder (seed 004, section 2.1), which searches the active simulations for a goal and creates exactly one packet.
//!
//! The Finder uses no model, clock, randomness or I/O. Its phrases, cue words and questions in six languages are reviewed
//! documents in `data`. Packages declare their phrases in `action.json`, and the catalog stores the phrases that the
//! operator signed.
//!
//! A simulation matches only if every word of the utterance is explained by one of its phrases, a cue word, or a function
//! word of the language. Otherwise, the packet contains a question, a refusal, or a report that no simulation fits. The
//! Execution Core must not depend on this crate (AEC-21).
//!
//! ```
//! use actum_core::{CoreAction, Digest};
//! use actum_finder::{Finder, Goal};
//!
//! let finder = Finder::new()?;
//! let simulations: Vec<_> =
//!     CoreAction::ALL.iter().filter_map(|action| finder.core_simulation(*action).cloned()).collect();
//! let goal = Goal {
//!     correlation_id: "goal-1".parse()?,
//!     tenant_id: "acme".parse()?,
//!     fingerprint: Digest::of(b"goal"),
//!     utterance: "Please delete the file notes.txt".to_owned(),
//!     normalized_intent: "delete a file".to_owned(),
//!     language: None,
//!     attempt_counter: 0,
//! };
//! let found = finder.find(&goal, Digest::of(b"catalog"), &simulations, None)?;
//! assert_eq!(found.packet.packet_type(), "SimulationMatchPacket");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod core_frames;
mod fields;
mod finder;
mod fold;
mod goal;
mod learning;
mod lexicon;
pub mod limits;
mod phrase;
mod rank;
mod reading;
mod refusal;
mod schemas;
mod simulation;
mod utterance;
mod wording;

pub use finder::{FINDER_SEMANTICS, FindError, Finder, Finding};
pub use goal::Goal;
pub use learning::{LearningDocument, LearningError, LearningTable};
pub use lexicon::LexiconError;
pub use phrase::{Phrase, PhraseError};
pub use refusal::RefusalCode;
pub use schemas::schemas;
pub use simulation::{
    ANY_LANGUAGE, Frame, FrameError, FrameWords, Parameter, ParameterKind, Rollback, Simulation,
};
