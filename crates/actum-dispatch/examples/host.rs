//! Example of a host that dispatches the goal of a user. It asserts the identity of the user, shows the prompt, and
//! relays the user's answer. Run it with `cargo run -p actum-dispatch --example host DIRECTORY`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a complete program"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use actum::{Clock, Engine, Records};
use actum_agent::AgentGoalRequest;
use actum_agent::goal::ConfirmState;
use actum_core::Timestamp;
use actum_dispatch::{Caller, Dispatcher, Settings};
use actum_ledger::{Admission, Keys, LedgerHome};
use actum_record::ledger::{Actor, TenantId};
use actum_record::signer::KeyRole;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    run_example(&PathBuf::from(
        std::env::args_os().nth(1).ok_or("expected a directory as argument")?,
    ))
}

pub(crate) fn run_example(directory: &Path) -> Result<(), Box<dyn Error>> {
    let (project, home) = (directory.join("project"), directory.join("home"));
    std::fs::create_dir_all(&project)?;
    // In practice, the operator creates the host key once with `actum key make host` and protects it with a passphrase.
    let mut keys = Keys::open(&LedgerHome::open(&home)?, now())?;
    if keys.keyring().current(KeyRole::Host, now()).is_none() {
        keys.make(KeyRole::Host, now(), None, Admission::AtOnce)?;
    }
    let signer = keys.signer(KeyRole::Host, now())?;
    let records = Records::open(&home, &TenantId::default(), Clock::new(now))?;
    let mut goal = goal(&records)?;
    let mut engine = Engine::open(&project, records)?;
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let actor = Actor { user: "chat-service".to_owned(), uid: 1000, agent: None };
    let host = Caller { actor, host: Some(&signer) };

    let asked = dispatcher.dispatch(&goal, &host)?;
    let (prompt_ref, prompt) = asked.prompt.ok_or("no confirmation is required")?;
    println!("{}", prompt.text);

    // The user Ada reads the prompt in her conversation and answers in German.
    let (answer, language_tag) = ("Ja".to_owned(), "de".to_owned());
    goal.confirm_state = Some(ConfirmState { prompt_ref, answer, language_tag });
    let done = dispatcher.dispatch(&goal, &host)?;
    println!("{}", done.outcome.user_visible_text);

    // A host that missed the result can dispatch the goal again. The effect does not happen a second time.
    println!("{}", dispatcher.dispatch(&goal, &host)?.outcome.user_visible_text);
    Ok(())
}

/// Creates a goal of the user Ada, with the packet that a Finder found for it.
fn goal(records: &Records) -> Result<AgentGoalRequest, Box<dyn Error>> {
    let catalog = records.catalog()?.in_force()?.digest()?;
    let mut goal = json!({
        "correlation_id": "goal-1", "tenant_id": "default", "user_id": "ada",
        "thread_id": "thread-1", "raw_user_utterance": "Lege notes.txt an",
        "normalized_intent": "create a file", "sim_finder_packet": {},
        "confirm_state": null, "idempotency_key": "request-1", "attempt_counter": 0,
    });
    let fingerprint = AgentGoalRequest::read(goal.to_string().as_bytes())?.fingerprint();
    let packet: Value = json!({
        "packet_type": "SimulationMatchPacket", "correlation_id": "goal-1",
        "tenant_id": "default", "goal_fingerprint": fingerprint,
        "catalog_snapshot_ref": catalog, "finder_proof_ref": catalog,
        "finder_version": "example 1", "idempotency_key": "packet-1", "attempt_counter": 0,
        "candidates": [{ "simulation_id": "file_create", "score": 1 }],
        "required_fields": { "path": "notes.txt", "content": "first note\n" },
        "access_action": "change_files", "learning_table_ref": null,
        "rollback_plan": { "simulation_id": "undo_run", "required_fields": {} },
    });
    if let Some(member) = goal.get_mut("sim_finder_packet") {
        *member = packet;
    }
    Ok(AgentGoalRequest::read(goal.to_string().as_bytes())?)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
