//! Access to the ledger and the keys with which this program records runs.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use actum::{
    BoundWorkspace, Engine, NewAlert, OwnLedger, OwnRoot, Records, Resumed, Root, Witness,
    facts_for_undo,
};
use actum_core::RunId;
use actum_core::path::Quoted;
use actum_gate::decision::Undone;
use actum_ledger::{Keys, LedgerHome, LedgerView, Log, Protection};
use actum_record::keyring::Keyring;
use actum_record::ledger::TenantId;
use actum_record::signer::KeyRole;
use actum_workspace::{RunRef, View, Workspace};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::ledger_queue::Queue;
use crate::output::Screen;
use crate::record::RecordedFacts;
use crate::session::Session;
use crate::trusted::Trusted;
use crate::{clock, home, new_home, private_place, root, signals};

/// Opens the ledger of a tenant for writing. The thread of the ledger is started with signals blocked, so that a signal
/// cannot end it in the middle of a run. Signals are left to the thread that reads the command line.
pub(crate) fn open(tenant: &Tenant) -> Result<Records, Failure> {
    opened(&home::path()?, tenant)
}

/// Checks the location of the workspace at `root`, and opens the ledger for runs in it.
pub(crate) fn open_for(root: &Path, tenant: &Tenant) -> Result<(Root, Records), Failure> {
    let root = checked(root)?; // before anything is created in the home
    Ok((root, opened(&home::path()?, tenant)?))
}

/// Checks whether a workspace may be opened or created at `root`.
pub(crate) fn checked(root: &Path) -> Result<Root, Failure> {
    Root::check(root, &home::path()?, &private_place::closed_to_changes(), root::check_place)
}

fn opened(path: &Path, tenant: &Tenant) -> Result<Records, Failure> {
    let tenant = tenant.id()?;
    new_home::check(path)?;
    let _held = signals::hold();
    let records = Records::open(path, &tenant, clock::clock())?;
    settled(records.check_configuration(&home::configuration()?))?;
    Ok(records)
}

/// Accepts a configuration directory other than the one that the ledger remembers, provided that the directory does not
/// depend on the environment.
fn settled(checked: actum::Result<()>) -> actum::Result<()> {
    match checked {
        Err(actum::Error::ConfigurationElsewhere { .. }) if home::is_configuration_settled() => {
            Ok(())
        }
        checked => checked,
    }
}

/// Raises an alert about the installation in the ledgers of all tenants, because they share keys and trust. Each ledger
/// that rejects the alert is reported, and the exit code is then `NeedsAttention`.
pub(crate) fn alert_everywhere(alert: &NewAlert, session: &Session) -> Result<Exit, Failure> {
    in_every_ledger(session, |records| records.alert(alert.clone()).map(drop))
}

/// Raises an alert like [`alert_everywhere`], but skips ledgers in which an alert of that name is already pending.
pub(crate) fn alert_once(alert: &NewAlert, session: &Session) -> Result<Exit, Failure> {
    in_every_ledger(session, |records| records.alert_once(alert.clone()))
}

/// Calls `each` with the ledger in use, which is created if missing, and with the ledgers of all other tenants.
fn in_every_ledger(
    session: &Session,
    each: impl Fn(&Records) -> actum::Result<()>,
) -> Result<Exit, Failure> {
    let (path, used) = (home::path()?, session.tenant.id()?);
    let home = LedgerHome::open(&path).map_err(actum::Error::from)?;
    let mut tenants = home.tenants().map_err(actum::Error::from)?;
    tenants.retain(|tenant| *tenant != used);
    let mut exit = Exit::Success;
    for tenant in std::iter::once(used).chain(tenants) {
        let _held = signals::hold();
        let opened = Records::open(&path, &tenant, clock::clock());
        if let Err(error) = opened.and_then(|records| each(&records)) {
            let tenant = tenant.as_str();
            session.screen.note(format_args!(
                "failed to add the alert to the ledger of tenant `{tenant}`: {error}"
            ));
            exit = Exit::NeedsAttention;
        }
    }
    Ok(exit)
}

/// Checks that the ledger in use may change the workspace at `root`, whether or not the workspace exists. Creates
/// nothing.
pub(crate) fn own_root(root: &Path, tenant: &Tenant) -> Result<OwnRoot, Failure> {
    checked(root)?.own(|| ledger_in_use(tenant))
}

/// Checks that an already open ledger may change the workspace at `root`, like [`own_root`].
pub(crate) fn own_root_in(root: &Path, ledger: &Queue) -> Result<OwnRoot, Failure> {
    checked(root)?.own(|| own_ledger(&ledger.home, &ledger.view))
}

