//! Facts of a decision: catalog, access, artifacts.

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

/// Field of `run_command`.
const COMMAND: &str = "command";

/// Catalog in force, and the simulation that a packet names first.
pub(crate) struct CatalogFacts {
    /// Index of the newest `CATALOG_CHANGED`; `None` before the first.
    pub(crate) changed: Option<u64>,
    /// Catalog, in canonical JSON.
    pub(crate) snapshot: Vec<u8>,
    pub(crate) simulation: Option<Arc<Registered>>,
    pub(crate) facts: Option<SimulationFacts>,
    pub(crate) rollback: Option<RollbackFacts>,
}

/// Fingerprints of the parts that carry a simulation out, and of its place (`artifact_fingerprint_bundle_ref`). A
/// confirmation counts for them alone.
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
    /// Reads the catalog in force, and looks up the first candidate of the packet.
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

    /// Returns the fingerprints of the simulation, in canonical JSON.
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

/// Returns the workspace, with the settings of its host.
pub(crate) fn place<D: Disk>(engine: &Engine<D>, settings: &Settings) -> Place {
    Place {
        root: engine.root().to_owned(),
        allowed_dirs: settings.scope.allowed_dirs.clone(),
        checks: settings.checks.clone(),
    }
}

/// Asks the access policies about a simulation. Returns the decision with its documents.
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

/// Returns the facts of a registered simulation. Its fields are not checked.
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

/// Returns true if a prompt can show the command of a packet: a user cannot confirm the digest of a command.
fn shows_command(fields: &Map<String, Value>) -> bool {
    let sealed = seal_fields(fields);
    sealed.is_ok_and(|sealed| sealed.get(COMMAND) == fields.get(COMMAND))
}

/// Maps a verdict of the access policies to the recorded outcome.
pub(crate) fn access_outcome(verdict: Verdict) -> AccessOutcome {
    match verdict {
        Verdict::Allow => AccessOutcome::Allowed,
        Verdict::NeedsApproval => AccessOutcome::ApRequired,
        Verdict::Deny => AccessOutcome::Denied,
    }
}
