//! Goals, and the workspace in which they are dispatched.

use std::cell::Cell;
use std::fs::create_dir_all;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use actum::{Clock, Engine, Records};
use actum_agent::AgentGoalRequest;
use actum_agent::packet::{
    Candidate, FinderPacket, PacketHead, RollbackSimulation, SimulationMatchPacket,
};
use actum_agent::prompt::ConfirmationPrompt;
use actum_core::{Digest, Timestamp};
use actum_dispatch::{Caller, Reply};
use actum_record::ledger::{Actor, TenantId};
use serde_json::{Map, json};

use crate::bench::Failure;

/// Workspace with a ledger, and goals that each create a new file.
pub(super) struct Goals {
    directory: PathBuf,
    records: Records,
    catalog: Digest,
    user: String,
    next: Cell<u64>,
}

impl Goals {
    pub(super) fn make(directory: &Path) -> Result<Self, Failure> {
        create_dir_all(directory.join("workspace"))?;
        let home = directory.join("home");
        let records = Records::open(&home, &TenantId::default(), Clock::new(now))?;
        let catalog = records.catalog()?.in_force()?.digest()?;
        let user = std::process::Command::new("id").arg("-un").output()?.stdout;
        let user = String::from_utf8(user)?.trim().to_owned();
        let directory = directory.to_owned();
        Ok(Self { directory, records, catalog, user, next: Cell::new(0) })
    }

    pub(super) fn records(&self) -> Records {
        self.records.clone()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.directory.join("workspace")
    }

    pub(super) fn engine(&self) -> Result<Engine, Failure> {
        Ok(Engine::open(self.workspace(), self.records.clone())?)
    }

    pub(super) fn caller(&self) -> Caller<'static> {
        let uid = rustix::process::getuid().as_raw();
        let actor = Actor { user: self.user.clone(), uid, agent: None };
        Caller { actor, host: None }
    }

    /// Returns the account that confirms goals.
    pub(super) fn person(&self) -> Actor {
        Actor { user: "person".to_owned(), uid: u32::MAX - 7, agent: None }
    }

    /// Returns the next goal.
    pub(super) fn next(&self) -> Result<AgentGoalRequest, Failure> {
        let number = self.next.replace(self.next.get() + 1);
        let goal = json!({
            "correlation_id": format!("goal-{number}"), "tenant_id": "default",
            "user_id": self.user, "thread_id": "thread",
            "raw_user_utterance": format!("make file {number}"),
            "normalized_intent": "make a file", "sim_finder_packet": {}, "confirm_state": null,
            "idempotency_key": format!("request-{number}"), "attempt_counter": 0,
        });
        let mut goal = AgentGoalRequest::read(goal.to_string().as_bytes())?;
        let packet = FinderPacket::Match(SimulationMatchPacket {
            head: PacketHead {
                correlation_id: goal.correlation_id.clone(),
                tenant_id: goal.tenant_id.clone(),
                goal_fingerprint: goal.fingerprint(),
                catalog_snapshot_ref: self.catalog,
                finder_proof_ref: Digest::of(b"evidence"),
                finder_version: "bench 1".to_owned(),
                idempotency_key: format!("packet-{number}"),
                attempt_counter: 0,
            },
            candidates: vec![Candidate { simulation_id: "file_create".parse()?, score: 1 }],
            required_fields: fields(&format!("made-{number}")),
            access_action: "change_files".to_owned(),
            rollback_plan: Some(RollbackSimulation {
                simulation_id: "undo_run".parse()?,
                required_fields: Map::new(),
            }),
            learning_table_ref: None,
        });
        goal.sim_finder_packet = packet.to_object()?;
        Ok(goal)
    }

    /// Returns a plan envelope that creates another new file.
    pub(super) fn plan(&self) -> Result<Vec<u8>, Failure> {
        let number = self.next.replace(self.next.get() + 1);
        Ok(serde_json::to_vec(&json!({
            "actionType": "file_create", "riskTier": "R2", "input": fields(&format!("made-{number}")),
            "rollbackPlan": "undo", "verification": {"required": true, "commands": []},
            "scope": {"allowedDirs": ["."]},
        }))?)
    }

    /// Returns a confirming answer to the prompt of a goal.
    pub(super) fn yes(&self, goal: &AgentGoalRequest, prompt: &ConfirmationPrompt) -> Reply {
        Reply {
            correlation: goal.correlation_id.clone(),
            thread: goal.thread_id.clone(),
            plan: prompt.plan_fingerprint,
            utterance: "yes".to_owned(),
            language: "en".to_owned(),
        }
    }
}

fn fields(path: &str) -> Map<String, serde_json::Value> {
    let fields = [("path", json!(path)), ("content", json!("some text\n"))];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
