//! Cells, the units of loss of the simulated disk. A cell stores a current value and the earlier values to which a
//! power cut may revert it.

/// Current value of a cell, and the values that it may have after a power cut: the durable value or any later one.
#[derive(Debug, Clone)]
pub(super) struct Cell<T> {
    now: T,
    /// Earlier values, or `None` if the current value is durable.
    past: Option<Box<Past<T>>>,
}

#[derive(Debug, Clone)]
struct Past<T> {
    durable: T,
    /// Every value set since the durable one, with the number of its change. The last one equals `now`.
    pending: Vec<(u64, T)>,
    /// Set by a failed sync, after which the kernel considers the value clean and does not write it again. Later syncs
    /// cannot make it durable unless it is set again.
    abandoned: bool,
}

impl<T: Clone> Cell<T> {
    pub(super) fn durable(now: T) -> Self {
        Self { now, past: None }
    }

    pub(super) fn get(&self) -> &T {
        &self.now
    }

    pub(super) fn is_durable(&self) -> bool {
        self.past.is_none()
    }

    /// Sets the value and records it under the number of the change.
    pub(super) fn set(&mut self, change: u64, value: T) {
        let durable = std::mem::replace(&mut self.now, value.clone());
        let past = self.past.get_or_insert_with(|| {
            Box::new(Past { durable, pending: Vec::new(), abandoned: false })
        });
        past.pending.push((change, value));
        past.abandoned = false;
    }

    /// Alters the current value in place without recording a new change.
    pub(super) fn amend(&mut self, alter: impl Fn(&mut T)) {
        alter(&mut self.now);
        if let Some((_, newest)) = self.past.as_mut().and_then(|past| past.pending.last_mut()) {
            alter(newest);
        }
    }

    /// Marks the current value as durable after a successful sync, unless an earlier sync of it failed.
    pub(super) fn flush(&mut self) {
        if self.past.as_ref().is_some_and(|past| !past.abandoned) {
            self.past = None;
        }
    }

    /// Marks pending values as abandoned after a failed sync, so that later syncs skip them.
    pub(super) fn abandon(&mut self) {
        if let Some(past) = &mut self.past {
            past.abandoned = true;
        }
    }

    /// Returns the durable value, which is the oldest one that a power cut can leave.
    pub(super) fn oldest(&self) -> &T {
        self.past.as_ref().map_or(&self.now, |past| &past.durable)
    }

    /// Returns the values that a power cut may leave, oldest first, with their change numbers. The durable value comes
    /// first and has the number 0.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (u64, &T)> {
        let pending = self.past.as_ref().map_or([].as_slice(), |past| past.pending.as_slice());
        let later = pending.iter().map(|(change, value)| (*change, value));
        std::iter::once((0, self.oldest())).chain(later)
    }
}
