//! `actum recover`: completes or rolls back the work of an interrupted process.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::reason::Reason;
use actum::task;
use actum_api::recovery::Recovery;
use actum_workspace::RunOptions;

use super::status::{attention, blocked_paths, write_blocked};
use super::{Session, file, run as task_run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{records, recovery_note};

/// Roll back an interrupted run, and repair damage from a power failure
///
/// Every command that makes a run does the same recovery first; this command does nothing else. It exits with 4 if there
/// are blocked paths, which need your attention.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Move a damaged journal and the saved files that it names to `.actum/lost`, and start a new journal. Your files stay
    /// unchanged, but runs that are only in the old journal can no longer be undone
    #[arg(long)]
    set_aside_journal: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let own_root = records::own_root(root, &session.tenant);
    let (set_aside, mut workspace) = match (own_root, arguments.set_aside_journal) {
        (Ok(own_root), false) => (None, own_root.open_existing()?),
        (Ok(own_root), true) => (Some(own_root.set_aside_journal()?), own_root.open_existing()?),
        // Even if the ledger cannot be read, the runs in the journal can be recovered, because that needs no proof.
        (Err(failure), false) if failure.reason() != Reason::BoundElsewhere => {
            (None, records::unproven_root(root)?)
        }
        (Err(failure), _) => return Err(failure),
    };
    // Opening a workspace that is in use skips recovery, so begin a transaction, which does not. Recover the files before
    // the records, because an unusable ledger must not prevent it.
    let options = RunOptions { label: "recover".to_owned(), ..RunOptions::default() };
    workspace.begin(options)?.abort();
    let recovered = Recovery {
        new_journal: set_aside.is_some(),
        set_aside_journal: set_aside.as_ref().and_then(|aside| aside.journal.clone()),
        set_aside_images: set_aside.as_ref().and_then(|aside| aside.images.clone()),
        interrupted: set_aside.and_then(|aside| aside.unfinished),
        recovery: workspace.recovery().map(recovery_note::document),
        blocked: blocked_paths(workspace.blocked()),
    };
    let resumed = records::open_for(root, &session.tenant).and_then(|(checked, records)| {
        let mut engine = checked.existing_engine(records)?;
        let finished = task::finish(&mut engine, root)?;
        let settled = file::settle(session, engine.records())?;
        Ok((engine, finished, settled))
    });
    session.screen.show(&recovered)?;
    match resumed {
        Ok((engine, finished, settled)) => {
            records::report_late_outcomes(&session.screen, &engine);
            task_run::note_finished_tasks(&session.screen, &finished);
            file::note_settled_tasks(&session.screen, &settled);
            Ok(attention(&recovered.blocked))
        }
        // The document was already written, so print the failure as a note.
        Err(failure) => {
            if did_nothing(&recovered) {
                session.screen.print_failure(&failure);
            } else {
                session.screen.print_failure_after_work(&failure);
            }
            Ok(failure.exit())
        }
    }
}

fn did_nothing(recovered: &Recovery) -> bool {
    !recovered.new_journal && recovered.recovery.is_none()
}

impl Document for Recovery {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.set_aside_journal {
            Some(path) => {
                writeln!(out, "the damaged journal is kept as {path}; a new one was started")?;
            }
            None if self.new_journal => {
                writeln!(out, "there was no journal, so a new one was started")?;
            }
            None => {}
        }
        if let Some(images) = &self.set_aside_images {
            writeln!(
                out,
                "the saved files that only the old journal names were moved to {images}"
            )?;
        }
        if let Some(run) = self.interrupted {
            writeln!(
                out,
                "run {run} may be unfinished: each of its files may be old or new, so its paths are blocked"
            )?;
        }
        match &self.recovery {
            None if self.new_journal => {}
            None => writeln!(out, "nothing to recover")?,
            Some(recovery) => {
                for sentence in recovery_note::sentences(recovery) {
                    writeln!(out, "{sentence}")?;
                }
            }
        }
        if self.blocked.is_empty() { Ok(()) } else { write_blocked(&self.blocked, out) }
    }
}
