//! `actum ledger verify`: detects whether a ledger was tampered with.

use std::borrow::Borrow;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_api::ledger::{self, Audit, FindingSubject};
use actum_core::path::Quoted;
use actum_gate::{
    verify_answer, verify_change, verify_checkpoint, verify_file_task_ended, verify_forgotten,
    verify_lease_granted, verify_lease_revoked, verify_receipt, verify_rotation, verify_slo_waived,
};
use actum_ledger::verify::{Checks, Finding, Receipts, Subject, Verification, compare, verify};
use actum_ledger::{LedgerView, export};
use actum_record::checkpoint::Checkpoint;
use actum_record::keyring::Keyring;
use actum_record::ledger::EntryKind;
use actum_record::note::NOTE_BYTES_MAX;

use super::{Opened, entries_of};
use crate::count::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::progress::Progress;
use crate::style::{self, Painted};
use crate::trusted::Trusted;
use crate::verb::Session;
use crate::{input, own_format};

/// Verify that no entry of the ledger was changed, removed, added or moved
///
/// Recomputes the Merkle tree from the bytes of all entries, compares it with every signed checkpoint, and checks that
/// all data stored beside the entries agrees with them. Exits with 4 if there is a mismatch. No checkpoint protects the
/// entries after the newest one, so the signatures of receipts and key rotations among them are verified as well. Run
/// `actum ledger checkpoint` to sign all entries.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File written by `actum ledger export`; by default, your own ledger is verified
    #[arg(value_name = "EXPORT")]
    export: Option<PathBuf>,
    /// Trust the public keys in FILE, as written by `actum key export`, instead of your own
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// Also compare the ledger with a checkpoint that you stored in FILE, which detects missing entries
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Verify the signatures of all receipts, even if a checkpoint covers them; this takes longer
    #[arg(long)]
    receipts: bool,
}

/// Document with the result of the verification, and additional data for the text output.
struct Verified {
    document: Audit,
    /// Findings, formatted as lines of text.
    findings: Vec<String>,
    /// Name of the checkpoint file that the ledger was compared with.
    compared: Option<String>,
    keyring: Trusted,
    /// Clause that follows the number of verified signatures and restricts it to some entries. Empty with `--receipts`.
    of_which: &'static str,
}

/// Checkpoint that the user stored in a file (`--checkpoint`).
struct Kept {
    /// Name of the file, as given on the command line.
    name: String,
    /// Verified checkpoint, or the reason why its signature could not be verified with the keyring.
    checkpoint: Result<Checkpoint, String>,
}

impl Kept {
    fn read(file: &Path, keyring: &Trusted, session: &Session) -> Result<Self, Failure> {
        let (name, note) = input::document(file, &session.start, NOTE_BYTES_MAX)?;
        let verified = verify_checkpoint(&note, &keyring.keyring);
        let checkpoint = verified.map(|verified| verified.checkpoint);
        Ok(Self { name, checkpoint: checkpoint.map_err(|problem| problem.to_string()) })
    }
}

