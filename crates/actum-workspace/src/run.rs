//! Execution of a run, from its INTENT to its end.

pub(crate) mod lost;
mod moved;
pub(crate) mod publish;
pub(crate) mod rollback;
pub(crate) mod second_name;

use actum_core::{Digest, RunId};

use crate::disk::{Barrier, Disk};
use crate::error::{Error, Result, ResultExt, State};
use crate::journal::ended::EndedRun;
use crate::journal::record::{Body, End, Image, Intent, Outcome, Record};
use crate::run::publish::{Displaced, Step, gone_name, publish, steps, take_kept, verify};
use crate::run::rollback::{LeftEntries, roll_back};
use crate::tree::Tree;
use crate::workspace::Workspace;

/// Time after the end of a run in which the run may still remove its own names from the stage directory, in
/// nanoseconds. Removing a name updates the change time of the inode.
pub(crate) const SWEEP_SLACK: i64 = 2_000_000_000;

/// Maximum total size of the large displaced files that the runs in the journal hold, in bytes. Only files that the
/// history can rebuild from block deltas or splices are included.
const HELD_BYTES_MAX: u64 = 32 << 20;

/// Run whose INTENT record is durable.
pub(crate) struct Announced {
    pub(crate) sequence: u64,
    pub(crate) digest: Digest,
    pub(crate) intent: Intent,
}

impl<D: Disk> Workspace<D> {
    /// Announces a staged run, publishes it, verifies that it displaced only the expected files, and commits it. If
    /// publishing or verifying fails, everything is rolled back.
    pub(crate) fn run(&mut self, intent: Intent, displaced: Vec<Displaced>) -> Result<RunId> {
        let run = intent.run;
        let announced = self.announce(intent)?;
        let rolled_back = {
            // The tree keeps directories open after publishing into them, so a rollback reaches them even if they are
            // moved.
            let reached = Tree::remembering(&self.disk, &self.home.root);
            match self.publish_and_verify(&reached, &announced.intent, displaced) {
                Ok(()) => None,
                Err(error) => Some((error, roll_back(&reached, &self.home, &announced.intent))),
            }
        };
        match rolled_back {
            None => {
                self.end(announced, Outcome::Committed)?;
                let held = self.tail.iter().map(|run| run.held_bytes).fold(0, u64::saturating_add);
                // With coarse timestamps, an edit in the same second looks like a part of the run, and a recovery after
                // a restart would undo it. If many bytes are held, the next run on a large file would have to begin
                // with a checkpoint to free them.
                if self.has_coarse_timestamps || held > HELD_BYTES_MAX {
                    // If this checkpoint fails, the next run makes one.
                    drop(self.checkpoint(None));
                }
                Ok(run)
            }
            Some((error, rolled_back)) => Err(self.close(announced, error, rolled_back)),
        }
    }

    /// Ends a run that was rolled back, except for the entries in `left`. Returns `error` with the resulting state of
    /// the workspace.
    fn close(&mut self, announced: Announced, error: Error, left: Result<LeftEntries>) -> Error {
        let attention = |error: Error| error.leaving(State::NeedsAttention);
        let left = match left {
            Ok(left) => left.indices(),
            Err(error) => {
                self.poisoned = true; // the run is only partly rolled back, and the next open tries again
                return attention(error);
            }
        };
        let (outcome, state) = if left.is_empty() {
            (Outcome::RolledBack, State::Restored)
        } else {
            (Outcome::Failed, State::NeedsAttention)
        };
        if !left.is_empty()
            && let Err(error) = self.set_lost_aside(&announced.intent, &left)
        {
            self.poisoned = true; // the next open tries again
            return attention(error);
        }
        let run = announced.intent.run;
        match self.end(announced, outcome) {
            Ok(()) => {
                // A recovery in another epoch must not process this run again. It would consider the files that it
                // found, and the user's later versions of them, as lost. If this checkpoint fails, the next one moves
                // the run into the history.
                drop(self.checkpoint(Some(run)));
                error.leaving(state)
            }
            Err(error) => attention(error),
        }
    }

    /// Writes the INTENT record and makes it durable. No target is touched before that.
    fn announce(&mut self, intent: Intent) -> Result<Announced> {
        if (intent.has_blocks() || intent.needs_format_6()) && self.journal.is_of_older_format() {
            // Write the new format to the head before a record needs it, so that an older program rejects the journal.
            self.checkpoint_always(Some(intent.run))?;
        }
        let (encoded, bodies) = intent.encode();
        let sequence = self.append(intent.run, &encoded, bodies, Barrier::Intent)?;
        let digest = Intent::digest(sequence, &encoded);
        Ok(Announced { sequence, digest, intent })
    }

