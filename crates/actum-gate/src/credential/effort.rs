//! How many bytes are looked at around the literals, so that tests can hold a bound on it. Outside of
//! tests nothing is counted.

#[cfg(not(test))]
pub(super) fn spend(_bytes: usize) {}

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(super) fn spend(bytes: usize) {
    SPENT.set(SPENT.get() + bytes);
}

/// What `work` spends.
#[cfg(test)]
pub(super) fn spent_by<T>(work: impl FnOnce() -> T) -> usize {
    let before = SPENT.get();
    work();
    SPENT.get() - before
}
