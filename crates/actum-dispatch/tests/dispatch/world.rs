//! Workspace, ledger and host of the dispatch tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use actum::{Approver, Cedar, Clock, Engine, Records, Reply as QueueReply, Step};
use actum_agent::packet::{
    Candidate, FinderPacket, PacketHead, RollbackSimulation, SimulationMatchPacket,
};
use actum_agent::{AgentGoalRequest, ReasonCode};
use actum_core::{Digest, Timestamp};
use actum_dispatch::{
    Caller, Chain, DispatchError, Dispatched, Dispatcher, ReplayReport, Reply, Settings,
};
use actum_gate::{AccessText, Policy};
use actum_ledger::{Admission, Keys, LedgerHome, Log, SigningKey};
use actum_record::ledger::{
    Actor, AgentEventKind, AgentState, Answer, EntryKind, Isolation, TenantId,
};
use actum_record::signer::{KeyRole, Signer};
use actum_testkit::TestDir;
use serde_json::{Map, Value, json};

/// Time between two readings of the clock, in microseconds.
const TICK: i64 = 1000;

pub(crate) struct World {
    pub(crate) directory: TestDir,
    pub(crate) records: Records,
    home: LedgerHome,
}

/// Returns the account that dispatches goals.
pub(crate) fn agent() -> Caller<'static> {
    let actor = Actor { user: "user-1".to_owned(), uid: 1000, agent: Some("planner".to_owned()) };
    Caller { actor, host: None }
}

