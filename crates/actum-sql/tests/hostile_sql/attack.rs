//! Types of the table of attacks.

/// An attack: statements, their harm, and the boundaries that refuse it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    /// Statements. Names in braces are replaced by [`crate::ground::Ground::fill`].
    pub(crate) text: &'static str,
    /// Harm where all boundaries are off.
    pub(crate) harm: Harm,
    /// Boundary that refuses it.
    pub(crate) first: Boundary,
    /// Boundary that refuses it if the first is off.
    pub(crate) next: Boundary,
}

/// Boundary of an SQL step, with a part of its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// The list of statements.
    List(&'static str),
    /// The locked engine.
    Lock(&'static str),
    /// The sandbox.
    Sandbox(&'static str),
    /// The attack ends without an error in the sandbox, and does no harm.
    Harmless,
}

/// Harm of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// The tables hold this text after it.
    Shows(&'static str),
    /// The tables hold this text after it, a setting of the engine. In the sandbox alone that is no
    /// harm.
    Sets(&'static str),
    /// The file or directory `{out}` exists after it.
    Writes,
    /// A server on this host is asked for something.
    Connects,
    /// The attack fails with this message, which only a process that reads the file can give.
    Says(&'static str),
}

/// Content of the secret files.
pub(crate) const CANARY: &str = "canary-5f1d";

/// Reads a file outside: the locked engine refuses it, then the sandbox.
pub(crate) const fn read(text: &'static str) -> Attack {
    attack(text, Harm::Shows(CANARY), Boundary::Lock(DENIED), Boundary::Sandbox(ABSENT))
}

/// Reads a file outside by a function that gives no row for a missing file, as it is in the
/// sandbox.
pub(crate) const fn hidden(text: &'static str) -> Attack {
    attack(text, Harm::Shows(CANARY), Boundary::Lock(DENIED), Boundary::Harmless)
}

/// Attack with a kind that is not listed: the list refuses it, then the locked engine.
pub(crate) const fn listed(
    kind: &'static str,
    text: &'static str,
    harm: Harm,
    next: &'static str,
) -> Attack {
    attack(text, harm, Boundary::List(kind), Boundary::Lock(next))
}

/// Attack with a kind that is not listed, which opens a file when it is bound: the locked engine
/// refuses it first, then the list.
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

/// The locked engine opens no file.
pub(crate) const DENIED: &str = "Permission Error";
/// No file of this name is in the sandbox.
pub(crate) const ABSENT: &str = "IO Error";
/// The settings of the locked engine cannot be changed.
pub(crate) const LOCKED: &str = "configuration has been locked";
