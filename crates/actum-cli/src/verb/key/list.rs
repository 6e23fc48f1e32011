//! `actum key list`: lists the keys and reports whether they can sign.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum_api::key::{Key, Keys as KeyList, ListedKey};
use actum_core::Timestamp;
use actum_core::path::Quoted;
use actum_ledger::Keys;
use actum_record::signer::KeyRole;

use super::at;
use super::protect::{shown, words};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::style::{self, Painted};
use crate::verb::Session;
use crate::{clock, home, shown_path, timestamp};

/// List the keys with their roles and periods of validity, and show whether they can sign
///
/// The list also shows whether each key is protected by a passphrase. Private keys are never shown. They are stored in
/// files that only you can read, below `keys` in the directory that `ACTUM_HOME` names. A key becomes valid one hour
/// before its creation, so that its signatures stay valid if the clock is set back slightly.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

struct Listed {
    document: KeyList,
    shown_home: String,
}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let path = home::path()?;
    let keys = match at(&path)? {
        Some((_, keys)) => listings(&keys, clock::now()),
        None => Vec::new(),
    };
    let bytes = path.as_os_str().as_bytes();
    let (home, shown_home) = (shown_path::text(bytes), Quoted(bytes).to_string());
    session.screen.show(&Listed { document: KeyList { home, keys }, shown_home })?;
    Ok(Exit::Success)
}

/// Returns the keys grouped by role, with the newest key of each role first.
fn listings(keys: &Keys, now: Timestamp) -> Vec<ListedKey> {
    let ring = keys.keyring();
    let of_role = |role: KeyRole| {
        let current = ring.current(role, now).map(|key| key.id.clone());
        let waiting = ring.waiting(role, now).map(|key| key.id.clone());
        ring.keys().iter().rev().filter(move |key| key.role == role).map(move |key| {
            let current = Some(&key.id) == current.as_ref();
            let waits = Some(&key.id) == waiting.as_ref();
            let problem = current.then(|| keys.check(role, now).err()).flatten();
            let problem = problem.map(|problem| problem.to_string());
            let protection = keys.protection_of(key).ok().map(shown);
            ListedKey { key: key.clone().into(), current, waits, protection, problem }
        })
    };
    KeyRole::ALL.into_iter().flat_map(of_role).collect()
}

impl Document for Listed {
    type Api = KeyList;

    fn document(&self) -> impl Borrow<KeyList> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let home = &self.shown_home;
        if self.document.keys.is_empty() {
            return writeln!(out, "there are no keys in {home} yet; the first run creates them");
        }
        writeln!(out, "keys in {home}")?;
        for ListedKey { key, current, waits, protection, problem } in &self.document.keys {
            let Key { id, role, not_before, not_after, revoked, .. } = key;
            let from = timestamp::second(*not_before);
            let until = match (revoked, not_after) {
                (Some(since), _) => format!("revoked {}", timestamp::second(*since)),
                (None, Some(until)) => {
                    format!("valid from {from} until {}", timestamp::second(*until))
                }
                (None, None) => format!("valid from {from}"),
            };
            let (word, painted) = match (current, problem) {
                (true, None) => ("signs", style::ADDED),
                (true, Some(_)) => ("broken", style::REMOVED),
                (false, _) if *waits => ("waits", style::CHANGED),
                (false, _) => ("past", style::CHANGED),
            };
            let word = format!("{word:6}");
            let by = protection.map(|protection| format!(", protected by {}", words(protection)));
            let by = by.unwrap_or_default();
            writeln!(out, "{}  {:10}  {id}  {until}{by}", Painted(painted, word), role.as_str())?;
            if let Some(problem) = problem {
                writeln!(out, "        {problem}")?;
            }
        }
        Ok(())
    }
}