/// Returns the account that confirms plans.
pub(crate) fn person() -> Caller<'static> {
    let actor = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    Caller { actor, host: None }
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = TestDir::in_memory();
        directory.mkdir("workspace");
        let home = LedgerHome::open(&directory.join("home")).unwrap();
        let now = Arc::new(AtomicI64::new(1_795_000_000_000_000));
        let ticking = Arc::clone(&now);
        let clock =
            Clock::new(move || Timestamp::from_micros(ticking.fetch_add(TICK, Ordering::SeqCst)));
        let mut keys = Keys::open(&home, clock.now()).unwrap();
        for role in [KeyRole::Approval, KeyRole::Host] {
            keys.make(role, clock.now(), None, Admission::AtOnce).unwrap();
        }
        let records = Records::open(&directory.join("home"), &TenantId::default(), clock).unwrap();
        Self { directory, records, home }
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine_at("workspace")
    }

    /// Opens the engine of another workspace that uses the same ledger.
    pub(crate) fn engine_at(&self, name: &str) -> Engine {
        let directory = self.directory.join(name);
        std::fs::create_dir_all(&directory).unwrap();
        Engine::open(directory, self.records.clone()).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.directory.get(format!("workspace/{path}"))
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        self.directory.put(format!("workspace/{path}"), text);
    }

    /// Runs one dispatch cycle.
    pub(crate) fn dispatch(&self, goal: &AgentGoalRequest) -> Dispatched {
        self.dispatch_under(goal, &agent(), Policy::default())
    }

    pub(crate) fn dispatch_under(
        &self,
        goal: &AgentGoalRequest,
        caller: &Caller<'_>,
        policy: Policy,
    ) -> Dispatched {
        let mut engine = self.engine().under(policy);
        let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
        dispatcher.dispatch(goal, caller).unwrap()
    }

    /// Creates the answer to the newest prompt of a goal.
    pub(crate) fn reply(&self, goal: &AgentGoalRequest, answer: &str, language: &str) -> Reply {
        let read = |log: &dyn Log| Chain::read(log, &goal.correlation_id)?.prompt(log);
        let (_, prompt) = self.records.ledger().read(read).unwrap().unwrap();
        Reply {
            correlation: goal.correlation_id.clone(),
            thread: goal.thread_id.clone(),
            plan: prompt.plan_fingerprint,
            utterance: answer.to_owned(),
            language: language.to_owned(),
        }
    }

    /// Answers the prompt of a goal.
    pub(crate) fn confirm(&self, goal: &AgentGoalRequest, answer: &str, language: &str) {
        let mut engine = self.engine();
        let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
        dispatcher.confirm(&self.reply(goal, answer, language), &person().actor, None).unwrap();
    }

    /// Answers the prompt of a goal as the dispatching account, signed with a key.
    pub(crate) fn confirm_under_key(
        &self,
        goal: &AgentGoalRequest,
        answer: &str,
        language: &str,
        signer: &dyn Signer,
    ) {
        let mut engine = self.engine();
        let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
        let reply = self.reply(goal, answer, language);
        dispatcher.confirm(&reply, &agent().actor, Some(signer)).unwrap();
    }

    /// Runs one dispatch cycle as a host, with the host key of this installation.
    pub(crate) fn dispatch_as_host(
        &self,
        goal: &AgentGoalRequest,
    ) -> Result<Dispatched, DispatchError> {
        self.dispatch_under_key(goal, &self.signer(KeyRole::Host))
    }

    /// Runs one dispatch cycle as a host, with the given key.
    pub(crate) fn dispatch_under_key(
        &self,
        goal: &AgentGoalRequest,
        signer: &dyn Signer,
    ) -> Result<Dispatched, DispatchError> {
        let caller = Caller { host: Some(signer), ..agent() };
        let mut engine = self.engine();
        let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
        dispatcher.dispatch(goal, &caller)
    }

    /// Returns the signer of a role of this installation.
    pub(crate) fn signer(&self, role: KeyRole) -> SigningKey {
        let now = self.records.now();
        Keys::open(&self.home, now).unwrap().signer(role, now).unwrap()
    }

    pub(crate) fn replay(&self, goal: &AgentGoalRequest) -> ReplayReport {
        let replay = |log: &dyn Log| {
            let sources = (log, self.records.keyring());
            ReplayReport::new(sources, &goal.correlation_id, &Cedar::default())
        };
        self.records.ledger().read(replay).unwrap()
    }

    pub(crate) fn chain(&self, goal: &AgentGoalRequest) -> Chain {
        self.records.ledger().read(|log| Chain::read(log, &goal.correlation_id)).unwrap()
    }

    /// Returns the events and states of a goal.
    pub(crate) fn events(&self, goal: &AgentGoalRequest) -> Vec<(AgentEventKind, AgentState)> {
        let chain = self.chain(goal);
        chain.executions().map(|(_, it)| (it.event, it.state)).collect()
    }

    pub(crate) fn count(&self, kind: EntryKind) -> usize {
        let count = |log: &dyn Log| Ok(log.newest_of_kind(kind, None, 1000)?.len());
        self.records.ledger().read(count).unwrap()
    }

    pub(crate) fn catalog(&self) -> Digest {
        self.records.catalog().unwrap().in_force().unwrap().digest().unwrap()
    }

    /// Changes the state of a simulation as the operator.
    pub(crate) fn change_catalog(&self, action: &str, step: &Step) {
        self.as_operator(|approver| {
            let action = action.parse().unwrap();
            let (shown, _) = self.records.catalog().unwrap().after(&action, step).unwrap();
            self.records.change_catalog((&action, step), &shown, None, approver).unwrap();
        });
    }

    /// Approves a queued plan as the operator.
    pub(crate) fn approve(&self, plan: actum_core::RunId) {
        let answer = QueueReply { answer: Answer::Approved, reason: None };
        self.as_operator(|approver| {
            let plan = self.records.plan(plan).unwrap();
            self.records.answer(&plan, answer, approver).unwrap();
        });
    }

    pub(crate) fn as_operator(&self, act: impl FnOnce(&Approver<'_>)) {
        let signer = self.signer(KeyRole::Approval);
        let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
        act(&Approver { by, signer: &signer, isolation: Isolation::SameUser });
    }

    /// Creates a goal with a packet that matches this simulation.
    pub(crate) fn goal(&self, name: &str, simulation: &str, fields: Value) -> AgentGoalRequest {
        let goal = goal(name);
        let rollback = RollbackSimulation {
            simulation_id: "undo_run".parse().unwrap(),
            required_fields: Map::new(),
        };
        let packet = FinderPacket::Match(SimulationMatchPacket {
            head: self.head(&goal),
            candidates: vec![Candidate { simulation_id: simulation.parse().unwrap(), score: 900 }],
            required_fields: fields.as_object().unwrap().clone(),
            access_action: "change_files".to_owned(),
            rollback_plan: Some(rollback),
            learning_table_ref: None,
        });
        with_packet(goal, &packet)
    }

    pub(crate) fn head(&self, goal: &AgentGoalRequest) -> PacketHead {
        PacketHead {
            correlation_id: goal.correlation_id.clone(),
            tenant_id: goal.tenant_id.clone(),
            goal_fingerprint: goal.fingerprint(),
            catalog_snapshot_ref: self.catalog(),
            finder_proof_ref: Digest::of(b"evidence"),
            finder_version: "test 1".to_owned(),
            idempotency_key: format!("packet-{}", goal.correlation_id),
            attempt_counter: goal.attempt_counter,
        }
    }
}

pub(crate) fn goal(name: &str) -> AgentGoalRequest {
    let goal = json!({
        "correlation_id": name, "tenant_id": "default", "user_id": "user-1",
        "thread_id": "thread-1", "raw_user_utterance": format!("do {name}"),
        "normalized_intent": name, "sim_finder_packet": {}, "confirm_state": null,
        "idempotency_key": format!("request-{name}"), "attempt_counter": 0,
    });
    AgentGoalRequest::read(goal.to_string().as_bytes()).unwrap()
}

pub(crate) fn with_packet(goal: AgentGoalRequest, packet: &FinderPacket) -> AgentGoalRequest {
    AgentGoalRequest { sim_finder_packet: packet.to_object().unwrap(), ..goal }
}

/// Creates a policy that contains one access policy.
pub(crate) fn access(text: &str) -> Policy {
    let text = AccessText { name: "test.cedar".to_owned(), text: text.to_owned() };
    Policy::default().with_access(vec![text])
}

/// Returns the reason of an outcome.
pub(crate) fn reason(dispatched: &Dispatched) -> Option<ReasonCode> {
    let code = dispatched.outcome.reason_code.as_deref()?;
    ReasonCode::ALL.iter().copied().find(|reason| reason.as_str() == code)
}
