//! `actum verify`: verifies a receipt using only public keys.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum_api::receipt::{LogPlace, Verification};
use actum_core::path::Quoted;
use actum_core::path_name::PathName;
use actum_gate::bundle::BUNDLE_BYTES_MAX;
use actum_gate::{
    BundleProblem, Inclusion, ReceiptBundle, VerifiedBundle, VerifiedReceipt, unread,
    verify_bundle, verify_receipt,
};
use actum_record::command::CommandsRun;
use actum_record::ledger::Actor;
use actum_record::receipt::{EffectKind, PathEffect, RunResult};

use super::Session;
use crate::count::{count, lines, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::views;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::record::write_commands;
use crate::snippet::Quote;
use crate::trusted::Trusted;
use crate::{input, own_format};

/// Verify a receipt, with or without its proof, using public keys
///
/// Accepts the output of `actum receipt`, or a ledger entry that is a receipt. Needs no workspace, ledger or network. Exits
/// with 0 only if the receipt in the file is verified, and lists the facts that a file cannot prove.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the receipt, or `-` for standard input
    #[arg(value_name = "RECEIPT")]
    receipt: PathBuf,
    /// Trust the public keys in FILE, which `actum key export` writes; by default, your own keys
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
}

/// Result of a verification, with the trusted keys for the text output.
struct Verified {
    document: Verification,
    keyring: Trusted,
}

/// Maximum number of paths that the text lists. JSON documents contain all of them.
const PATHS_SHOWN_MAX: usize = 20;

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let keyring = Trusted::read(arguments.keyring.as_deref(), &session.start)?;
    let (input, bytes) = input::document(&arguments.receipt, &session.start, BUNDLE_BYTES_MAX)?;
    // A document that declares any other format of actum is rejected instead of being read as a receipt without a proof.
    let verified = match own_format::declared_format(&bytes) {
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
        let quote = quote.of_kind(own_format::is_actum_document(&bytes));
        LedgerFailure::Receipt { input, source: Box::new(source), quote }
    })?;
    let unread = unread(&bytes, &keyring.keyring).iter().map(ToString::to_string).collect();
    session.screen.show(&Verified::new(receipt, inclusion, keyring, unread))?;
    Ok(Exit::Success)
}

impl Verified {
    fn new(
        receipt: VerifiedReceipt,
        inclusion: Option<Inclusion>,
        keyring: Trusted,
        unread: Vec<String>,
    ) -> Self {
        let VerifiedReceipt { statement, key, leaf, .. } = receipt;
        let RunResult { run, tenant, workspace, status, actor, door, .. } = statement.predicate;
        let RunResult { label, ended, decision, paths, approval, .. } = statement.predicate;
        let RunResult { commands: made, verification: verified, sandbox, .. } = statement.predicate;
        let commands = CommandsRun { made, verified, sandbox };
        let log = inclusion.map(|place| {
            let Inclusion { origin, index, size, root, key, .. } = place;
            LogPlace { origin, index, size, root, key }
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
        let document = Verification {
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
            keyring: keyring.document.clone(),
            log,
            verified: verified.into_iter().map(str::to_owned).collect(),
            not_verified: not_verified.into_iter().map(str::to_owned).collect(),
            unread,
        };
        Self { document, keyring }
    }
}

const SIGNED: &str = "a result key of the keyring signed the receipt while the key was valid";
const CONSISTENT: &str = "the content of the receipt is consistent";
const IN_THE_LOG: &str = "the log contains the receipt, as a signed checkpoint proves";
const BEHIND_ITS_INTENT: &str =
    "the receipt comes after the entry that it names as its intent; that entry is not in the file";
const NO_PROOF: &str =
    "whether the log contains the receipt: the file has no proof (`actum receipt RUN` writes one)";
const APPROVAL: &str = "whether a user approved the change: the signed answer is in the ledger entry that the gate names";
const ONE_LOG: &str =
    "whether other readers see a different log: compare the checkpoint with one that you kept";
const NAMES: &str =
    "whether the names are right: user and agent are recorded as the signing program stated them";
const FILES_NOW: &str =
    "whether the files are still the same: the receipt describes them as the run left them";

impl Document for Verified {
    type Api = Verification;

    fn document(&self) -> impl Borrow<Verification> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let found = &self.document;
        let Verification { run, tenant, workspace, status, key, .. } = found;
        let paths = count(number(found.paths.len()), "path");
        writeln!(out, "verified  run {run}: {}, {paths}", status.as_str())?;
        writeln!(out, "for       {}", Quoted(found.label.as_bytes()))?;
        let Actor { user, uid, agent } = &found.actor;
        let agent = agent.as_ref().map(|agent| format!("{} for ", Quoted(agent.as_bytes())));
        let (agent, user) = (agent.unwrap_or_default(), Quoted(user.as_bytes()));
        writeln!(out, "asked by  {agent}{user} ({uid}), {}", Quoted(found.door.as_bytes()))?;
        writeln!(out, "ended     {}", found.ended)?;
        for path in found.paths.iter().take(PATHS_SHOWN_MAX) {
            writeln!(out, "          {}", line_of(path))?;
        }
        if let Some(more @ 1..) = found.paths.len().checked_sub(PATHS_SHOWN_MAX) {
            writeln!(out, "          and {more} more")?;
        }
        write_commands(out, 10, &found.commands)?;
        for gate in &found.gates {
            writeln!(out, "gate      {}", gate)?;
        }
        writeln!(out, "in        workspace {workspace}, tenant {tenant}")?;
        writeln!(out, "signed    by the result key {key}")?;
        if let Some(LogPlace { origin, index, size, key, .. }) = &found.log {
            let origin = Quoted(origin.as_bytes());
            writeln!(out, "logged    as entry {index} of {origin}")?;
            writeln!(out, "          as the checkpoint of size {size} proves, signed by {key}")?;
        }
        self.keyring.write_text(out)?;
        for fact in &found.verified {
            writeln!(out, "proven    {fact}")?;
        }
        for fact in &found.not_verified {
            writeln!(out, "unproven  {fact}")?;
        }
        for unread in &found.unread {
            writeln!(out, "warning   not checked: {unread}")?;
        }
        Ok(())
    }
}

/// Formats the change of one path as `actum show` does.
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
