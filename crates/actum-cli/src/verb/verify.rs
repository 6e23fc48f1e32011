//! `actum verify`: whether a receipt is what it says, by public keys alone.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum_api::Gate;
use actum_core::path::Quoted;
use actum_core::path_name::PathName;
use actum_core::{Digest, RunId, Status, Timestamp};
use actum_gate::bundle::BUNDLE_BYTES_MAX;
use actum_gate::{
    BundleProblem, Inclusion, ReceiptBundle, VerifiedBundle, VerifiedReceipt, unread,
    verify_bundle, verify_receipt,
};
use actum_record::command::CommandsRun;
use actum_record::ledger::{Actor, TenantId, WorkspaceId};
use actum_record::receipt::{EffectKind, PathEffect, RunResult};
use actum_record::signer::KeyId;
use serde::Serialize;

use super::Session;
use crate::change_list::{count, lines};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::views;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::record::write_commands;
use crate::snippet::Quote;
use crate::trusted::Trusted;
use crate::{input, own_format};

/// Verify a receipt, with its proof or alone, by public keys
///
/// Takes what `actum receipt` wrote, or an entry of a ledger that is a receipt. No workspace, no ledger and
/// no network is looked at. Ends with code 0 only where all that the file holds is verified, and says what
/// no file can tell.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The receipt; `-` is standard input
    #[arg(value_name = "RECEIPT")]
    receipt: PathBuf,
    /// The public keys to trust, as `actum key export` writes them; without it your own
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
}

