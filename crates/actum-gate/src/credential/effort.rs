//! Number of bytes examined around the literals, so that tests can check its bound. Outside tests nothing is counted.

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

/// Returns the number of bytes that `work` examines.
#[cfg(test)]
pub(super) fn spent_by<T>(work: impl FnOnce() -> T) -> usize {
    let before = SPENT.get();
    work();
    SPENT.get() - before
}
