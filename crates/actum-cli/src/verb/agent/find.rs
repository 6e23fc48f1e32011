//! `actum agent find`: creates a goal from an utterance, with one packet of the built-in Finder.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_agent::confirmation::{LanguageTag, LanguageTagError};
use actum_agent::limits::{INTENT_CHARS_MAX, UTTERANCE_CHARS_MAX};
use actum_agent::{AgentGoalRequest, FinderPacket};
use actum_core::Digest;
use actum_core::path::Quoted;
use actum_core::plain_id::PlainIdError;
use actum_finder::{Finder, Goal};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use serde_json::Map;

use super::{AgentFailure, correlation, learn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output_file::{Existing, OutputFile};
use crate::session::Session;
use crate::{actor, clock, records};

/// Create a goal from an utterance, with one packet of the built-in Finder
///
/// The Finder ranks the active simulations of the catalog by their declared phrases, without a model. It makes exactly
/// one packet: a match, a question, a refusal, or a missing simulation. Nothing is dispatched; to do that, pass the
/// printed goal to `actum agent dispatch -`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Words of the user
    utterance: String,
    /// Language of the utterance, as a BCP 47 tag; by default, all languages are searched
    #[arg(long, value_name = "TAG", value_parser = language)]
    language: Option<LanguageTag>,
    /// Normalised intent; by default, the utterance
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// Name of the goal; by default, a new name is generated
    #[arg(long, value_name = "ID", value_parser = correlation)]
    correlation: Option<CorrelationId>,
    /// Conversation to which the goal belongs; by default, a new one for this goal
    #[arg(long, value_name = "ID")]
    thread: Option<ThreadId>,
    /// User of the goal, if a host acts for a user other than this account
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// Number of the attempt, counted from 0; increase it after a question was answered
    #[arg(long, value_name = "N", default_value_t = 0)]
    attempt: u32,
    /// Add the bonuses of this signed learning table, which `actum agent learn --output` writes
    #[arg(long, value_name = "FILE")]
    learning: Option<PathBuf>,
    /// Write the evidence of the search to the new file FILE; its digest is `finder_proof_ref` in the packet
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
}

fn language(text: &str) -> Result<LanguageTag, LanguageTagError> {
    LanguageTag::new(text)
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.utterance.chars().count() > UTTERANCE_CHARS_MAX {
        return Err(AgentFailure::Utterance.into());
    }
    let invalid = |error: PlainIdError| AgentFailure::Name(error);
    let one_line = |text: &str, chars: usize| -> String {
        let line = text.split(char::is_control).collect::<Vec<_>>().join(" ");
        line.chars().take(chars).collect()
    };
    let correlation_id = match &arguments.correlation {
        Some(correlation) => correlation.clone(),
        None => new_name(&arguments.utterance).parse().map_err(invalid)?,
    };
    let thread_id = match &arguments.thread {
        Some(thread) => thread.clone(),
        None => correlation_id.as_str().parse().map_err(invalid)?,
    };
    let user_id = match &arguments.user {
        Some(user) => user.clone(),
        None => actor::from_agent(None).user.parse().map_err(invalid)?,
    };
    let records = records::open(&session.tenant)?;
    let learning = arguments.learning.as_deref();
    let learning = learning.map(|file| learn::read_signed(file, &records, session)).transpose()?;
    let intent = arguments.intent.as_ref().unwrap_or(&arguments.utterance);
    let mut goal = AgentGoalRequest {
        idempotency_key: format!("goal-{correlation_id}"),
        correlation_id,
        tenant_id: records.tenant().clone(),
        user_id,
        thread_id,
        raw_user_utterance: arguments.utterance.clone(),
        normalized_intent: one_line(intent, INTENT_CHARS_MAX),
        sim_finder_packet: Map::new(),
        confirm_state: None,
        attempt_counter: arguments.attempt,
    };
    let catalog = records.catalog()?.in_force().map_err(actum::Error::from)?;
    let snapshot = catalog.digest().map_err(actum::Error::from)?;
    let finder = Finder::new().map_err(|error| AgentFailure::Finder(error.to_string()))?;
    let simulations =
        finder.simulations(&catalog).map_err(|error| AgentFailure::Finder(error.to_string()))?;
    let asked = Goal::from_request(&goal, arguments.language.clone());
    let found = finder.find(&asked, snapshot, &simulations, learning.as_ref());
    let found = found.map_err(|error| AgentFailure::Finder(error.to_string()))?;
    goal.sim_finder_packet = found.packet.to_object().map_err(actum::Error::from)?;
    let mut bytes = serde_json::to_vec(&goal)
        .map_err(|error| Failure::Unwritten { source: io::Error::other(error) })?;
    bytes.push(b'\n');
    if let Some(file) = &arguments.evidence {
        let path = session.start.join(file);
        OutputFile::write(&path, Existing::Refuse, &found.evidence, &session.tenant)?;
        let name = Quoted(file.as_os_str().as_bytes());
        session.screen.note(format_args!("wrote the evidence to {name}"));
    }
    session.screen.hand_over(&bytes)?;
    session
        .screen
        .note(format_args!("the Finder made a packet of type {}", found.packet.packet_type()));
    if let FinderPacket::Clarify(packet) = &found.packet {
        session.screen.note(&packet.question);
    }
    Ok(Exit::Success)
}

/// Generates the name of a new goal from the time, the process id and the utterance.
fn new_name(utterance: &str) -> String {
    let time = clock::now().micros().to_le_bytes();
    let process = std::process::id().to_le_bytes();
    let parts: [&[u8]; 3] = [&time, &process, utterance.as_bytes()];
    let digest = Digest::tagged("actum/agent-correlation/1", &parts).to_string();
    format!("goal-{}", digest.get(..24).unwrap_or_default())
}
