//! Plans in the queue: found by what was typed, with the workspace that they are for.

use std::path::{Path, PathBuf};

use actum::reason::Reason;
use actum::{Approver, EntryPoint, NewAlert, QueuedPlan};
use actum_core::RunId;
use actum_ledger::keys::{KeyError, Protection};
use actum_ledger::{Keys, SigningKey};
use actum_record::ledger::{Isolation, JudgedPlan, WorkspaceId};
use actum_record::signer::{KeyId, KeyRole, Signer};
use actum_workspace::View;

use crate::failure::Failure;
use crate::home::Tenant;
use crate::ledger_queue::Queue;
use crate::passphrase::PassphraseFailure;
use crate::plan_failure::PlanFailure;
use crate::run_prefix::RunPrefix;
use crate::session::Session;
use crate::{actor, clock, new_home, passphrase, records, root};

/// The one plan that is meant, where there may be no ledger yet.
pub(crate) fn find(prefix: &RunPrefix, session: &Session) -> Result<(Queue, QueuedPlan), Failure> {
    let none = || PlanFailure::None { prefix: prefix.to_string() };
    let queue = Queue::open(&session.tenant)?.ok_or_else(none)?;
    let plan = queue.find(prefix, &session.start)?;
    Ok((queue, plan))
}

/// A plan that is known, as it is now.
pub(crate) fn answered(id: RunId, tenant: &Tenant) -> Result<(Queue, QueuedPlan), Failure> {
    let none = || PlanFailure::None { prefix: id.to_string() };
    let queue = Queue::open(tenant)?.ok_or_else(none)?;
    let plan = queue.plan(id)?.ok_or_else(none)?;
    Ok((queue, plan))
}

/// Where the workspace of a plan is: here, or where it was.
pub(crate) fn root_of(plan: &QueuedPlan, session: &Session) -> Result<PathBuf, Failure> {
    let told = &plan.queued.plan.root;
    let here = root::existing(&session.start).to_owned();
    [here, PathBuf::from(told)]
        .into_iter()
        .find(|root| is_at(root, plan.row.workspace))
        .ok_or_else(|| PlanFailure::Elsewhere { plan: plan.id(), root: told.clone() }.into())
}

/// Whether a workspace is at `root`. What cannot be looked at is somewhere else.
fn is_at(root: &Path, workspace: WorkspaceId) -> bool {
    let id = root::is_made(root).then(|| View::open(root)?.workspace_id());
    id.is_some_and(|id| id.is_ok_and(|id| id == Some(workspace)))
}

/// What signs an answer, and what keeps others from using it.
pub(crate) struct ApprovalKey {
    signer: SigningKey,
    isolation: Isolation,
}

impl ApprovalKey {
    /// Unlocks the approval key with its passphrase, which proves that the operator is there. A terminal proves
    /// nothing: any program can open one.
    pub(crate) fn ask(
        session: &Session,
        question: &str,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        check_alert_can_be_raised(&session.tenant)?;
        let role = KeyRole::Approval;
        let keys = || -> Result<Keys, Failure> {
            let home = new_home::open()?;
            Ok(Keys::open(&home, clock::now()).map_err(actum::Error::from)?)
        };
        let protection = keys()?.protection(role, clock::now()).map_err(actum::Error::from)?;
        if protection == Protection::FilePermissions {
            return Err(PassphraseFailure::KeyWithoutPassphrase.into());
        }
        let prompt = format!("{question} Passphrase of the approval key: ");
        let passphrase = passphrase::read(session, &prompt, file)?;
        // Typing may take a while, and the key may be another one after that.
        let (keys, now) = (keys()?, clock::now());
        let signer = match keys.unlock(role, now, &passphrase) {
            Err(error @ KeyError::WrongPassphrase { .. }) if file.is_some() => {
                raise_passphrase_alert(question, session)?;
                return Err(actum::Error::from(error).into());
            }
            unlocked => unlocked.map_err(actum::Error::from)?,
        };
        let is_unproven = keys.keyring().current(role, now).is_some_and(|key| key.unproven);
        let isolation = if is_unproven { Isolation::Unproven } else { Isolation::Passphrase };
        Ok(Self { signer, isolation })
    }

    /// Name of the key.
    pub(crate) fn id(&self) -> KeyId {
        self.signer.key_id()
    }

    /// The person at this terminal, with the key.
    pub(crate) fn approver(&self) -> Approver<'_> {
        Approver { by: actor::of(None), signer: &self.signer, isolation: self.isolation }
    }
}

/// Checks that an alert about a wrong passphrase could be raised. Without that no passphrase is tried.
pub(crate) fn check_alert_can_be_raised(tenant: &Tenant) -> Result<(), Failure> {
    records::open(tenant).map(drop)
}

/// Raises an alert about a wrong passphrase from a file or standard input, unless one is waiting. Otherwise each guess of
/// a program would add an entry to the ledger.
pub(crate) fn raise_passphrase_alert(question: &str, session: &Session) -> Result<(), Failure> {
    let message = format!(
        "a wrong passphrase of the approval key was given in a file or on standard input (`{question}`); if that was not \
         you, find out which program ran actum"
    );
    let name = Reason::PassphraseWrong.name();
    let actor = Some(actor::of(None));
    let alert = NewAlert { name, message, actor, workspace: None };
    records::alert_once(&alert, session).map(drop)
}

/// The command that carries out the plan of a task: only that writes the reports.
pub(crate) fn task_command(plan: &JudgedPlan) -> Option<&'static str> {
    let entry_point = EntryPoint::from_name(&plan.door)?;
    (!entry_point.is_carried_out_by_approval()).then_some(match plan.undoes {
        Some(_) => "actum rollback",
        None => "actum run",
    })
}
