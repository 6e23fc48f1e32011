//! Collects facts for a decision about the catalog, access and artifacts.

use std::sync::Arc;

use actum::{AccessJudgement, Catalog, Engine, Registered};
use actum_action::PlanScope;
use actum_agent::bundle::{AccessFacts, Place, RollbackFacts, SimulationFacts};
use actum_agent::{FinderPacket, seal_fields};
use actum_core::{Digest, canonical};
use actum_gate::Verdict;
use actum_record::ledger::{AccessOutcome, Actor, WorkspaceId};
use actum_workspace::disk::Disk;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::DispatchError;
use crate::settings::Settings;

/// Input field of `run_command` that contains the command.
const COMMAND: &str = "command";

/// Active catalog, and the simulation of the first candidate in a packet.
pub(crate) struct CatalogFacts {
    /// Index of the newest `CATALOG_CHANGED` entry, if there is one.
    pub(crate) changed: Option<u64>,
    /// Active catalog in canonical JSON.
    pub(crate) snapshot: Vec<u8>,
    pub(crate) simulation: Option<Arc<Registered>>,
    pub(crate) facts: Option<SimulationFacts>,
    pub(crate) rollback: Option<RollbackFacts>,
}

/// Fingerprints of everything that determines how a simulation is carried out (`artifact_fingerprint_bundle_ref`).
///
/// A confirmation is valid only as long as these fingerprints stay the same.
#[derive(Serialize)]
struct Artifacts<'a> {
    checks: &'a [String],
    engine: &'a str,
    format: &'a str,
    lexicon: Digest,
    package: Option<Digest>,
    schemas: Digest,
    scope: &'a PlanScope,
    workspace: Option<WorkspaceId>,
}

impl CatalogFacts {
    /// Reads the active catalog, and looks up the first candidate and the rollback simulation of the packet.
    pub(crate) fn read<D: Disk>(
        engine: &Engine<D>,
        packet: Option<&FinderPacket>,
    ) -> Result<Self, DispatchError> {
        let standing = engine.records().catalog()?;
        let changed = standing.changed();
        let catalog: Catalog = standing.in_force()?;
        let snapshot = catalog.snapshot()?.to_vec();
        let Some(FinderPacket::Match(packet)) = packet else {
            return Ok(Self { changed, snapshot, simulation: None, facts: None, rollback: None });
        };
        let named = packet.candidates.first().and_then(|it| catalog.find(&it.simulation_id));
        let facts = named.map(|registered| {
            let fields_fit = registered.input_schema.check(&packet.required_fields).is_ok()
                && shows_command(&packet.required_fields);
            SimulationFacts { fields_fit, ..simulation_facts(registered) }
        });
        let rollback = packet.rollback_plan.as_ref();
        let rollback = rollback.and_then(|plan| catalog.find(&plan.simulation_id));
        let rollback = rollback.map(|it| RollbackFacts { id: it.name.clone(), state: it.state });
        Ok(Self { changed, snapshot, simulation: named.cloned(), facts, rollback })
    }

    /// Returns the artifact fingerprints of the simulation in canonical JSON.
    pub(crate) fn artifacts(
        &self,
        lexicon: Digest,
        settings: &Settings,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<u8>, canonical::CanonicalError> {
        let schemas = self.simulation.as_ref().map(|it| (&*it.input_schema, &it.output_schema));
        canonical::to_vec(&Artifacts {
            checks: &settings.checks,
            engine: crate::ENGINE,
            format: "actum.agent-artifacts/1",
            lexicon,
            package: self.simulation.as_ref().and_then(|it| it.origin.digest()),
            schemas: Digest::of(&canonical::to_vec(&schemas)?),
            scope: &settings.scope,
            workspace,
        })
    }
}

/// Returns the workspace and the restrictions that the settings impose on a dispatch there.
pub(crate) fn place<D: Disk>(engine: &Engine<D>, settings: &Settings) -> Place {
    Place {
        root: engine.root().to_owned(),
        allowed_dirs: settings.scope.allowed_dirs.clone(),
        checks: settings.checks.clone(),
    }
}

/// Evaluates the access policies for a simulation. Returns the decision together with the documents that it is based
/// on.
pub(crate) fn judge_access<D: Disk>(
    engine: &Engine<D>,
    actor: &Actor,
    simulation: &SimulationFacts,
) -> Result<(AccessFacts, AccessJudgement), DispatchError> {
    let judgement = engine.judge_access(actor, simulation.tier)?;
    let outcome = access_outcome(judgement.decision.verdict);
    let case = Digest::of(&judgement.bundle);
    Ok((AccessFacts { outcome, case, is_approved: false }, judgement))
}

/// Returns the catalog facts about a simulation. `fields_fit` is `false`, because the fields are not checked here.
pub(crate) fn simulation_facts(registered: &Registered) -> SimulationFacts {
    SimulationFacts {
        id: registered.name.clone(),
        state: registered.state,
        tier: registered.tier,
        impactful: registered.flags.impactful,
        side_effecting: registered.flags.side_effecting,
        irreversible: registered.flags.irreversible,
        access_action: registered.access.as_str().to_owned(),
        fields_fit: false,
    }
}

/// Returns whether a prompt can show the command in a packet. Otherwise the user would have to confirm a mere digest of
/// the command.
fn shows_command(fields: &Map<String, Value>) -> bool {
    let sealed = seal_fields(fields);
    sealed.is_ok_and(|sealed| sealed.get(COMMAND) == fields.get(COMMAND))
}

/// Converts the verdict of the access policies to the outcome that is recorded.
pub(crate) fn access_outcome(verdict: Verdict) -> AccessOutcome {
    match verdict {
        Verdict::Allow => AccessOutcome::Allowed,
        Verdict::NeedsApproval => AccessOutcome::ApRequired,
        Verdict::Deny => AccessOutcome::Denied,
    }
}
