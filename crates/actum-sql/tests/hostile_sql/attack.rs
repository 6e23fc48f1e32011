//! Types for the table of attacks.

/// An attack: its statements, the harm they do, and the boundaries that reject it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    /// SQL statements. [`crate::ground::Ground::fill`] replaces the names in braces.
    pub(crate) text: &'static str,
    /// Harm that the attack does if all boundaries are off.
    pub(crate) harm: Harm,
    /// Boundary that rejects the attack.
    pub(crate) first: Boundary,
    /// Boundary that rejects the attack if the first one is off.
    pub(crate) next: Boundary,
}

/// Boundary of an SQL step, with part of its error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// The list of allowed statements.
    List(&'static str),
    /// The locked configuration of the engine.
    Lock(&'static str),
    /// The sandbox.
    Sandbox(&'static str),
    /// Inside the sandbox, the attack succeeds without doing harm.
    Harmless,
}

/// Harm of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// The tables contain this text after the attack.
    Shows(&'static str),
    /// The tables contain this text, the value of an engine setting, after the attack. Under the sandbox alone this is harmless.
    Sets(&'static str),
    /// The file or directory `{out}` exists after the attack.
    Writes,
    /// A server on this host receives a request.
    Connects,
    /// The attack fails with this message, which reveals that the process has read the file.
    Says(&'static str),
}

/// Content of the secret files.
pub(crate) const CANARY: &str = "canary-5f1d";

/// Attack that reads a file outside the database. The locked engine rejects it, then the sandbox.
pub(crate) const fn read(text: &'static str) -> Attack {
    attack(text, Harm::Shows(CANARY), Boundary::Lock(DENIED), Boundary::Sandbox(ABSENT))
}

/// Like `read`, but with a function that returns no row for a missing file. In the sandbox the file is missing.
pub(crate) const fn hidden(text: &'static str) -> Attack {
    attack(text, Harm::Shows(CANARY), Boundary::Lock(DENIED), Boundary::Harmless)
}

/// Attack with an unlisted kind of statement. The list rejects it, then the locked engine.
pub(crate) const fn listed(
    kind: &'static str,
    text: &'static str,
    harm: Harm,
    next: &'static str,
) -> Attack {
    attack(text, harm, Boundary::List(kind), Boundary::Lock(next))
}

/// Attack with an unlisted kind of statement that opens a file during binding. The locked engine rejects it first, then the list.
pub(crate) const fn bound(kind: &'static str, text: &'static str, harm: Harm) -> Attack {
    attack(text, harm, Boundary::Lock(DENIED), Boundary::List(kind))
}

pub(crate) const fn attack(
    text: &'static str,
    harm: Harm,
    first: Boundary,
    next: Boundary,
) -> Attack {
    Attack { text, harm, first, next }
}

/// Error of the locked engine when a statement opens a file.
pub(crate) const DENIED: &str = "Permission Error";
/// Error when a file does not exist inside the sandbox.
pub(crate) const ABSENT: &str = "IO Error";
/// Error when a statement changes a setting of the locked engine.
pub(crate) const LOCKED: &str = "configuration has been locked";
