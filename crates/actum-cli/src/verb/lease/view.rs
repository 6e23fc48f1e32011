//! Formats the terms and states of leases as text. Everything is escaped, because a token can contain arbitrary names.

use std::io::{self, Write};

use actum_api::lease::{LeaseQuotas, LeaseScope, LeaseState, LeaseTerms};
use actum_core::path::{Harmless, Quoted};
use anstyle::Style;

use crate::count::count;
use crate::size::Size;
use crate::{style, timestamp};

/// Writes the terms of a lease block, one per line.
pub(super) fn write_terms(terms: &LeaseTerms, out: &mut dyn Write) -> io::Result<()> {
    let LeaseTerms {
        agent,
        base_directories,
        capabilities,
        expires,
        not_before,
        quotas,
        scope,
        task,
        tenant,
        uses,
    } = terms;
    if let Some(capabilities) = capabilities {
        let capabilities = capabilities.join(", ");
        writeln!(out, "  allows    {}", Harmless(capabilities.as_bytes()))?;
    }
    for directory in base_directories.iter().flatten() {
        writeln!(out, "  below     {}", Quoted(directory.as_bytes()))?;
    }
    if let Some(LeaseScope { allow, deny }) = scope {
        for rule in allow.iter().flatten() {
            writeln!(out, "  only      {}", Quoted(rule.as_bytes()))?;
        }
        for rule in deny {
            writeln!(out, "  never     {}", Quoted(rule.as_bytes()))?;
        }
    }
    for (name, value) in [("agent", agent), ("task", task), ("tenant", tenant)] {
        if let Some(value) = value {
            writeln!(out, "  {name:8}  {}", Harmless(value.as_bytes()))?;
        }
    }
    if let Some(from) = not_before {
        writeln!(out, "  from      {}", timestamp::second(*from))?;
    }
    if let Some(until) = expires {
        writeln!(out, "  until     {}", timestamp::second(*until))?;
    }
    if let Some(uses) = uses {
        writeln!(out, "  uses      {}", count(*uses, "run"))?;
    }
    write_quotas(quotas, out)
}

fn write_quotas(quotas: &LeaseQuotas, out: &mut dyn Write) -> io::Result<()> {
    let LeaseQuotas { files, memory_bytes, space_bytes, storage_bytes, wall_ms } = *quotas;
    let size = |bytes: Option<u64>| bytes.map(|bytes| Size(bytes).to_string());
    let quotas = [
        (files.map(|files| count(files, "changed file")), "a run"),
        (size(space_bytes), "in the changed files of a run"),
        (size(storage_bytes), "read and written by a command"),
        (size(memory_bytes), "of memory for a command"),
        (wall_ms.map(name_duration), "for a command"),
    ];
    for (most, what) in quotas {
        if let Some(most) = most {
            writeln!(out, "  at most   {most} {what}")?;
        }
    }
    Ok(())
}

fn name_duration(milliseconds: u64) -> String {
    match milliseconds % 1000 {
        0 => format!("{} s", milliseconds / 1000),
        _ => format!("{milliseconds} ms"),
    }
}

/// Returns the name of a lease state and the color in which it is shown.
pub(super) fn name_state(state: &LeaseState) -> (String, Style) {
    let colour = match state {
        LeaseState::InForce => style::ADDED,
        LeaseState::Waiting => style::CHANGED,
        LeaseState::Expired
        | LeaseState::Revoked
        | LeaseState::UsedUp
        | LeaseState::NotGranted
        | LeaseState::OtherTenant
        | LeaseState::Other(_) => style::REMOVED,
    };
    (state.as_str().replace('_', " "), colour)
}
