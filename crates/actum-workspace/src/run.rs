//! One run from INTENT to its end.

pub(crate) mod publish;
pub(crate) mod rollback;

use actum_core::RunId;

use crate::disk::{Barrier, Disk};
use crate::error::{Doing, Result, State};
use crate::history::checkpoint::EndedRun;
use crate::journal::record::{Body, End, Image, Intent, Outcome, Record};
use crate::run::publish::{Displaced, gone_name, publish, steps, verify};
use crate::run::rollback::roll_back;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// How long after its end a run may still remove names of its own in the stage directory, in
/// nanoseconds; that moves the change stamps of the inodes.
pub(crate) const SWEEP_SLACK: i64 = 2_000_000_000;

impl<D: Disk> Workspace<D> {
    /// Announces a staged run, publishes it, checks that only what was expected was displaced, and
    /// commits it; or takes everything back.
    pub(crate) fn run(&mut self, intent: Intent, displaced: Vec<Displaced>) -> Result<RunId> {
        let run = intent.run;
        let (sequence, digest) = self.announce(&intent)?;
        let published = {
            let reached = Tree::remembering(&self.disk, &self.home.root);
            let result = self.publish_all(&reached, &intent, &displaced);
            match result {
                Ok(()) => Ok(()),
                Err(error) => {
                    let taken_back = roll_back(&reached, &self.home, &intent);
                    Err((error, taken_back))
                }
            }
        };
        let (error, foreign) = match published {
            Ok(()) => {
                self.end(sequence, digest, intent, Outcome::Committed)?;
                return Ok(run);
            }
            Err((error, Ok(foreign))) => (error, foreign),
            Err((error, Err(_))) => {
                // Neither forward nor back: the next opening tries again.
                self.poisoned = true;
                return Err(error.leaving(State::NeedsAttention));
            }
        };
        let (outcome, state) = if foreign.is_empty() {
            (Outcome::RolledBack, State::Restored)
        } else {
            self.set_lost_aside(&intent, &foreign).map_err(|error| {
                self.poisoned = true; // the next opening tries again
                error.leaving(State::NeedsAttention)
            })?;
            (Outcome::Failed, State::NeedsAttention)
        };
        self.end(sequence, digest, intent, outcome)
            .map_err(|end| end.leaving(State::NeedsAttention))?;
        Err(error.leaving(state))
    }

    /// Writes INTENT and makes it durable; until then no target is touched.
    fn announce(&mut self, intent: &Intent) -> Result<(u64, actum_core::Digest)> {
        let (encoded, bodies) = intent.encode();
        let head = Record::head(&encoded);
        let mut pieces: Vec<&[u8]> = vec![&head, &encoded];
        pieces.extend(bodies);
        let length = pieces.iter().map(|piece| piece.len()).sum();
        if !self.journal.has_room(length) {
            self.checkpoint(Some(intent.run))?;
            if !self.journal.has_room(length) {
                self.journal.grow(&self.disk, length)?;
            }
        }
        let digest = Intent::digest(self.journal.next_sequence(), &encoded);
        let announced = self
            .journal
            .append(&self.disk, &pieces)
            .and_then(|sequence| self.journal.sync(&self.disk, Barrier::Intent).map(|()| sequence));
        match announced.doing(|| "write the intent into the journal".to_owned()) {
            Ok(sequence) => Ok((sequence, digest)),
            Err(error) => {
                self.poisoned = true;
                Err(error)
            }
        }
    }

    fn publish_all(
        &self,
        reached: &Tree<'_, D>,
        intent: &Intent,
        displaced: &[Displaced],
    ) -> Result<()> {
        for step in steps(&intent.entries) {
            publish(reached, &self.home.stage, intent.run, &intent.entries, step)?;
        }
        let again = Tree::new(&self.disk, &self.home.root);
        verify(reached, &again, &self.home.stage, intent.run, &intent.entries, displaced)
    }

    /// Writes the end of a run and makes it durable; then the run can be acknowledged.
    pub(crate) fn end(
        &mut self,
        intent_sequence: u64,
        digest: actum_core::Digest,
        intent: Intent,
        outcome: Outcome,
    ) -> Result<()> {
        let end = End { intent: intent_sequence, digest, outcome, time: self.disk.now() };
        let encoded = end.encode();
        let head = Record::head(&encoded);
        let ended = self
            .journal
            .append(&self.disk, &[&head, &encoded])
            .and_then(|_| self.journal.sync(&self.disk, Barrier::End));
        if let Err(error) = ended.doing(|| "write the end of the run into the journal".to_owned()) {
            self.poisoned = true;
            return Err(error.leaving(State::Published));
        }
        self.home.note_durable_end(&self.disk, intent_sequence + 1);
        // Later than this their removal would look like an edit; a checkpoint sweeps them then.
        let since = self.disk.now().0.saturating_sub(end.time.0);
        if outcome == Outcome::Committed && since < SWEEP_SLACK / 2 {
            self.drop_moved_names(&intent);
        }
        self.tail.push(EndedRun::new(intent_sequence, intent, end));
        Ok(())
    }

    /// The old name of a moved inode is a second name of the live file: it goes at once. What
    /// cannot be removed now is swept later.
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
