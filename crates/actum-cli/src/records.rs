//! Ledger and keys that every run of this program is recorded with.

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

/// Opens the ledger. Its thread starts while signals are held, so they never end it in the middle of a run: the thread
/// that reads the command line handles them.
pub(crate) fn open(tenant: &Tenant) -> Result<Records, Failure> {
    opened(&home::path()?, tenant)
}

/// Opens the ledger for runs in the workspace at `root`, after the checks of the workspace's location.
pub(crate) fn open_for(root: &Path, tenant: &Tenant) -> Result<(Root, Records), Failure> {
    let root = checked(root)?; // before anything is made in the home
    Ok((root, opened(&home::path()?, tenant)?))
}

/// Checks the location at which a workspace would be opened or made.
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

/// Accepts a location of the configuration other than the remembered one, if it is the known one and holds a policy.
fn settled(checked: actum::Result<()>) -> actum::Result<()> {
    match checked {
        Err(actum::Error::ConfigurationElsewhere { .. }) if home::is_configuration_settled() => {
            Ok(())
        }
        checked => checked,
    }
}

/// Raises an alert about the installation in the ledger of every tenant, since they all share keys and trust. Prints
/// the ledgers that rejected it; the exit code shows whether there are any.
pub(crate) fn alert_everywhere(alert: &NewAlert, session: &Session) -> Result<Exit, Failure> {
    in_every_ledger(session, |records| records.alert(alert.clone()).map(drop))
}

/// Raises the alert as [`alert_everywhere`], but only in ledgers without a pending alert of that name.
pub(crate) fn alert_once(alert: &NewAlert, session: &Session) -> Result<Exit, Failure> {
    in_every_ledger(session, |records| records.alert_once(alert.clone()))
}

/// Calls `each` with the ledger in use, which it creates if missing, and with the ledgers of all other tenants.
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
                "the ledger of the tenant `{tenant}` has no alert about it: {error}"
            ));
            exit = Exit::NeedsAttention;
        }
    }
    Ok(exit)
}

/// Checks that the ledger in use may change the workspace at `root`, whether it exists or not; creates nothing.
pub(crate) fn own_root(root: &Path, tenant: &Tenant) -> Result<OwnRoot, Failure> {
    checked(root)?.own(|| ledger_in_use(tenant))
}

/// Checks that an open ledger may change the workspace at `root`, as [`own_root`].
pub(crate) fn own_root_in(root: &Path, ledger: &Queue) -> Result<OwnRoot, Failure> {
    checked(root)?.own(|| own_ledger(&ledger.home, &ledger.view))
}

/// Checks that a file may be written into the workspace at `root` beside its runs: as [`own_root`], at any location.
pub(crate) fn check_own(root: &Path, tenant: &Tenant) -> Result<(), Failure> {
    actum::check_ledger(root, BoundWorkspace::At(root.to_owned()), || ledger_in_use(tenant))
}

/// Returns the ledger in use, if it exists; creates nothing. The environment that names it names the operator's policy,
/// too.
fn ledger_in_use(tenant: &Tenant) -> Result<Option<OwnLedger>, Failure> {
    let Some(home) = existing_home()? else { return Ok(None) };
    let view = view_in(&home, &tenant.id()?)?;
    view.map_or(Ok(None), |view| own_ledger(&home, &view))
}

/// Returns the ledger of a view as the one that may change workspaces, if its home has keys.
fn own_ledger(home: &LedgerHome, view: &LedgerView) -> Result<Option<OwnLedger>, Failure> {
    let Some(keys) = keys_in(home)? else { return Ok(None) };
    settled(Records::check_configuration_of(home, &home::configuration()?))?;
    let origin = view.origin().map_err(actum::Error::from)?;
    Ok(Some(OwnLedger::new(origin, Arc::new(keys))))
}

/// Opens the workspace at `root` by its journal alone, if no ledger can be read.
pub(crate) fn unproven_root(root: &Path) -> Result<Workspace, Failure> {
    Ok(checked(root)?.unproven()?)
}

/// View of the ledger for a command that only reads it.
pub(crate) enum Seen {
    /// Ledger, and the keys that sign for it.
    Ledger(LedgerView, Keyring),
    /// The ledger does not exist yet.
    Nothing,
    /// The ledger cannot be read, which was reported.
    Unreadable,
}

