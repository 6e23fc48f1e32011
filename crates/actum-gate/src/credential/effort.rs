//! Counts the bytes that are examined around literals, so that tests can check that the scan takes linear time. Nothing is
//! counted outside tests.

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

/// Runs `work` and returns the number of bytes that it examines.
#[cfg(test)]
pub(super) fn spent_by<T>(work: impl FnOnce() -> T) -> usize {
    let before = SPENT.get();
    work();
    SPENT.get() - before
}
