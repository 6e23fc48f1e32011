//! `actum key rotate`: replaces the current key of a role and records this in the ledgers.

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

/// Replace the current key of a role with a new one
///
/// Signatures of the old key stay valid. The old key can sign for one more hour, so that runs in progress can finish.
/// Every ledger records the rotation. Give verifiers the new keyring, which `actum key export` writes.
///
/// A new approval, lease or host key is valid immediately only if you enter the passphrase of the old key. Otherwise it
/// becomes valid after 24 hours. Until then, every command reports it, and `actum key deny ROLE` rejects it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of the key
    role: Role,
    #[command(flatten)]
    protect: Protect,
    /// Read the passphrase of the old key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "old_passphrase_lost")]
    old_passphrase_file: Option<PathBuf>,
    /// Continue without the passphrase of the old key; the new key becomes valid after 24 hours
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
        // A signal must not interrupt the rotation between the creation of the key and its recording.
        let _held = signals::hold();
        rotate(&home, arguments.role.into(), passphrases, &clock::clock_function())
    };
    if let (Err(KeyError::WrongPassphrase { .. }), Some(_)) =
        (&report, &arguments.old_passphrase_file)
    {
        operator_key::raise_passphrase_alert(
            arguments.role.into(),
            &format!("Replace the {} key?", KeyRole::from(arguments.role)),
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
            "the rotation was not recorded in the ledger of the tenant `{tenant}`: {message}; see `actum explain {}`",
            Reason::RotationNotRecorded.name()
        ));
    }
    session.screen.show(&changed)?;
    Ok(if is_synced && changed.unrecorded.is_empty() { alerted } else { Exit::NeedsAttention })
}

impl Arguments {
    /// Reads the passphrase of the old key. Returns `None` if the key needs no passphrase or the user passed
    /// `--old-passphrase-lost`.
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
            // A key whose file is missing or damaged cannot be unlocked, so no passphrase is needed.
            keys.protection(self.role.into(), clock::now())
                .is_ok_and(|by| by == Protection::Passphrase)
        };
        if file.is_none() && (self.old_passphrase_lost || !is_locked()) {
            return Ok(None);
        }
        if file.is_none() && !passphrase::can_ask() {
            return Err(PassphraseFailure::NoTerminalForOld.into());
        }
        passphrase::read(session, "Passphrase of the old key: ", file).map(Some)
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
            writeln!(out, "created the {role} key {id}, which replaces {} at {from}", self.old)?;
            return writeln!(out, "until then, `actum key deny {role}` rejects it");
        }
        writeln!(out, "created the {role} key {id}, which replaces {} from now on", self.old)?;
        for tenant in &self.recorded {
            writeln!(out, "recorded in the ledger of the tenant `{tenant}`")?;
        }
        writeln!(out, "run `actum key export` and give the new keyring to all verifiers")
    }
}