/// Checks that the ledger in use may write a file into the workspace at `root` outside of a run. Unlike [`own_root`],
/// this does not check the location of the workspace.
pub(crate) fn check_own(root: &Path, tenant: &Tenant) -> Result<(), Failure> {
    actum::check_ledger(root, BoundWorkspace::At(root.to_owned()), || ledger_in_use(tenant))
}

/// Returns the ledger in use, or `None` if it does not exist. Creates nothing. The environment that selects the ledger
/// also selects the operator's policy.
fn ledger_in_use(tenant: &Tenant) -> Result<Option<OwnLedger>, Failure> {
    let Some(home) = existing_home()? else { return Ok(None) };
    let view = view_in(&home, &tenant.id()?)?;
    view.map_or(Ok(None), |view| own_ledger(&home, &view))
}

/// Returns the ledger of `view` as one that may change workspaces, or `None` if its home has no keys.
fn own_ledger(home: &LedgerHome, view: &LedgerView) -> Result<Option<OwnLedger>, Failure> {
    let Some(keys) = keys_in(home)? else { return Ok(None) };
    settled(Records::check_configuration_of(home, &home::configuration()?))?;
    let origin = view.origin().map_err(actum::Error::from)?;
    Ok(Some(OwnLedger::new(origin, Arc::new(keys))))
}

/// Opens the workspace at `root` from its journal only, because no ledger can be read.
pub(crate) fn unproven_root(root: &Path) -> Result<Workspace, Failure> {
    Ok(checked(root)?.unproven()?)
}

/// Ledger as seen by a command that only reads it.
pub(crate) enum Seen {
    /// Open ledger, and the public keys that verify its entries.
    Ledger(LedgerView, Keyring),
    /// The ledger does not exist yet.
    Nothing,
    /// The ledger cannot be read, and the user was informed about it.
    Unreadable,
}

impl Seen {
    /// Opens the ledger for reading. If this fails, prints a note to standard error.
    pub(crate) fn look(session: &Session) -> Self {
        match opened_view(&session.tenant).and_then(with_keys) {
            Ok(Some((view, keyring))) => Self::Ledger(view, keyring),
            Ok(None) => Self::Nothing,
            Err(failure) => {
                session.screen.note(format_args!("records of the ledger are not shown: {failure}"));
                Self::Unreadable
            }
        }
    }

    /// Returns the recorded facts about a run, which are empty if the ledger is missing or unreadable.
    pub(crate) fn recorded_facts(&self, run: RunId) -> Result<RecordedFacts, Failure> {
        match self {
            Self::Ledger(view, keyring) => {
                Ok(RecordedFacts::new(view, keyring, run).map_err(actum::Error::from)?)
            }
            Self::Nothing | Self::Unreadable => Ok(RecordedFacts::default()),
        }
    }
}

/// Prints the first problem with a record, if there is one, and returns the exit code.
pub(crate) fn report_problems<'t>(
    screen: &Screen,
    mut recorded: impl Iterator<Item = &'t RecordedFacts>,
) -> Exit {
    let Some(problem) = recorded.find_map(|recorded| recorded.problem.as_ref()) else {
        return Exit::Success;
    };
    screen.note(format_args!(
        "the ledger record of a run is invalid: {}; run `actum ledger verify` to list all problems",
        Quoted(problem.as_bytes())
    ));
    Exit::NeedsAttention
}

fn with_keys(view: Option<LedgerView>) -> Result<Option<(LedgerView, Keyring)>, Failure> {
    let Some(view) = view else { return Ok(None) };
    Ok(Some((view, Trusted::own()?.keyring)))
}

/// Opens the ledger and the public keys in use for reading. Creates nothing: a missing ledger is `None`, and missing
/// keys are an empty keyring.
pub(crate) fn ledger_and_keys(tenant: &Tenant) -> Result<(Option<LedgerView>, Keyring), Failure> {
    let keys = existing_keys()?;
    let keyring = keys.map_or_else(|| Keyring::new(Vec::new()), |keys| keys.keyring().clone());
    Ok((opened_view(tenant)?, keyring))
}

fn opened_view(tenant: &Tenant) -> Result<Option<LedgerView>, Failure> {
    existing_home()?.map_or(Ok(None), |home| view_in(&home, &tenant.id()?))
}

/// Opens the directory of ledgers and keys, if it exists. Creates nothing.
fn existing_home() -> Result<Option<LedgerHome>, Failure> {
    Ok(LedgerHome::open_existing(&home::path()?).map_err(actum::Error::from)?)
}