    /// Records a run whose files were published by another program. The record also commits the run, and no file is
    /// touched.
    ///
    /// # Errors
    /// `TooLarge`, `Io`. The error has the state `Published` if it is unknown whether the record is durable.
    pub(crate) fn adopt(&mut self, intent: Intent) -> Result<RunId> {
        if self.journal.is_of_older_format() {
            self.checkpoint_always(Some(intent.run))?;
        }
        let (encoded, bodies) = intent.encode_adopted();
        let appended = self.append(intent.run, &encoded, bodies, Barrier::End);
        let sequence = match appended {
            Err(error) if self.poisoned => return Err(error.leaving(State::Published)),
            appended => appended?,
        };
        self.home.note_durable_end(&self.disk, sequence);
        let (run, end) = (intent.run, intent.end_of_adopted(sequence));
        self.tail.push(EndedRun::new(sequence, intent, end));
        Ok(run)
    }

    /// Appends the record of an intent, makes it durable, and returns its sequence number.
    fn append(
        &mut self,
        run: RunId,
        encoded: &[u8],
        bodies: Vec<&[u8]>,
        barrier: Barrier,
    ) -> Result<u64> {
        let head = Record::head(encoded);
        let mut pieces: Vec<&[u8]> = vec![&head, encoded];
        pieces.extend(bodies);
        let length = pieces.iter().map(|piece| piece.len()).sum();
        if !self.journal.has_room(length) {
            self.checkpoint(Some(run))?;
            if !self.journal.has_room(length) {
                self.journal.grow(&self.disk, length)?;
            }
        }
        let appended = self
            .journal
            .append(&self.disk, &pieces)
            .and_then(|sequence| self.journal.sync(&self.disk, barrier).map(|()| sequence));
        appended.doing(|| "write the intent to the journal".to_owned()).inspect_err(|_| {
            self.poisoned = true;
        })
    }

    fn publish_and_verify(
        &self,
        reached: &Tree<'_, D>,
        intent: &Intent,
        mut displaced: Vec<Displaced>,
    ) -> Result<()> {
        take_kept(&self.disk, &self.home, intent)?;
        let (stage, entries) = (&self.home.stage, &intent.entries);
        let (closing, steps): (Vec<_>, Vec<_>) =
            steps(entries).into_iter().partition(|(step, _)| *step == Step::CloseDirectory);
        for step in steps {
            publish(reached, stage, intent.run, entries, &mut displaced, step)?;
        }
        let again = Tree::new(&self.disk, &self.home.root);
        verify(reached, &again, stage, intent.run, entries, &displaced)?;
        for step in closing {
            publish(reached, stage, intent.run, entries, &mut displaced, step)?;
        }
        Ok(())
    }

    /// Writes the end record of a run and makes it durable. After that, the run can be acknowledged.
    pub(crate) fn end(&mut self, announced: Announced, outcome: Outcome) -> Result<()> {
        let Announced { sequence, digest, intent } = announced;
        let end = End { intent: sequence, digest, outcome, time: self.disk.now() };
        let encoded = end.encode();
        let head = Record::head(&encoded);
        let ended = self
            .journal
            .append(&self.disk, &[&head, &encoded])
            .and_then(|_| self.journal.sync(&self.disk, Barrier::End));
        if let Err(error) = ended.doing(|| "write the end of the run to the journal".to_owned()) {
            self.poisoned = true;
            return Err(error.leaving(State::Published));
        }
        self.home.note_durable_end(&self.disk, sequence + 1);
        // If the names were removed any later, the removal would look like an edit. A checkpoint sweeps them then.
        let since = self.disk.now().0.saturating_sub(end.time.0);
        if outcome == Outcome::Committed && since < SWEEP_SLACK / 2 {
            self.drop_moved_names(&intent);
        }
        self.tail.push(EndedRun::new(sequence, intent, end));
        Ok(())
    }

    /// Removes the old name of each moved inode, which is a second name of the live file. A name that cannot be removed
    /// is swept later.
    fn drop_moved_names(&self, intent: &Intent) {
        for entry in &intent.entries {
            if let Image::File(post) = &entry.post
                && let Body::Moved(from) = post.body
                && let Ok(from) = usize::try_from(from)
            {
                for name in [
                    gone_name(intent.run, from),
                    crate::journal::record::stage_name(intent.run, from),
                ] {
                    drop(self.disk.unlink(&self.home.stage, &name));
                }
            }
        }
    }
}
