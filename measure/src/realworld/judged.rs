//! Decisions of the gates about published changes, under only the built-in policy.

use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath};
use actum_gate::credential::{FileBefore, scan_file};
use actum_gate::decision::{Found, TriggerFound};
use actum_gate::{
    Bundle, Case, GateDecision, GateName, NoAccess, Policy, Trigger, Verdict, decide,
};
use actum_record::receipt::{EffectKind, PathEffect};

use super::Failure;
use super::change::{Change, Kind};
use super::table::Row;

/// Decision about one pair of versions.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Grounds of the gates that hold the change back.
    pub(super) grounds: Vec<String>,
    /// Number of new contents scanned for credentials.
    scanned: usize,
    /// Rule and location of each finding in the scanned contents.
    found: Vec<String>,
}

impl Judged {
    pub(super) fn new(changes: &[Change]) -> Result<Self, Failure> {
        let policy = Policy::default();
        let touched = changes.iter().map(touched).collect::<Result<Vec<_>, _>>()?;
        let case = case(&touched);
        let found = case.found.iter().map(|Found { path, finding }| {
            format!("{} in `{path}`, line {}", finding.rule, finding.line)
        });
        let found = found.collect();
        let scanned = changes.iter().filter(|it| !matches!(it.kind, Kind::Deleted { .. })).count();
        let bundle = Bundle::new(Digest::of(&policy.to_vec()?), case);
        let decision = decide(&bundle, &policy, &NoAccess);
        // The approval gate only repeats the verdict.
        let is_held = |gate: &&GateDecision| {
            gate.verdict != Verdict::Allow && gate.gate != GateName::Approval
        };
        let grounds = decision.gates.iter().filter(is_held);
        let grounds = grounds.map(|gate| format!("{}: {}", gate.gate, gate.ground)).collect();
        Ok(Self { verdict: decision.verdict, grounds, scanned, found })
    }
}

/// Formats the number of pairs that the gates allow, and the grounds for the others.
pub(super) fn summary(rows: &[Row<'_>]) -> String {
    let judged =
        || rows.iter().filter_map(|row| Some((row.pair, &row.result.as_ref().ok()?.judged)));
    let count = |verdict| judged().filter(|(_, judged)| judged.verdict == verdict).count();
    let mut text = format!(
        "gates: of {} pairs {} pass, {} need approval, {} are denied\n",
        judged().count(),
        count(Verdict::Allow),
        count(Verdict::NeedsApproval),
        count(Verdict::Deny),
    );
    for (pair, judged) in judged() {
        for ground in &judged.grounds {
            text += &format!("  {pair}: {ground}\n");
        }
    }
    let scanned: usize = judged().map(|(_, judged)| judged.scanned).sum();
    let found =
        || judged().flat_map(|(pair, judged)| judged.found.iter().map(move |it| (pair, it)));
    text += &format!("credentials: {} findings in {scanned} new contents\n", found().count());
    for (pair, found) in found() {
        text += &format!("  {pair}: {found}\n");
    }
    text
}

/// File of a change, with its complete content.
pub(crate) struct Touched<'a> {
    pub(crate) path: PathName,
    pub(crate) effect: EffectKind,
    /// Previous path of a renamed file.
    pub(crate) from: Option<PathName>,
    pub(crate) before: Option<&'a [u8]>,
    pub(crate) after: Option<&'a [u8]>,
}

impl Touched<'_> {
    fn path_effect(&self) -> PathEffect {
        let (path, effect, from) = (self.path.clone(), self.effect, self.from.clone());
        PathEffect { path, effect, from, before: None, after: None, added: 0, removed: 0 }
    }

    /// Returns the new content, or `None` if the file was deleted or only moved.
    fn rewritten(&self) -> Option<&[u8]> {
        self.after.filter(|after| self.before != Some(after))
    }

    fn trigger(&self) -> Option<Trigger> {
        let (path, after) = (&self.path.0, self.after?);
        if self.rewritten().is_none() && self.from.is_none() {
            return None;
        }
        if Trigger::may_mark_home("", path) {
            return Trigger::of_mark(Some(after));
        }
        let before = self.before.filter(|_| self.from.is_none());
        Trigger::may_be(path.name()).then(|| Trigger::detect(path.name(), before, after)).flatten()
    }
}

/// Returns the case for the gates: the effects, and the findings of both content scans.
pub(crate) fn case(touched: &[Touched<'_>]) -> Case {
    let (mut found, mut triggers) = (Vec::new(), Vec::new());
    for file in touched {
        let path = || file.path.clone();
        triggers.extend(file.trigger().map(|trigger| TriggerFound { path: path(), trigger }));
        let Some(after) = file.rewritten() else { continue };
        let name = file.from.as_ref().unwrap_or(&file.path).0.name();
        let before = file.before.map(|content| FileBefore { name, content });
        let findings = scan_file(file.path.0.name(), before, after);
        found.extend(findings.into_iter().map(|finding| Found { path: path(), finding }));
    }
    let effects = touched.iter().map(Touched::path_effect).collect();
    Case { found, triggers, ..Case::new(effects) }
}

fn touched(change: &Change) -> Result<Touched<'_>, Failure> {
    let (effect, before, after) = match &change.kind {
        Kind::Added { new } => (EffectKind::Created, None, Some(new)),
        Kind::Deleted { old } => (EffectKind::Deleted, Some(old), None),
        Kind::Modified { old, new } => (EffectKind::Modified, Some(old), Some(new)),
    };
    let [before, after] = [before, after].map(|leaf| leaf.map(|leaf| &*leaf.content));
    let path = PathName(RelPath::new(&change.path)?);
    Ok(Touched { path, effect, from: None, before, after })
}

#[cfg(test)]
mod tests {
    use super::super::format::testing::material;
    use super::*;

    /// D-5
    #[test]
    fn automatically_executed_content_needs_approval() {
        let new: &[(&str, &[u8], u32)] =
            &[("package.json", br#"{"scripts":{"postinstall":"x"}}"#, 0o644)];
        let judged = Judged::new(&material(&[], new, &[]).changes).unwrap();
        assert_eq!(judged.verdict, Verdict::NeedsApproval);
    }

    /// AA-5
    #[test]
    fn change_that_would_be_held_is_reported_with_its_grounds() {
        let new: &[(&str, &[u8], u32)] =
            &[(".github/workflows/ci.yml", b"on: push\n", 0o644), ("src/a", b"a\n", 0o644)];
        let judged = Judged::new(&material(&[], new, &[]).changes).unwrap();
        assert_eq!(judged.verdict, Verdict::NeedsApproval);
        assert_eq!(judged.grounds.len(), 1);
        assert!(judged.grounds[0].starts_with("tier: R3: `.github/workflows/ci.yml`"));
        let judged = Judged::new(&material(&[], &new[1..], &[]).changes).unwrap();
        assert_eq!((judged.verdict, judged.grounds.len()), (Verdict::Allow, 0));
    }
}