/// Opens the ledger of a tenant for reading, if it exists.
fn view_in(home: &LedgerHome, tenant: &TenantId) -> Result<Option<LedgerView>, Failure> {
    Ok(LedgerView::open(home, tenant).map_err(actum::Error::from)?)
}

/// Opens the keys of an installation, if it has any.
fn keys_in(home: &LedgerHome) -> Result<Option<Keys>, Failure> {
    Ok(Keys::open_existing(home).map_err(actum::Error::from)?)
}

/// Opens the keys in use, if there are any. Creates nothing.
fn existing_keys() -> Result<Option<Keys>, Failure> {
    existing_home()?.map_or(Ok(None), |home| keys_in(&home))
}

/// Returns a function that looks up the recorded facts about a run to undo. If the record of that run cannot be read,
/// the gates judge the undo like a new change.
pub(crate) fn undone(tenant: &TenantId) -> impl Fn(RunId) -> Option<Undone> {
    let view = || view_in(&existing_home().ok()??, tenant).ok()?;
    let opened = LazyCell::new(move || Some((view()?, Trusted::own().ok()?.keyring)));
    move |run| {
        let (view, keyring) = opened.as_ref()?;
        let row = view.run(run).ok()??;
        facts_for_undo(view, keyring, &row).ok()
    }
}

/// Returns the newest runs of a workspace that its ledger did not record, newest first. The search covers at most `max`
/// runs. It ends at the first recorded run, or at the run after which this ledger adopted the workspace. If only
/// another ledger recorded the workspace, all runs that were searched are returned.
fn unrecorded(
    workspace: &View,
    ledger: Option<&LedgerView>,
    max: usize,
) -> Result<Vec<RunId>, Failure> {
    let runs = workspace.runs()?;
    let newest = || runs.iter().rev().take(max).map(|run| run.run);
    let origin = ledger.map(|ledger| ledger.origin().map_err(actum::Error::from));
    let own = match origin.transpose()? {
        Some(origin) => Witness::from_view(workspace, &origin)?,
        None => None,
    };
    let (Some(ledger), Some(own)) = (ledger, own) else {
        return Ok(match Witness::of_any_log(workspace)? {
            Some(_) => newest().collect(),
            None => Vec::new(),
        });
    };
    let mut unrecorded = Vec::new();
    for run in newest() {
        if own.adopted() == Some(run) || ledger.run(run).map_err(actum::Error::from)?.is_some() {
            break;
        }
        unrecorded.push(run);
    }
    Ok(unrecorded)
}

/// Returns recorded runs that are missing from the history of the workspace at `root`, although no `gc` removed them.
fn missing(root: &Path, workspace: &View, ledger: Option<&Queue>) -> Result<Vec<RunId>, Failure> {
    let (Some(id), Some(ledger)) = (workspace.workspace_id()?, ledger) else {
        return Ok(Vec::new());
    };
    let origin = ledger.view.origin().map_err(actum::Error::from)?;
    let Some(witness) = Witness::from_view(workspace, &origin)? else { return Ok(Vec::new()) };
    let missing_from = |runs: &[RunRef]| {
        let is_in_history = |run| runs.iter().any(|known| known.run == run);
        actum::missing_runs(&ledger.view, &ledger.keyring, (id, &witness), is_in_history)
            .map_err(actum::Error::from)
    };
    let missing = missing_from(&workspace.runs()?)?;
    if missing.is_empty() {
        return Ok(missing);
    }
    // Read the history again, because a run may have ended since the workspace was read.
    Ok(missing_from(&View::open(root)?.runs()?)?)
}

/// Differences between the history of a workspace and its ledger.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Newest runs in the history that the ledger did not record, newest first.
    pub(crate) unrecorded: Vec<RunId>,
    /// Recorded runs that are missing from the history although no `gc` removed them, newest first.
    pub(crate) missing: Vec<RunId>,
}

impl Differences {
    /// Compares the history of the workspace at `root` with a ledger, if there is one. Only the newest `max` runs are
    /// checked for being recorded.
    pub(crate) fn find(
        root: &Path,
        workspace: &View,
        ledger: Option<&Queue>,
        max: usize,
    ) -> Result<Self, Failure> {
        Ok(Self {
            unrecorded: unrecorded(workspace, ledger.map(|ledger| &ledger.view), max)?,
            missing: missing(root, workspace, ledger)?,
        })
    }
}

/// Returns the runs of a workspace whose outcome is not recorded yet.
pub(crate) fn open_runs(workspace: &View, tenant: &Tenant) -> Result<Vec<RunId>, Failure> {
    let (Some(id), Some(ledger)) = (workspace.workspace_id()?, opened_view(tenant)?) else {
        return Ok(Vec::new());
    };
    let open = ledger.open_runs(id).map_err(actum::Error::from)?;
    Ok(open.into_iter().map(|row| row.run).collect())
}