#[derive(Serialize)]
struct Verified {
    run: RunId,
    tenant: TenantId,
    workspace: WorkspaceId,
    status: Status,
    /// Requester, and the entry point that received the request.
    actor: Actor,
    door: String,
    label: String,
    ended: Timestamp,
    /// What the gates said.
    gates: Vec<Gate>,
    /// What was run for it.
    #[serde(skip_serializing_if = "CommandsRun::is_empty")]
    commands: CommandsRun,
    paths: Vec<PathEffect>,
    /// The key that signed the receipt.
    key: KeyId,
    /// Its hash as an entry of the log.
    leaf: Digest,
    keyring: Trusted,
    log: Option<Place>,
    verified: Vec<&'static str>,
    not_verified: Vec<&'static str>,
    /// Parts of the file that nobody checked, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

/// The most paths that are told one by one; all are in the JSON.
const PATHS_SHOWN_MAX: usize = 20;

/// Where the log has it.
#[derive(Serialize)]
struct Place {
    origin: String,
    index: u64,
    size: u64,
    root: Digest,
    /// The key that signed the checkpoint.
    key: KeyId,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let keyring = Trusted::read(arguments.keyring.as_deref(), &session.start)?;
    let (input, bytes) = input::document(&arguments.receipt, &session.start, BUNDLE_BYTES_MAX)?;
    // What says of itself that it is some document of ours is no receipt without a proof.
    let verified = match own_format::of(&bytes) {
        Some(found) if found != ReceiptBundle::FORMAT => Err(BundleProblem::Format { found }),
        Some(_) => verify_bundle(&bytes, &keyring.keyring)
            .map(|VerifiedBundle { receipt, inclusion, .. }| (receipt, Some(inclusion))),
        None => verify_receipt(&bytes, &keyring.keyring)
            .map(|receipt| (receipt, None))
            .map_err(BundleProblem::from),
    };
    let (receipt, inclusion) = verified.map_err(|source| {
        let file = input::path(&arguments.receipt, &session.start);
        let quote = Quote::new(file.as_deref(), &bytes, None);
        let quote = quote.of_kind(own_format::is_like_ours(&bytes));
        LedgerFailure::Receipt { input, source: Box::new(source), quote }
    })?;
    let unread = unread(&bytes, &keyring.keyring).iter().map(ToString::to_string).collect();
    session.screen.show(&Verified { unread, ..Verified::of(receipt, inclusion, keyring) })?;
    Ok(Exit::Success)
}

impl Verified {
    fn of(receipt: VerifiedReceipt, inclusion: Option<Inclusion>, keyring: Trusted) -> Self {
        let VerifiedReceipt { statement, key, leaf, .. } = receipt;
        let RunResult { run, tenant, workspace, status, actor, door, .. } = statement.predicate;
        let RunResult { label, ended, decision, paths, approval, .. } = statement.predicate;
        let RunResult { commands: made, verification: verified, sandbox, .. } = statement.predicate;
        let commands = CommandsRun { made, verified, sandbox };
        let log = inclusion.map(|place| {
            let Inclusion { origin, index, size, root, key, .. } = place;
            Place { origin, index, size, root, key }
        });
        let (mut verified, mut not_verified) = (vec![SIGNED, CONSISTENT], Vec::new());
        match log {
            Some(_) => {
                verified.extend([IN_THE_LOG, BEHIND_ITS_INTENT]);
                not_verified.push(ONE_LOG);
            }
            None => not_verified.push(NO_PROOF),
        }
        not_verified.extend([FILES_NOW, NAMES]);
        not_verified.extend(approval.map(|_| APPROVAL));
        Self {
            run,
            tenant,
            workspace,
            status,
            actor,
            door,
            label,
            ended,
            gates: views(&decision.gates),
            commands,
            paths,
            key,
            leaf,
            keyring,
            log,
            verified,
            not_verified,
            unread: Vec::new(),
        }
    }
}

const SIGNED: &str = "a result key of the keyring signed it, within the time of the key";
const CONSISTENT: &str = "what it says fits together";
const IN_THE_LOG: &str = "it is in the log, as a signed checkpoint covers it";
const BEHIND_ITS_INTENT: &str =
    "it stands behind the entry that it names as its intent, which is itself not in the file";
const NO_PROOF: &str =
    "that it is in the log: the file has no proof (`actum receipt RUN` writes one)";
const APPROVAL: &str =
    "that a person agreed: the signed answer is the entry of the ledger that the gate names";
const ONE_LOG: &str =
    "that nobody was shown another log: compare the checkpoint with one that you kept";
const NAMES: &str = "that names are right: user and agent are as the program gave them that signed";
const FILES_NOW: &str = "that files are now as it says: it tells how the run left them";

impl actum_api::Document for Verified {
    const FORMAT: &'static str = "actum.verification/1";
}

impl Document for Verified {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { run, tenant, workspace, status, key, .. } = self;
        let paths = count(u64::try_from(self.paths.len()).unwrap_or(u64::MAX), "path");
        writeln!(out, "verified  run {run}: {}, {paths}", status.as_str())?;
        writeln!(out, "for       {}", Quoted(self.label.as_bytes()))?;
        let Actor { user, uid, agent } = &self.actor;
        let agent = agent.as_ref().map(|agent| format!("{} for ", Quoted(agent.as_bytes())));
        let (agent, user) = (agent.unwrap_or_default(), Quoted(user.as_bytes()));
        writeln!(out, "asked by  {agent}{user} ({uid}), {}", Quoted(self.door.as_bytes()))?;
        writeln!(out, "ended     {}", self.ended)?;
        for path in self.paths.iter().take(PATHS_SHOWN_MAX) {
            writeln!(out, "          {}", line_of(path))?;
        }
        if let Some(more @ 1..) = self.paths.len().checked_sub(PATHS_SHOWN_MAX) {
            writeln!(out, "          and {more} more")?;
        }
        write_commands(out, 10, &self.commands)?;
        for gate in &self.gates {
            writeln!(out, "gate      {}", gate)?;
        }
        writeln!(out, "in        workspace {workspace}, tenant {tenant}")?;
        writeln!(out, "signed    by the result key {key}")?;
        if let Some(Place { origin, index, size, key, .. }) = &self.log {
            let origin = Quoted(origin.as_bytes());
            writeln!(out, "logged    as entry {index} of {origin}")?;
            writeln!(out, "          as the checkpoint of size {size} proves, signed by {key}")?;
        }
        self.keyring.write_text(out)?;
        for told in &self.verified {
            writeln!(out, "yes       {told}")?;
        }
        for told in &self.not_verified {
            writeln!(out, "not told  {told}")?;
        }
        for unread in &self.unread {
            writeln!(out, "warning   not checked: {unread}")?;
        }
        Ok(())
    }
}

/// What happened to one path, as `actum show` tells it.
fn line_of(PathEffect { path, effect, from, added, removed, .. }: &PathEffect) -> String {
    let (word, slash) = match effect {
        EffectKind::Created
        | EffectKind::Modified
        | EffectKind::Renamed
        | EffectKind::Mode
        | EffectKind::Attributes
        | EffectKind::Deleted => (effect.as_str(), ""),
        EffectKind::DirectoryCreated => ("created", "/"),
        EffectKind::DirectoryRemoved => ("deleted", "/"),
    };
    let before = from.as_ref().map(|from| format!("{} -> ", shown(from))).unwrap_or_default();
    let extent = lines(*added, *removed).map(|lines| format!("  {lines}")).unwrap_or_default();
    format!("{word:10}  {before}{}{slash}{extent}", shown(path))
}

fn shown(path: &PathName) -> String {
    Quoted(path.0.as_bytes()).to_string()
}