impl Seen {
    /// Reads the ledger; reports on standard error if it cannot be read.
    pub(crate) fn look(session: &Session) -> Self {
        match opened_view(&session.tenant).and_then(with_keys) {
            Ok(Some((view, keyring))) => Self::Ledger(view, keyring),
            Ok(None) => Self::Nothing,
            Err(failure) => {
                session.screen.note(format_args!("what the ledger knows is not shown: {failure}"));
                Self::Unreadable
            }
        }
    }

    /// Returns the recorded facts of a run.
    pub(crate) fn told(&self, run: RunId) -> Result<RecordedFacts, Failure> {
        match self {
            Self::Ledger(view, keyring) => {
                Ok(RecordedFacts::new(view, keyring, run).map_err(actum::Error::from)?)
            }
            Self::Nothing | Self::Unreadable => Ok(RecordedFacts::default()),
        }
    }
}

/// Reports problems in the ledger; returns the exit code.
pub(crate) fn tell_problems<'t>(
    screen: &Screen,
    mut told: impl Iterator<Item = &'t RecordedFacts>,
) -> Exit {
    let Some(problem) = told.find_map(|told| told.problem.as_ref()) else { return Exit::Success };
    screen.note(format_args!(
        "what the ledger has of a run is not proven: {}; `actum ledger verify` tells all that is wrong",
        Quoted(problem.as_bytes())
    ));
    Exit::NeedsAttention
}

fn with_keys(view: Option<LedgerView>) -> Result<Option<(LedgerView, Keyring)>, Failure> {
    let Some(view) = view else { return Ok(None) };
    Ok(Some((view, Trusted::own()?.keyring)))
}

/// Opens the ledger, if it exists, and the public keys in use, if there are any; creates nothing.
pub(crate) fn ledger_and_keys(tenant: &Tenant) -> Result<(Option<LedgerView>, Keyring), Failure> {
    let keys = existing_keys()?;
    let keyring = keys.map_or_else(|| Keyring::new(Vec::new()), |keys| keys.keyring().clone());
    Ok((opened_view(tenant)?, keyring))
}

fn opened_view(tenant: &Tenant) -> Result<Option<LedgerView>, Failure> {
    existing_home()?.map_or(Ok(None), |home| view_in(&home, &tenant.id()?))
}

/// Opens the home of ledgers and keys, if it exists; creates nothing.
fn existing_home() -> Result<Option<LedgerHome>, Failure> {
    Ok(LedgerHome::open_existing(&home::path()?).map_err(actum::Error::from)?)
}

/// Opens the ledger of a tenant.
fn view_in(home: &LedgerHome, tenant: &TenantId) -> Result<Option<LedgerView>, Failure> {
    Ok(LedgerView::open(home, tenant).map_err(actum::Error::from)?)
}

/// Opens the keys of an installation.
fn keys_in(home: &LedgerHome) -> Result<Option<Keys>, Failure> {
    Ok(Keys::open_existing(home).map_err(actum::Error::from)?)
}

/// Opens the keys in use, if there are any; creates nothing.
fn existing_keys() -> Result<Option<Keys>, Failure> {
    existing_home()?.map_or(Ok(None), |home| keys_in(&home))
}

/// Returns a function that finds facts about runs to undo. If the record of a run cannot be read, its undo is judged as
/// a new change.
pub(crate) fn undone(tenant: &TenantId) -> impl Fn(RunId) -> Option<Undone> {
    let view = || view_in(&existing_home().ok()??, tenant).ok()?;
    let opened = LazyCell::new(move || Some((view()?, Trusted::own().ok()?.keyring)));
    move |run| {
        let (view, keyring) = opened.as_ref()?;
        let row = view.run(run).ok()??;
        facts_for_undo(view, keyring, &row).ok()
    }
}

