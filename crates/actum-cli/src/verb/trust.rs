//! `actum trust`: trusts a workspace's policy, so that the rules in it that loosen the protection take effect.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::reason::Reason;
use actum::{NewAlert, PolicyFiles, PolicyInForce};
use actum_api::policy::Trust;
use actum_core::Timestamp;
use actum_core::path::Quoted;
use actum_gate::policy::Source;
use actum_ledger::{LedgerHome, WAIT_MICROS};
use actum_record::keyring::Keyring;
use actum_record::signer::KeyRole;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::{actor, clock, home, policy, records, root, shown_path, timestamp};

/// Trust the policy of this workspace in its current state
///
/// Rules in a workspace's `actum.toml` that tighten the protection are always in force. Rules that loosen it take effect
/// only after you have trusted the file, so read it first. If the file is changed, it is no longer trusted.
///
/// This command asks for the passphrase of the approval key. Without an approval key, the trust takes effect after a day.
/// During that day, every command shows a note about it, and `actum trust --remove` rejects it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Remove the trust, even if it has not taken effect yet
    #[arg(long, conflicts_with = "passphrase_file")]
    remove: bool,
    /// Read the passphrase of the approval key from FILE, or from standard input if it is `-`
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

struct Trusted {
    document: Trust,
    shown: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = root::existing_or_new(&session.start);
    let path = policy::in_workspace(root);
    let bytes = path.as_os_str().as_bytes();
    let (file, shown) = (shown_path::text(bytes), Quoted(bytes).to_string());
    let place = home::path()?;
    if arguments.remove {
        let home = LedgerHome::open_existing(&place).map_err(actum::Error::from)?;
        home.map_or(Ok(()), |home| home.distrust(root)).map_err(actum::Error::from)?;
        let counts = Vec::new();
        let (trusted, from, digest) = (false, None, None);
        let document = Trust { file, trusted, from, digest, counts };
        session.screen.show(&Trusted { document, shown })?;
        return Ok(Exit::Success);
    }
    let files: PolicyFiles = policy::files()?;
    let PolicyInForce { files, ignored, .. } = files.read(root)?;
    let own = files.into_iter().find(|file| file.source == Source::Workspace);
    let digest = own.ok_or(Failure::NoPolicy { path })?.digest;
    let counts = ignored.iter().map(ToString::to_string).collect();
    let keyring = records::open(&session.tenant)?.keyring().clone();
    let from = prove(arguments, session, &shown, &keyring)?;
    let home = LedgerHome::open(&place).map_err(actum::Error::from)?;
    if let Some(from) = from {
        // Commands look for pending decisions only if this note exists, so write it before the decision.
        home.note_waiting(from).map_err(actum::Error::from)?;
    }
    home.trust(root, digest, from).map_err(actum::Error::from)?;
    let mut alerted = Exit::Success;
    if let Some(from) = from {
        let message = format!(
            "the policy {shown} was trusted without proof by the operator and takes effect at {from}; \
             `actum trust --remove` rejects it"
        );
        let name = Reason::TrustWaits.name();
        let alert =
            NewAlert { name, message, actor: Some(actor::from_agent(None)), workspace: None };
        alerted = records::alert_everywhere(&alert, session)?;
    }
    let digest = Some(digest);
    let document = Trust { file, trusted: true, from, digest, counts };
    session.screen.show(&Trusted { document, shown })?;
    Ok(alerted)
}

/// Asks for the passphrase of the approval key. If there is no such key, returns the time when the trust takes effect.
fn prove(
    arguments: &Arguments,
    session: &Session,
    shown: &str,
    keyring: &Keyring,
) -> Result<Option<Timestamp>, Failure> {
    let now = clock::now();
    if keyring.current(KeyRole::Approval, now).is_some() {
        let question = format!("Trust {shown}?");
        OperatorKey::approval(session, &question, arguments.passphrase_file.as_deref())?;
        return Ok(None);
    }
    Ok(Some(Timestamp::from_micros(now.micros().saturating_add(WAIT_MICROS))))
}

impl Document for Trusted {
    type Api = Trust;

    fn document(&self) -> impl Borrow<Trust> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { document: Trust { trusted, from, counts, .. }, shown } = self;
        if !trusted {
            return writeln!(out, "{shown} is not trusted; it can only tighten the rules");
        }
        match from {
            None => {
                writeln!(out, "{shown} is trusted in its current state")?;
                counts.iter().try_for_each(|it| writeln!(out, "now in force: {it}"))
            }
            Some(from) => {
                let from = timestamp::second(*from);
                writeln!(out, "{shown} will be trusted in its current state from {from} on")?;
                writeln!(
                    out,
                    "there is no approval key to prove who you are; until then, `actum trust --remove` rejects it"
                )?;
                counts.iter().try_for_each(|it| writeln!(out, "in force then: {it}"))
            }
        }
    }
}
