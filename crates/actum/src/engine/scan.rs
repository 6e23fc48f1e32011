//! Scans the new content of a change for credentials, trigger files and symbolic links.

use std::ops::ControlFlow;

use actum_core::path_name::PathName;
use actum_core::{FileMode, RelPath};
use actum_gate::Trigger;
use actum_gate::credential::{
    BEFORE_BYTES, BEHIND_BYTES, FINDINGS_MAX, FileBefore, Finding, LargeScan, depends_on_name,
    scan, scan_file,
};
use actum_gate::decision::{Found, LinkFound, TriggerFound};
use actum_workspace::disk::Disk;
use actum_workspace::{NewContent, Part, Transaction, Window};

use crate::error::Result;

/// Findings of a scan of new content.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) found: Vec<Found>,
    /// Files that other programs act on by themselves.
    pub(crate) triggers: Vec<TriggerFound>,
    /// Symbolic links that the change leaves in the workspace.
    pub(crate) links: Vec<LinkFound>,
    /// Files that were not scanned completely.
    pub(crate) unscanned: Vec<PathName>,
}

/// Maximum number of findings in a change, after which no further file is scanned.
const FOUND_MAX: usize = 1000;

impl Scanned {
    /// Scans the new content of a change in the workspace at `root`. Reads the earlier content only of files with
    /// findings.
    pub(crate) fn new<D: Disk>(transaction: &Transaction<'_, D>, root: &str) -> Result<Self> {
        let (triggers, links) = (triggers(transaction, root)?, links(transaction)?);
        let mut scanned = Self { triggers, links, ..Self::default() };
        // A moved file has no new content, but its new name can make it a credential file.
        let is_scanned =
            |path: &&RelPath| !transaction.only_moves(path) || depends_on_name(path.name());
        for path in transaction.arriving().filter(is_scanned) {
            let name = PathName(path.clone());
            let last = path.name();
            // Report all files after this limit as not scanned.
            if scanned.found.len() >= FOUND_MAX {
                scanned.unscanned.push(name);
                continue;
            }
            let findings = match transaction.new_content(path)? {
                // Report the file as not scanned, because its name suggests a key store, but no key store is this
                // large.
                NewContent::Large if depends_on_name(last) => None,
                NewContent::Large => Some(scan_large(transaction, path)?),
                NewContent::Whole(content) => {
                    let before = match scan_file(last, None, &content).is_empty() {
                        true => None,
                        false => transaction.replaced(path)?,
                    };
                    let before = before.as_ref().map(|(origin, content)| {
                        let name = origin.name();
                        FileBefore { name, content }
                    });
                    Some(scan_file(last, before, &content))
                }
                NewContent::Parts(parts) => {
                    // The line numbers are unknown, because only parts of the file were read.
                    let findings = |part: &Part| scan(Some(&part.before), &part.after);
                    let findings =
                        parts.iter().flat_map(findings).map(|it| Finding { line: 0, ..it });
                    Some(findings.collect())
                }
            };
            match findings.filter(|findings: &Vec<Finding>| findings.len() < FINDINGS_MAX) {
                Some(findings) => {
                    let found = |finding| Found { path: name.clone(), finding };
                    scanned.found.extend(findings.into_iter().map(found));
                }
                None => scanned.unscanned.push(name),
            }
        }
        Ok(scanned)
    }
}

/// Scans a large file in overlapping windows, without holding all of it in memory.
fn scan_large<D: Disk>(transaction: &Transaction<'_, D>, path: &RelPath) -> Result<Vec<Finding>> {
    let mut scan = LargeScan::new(&transaction.new_beginning(path)?);
    transaction.each_window(
        path,
        (BEFORE_BYTES, BEHIND_BYTES),
        |Window { offset, bytes, range }| {
            scan.search(offset, bytes, range);
            if scan.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    )?;
    Ok(scan.finish())
}

/// Finds files that other programs act on by themselves. Reads only files whose name suggests this.
fn triggers<D: Disk>(transaction: &Transaction<'_, D>, root: &str) -> Result<Vec<TriggerFound>> {
    let mut found = Vec::new();
    for path in transaction.arriving() {
        let name = path.name();
        if Trigger::may_mark_home(root, path) {
            let trigger = match transaction.new_content(path)? {
                NewContent::Whole(content) => Trigger::of_mark(Some(&content)),
                NewContent::Parts(_) | NewContent::Large => Trigger::of_mark(None),
            };
            let path = PathName(path.clone());
            found.extend(trigger.map(|trigger| TriggerFound { path, trigger }));
            continue;
        }
        if !Trigger::may_be(name) {
            continue;
        }
        if is_link(transaction, path) {
            let path = PathName(path.clone());
            found.extend(Trigger::of_link(name).map(|trigger| TriggerFound { path, trigger }));
            continue;
        }
        let trigger = match transaction.new_content(path)? {
            NewContent::Whole(content) => {
                let before = transaction.content_before(path)?;
                Trigger::detect(name, before.as_deref(), &content)
            }
            NewContent::Parts(_) | NewContent::Large => {
                Trigger::of_beginning(name, &transaction.new_beginning(path)?)
            }
        };
        let path = PathName(path.clone());
        found.extend(trigger.map(|trigger| TriggerFound { path, trigger }));
    }
    Ok(found)
}

fn is_link<D: Disk>(transaction: &Transaction<'_, D>, path: &RelPath) -> bool {
    transaction.mode_of(path).is_some_and(FileMode::is_link)
}

/// Finds the symbolic links that the change creates, modifies or moves. A moved link can point to a different target.
fn links<D: Disk>(transaction: &Transaction<'_, D>) -> Result<Vec<LinkFound>> {
    let mut found = Vec::new();
    for path in transaction.arriving().filter(|path| is_link(transaction, path)) {
        found.push(match transaction.new_content(path)? {
            NewContent::Whole(target) => LinkFound::new(path, &target),
            // No link target is this large, so treat the target as unknown. It may point anywhere.
            NewContent::Parts(_) | NewContent::Large => LinkFound::unknown(path),
        });
    }
    Ok(found)
}