/// Ledger or export that is verified.
enum Source<'a> {
    Own(LedgerView),
    Export(&'a Path),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    // Open the ledger first, so that a missing ledger is reported before a missing keyring.
    let subject = match &arguments.export {
        Some(file) => Source::Export(file),
        None => Source::Own(Opened::existing(&session.tenant)?.log),
    };
    let keyring = Trusted::read(arguments.keyring.as_deref(), &session.start)?;
    let mut progress = Progress::new(&session.screen, "entries");
    let mut note = |note: &str| {
        let verified = verify_checkpoint(note.as_bytes(), &keyring.keyring);
        verified.map(drop).map_err(|problem| problem.to_string())
    };
    let mut entry = |kind, body: &[u8]| check_entry(kind, body, &keyring.keyring);
    let receipts = if arguments.receipts { Receipts::All } else { Receipts::NotCovered };
    let mut checks = Checks { note: &mut note, entry: &mut entry, receipts };
    let mut report_progress = |entries| progress.update(entries);
    let kept = arguments.checkpoint.as_deref().map(|file| Kept::read(file, &keyring, session));
    let kept = kept.transpose()?;
    let mut verification = match subject {
        Source::Export(file) => exported(
            &session.start.join(file),
            file,
            &mut checks,
            kept.as_ref().and_then(|kept| kept.checkpoint.as_ref().ok()),
            &mut report_progress,
        )?,
        Source::Own(log) => {
            let mut verification =
                verify(&log, &mut checks, &mut report_progress).map_err(actum::Error::from)?;
            if let Some(Kept { checkpoint: Ok(kept), .. }) = &kept
                && let Err(message) =
                    compare(&log, kept).unwrap_or_else(|error| Err(error.to_string()))
            {
                let message = format!("mismatch with the saved checkpoint: {message}");
                verification.add_finding(Subject::Log, message);
            }
            verification
        }
    };
    if let Some(Kept { name, checkpoint: Err(problem) }) = &kept {
        verification
            .add_finding(Subject::Log, format!("the checkpoint {name} is invalid: {problem}"));
    }
    progress.end();
    let compared = kept.and_then(|kept| Some((kept.name, kept.checkpoint.ok()?.size)));
    let verified = Verified::new(verification, receipts, keyring, compared);
    session.screen.show(&verified)?;
    Ok(if verified.document.sound { Exit::Success } else { Exit::NeedsAttention })
}

fn exported(
    path: &Path,
    file: &Path,
    checks: &mut Checks<'_>,
    kept: Option<&Checkpoint>,
    progress: &mut dyn FnMut(u64),
) -> Result<Verification, Failure> {
    let input = format!("`{}`", Quoted(file.as_os_str().as_bytes()));
    let unreadable = |source| Failure::Unreadable { input: input.clone(), source };
    let opened = input::open(path).map_err(unreadable)?;
    let mut opened = BufReader::new(opened);
    // The first line, which names the format of an export, is short enough to be in the buffer after the first read.
    let found = own_format::declared_format(opened.fill_buf().map_err(unreadable)?);
    if !found.as_deref().is_some_and(|found| found.starts_with("actum.ledger-export/")) {
        return Err(LedgerFailure::NoExport { input, found }.into());
    }
    let verified = export::verify(&mut opened, checks, kept, progress);
    verified.map_err(|error| match error {
        export::ExportError::Read(source) | export::ExportError::Write(source) => {
            unreadable(source)
        }
        export::ExportError::Ledger(error) => actum::Error::from(error).into(),
        export::ExportError::Line(error) => unreadable(io::Error::other(error)),
    })
}

