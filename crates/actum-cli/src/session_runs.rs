//! Selection of the runs in effect by client session, turn or time.

use actum::EntryPoint;
use actum_core::{Digest, RunId};
use actum_hook::{Client, session_digest};
use actum_record::ledger::{Actor, Publisher};
use actum_workspace::disk::Time;
use actum_workspace::{Outcome, RunKind, Turn, View};

use crate::actor;
use crate::failure::Failure;
use crate::record::RecordedFacts;
use crate::records::Seen;
use crate::session::Session;

/// Criterion that selects runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Runs of the client session with this id.
    Session(String),
    /// Runs of the newest turn in this session, or in any session if none is given. They include changes adopted since
    /// the turn began. They also include runs that an agent requested in its shell, passing `--agent` with the name of
    /// its client.
    Turn(Option<String>),
    /// Runs since this time by the user and all agents of the user, or only by the named agent.
    Since(Time, Option<String>),
}

/// Returns the selected runs that were committed and not undone, newest first.
pub(crate) fn runs_in_effect(
    view: &View,
    session: &Session,
    selection: &Selection,
) -> Result<Vec<RunId>, Failure> {
    let turn = match selection {
        Selection::Turn(session_id) => match newest_turn(view, session_id.as_deref())? {
            Some(turn) => Some(turn),
            None => return Ok(Vec::new()),
        },
        Selection::Session(_) | Selection::Since(..) => None,
    };
    let seen = Seen::look(session);
    let undone = view.undone_by()?;
    let mut found = Vec::new();
    for known in view.runs()?.into_iter().rev() {
        if turn.is_some_and(|turn| known.sequence <= turn.sequence) {
            break;
        }
        let is_undone = undone.get(&known.run).copied().flatten().is_some();
        let in_effect = known.kind == RunKind::Apply && known.outcome == Outcome::Committed;
        if !in_effect || is_undone {
            continue;
        }
        let is_selected = match selection {
            Selection::Session(session) => {
                seen.recorded_facts(known.run)?.session() == Some(session)
            }
            Selection::Turn(_) => {
                let recorded = seen.recorded_facts(known.run)?;
                is_adopted(&recorded)
                    || is_by_agent_in_shell(&recorded)
                    || turn.is_some_and(|turn| digest_of(&recorded) == Some(turn.session))
            }
            Selection::Since(since, agent) => {
                let is_later = view.show(known.run)?.time >= *since;
                is_later
                    && is_own(&seen.recorded_facts(known.run)?, &actor::from_agent(agent.clone()))
            }
        };
        if is_selected {
            found.push(known.run);
        }
    }
    Ok(found)
}

/// Returns the newest turn of the given session, or of any session if none is given.
fn newest_turn(view: &View, session: Option<&str>) -> Result<Option<Turn>, Failure> {
    let digests = session.map(|session| Client::ALL.map(|client| session_digest(client, session)));
    let turns = view.turns()?.into_iter().rev();
    Ok(turns.into_iter().find(|turn| digests.is_none_or(|digests| digests.contains(&turn.session))))
}

/// Returns whether a run was made by `actum adopt` from existing changes.
fn is_adopted(recorded: &RecordedFacts) -> bool {
    recorded.record.as_ref().is_some_and(|record| {
        record.published_by == Publisher::Client && record.door == EntryPoint::CommandLine.as_str()
    })
}

/// Returns whether a run was requested on the command line with `--agent` and the name of a client.
fn is_by_agent_in_shell(recorded: &RecordedFacts) -> bool {
    recorded.record.as_ref().is_some_and(|record| {
        let agent = record.actor.agent.as_deref();
        let is_client = agent.is_some_and(|agent| agent.parse::<Client>().is_ok());
        is_client && record.door == EntryPoint::CommandLine.as_str()
    })
}

/// Returns the digest that identifies the session of a run in the records of turns.
fn digest_of(recorded: &RecordedFacts) -> Option<Digest> {
    let agent = recorded.record.as_ref()?.actor.agent.as_deref()?;
    let client = agent.parse::<Client>().ok()?;
    Some(session_digest(client, recorded.session()?))
}

/// Returns whether a run belongs to an actor. Without an agent, the actor owns the runs of all agents of the user. Runs
/// without a record then belong to the actor as well, because no other user can own them.
fn is_own(recorded: &RecordedFacts, own: &Actor) -> bool {
    match &recorded.record {
        Some(record) => {
            record.actor.uid == own.uid && (own.agent.is_none() || record.actor.agent == own.agent)
        }
        None => own.agent.is_none(),
    }
}
