//! A question that a person answers at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::Failure;
use crate::plan_failure::PlanFailure;

/// Asks, and goes on where the answer is yes. Without a terminal nobody can be asked.
pub(crate) fn ask(question: &str) -> Result<(), Failure> {
    let (input, mut talk) = (io::stdin(), io::stderr());
    if !input.is_terminal() || !talk.is_terminal() {
        return Err(PlanFailure::NoTerminal.into());
    }
    let mut answer = String::new();
    let asked = write!(talk, "{question} [y/N] ").and_then(|()| talk.flush());
    let read = asked.and_then(|()| input.lock().read_line(&mut answer));
    match read {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Ok(()),
        Ok(_) => Err(PlanFailure::NotConfirmed.into()),
        Err(source) => Err(PlanFailure::Unheard { source }.into()),
    }
}