/// Verifies the signature of an entry. Entries of unsigned kinds always pass.
fn check_entry(kind: EntryKind, body: &[u8], keyring: &Keyring) -> Result<(), String> {
    match kind {
        EntryKind::EffectDone => {
            verify_receipt(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::KeyRotated => {
            verify_rotation(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::PlanAnswered => {
            verify_answer(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::CatalogChanged => {
            verify_change(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::HistoryForgotten => {
            verify_forgotten(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::LeaseGranted => {
            verify_lease_granted(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::LeaseRevoked => {
            verify_lease_revoked(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::FileTaskEnded => {
            verify_file_task_ended(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::SloWaived => {
            verify_slo_waived(body, keyring).map(drop).map_err(|problem| problem.to_string())
        }
        EntryKind::LogStarted
        | EntryKind::EffectStarted
        | EntryKind::PlanRefused
        | EntryKind::PlanQueued
        | EntryKind::ActionStarted
        | EntryKind::ActionEnded
        | EntryKind::AlertRaised
        | EntryKind::AlertSeen
        | EntryKind::FileTaskStarted
        | EntryKind::AgentExecution
        | EntryKind::AgentAccessDecided
        | EntryKind::AgentConfirmation
        | EntryKind::IntakeResolved => Ok(()),
    }
}

impl Verified {
    fn new(
        verification: Verification,
        receipts_asked: Receipts,
        keyring: Trusted,
        compared: Option<(String, u64)>,
    ) -> Self {
        let sound = verification.is_sound();
        let Verification { origin, entries, root, runs, open_runs, documents, .. } = verification;
        let Verification { checkpoints, covered, receipts, .. } = verification;
        let Verification { steps_back, findings_left_out, .. } = verification;
        let (compared, size) = compared.unzip();
        let document = Audit {
            sound,
            origin,
            entries,
            root,
            runs,
            open_runs,
            documents,
            checkpoints,
            covered,
            steps_back,
            receipts,
            findings: verification.findings.iter().map(document_of).collect(),
            findings_left_out,
            compared: size,
            keyring: keyring.document.clone(),
        };
        Self {
            document,
            findings: verification.findings.iter().map(ToString::to_string).collect(),
            compared,
            keyring,
            of_which: match receipts_asked {
                Receipts::All => "",
                Receipts::NotCovered => ", only for entries that no checkpoint covers",
            },
        }
    }
}

fn document_of(finding: &Finding) -> ledger::Finding {
    let (what, which) = match &finding.subject {
        Subject::Log => (FindingSubject::Log, None),
        Subject::Database => (FindingSubject::Database, None),
        Subject::Entry(index) => (FindingSubject::Entry, Some(index.to_string())),
        Subject::Run(run) => (FindingSubject::Run, Some(run.to_string())),
        Subject::Plan(plan) => (FindingSubject::Plan, Some(plan.to_string())),
        Subject::Lease(lease) => (FindingSubject::Lease, Some(lease.to_string())),
        Subject::FileTask(task) => (FindingSubject::FileTask, Some(task.as_str().to_owned())),
        Subject::Agent { table, row } => (FindingSubject::Agent, Some(format!("{table}: {row}"))),
        Subject::Document(digest) => (FindingSubject::Document, Some(digest.to_string())),
        Subject::Checkpoint(size) => (FindingSubject::Checkpoint, Some(size.to_string())),
        Subject::Line(line) => (FindingSubject::Line, Some(line.to_string())),
    };
    ledger::Finding { what, which, message: finding.message.clone() }
}

impl Document for Verified {
    type Api = Audit;

    fn document(&self) -> impl Borrow<Audit> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let audit = &self.document;
        let (word, painted) = match audit.sound {
            true => ("sound", style::ADDED),
            false => ("wrong", style::REMOVED),
        };
        let origin = audit.origin.as_deref().unwrap_or("(unnamed)");
        let Audit { entries, covered, checkpoints, runs, open_runs, documents, .. } = audit;
        let origin = Quoted(origin.as_bytes());
        let word = Painted(painted, word);
        writeln!(out, "{word}     the ledger {origin}: {}", entries_of(*entries))?;
        let checkpoints = count(*checkpoints, "signed checkpoint");
        writeln!(out, "covered   {covered} of these entries, by {checkpoints}")?;
        let documents = count(*documents, "document");
        writeln!(out, "runs      {runs}, {open_runs} of them unfinished; {documents}")?;
        let receipts = count(audit.receipts, "signature");
        writeln!(out, "receipts  {receipts} verified{}", self.of_which)?;
        writeln!(out, "root      {}", audit.root)?;
        if let (Some(name), Some(size)) = (&self.compared, audit.compared) {
            writeln!(
                out,
                "compared  with the checkpoint {name}, which covers {}",
                entries_of(size)
            )?;
        }
        self.keyring.write_text(out)?;
        if audit.steps_back > 0 {
            writeln!(
                out,
                "clock     was set back {} between entries",
                count(audit.steps_back, "time")
            )?;
        }
        for text in &self.findings {
            writeln!(out, "{}     {}", Painted(style::REMOVED, "wrong"), Quoted(text.as_bytes()))?;
        }
        if audit.findings_left_out > 0 {
            writeln!(out, "          and {} more", audit.findings_left_out)?;
        }
        Ok(())
    }
}
