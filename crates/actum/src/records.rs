//! Access to the ledger, in which intents and outcomes are recorded, and to the keys that sign its entries.

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

/// Program name and version, as written in records.
pub(crate) const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));

/// Clock that is passed in as a value, because this crate never reads the system clock itself.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// Creates a clock from a function that returns the time.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Creates a clock that always returns the same time, for tests and examples.
    pub fn fixed(micros: i64) -> Self {
        Self::new(move || Timestamp::from_micros(micros))
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// Ledger of one tenant, together with its keys and a clock.
#[derive(Clone)]
pub struct Records {
    pub(crate) tenant: TenantId,
    pub(crate) ledger: Ledger,
    pub(crate) keys: Arc<Keys>,
    /// Store for the requests of pending plans.
    pub(crate) inputs: Arc<dyn Inputs>,
    pub(crate) clock: Clock,
    /// Home directory of the ledger and keys, if it is known.
    pub(crate) home: Option<PathBuf>,
    /// Cached name of the log, which is set once it has been read.
    pub(crate) origin: Arc<OnceLock<String>>,
}

impl Records {
    /// Opens the ledger of `tenant` in `home`, and creates both if they do not exist. The ledger is opened in a background
    /// thread, so a failure there is reported only when the ledger is first used.
    ///
    /// # Errors
    /// Returns `Home` or `Key` if the directory or a key in it cannot be trusted.
    pub fn open(home: &Path, tenant: &TenantId, clock: Clock) -> Result<Self> {
        let home = LedgerHome::open(home)?;
        let keys = Arc::new(Keys::open(&home, clock.now())?);
        let ledger = Ledger::open(&home, tenant, Arc::clone(&keys), clock.0.clone());
        let home = Some(home.path().to_owned());
        Ok(Self { home, ..Self::over(tenant.clone(), ledger, keys, clock) })
    }

    /// Checks that the operator's configuration is in the directory that was recorded when this installation was first
    /// used. The first call records the directory. Without this check, the environment could hide the operator's policy.
    ///
    /// # Errors
    /// Returns `ConfigurationElsewhere` if the directory differs from the recorded one, or `Home` on an I/O error.
    pub fn check_configuration(&self, directory: &Path) -> Result<()> {
        let home = self.keys.home();
        match Self::compare_configuration(home, directory)? {
            Recorded::Here => Ok(()),
            Recorded::Nowhere => Ok(home.set_configuration(&real(directory))?),
        }
    }

    /// Performs the same check as [`Records::check_configuration`] for an installation that is only read, so it never
    /// records the directory.
    ///
    /// # Errors
    /// Returns `ConfigurationElsewhere` if the directory differs from the recorded one, or `Home` on an I/O error.
    pub fn check_configuration_of(home: &LedgerHome, directory: &Path) -> Result<()> {
        Self::compare_configuration(home, directory).map(drop)
    }

    fn compare_configuration(home: &LedgerHome, directory: &Path) -> Result<Recorded> {
        let given = real(directory);
        match home.configuration()? {
            None => Ok(Recorded::Nowhere),
            // Also compare the identity, because a procfs link can lead to a directory other than the one in its text.
            Some(recorded) if recorded == given && identity(&recorded) == identity(directory) => {
                Ok(Recorded::Here)
            }
            Some(recorded) => {
                let home = home.path().to_owned();
                Err(Error::ConfigurationElsewhere { recorded, given, home })
            }
        }
    }

    /// Creates records from a ledger and keys that are already open.
    pub fn over(tenant: TenantId, ledger: Ledger, keys: Arc<Keys>, clock: Clock) -> Self {
        let inputs = Arc::new(HomeInputs::new(keys.home().clone(), tenant.clone()));
        Self { tenant, ledger, keys, inputs, clock, home: None, origin: Arc::default() }
    }

    /// Stores the requests of pending plans in `inputs` instead of the home directory of the keys.
    #[must_use]
    pub fn with_inputs(self, inputs: Arc<dyn Inputs>) -> Self {
        Self { inputs, ..self }
    }

    /// Returns the store for the requests of pending plans.
    pub fn inputs(&self) -> &dyn Inputs {
        &*self.inputs
    }

    /// Returns access to the marks of operations that are running on this machine.
    pub fn marks(&self) -> Marks {
        Marks::new(self.keys.home().clone(), self.tenant.clone())
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the tenant of the ledger.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Checks that the home directory of the ledger and keys is neither inside the workspace at `root` nor around it.
    /// Otherwise, a change could modify them. The directory need not exist.
    ///
    /// [`Engine::open`](crate::Engine::open) performs the same check.
    ///
    /// # Errors
    /// Returns `HomeInside` if one of the directories contains the other.
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

    /// Returns the keyring with the public keys.
    pub fn keyring(&self) -> &Keyring {
        self.keys.keyring()
    }

    /// Returns a reference to the last of the entries that were just appended.
    pub(crate) fn entry(&self, appended: &[Appended]) -> Result<EntryRef> {
        let last = appended.last().copied().ok_or(LedgerError::Stopped)?;
        let origin = self.origin()?.to_owned();
        Ok(EntryRef { origin, index: last.index, leaf: last.leaf })
    }

    /// Returns the name of the log.
    pub(crate) fn origin(&self) -> Result<&str> {
        if let Some(origin) = self.origin.get() {
            return Ok(origin);
        }
        let origin = self.ledger.origin()?;
        // If another thread has set the value in the meantime, it is the same one.
        Ok(self.origin.get_or_init(|| origin))
    }

    /// Returns the identity of this ledger, which is used to check the binding of workspaces.
    pub(crate) fn own_ledger(&self) -> Result<OwnLedger> {
        Ok(OwnLedger::new(self.origin()?.to_owned(), Arc::clone(&self.keys)))
    }

    /// Returns the ids of the keys that are currently in force.
    pub(crate) fn keys_in_force(&self) -> KeysInForce {
        let now = self.clock.now();
        let current = |role| self.keyring().current(role, now).map(|key| key.id.clone());
        let signing = [KeyRole::Result, KeyRole::Checkpoint].into_iter().filter_map(current);
        KeysInForce { signing: signing.collect(), approval: current(KeyRole::Approval) }
    }

    /// Returns the key that signs receipts.
    ///
    /// # Errors
    /// Returns `Key` if there is no result key that is valid now, or if it cannot be loaded.
    pub fn signer(&self) -> Result<SigningKey> {
        Ok(self.keys.signer(KeyRole::Result, self.clock.now())?)
    }
}

/// Result of comparing the operator's configuration directory with the recorded one.
enum Recorded {
    /// The recorded directory is the one that was given.
    Here,
    /// No directory has been recorded yet.
    Nowhere,
}
