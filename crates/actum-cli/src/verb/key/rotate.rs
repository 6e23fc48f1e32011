//! `actum key rotate`: a new key replaces an old one, and the ledgers record it.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use actum_api::key::{Key, Rotation, Unrecorded};
use actum_ledger::key_rotation::{RotationReport, rotate};
use actum_ledger::keys::KeyError;
use actum_ledger::{Keys, LedgerHome, Passphrase, Passphrases, Protection};
use actum_record::signer::KeyRole;

use super::protect::Protect;
use super::{Role, current, waits};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::passphrase::{self, PassphraseFailure};
use crate::verb::Session;
use crate::{clock, operator_key, signals, timestamp};
use actum::reason::Reason;

/// Make a new key, which signs from now on
///
/// Signatures of the old key stay valid, and it can still sign for one hour, for runs in progress. Every ledger records
/// the change. Verifiers need the new keyring: `actum key export`.
///
/// A new approval, lease or host key is valid at once only with the passphrase of the old one. Otherwise it waits for a
/// day. Meanwhile every command shows it, and `actum key deny ROLE` rejects it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of the key
    role: Role,
    #[command(flatten)]
    protect: Protect,
    /// Read the passphrase of the old key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "old_passphrase_lost")]
    old_passphrase_file: Option<PathBuf>,
    /// Continue without the passphrase of the old key: the new one waits for a day
    #[arg(long)]
    old_passphrase_lost: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (home, keys) = super::existing()?;
    let home = LedgerHome::open(home.path()).map_err(actum::Error::from)?;
    current(&keys, arguments.role.into())?;
    if arguments.old_passphrase_file.is_some() {
        operator_key::check_alert_can_be_raised(&session.tenant)?;
    }
    let old = arguments.old_passphrase(&keys, session)?;
    let new = arguments.protect.passphrase(arguments.role, session)?;
    let passphrases = Passphrases { old: old.as_ref(), new: new.as_ref() };
    if arguments.role.is_operators() && old.is_none() {
        waits::announce()?;
    }
    let report = {
        // A signal must not leave a key that was made and is not recorded.
        let _held = signals::hold();
        rotate(&home, arguments.role.into(), passphrases, &clock::clock_function())
    };
    if let (Err(KeyError::WrongPassphrase { .. }), Some(_)) =
        (&report, &arguments.old_passphrase_file)
    {
        operator_key::raise_passphrase_alert(
            arguments.role.into(),
            &format!("Another {} key?", KeyRole::from(arguments.role)),
            session,
        )?;
    }
    let report = report.map_err(actum::Error::from)?;
    let is_synced = report.unsynced.is_none();
    if let Some(error) = &report.unsynced {
        session.screen.note(format_args!("{error}"));
    }
    let mut alerted = Exit::Success;
    if report.new.not_before > clock::now() {
        alerted = waits::raise(&report.new, session)?;
    }
    let changed = document(report);
    for Unrecorded { tenant, message, .. } in &changed.unrecorded {
        session.screen.note(format_args!(
            "the ledger of the tenant `{tenant}` does not record it: {message}; see `actum explain {}`",
            Reason::RotationNotRecorded.name()
        ));
    }
    session.screen.show(&changed)?;
    Ok(if is_synced && changed.unrecorded.is_empty() { alerted } else { Exit::NeedsAttention })
}

impl Arguments {
    /// Reads the passphrase of the old key, if that is needed to unlock it.
    fn old_passphrase(
        &self,
        keys: &Keys,
        session: &Session,
    ) -> Result<Option<Passphrase>, Failure> {
        let file = self.old_passphrase_file.as_deref();
        if file == Some(Path::new("-")) && self.protect.takes_standard_input() {
            let message = "`--passphrase-file` and `--old-passphrase-file` cannot both be read from \
                           standard input";
            return Err(Failure::Usage { message: message.to_owned() });
        }
        let is_locked = || {
            // If its file is missing or damaged, there is nothing to unlock.
            keys.protection(self.role.into(), clock::now())
                .is_ok_and(|by| by == Protection::Passphrase)
        };
        if file.is_none() && (self.old_passphrase_lost || !is_locked()) {
            return Ok(None);
        }
        if file.is_none() && !passphrase::can_ask() {
            return Err(PassphraseFailure::NoTerminalForOld.into());
        }
        passphrase::read(session, "Passphrase of the key that goes: ", file).map(Some)
    }
}

fn document(RotationReport { old, new, recorded, unrecorded, .. }: RotationReport) -> Rotation {
    let unrecorded = unrecorded.into_iter().map(|(tenant, why)| Unrecorded {
        tenant,
        reason: Reason::RotationNotRecorded.name().to_owned(),
        message: why.to_string(),
    });
    Rotation { old, new: new.into(), recorded, unrecorded: unrecorded.collect() }
}

impl Document for Rotation {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Key { id, role, not_before, .. } = &self.new;
        if *not_before > clock::now() {
            let from = timestamp::second(*not_before);
            writeln!(out, "the {role} key {id} waits, and replaces {} from {from} on", self.old)?;
            return writeln!(out, "`actum key deny {role}` rejects it until then");
        }
        writeln!(out, "the {role} key {id} signs from now on, in the place of {}", self.old)?;
        for tenant in &self.recorded {
            writeln!(out, "recorded in the ledger of the tenant `{tenant}`")?;
        }
        writeln!(out, "give the new keyring to whoever verifies: `actum key export`")
    }
}