/// Removes the captures of killed processes, and those of plans that are no longer queued. Returns the number of
/// removed captures.
pub(crate) fn sweep_captures(workspace: &Workspace, tenant: &Tenant) -> Result<usize, Failure> {
    workspace.sweep_captures(|| {
        let Some(ledger) = opened_view(tenant)? else { return Ok(BTreeSet::new()) };
        let plans = ledger.open_plans().map_err(actum::Error::from)?;
        Ok(plans.into_iter().map(|row| row.plan).collect())
    })
}

/// Maximum number of runs that are searched for unrecorded ones, starting with the newest.
const UNRECORDED_MAX: usize = 1000;

/// State of the ledger with respect to one workspace.
pub(crate) enum Examination {
    /// Nothing is recorded yet.
    None,
    /// The ledger can record and sign the next run.
    Sound { entries: u64 },
    /// Some runs of this workspace have no receipt yet.
    Open { runs: u64 },
    /// This workspace belongs to a ledger other than the one in use.
    Elsewhere { origin: String },
    /// The newest runs of this workspace were made by another installation and are not in the ledger.
    Unrecorded { runs: u64 },
}

/// Examines whether the next run in the workspace at `root` could be recorded and signed.
pub(crate) fn examine(root: &Path, tenant: &Tenant) -> Result<Examination, Failure> {
    let workspace = match crate::root::is_made(root) {
        true => Some(View::open(root)?),
        false => None,
    };
    let elsewhere = || -> Result<Option<Examination>, Failure> {
        let witness = workspace.as_ref().map(Witness::of_any_log).transpose()?.flatten();
        Ok(witness.map(|it| Examination::Elsewhere { origin: it.origin().to_owned() }))
    };
    let nothing = || Ok(elsewhere()?.unwrap_or(Examination::None));
    let Some(home) = existing_home()? else { return nothing() };
    let Some(keys) = keys_in(&home)? else { return nothing() };
    for role in [KeyRole::Result, KeyRole::Checkpoint] {
        keys.signer(role, clock::now()).map_err(actum::Error::from)?;
    }
    let Some(view) = view_in(&home, &tenant.id()?)? else { return nothing() };
    if let Some(workspace) = &workspace {
        let origin = view.origin().map_err(actum::Error::from)?;
        match Witness::from_view(workspace, &origin)? {
            // Open the ledger again, because a run may have ended since it was opened.
            Some(witness) => match opened_view(tenant)? {
                Some(view) => witness.check_in(&view).map_err(actum::Error::from)?,
                None => return nothing(),
            },
            None => {
                if let Some(elsewhere) = elsewhere()? {
                    return Ok(elsewhere);
                }
            }
        }
        let unrecorded =
            unrecorded(workspace, opened_view(tenant)?.as_ref(), UNRECORDED_MAX)?.len();
        if unrecorded > 0 {
            let runs = u64::try_from(unrecorded).unwrap_or(u64::MAX);
            return Ok(Examination::Unrecorded { runs });
        }
        let open = open_runs(workspace, tenant)?.len();
        if open > 0 {
            return Ok(Examination::Open { runs: u64::try_from(open).unwrap_or(u64::MAX) });
        }
    }
    Ok(Examination::Sound { entries: view.size().map_err(actum::Error::from)? })
}

/// Returns whether there is a valid approval key with a passphrase. Without one, an approval by the operator cannot be
/// distinguished from one by a program.
pub(crate) fn has_passphrase() -> Result<bool, Failure> {
    let Some(keys) = existing_keys()? else { return Ok(false) };
    let Some(current) = keys.keyring().current(KeyRole::Approval, clock::now()) else {
        return Ok(false);
    };
    let protection = keys.protection_of(current).map_err(actum::Error::from)?;
    Ok(protection == Protection::Passphrase)
}

/// Prints notes about interrupted runs and actions whose outcome was recorded only now.
pub(crate) fn report_late_outcomes(screen: &Screen, engine: &Engine) {
    for Resumed { run, status } in engine.resumed() {
        screen.note(format_args!(
            "the process of run {run} exited before the outcome was recorded; it is recorded now: {}",
            Quoted(status.as_str().as_bytes())
        ));
    }
    for action in engine.cut_off() {
        screen.note(format_args!(
            "the process of action {action} exited before the action ended; run `actum feedback` to see the \
             outcome, which is recorded now"
        ));
    }
}