/// Returns runs of a workspace that are newer than the newest one that its ledger knows, the newest first, among the
/// newest `max` runs. Runs before an adoption, which the note of the ledger names, are not returned. If another ledger
/// recorded the workspace, all of them are.
fn unrecorded(
    workspace: &View,
    ledger: Option<&LedgerView>,
    max: usize,
) -> Result<Vec<RunId>, Failure> {
    let runs = workspace.runs()?;
    let newest = || runs.iter().rev().take(max).map(|run| run.run);
    let origin = ledger.map(|ledger| ledger.origin().map_err(actum::Error::from));
    let own = match origin.transpose()? {
        Some(origin) => Witness::of(workspace, &origin)?,
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

/// Returns the newest recorded runs of the workspace at `root` that its history has lost and no `gc` removed.
fn missing(root: &Path, workspace: &View, ledger: Option<&Queue>) -> Result<Vec<RunId>, Failure> {
    let (Some(id), Some(ledger)) = (workspace.workspace_id()?, ledger) else {
        return Ok(Vec::new());
    };
    let origin = ledger.view.origin().map_err(actum::Error::from)?;
    let Some(witness) = Witness::of(workspace, &origin)? else { return Ok(Vec::new()) };
    let missing_from = |runs: &[RunRef]| {
        let is_in_history = |run| runs.iter().any(|known| known.run == run);
        actum::missing_runs(&ledger.view, &ledger.keyring, (id, &witness), is_in_history)
            .map_err(actum::Error::from)
    };
    let missing = missing_from(&workspace.runs()?)?;
    if missing.is_empty() {
        return Ok(missing);
    }
    // A run may have ended since the workspace was read.
    Ok(missing_from(&View::open(root)?.runs()?)?)
}

/// Differences between the runs of a workspace and its ledger.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Newest runs that the ledger does not know, the newest first.
    pub(crate) unrecorded: Vec<RunId>,
    /// Recorded runs that the history has lost and no `gc` removed, the newest first.
    pub(crate) missing: Vec<RunId>,
}

impl Differences {
    /// Compares the newest `max` runs of the workspace at `root` with a ledger, if there is one.
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

/// Returns the runs of a workspace whose end is not recorded yet.
pub(crate) fn open_runs(workspace: &View, tenant: &Tenant) -> Result<Vec<RunId>, Failure> {
    let (Some(id), Some(ledger)) = (workspace.workspace_id()?, opened_view(tenant)?) else {
        return Ok(Vec::new());
    };
    let open = ledger.open_runs(id).map_err(actum::Error::from)?;
    Ok(open.into_iter().map(|row| row.run).collect())
}

/// Removes captures of killed processes, and captures whose plans have left the queue. Returns the number of removed
/// captures.
pub(crate) fn sweep_captures(workspace: &Workspace, tenant: &Tenant) -> Result<usize, Failure> {
    workspace.sweep_captures(|| {
        let Some(ledger) = opened_view(tenant)? else { return Ok(BTreeSet::new()) };
        let plans = ledger.open_plans().map_err(actum::Error::from)?;
        Ok(plans.into_iter().map(|row| row.plan).collect())
    })
}

/// Limit of the newest runs that are searched for unrecorded ones.
const UNRECORDED_MAX: usize = 1000;

/// State of the ledger for a workspace.
pub(crate) enum Examination {
    /// Nothing is recorded yet.
    None,
    /// All records are in order.
    Sound { entries: u64 },
    /// Runs of this workspace wait for their receipts.
    Open { runs: u64 },
    /// This workspace was recorded in a ledger that is not here.
    Elsewhere { origin: String },
    /// Another installation made the newest runs of this workspace.
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
        match Witness::of(workspace, &origin)? {
            // A run may have ended since the ledger was opened, so the current view is read.
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

/// Returns true if an approval key with a passphrase is valid now, so that the operator is distinguished from a
/// program.
pub(crate) fn has_passphrase() -> Result<bool, Failure> {
    let Some(keys) = existing_keys()? else { return Ok(false) };
    let Some(current) = keys.keyring().current(KeyRole::Approval, clock::now()) else {
        return Ok(false);
    };
    let protection = keys.protection_of(current).map_err(actum::Error::from)?;
    Ok(protection == Protection::Passphrase)
}

/// Reports on standard error runs whose end was recorded only now, and another ledger.
pub(crate) fn tell(screen: &Screen, engine: &Engine) {
    for Resumed { run, status } in engine.resumed() {
        screen.note(format_args!(
            "the process of run {run} ended before it could record how the run ended: {}; now it is \
             recorded",
            Quoted(status.as_str().as_bytes())
        ));
    }
    for action in engine.cut_off() {
        screen.note(format_args!(
            "the process of action {action} ended before the action did; how it ended is recorded now: \
             `actum feedback`"
        ));
    }
}
