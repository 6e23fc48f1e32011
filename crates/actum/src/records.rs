//! Where intents and ends are recorded, and what signs them.

mod own_ledger;
mod witness;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use actum_core::Timestamp;
use actum_ledger::{
    Appended, HomeInputs, Inputs, Keys, Ledger, LedgerError, LedgerHome, Marks, SigningKey,
};
use actum_record::keyring::Keyring;
use actum_record::ledger::TenantId;
use actum_record::receipt::EntryRef;
use actum_record::signer::KeyRole;

use crate::error::{Error, Result};
use crate::real_path::{identity, real};

pub use own_ledger::OwnLedger;
pub(crate) use own_ledger::Standing;
pub(crate) use witness::KeysInForce;
pub use witness::Witness;

/// Program name and version in records.
pub(crate) const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));

/// A clock, given as a value: this crate reads none by itself.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// A clock that tells what `read` tells.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// A clock that stands still, for tests and examples.
    pub fn fixed(micros: i64) -> Self {
        Self::new(move || Timestamp::from_micros(micros))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// The ledger of one tenant, the keys, and the clock.
#[derive(Clone)]
pub struct Records {
    pub(crate) tenant: TenantId,
    pub(crate) ledger: Ledger,
    pub(crate) keys: Arc<Keys>,
    /// Requests of plans that wait.
    pub(crate) inputs: Arc<dyn Inputs>,
    pub(crate) clock: Clock,
    /// Where ledger and keys are.
    pub(crate) home: Option<PathBuf>,
    /// The name of the log, once it was asked for.
    pub(crate) origin: Arc<OnceLock<String>>,
}

impl Records {
    /// Opens the ledger of `tenant` below `home`, and makes both at first use. The ledger is opened by
    /// a thread of its own; what goes wrong there is told when it is first needed.
    ///
    /// # Errors
    /// `Home` and `Key` where the directory or a key in it cannot be trusted.
    pub fn open(home: &Path, tenant: &TenantId, clock: Clock) -> Result<Self> {
        let home = LedgerHome::open(home)?;
        let keys = Arc::new(Keys::open(&home, clock.now())?);
        let ledger = Ledger::open(&home, tenant, Arc::clone(&keys), clock.0.clone());
        let home = Some(home.path().to_owned());
        Ok(Self { home, ..Self::over(tenant.clone(), ledger, keys, clock) })
    }

    /// Checks that the operator's configuration is where it was when this installation was first used; remembers it
    /// at that first use. The environment could otherwise leave the operator's policy out.
    ///
    /// # Errors
    /// `ConfigurationElsewhere`; `Home`.
    pub fn check_configuration(&self, directory: &Path) -> Result<()> {
        let home = self.keys.home();
        match Self::compare_configuration(home, directory)? {
            Recorded::Here => Ok(()),
            Recorded::Nowhere => Ok(home.set_configuration(&real(directory))?),
        }
    }

    /// Checks the operator's configuration as [`Records::check_configuration`], for an installation that is only read.
    /// Remembers nothing.
    ///
    /// # Errors
    /// `ConfigurationElsewhere`; `Home`.
    pub fn check_configuration_of(home: &LedgerHome, directory: &Path) -> Result<()> {
        Self::compare_configuration(home, directory).map(drop)
    }

    fn compare_configuration(home: &LedgerHome, directory: &Path) -> Result<Recorded> {
        let given = real(directory);
        match home.configuration()? {
            None => Ok(Recorded::Nowhere),
            // A link of procfs leads to another directory than the one that its text names.
            Some(recorded) if recorded == given && identity(&recorded) == identity(directory) => {
                Ok(Recorded::Here)
            }
            Some(recorded) => {
                let home = home.path().to_owned();
                Err(Error::ConfigurationElsewhere { recorded, given, home })
            }
        }
    }

    /// The same over a ledger that is open already.
    pub fn over(tenant: TenantId, ledger: Ledger, keys: Arc<Keys>, clock: Clock) -> Self {
        let inputs = Arc::new(HomeInputs::new(keys.home().clone(), tenant.clone()));
        Self { tenant, ledger, keys, inputs, clock, home: None, origin: Arc::default() }
    }

    /// Keeps the requests of plans that wait in `inputs` instead of the home of the keys.
    #[must_use]
    pub fn with_inputs(self, inputs: Arc<dyn Inputs>) -> Self {
        Self { inputs, ..self }
    }

    /// Requests of plans that wait.
    pub fn inputs(&self) -> &dyn Inputs {
        &*self.inputs
    }

    /// Marks of what is under way on this machine.
    pub fn marks(&self) -> Marks {
        Marks::new(self.keys.home().clone(), self.tenant.clone())
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Tenant whose ledger it is.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Refuses a home of ledger and keys, made already or not, that lies in the workspace at `root`, or around
    /// it: a change could touch them. [`Engine::open`](crate::Engine::open) does so too.
    ///
    /// # Errors
    /// `HomeInside`.
    pub fn check_home(home: &Path, root: &Path) -> Result<()> {
        let (real_home, real_root) = (real(home), real(root));
        match real_home.starts_with(&real_root) || real_root.starts_with(&real_home) {
            true => Err(Error::HomeInside { home: home.to_owned(), root: root.to_owned() }),
            false => Ok(()),
        }
    }

    pub(crate) fn check_outside(&self, root: &Path) -> Result<()> {
        self.home.as_ref().map_or(Ok(()), |home| Self::check_home(home, root))
    }

    /// The public keys.
    pub fn keyring(&self) -> &Keyring {
        self.keys.keyring()
    }

    /// An entry that was just appended, as others name it.
    pub(crate) fn entry(&self, appended: &[Appended]) -> Result<EntryRef> {
        let last = appended.last().copied().ok_or(LedgerError::Stopped)?;
        let origin = self.origin()?.to_owned();
        Ok(EntryRef { origin, index: last.index, leaf: last.leaf })
    }

    /// The name of the log.
    pub(crate) fn origin(&self) -> Result<&str> {
        if let Some(origin) = self.origin.get() {
            return Ok(origin);
        }
        let origin = self.ledger.origin()?;
        // Whoever set it meanwhile set the same.
        Ok(self.origin.get_or_init(|| origin))
    }

    /// The ledger as workspaces are bound to it.
    pub(crate) fn own_ledger(&self) -> Result<OwnLedger> {
        Ok(OwnLedger::new(self.origin()?.to_owned(), Arc::clone(&self.keys)))
    }

    /// Names of the keys in force.
    pub(crate) fn keys_in_force(&self) -> KeysInForce {
        let now = self.clock.now();
        let current = |role| self.keyring().current(role, now).map(|key| key.id.clone());
        let signing = [KeyRole::Result, KeyRole::Checkpoint].into_iter().filter_map(current);
        KeysInForce { signing: signing.collect(), approval: current(KeyRole::Approval) }
    }

    /// The key that signs receipts, if it may sign now.
    ///
    /// # Errors
    /// `Key`
    pub fn signer(&self) -> Result<SigningKey> {
        Ok(self.keys.signer(KeyRole::Result, self.clock.now())?)
    }
}

/// Place of the operator's configuration, as an installation remembers it.
enum Recorded {
    /// The one that the environment names.
    Here,
    /// Not remembered yet.
    Nowhere,
}
