//! The ledger and the keys that every run of this program is recorded with.

use std::sync::Arc;

use std::path::Path;

use actum::{Clock, Records, Resumed, Witness};
use actum_core::path::Quoted;
use actum_core::signer::KeyRole;
use actum_core::{RunId, Timestamp};
use actum_ledger::{Keys, LedgerHome, LedgerView, Log};
use actum_workspace::View;

use crate::failure::Failure;
use crate::output::Screen;
use crate::{home, signals};

/// Opens the ledger. Its thread is begun while signals wait, and so they never end it in the middle
/// of a run: they are answered by the thread that reads the command line.
pub(crate) fn open() -> Result<Records, Failure> {
    let (path, tenant) = (home::path()?, home::tenant()?);
    let _held = signals::hold();
    Ok(Records::open(&path, &tenant, clock())?)
}

/// The ledger, as far as who only looks can see it.
pub(crate) enum Seen {
    /// It can be read.
    Ledger(LedgerView),
    /// There is none yet.
    Nothing,
    /// It cannot be read, which was told.
    Unreadable,
}

impl Seen {
    /// Looks at the ledger; tells on standard error where it cannot be read.
    pub(crate) fn look(screen: &Screen) -> Self {
        match opened_view() {
            Ok(Some(view)) => Self::Ledger(view),
            Ok(None) => Self::Nothing,
            Err(failure) => {
                screen.note(format_args!("what the ledger knows is not shown: {failure}"));
                Self::Unreadable
            }
        }
    }

    /// The ledger, where it can be read.
    pub(crate) fn log(&self) -> Option<&dyn Log> {
        match self {
            Self::Ledger(view) => Some(view),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

fn opened_view() -> Result<Option<LedgerView>, Failure> {
    let Some(home) = LedgerHome::open_existing(&home::path()?).map_err(actum::Error::from)? else {
        return Ok(None);
    };
    let view = LedgerView::open(&home, &home::tenant()?);
    Ok(view.map_err(actum::Error::from)?)
}

/// The runs of a workspace whose end is not recorded yet.
pub(crate) fn open_runs(workspace: &View) -> Result<Vec<RunId>, Failure> {
    let (Some(id), Some(ledger)) = (workspace.workspace_id()?, opened_view()?) else {
        return Ok(Vec::new());
    };
    let open = ledger.open_runs(id).map_err(actum::Error::from)?;
    Ok(open.into_iter().map(|row| row.run).collect())
}

/// How it stands with the ledger.
pub(crate) enum Examination {
    /// Nothing is recorded yet.
    None,
    /// All is as it should be.
    Sound { entries: u64 },
    /// Runs of this workspace wait for their receipts.
    Open { runs: u64 },
}

/// Looks whether the next run in the workspace at `root` could be recorded and signed.
pub(crate) fn examine(root: &Path) -> Result<Examination, Failure> {
    let Some(home) = LedgerHome::open_existing(&home::path()?).map_err(actum::Error::from)? else {
        return Ok(Examination::None);
    };
    let Some(keys) = Keys::open_existing(&home).map_err(actum::Error::from)? else {
        return Ok(Examination::None);
    };
    for role in [KeyRole::Result, KeyRole::Checkpoint] {
        keys.signer(role, now()).map_err(actum::Error::from)?;
    }
    let view = LedgerView::open(&home, &home::tenant()?).map_err(actum::Error::from)?;
    let Some(view) = view else { return Ok(Examination::None) };
    let open = match crate::root::is_made(root) {
        true => {
            let workspace = View::open(root)?;
            if let Some(witness) = Witness::of(&workspace)? {
                let origin = view.origin().map_err(actum::Error::from)?;
                witness.must_be_in(&view, &origin).map_err(actum::Error::from)?;
            }
            open_runs(&workspace)?.len()
        }
        false => 0,
    };
    if open > 0 {
        return Ok(Examination::Open { runs: u64::try_from(open).unwrap_or(u64::MAX) });
    }
    Ok(Examination::Sound { entries: view.size().map_err(actum::Error::from)? })
}

/// The clock of the machine.
pub(crate) fn clock() -> Clock {
    Clock::new(now)
}

/// The same, as the ledger takes it.
pub(crate) fn clock_function() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(now)
}

/// The time now.
#[expect(clippy::disallowed_methods, reason = "here the clock becomes a value")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Timestamp::from_micros(micros)
}

/// Tells on standard error of runs whose end was recorded only now.
pub(crate) fn tell(screen: &Screen, resumed: &[Resumed]) {
    for Resumed { run, status } in resumed {
        screen.note(format_args!(
            "the process of run {run} ended before it could record how the run ended: {}; now it is \
             recorded",
            Quoted(status.as_str().as_bytes())
        ));
    }
}
