//! `actum agent learn`: computes and signs the learning table of the Finder.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::Records;
use actum::reason::Reason;
use actum_api::agent::{AgentLearned, AgentLearning};
use actum_core::path::Quoted;
use actum_dispatch::count_successes;
use actum_finder::limits::LEARNING_BYTES_MAX;
use actum_finder::{LearningDocument, LearningError, LearningTable};
use actum_gate::{LEARNING_PAYLOAD_TYPE, LearningProblem, verify_learning};
use actum_record::dsse::Envelope;
use actum_record::ledger::TenantId;
use actum_record::signer::KeyRole;

use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::operator_key::{self, OperatorKey};
use crate::output::Document;
use crate::output_file::{Existing, OutputFile};
use crate::session::Session;
use crate::{clock, input, records};

/// Maximum size of a signed learning table, in bytes. This is enough for a table of the maximum size in base64 with its
/// signatures.
const SIGNED_BYTES_MAX: usize = 2 * LEARNING_BYTES_MAX;

/// Compute the learning table of the Finder, and sign it
///
/// The table counts, for each simulation, the steps in this ledger that succeeded. The simulation with the most
/// successes gets a bonus of 50, and the others get a proportional bonus. The Finder adds the bonus only if two core
/// actions match equally well, and never to a score that is decisive by itself. To use a table, pass it to `actum agent
/// find --learning FILE`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Sign the table with the approval key, and write it to the new file FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "output")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let output = arguments.output.as_ref().map(|file| session.start.join(file));
    if let Some(path) = &output {
        OutputFile::check_file(path, &session.tenant)?;
        operator_key::check_protected(KeyRole::Approval)?;
    }
    let records = records::open(&session.tenant)?;
    let counts = records.ledger().read(count_successes);
    let counts = counts.map_err(actum::Error::from)?;
    let document = LearningDocument::from_counts(records.tenant().clone(), &counts);
    let bytes = document.to_vec().map_err(actum::Error::from)?;
    let invalid = |error| LearningFailure::Computed { source: error };
    let table = LearningTable::read(&bytes).map_err(invalid)?;
    let simulations = counts.into_iter().map(|(simulation, succeeded)| {
        let bonus = table.bonus(&simulation);
        AgentLearned { simulation, succeeded, bonus }
    });
    let mut shown = AgentLearning {
        tenant: table.tenant().clone(),
        table: table.reference(),
        simulations: simulations.collect(),
        key: None,
    };
    if let Some(path) = &output {
        session.screen.print_text(&shown)?;
        let question = "Sign this learning table?";
        let file = arguments.passphrase_file.as_deref();
        let key = OperatorKey::approval(session, question, file)?;
        let envelope = Envelope::sign(LEARNING_PAYLOAD_TYPE, bytes, key.approver().signer);
        let envelope = envelope.map_err(actum::Error::from)?.to_vec();
        let envelope = envelope.map_err(actum::Error::from)?;
        OutputFile::write(path, Existing::Refuse, &envelope, &session.tenant)?;
        shown.key = Some(key.id().to_string());
        let name = Quoted(path.as_os_str().as_bytes());
        session.screen.note(format_args!("wrote the signed learning table to {name}"));
    }
    session.screen.show(&shown)?;
    Ok(Exit::Success)
}

/// Reads a signed learning table, and verifies that a valid approval key signed it and that it is for the tenant of
/// `records`.
pub(super) fn read_signed(
    file: &Path,
    records: &Records,
    session: &Session,
) -> Result<LearningTable, Failure> {
    let (input, bytes) = input::document(file, &session.start, SIGNED_BYTES_MAX)?;
    let read = || {
        if bytes.len() > SIGNED_BYTES_MAX {
            return Err(LearningRefused::TooLarge);
        }
        let (table, _) = verify_learning(&bytes, records.keyring(), clock::now())?;
        let table = LearningTable::read(&table)?;
        match table.tenant() == records.tenant() {
            true => Ok(table),
            false => Err(LearningRefused::Tenant {
                found: table.tenant().clone(),
                tenant: records.tenant().clone(),
            }),
        }
    };
    let refused = |why| LearningFailure::Refused { input, why: Box::new(why) };
    Ok(read().map_err(refused)?)
}

/// Failure to use or to compute a learning table.
#[derive(Debug, thiserror::Error)]
enum LearningFailure {
    #[error("cannot use the learning table in {input}: {why}; nothing was searched")]
    Refused { input: String, why: Box<LearningRefused> },
    #[error("cannot compute a learning table from this ledger: {source}; nothing was signed")]
    Computed { source: LearningError },
}

/// Reason why a learning table in a file is rejected.
#[derive(Debug, thiserror::Error)]
enum LearningRefused {
    #[error("it is larger than {SIGNED_BYTES_MAX} bytes")]
    TooLarge,
    #[error(transparent)]
    Signature(#[from] LearningProblem),
    #[error(transparent)]
    Table(#[from] LearningError),
    #[error("it belongs to the tenant `{found}`, but the goal belongs to `{tenant}`")]
    Tenant { found: TenantId, tenant: TenantId },
}

impl FailureKind for LearningFailure {
    fn reason(&self) -> Reason {
        Reason::LearningTableInvalid
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Refused { .. } => {
                "sign a new table with `actum agent learn --output FILE`, or search without `--learning`"
            }
            Self::Computed { .. } => "search without `--learning`",
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        Some(actum_workspace::State::Unchanged.to_string())
    }
}

impl Document for AgentLearning {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { table, simulations, key, .. } = self;
        if simulations.is_empty() {
            writeln!(out, "no step has succeeded yet")?;
        }
        for AgentLearned { simulation, succeeded, bonus } in simulations {
            writeln!(out, "bonus {bonus:2}  {simulation}: {succeeded} succeeded")?;
        }
        writeln!(out, "table {table}")?;
        match key {
            Some(key) => writeln!(out, "signed by the approval key {key}"),
            None => Ok(()),
        }
    }
}
