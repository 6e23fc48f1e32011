//! `actum policy suggest`: suggests policy rules that would allow changes that were refused.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use actum::PolicyInForce;
use actum_api::policy::{PolicyAddition, PolicySource, PolicySuggestion};
use actum_core::Digest;
use actum_core::path::Quoted;
use actum_gate::policy::Addition;
use actum_gate::{Bundle, Verdict, decide};
use actum_ledger::{LedgerError, Log};
use actum_record::ledger::{EntryKind, PlanRefused, WorkspaceId};
use actum_workspace::View;

use crate::count::number;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::GateView;
use crate::ledger_queue::Queue;
use crate::output::Document;
use crate::verb::Session;
use crate::{operators_policy, policy, root};

/// Suggest policy rules that would allow changes that were refused in this workspace
///
/// Searches the ledger for refused changes of this workspace and judges them again under the current policies. Prints
/// the narrowest rules that would allow them, with single paths and exact sizes. Nothing is changed. Some refusals are
/// intended and are only reported: changes that a rule denies, that affect protected paths, that look like credentials,
/// or that need an approval.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Search only the newest N entries of the ledger
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    entries: u64,
}

/// Number of ledger entries that are read in one batch.
const STRETCH: u64 = 512;
/// Maximum number of remaining refusals that the text output lists.
const SHOWN_MAX: usize = 10;

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::existing_or_new(&session.start);
    let in_force = policy::in_force(root)?;
    let workspace = match root::is_made(root) {
        true => View::open(root)?.workspace_id()?,
        false => None,
    };
    let refused = match (Queue::open(&session.tenant)?, workspace) {
        (Some(queue), Some(workspace)) => {
            refused(&queue.view, workspace, arguments.entries).map_err(actum::Error::from)?
        }
        (None, _) | (_, None) => Vec::new(),
    };
    session.screen.show(&suggestion(refused, &in_force, arguments.entries))?;
    Ok(Exit::Success)
}

/// Returns the refused changes of a workspace from the newest `count` ledger entries. If a plan was refused several times, only the
/// last refusal is returned.
fn refused(log: &dyn Log, workspace: WorkspaceId, count: u64) -> Result<Vec<Bundle>, LedgerError> {
    let size = log.size()?;
    let mut found: BTreeMap<Digest, Bundle> = BTreeMap::new();
    let mut from = size.saturating_sub(count);
    while from < size {
        for entry in log.entries(from, STRETCH)? {
            if entry.kind != EntryKind::PlanRefused {
                continue;
            }
            let damaged = |error: &dyn std::fmt::Display| LedgerError::entry(entry.index, error);
            let refused: PlanRefused =
                serde_json::from_slice(&entry.body).map_err(|error| damaged(&error))?;
            if refused.plan.workspace != workspace {
                continue;
            }
            let digest = refused.plan.decision.bundle;
            let bytes = log.blob(&digest)?.filter(|bytes| Digest::of(bytes) == digest);
            let bytes = bytes.ok_or_else(|| damaged(&"its bundle is missing or changed"))?;
            // Skip bundles in a format that this version cannot read, as they cannot be judged again.
            if let Ok(bundle) = Bundle::read(&bytes) {
                found.insert(refused.plan.bound.plan, bundle);
            }
        }
        from = from.saturating_add(STRETCH);
    }
    Ok(found.into_values().collect())
}

fn suggestion(refused: Vec<Bundle>, in_force: &PolicyInForce, entries: u64) -> PolicySuggestion {
    let PolicyInForce { policy, cedar, .. } = in_force;
    let refused: Vec<Bundle> = refused
        .into_iter()
        .filter(|bundle| decide(bundle, policy, cedar).verdict == Verdict::Deny)
        .collect();
    // Do not suggest rules for a change that would be refused even with them.
    let helps = |bundle: &&Bundle| {
        let alone = policy.additions(std::iter::once(*bundle));
        decide(bundle, &policy.clone().with(&alone), cedar).verdict != Verdict::Deny
    };
    let additions = policy.additions(refused.iter().filter(helps));
    let wider = policy.clone().with(&additions);
    let mut still = Vec::new();
    let mut would_pass = 0;
    for bundle in &refused {
        let decision = decide(bundle, &wider, cedar);
        match decision.first_refusal() {
            Some(gate) if decision.verdict == Verdict::Deny => {
                let refusal = gate.view().to_string();
                if !still.contains(&refusal) {
                    still.push(refusal);
                }
            }
            Some(_) | None => would_pass += 1,
        }
    }
    let shown =
        |it: &Addition| PolicyAddition { source: super::source(it.source), toml: it.to_toml() };
    let additions = additions.iter().map(shown).collect();
    PolicySuggestion { entries, refused: number(refused.len()), would_pass, additions, still }
}

impl Document for PolicySuggestion {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.refused == 0 {
            let entries = self.entries;
            return writeln!(
                out,
                "none of the changes that were refused here, in the newest {entries} ledger entries, would be refused now"
            );
        }
        for PolicyAddition { source, toml } in &self.additions {
            let file = match source {
                PolicySource::Operator => operators_policy::operators(),
                PolicySource::Workspace => "`actum.toml` in this workspace".to_owned(),
                PolicySource::System => format!("`{}`", policy::system().display()),
                PolicySource::Enclosing => "`actum.toml` in an enclosing directory".to_owned(),
            };
            writeln!(out, "# in {file}:")?;
            write!(out, "{toml}")?;
        }
        let (would, all) = (self.would_pass, self.refused);
        writeln!(out, "# {would} of {all} refused changes would pass with these rules")?;
        for ground in self.still.iter().take(SHOWN_MAX) {
            writeln!(out, "# still refused by {}", Quoted(ground.as_bytes()))?;
        }
        let more = self.still.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            writeln!(out, "# and for {more} other reasons")?;
        }
        Ok(())
    }
}
