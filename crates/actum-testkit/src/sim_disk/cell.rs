//! Cell: a value that a disk can lose by itself. It has the current value, and those that a power cut may leave
//! instead.

/// Value as every call sees it, with the values that may be found after a power cut: the durable one, or any later one.
#[derive(Debug, Clone)]
pub(super) struct Cell<T> {
    now: T,
    /// `None` when `now` is durable.
    past: Option<Box<Past<T>>>,
}

#[derive(Debug, Clone)]
struct Past<T> {
    durable: T,
    /// Every value since, with the number of the change that set it; the last equals `now`.
    pending: Vec<(u64, T)>,
    /// A sync failed: the kernel considers the value clean and will not write it again. So no later sync makes it
    /// durable until it is set again.
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

    /// Sets the value, as the change with this number.
    pub(super) fn set(&mut self, change: u64, value: T) {
        let durable = std::mem::replace(&mut self.now, value.clone());
        let past = self.past.get_or_insert_with(|| {
            Box::new(Past { durable, pending: Vec::new(), abandoned: false })
        });
        past.pending.push((change, value));
        past.abandoned = false;
    }

    /// Alters the newest value in place, which does not count as a change.
    pub(super) fn amend(&mut self, alter: impl Fn(&mut T)) {
        alter(&mut self.now);
        if let Some((_, newest)) = self.past.as_mut().and_then(|past| past.pending.last_mut()) {
            alter(newest);
        }
    }

    /// Completes a sync that succeeds.
    pub(super) fn flush(&mut self) {
        if self.past.as_ref().is_some_and(|past| !past.abandoned) {
            self.past = None;
        }
    }

    /// Completes a sync that fails.
    pub(super) fn abandon(&mut self) {
        if let Some(past) = &mut self.past {
            past.abandoned = true;
        }
    }

    /// Returns the durable value.
    pub(super) fn oldest(&self) -> &T {
        self.past.as_ref().map_or(&self.now, |past| &past.durable)
    }

    /// Returns the values that a power cut may leave, oldest first: the durable value as change 0, then the others.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (u64, &T)> {
        let pending = self.past.as_ref().map_or([].as_slice(), |past| past.pending.as_slice());
        let later = pending.iter().map(|(change, value)| (*change, value));
        std::iter::once((0, self.oldest())).chain(later)
    }
}
