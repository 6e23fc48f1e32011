//! What the gates say of what was published, under no policy but what is built in.

use actum_core::path_name::PathName;
use actum_core::receipt::{EffectKind, GateRecord, PathEffect};
use actum_core::{Digest, RelPath};
use actum_gate::credential::scan_file;
use actum_gate::decision::Found;
use actum_gate::{Bundle, Case, NoAccess, Policy, Verdict, decide};

use super::Failure;
use super::change::{Change, Kind};
use super::table::Row;

/// What they say of one pair.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// What is said by those that do not let it pass.
    pub(super) grounds: Vec<String>,
    /// How many new contents were scanned for credentials.
    scanned: usize,
    /// The rule and the place of each finding in them.
    found: Vec<String>,
}

impl Judged {
    pub(super) fn of(changes: &[Change]) -> Result<Self, Failure> {
        let policy = Policy::default();
        let case = case(changes)?;
        let found = case.found.iter().map(|Found { path, finding }| {
            format!("{} in `{path}`, line {}", finding.rule, finding.line)
        });
        let found = found.collect();
        let scanned = changes.iter().filter(|it| !matches!(it.kind, Kind::Deleted { .. })).count();
        let bundle = Bundle::new(Digest::of(&policy.to_vec()?), case);
        let decision = decide(&bundle, &policy, &NoAccess);
        // What the gate of approval adds is what the verdict says.
        let is_held =
            |gate: &&GateRecord| gate.verdict != Verdict::Allow.as_str() && gate.gate != "approval";
        let grounds = decision.gates.iter().filter(is_held);
        let grounds = grounds.map(|gate| format!("{}: {}", gate.gate, gate.ground)).collect();
        Ok(Self { verdict: decision.verdict, grounds, scanned, found })
    }
}

/// How many pairs the gates let pass, and what they say of the others.
pub(super) fn told(rows: &[Row<'_>]) -> String {
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

fn case(changes: &[Change]) -> Result<Case, Failure> {
    let (mut effects, mut found) = (Vec::new(), Vec::new());
    for change in changes {
        let path = PathName(RelPath::new(&change.path)?);
        let (effect, before, after) = match &change.kind {
            Kind::Added { new } => (EffectKind::Created, None, Some(new)),
            Kind::Deleted { old } => (EffectKind::Deleted, Some(old), None),
            Kind::Modified { old, new } => (EffectKind::Modified, Some(old), Some(new)),
        };
        if let Some(after) = after {
            let before = before.map(|leaf| &*leaf.content);
            let findings = scan_file(path.0.name(), before, &after.content).into_iter();
            found.extend(findings.map(|finding| Found { path: path.clone(), finding }));
        }
        let (from, before, after) = (None, None, None);
        effects.push(PathEffect { path, effect, from, before, after, added: 0, removed: 0 });
    }
    Ok(Case { found, ..Case::of(effects) })
}

#[cfg(test)]
mod tests {
    use super::super::format::testing::material;
    use super::*;

    /// AA-5
    #[test]
    fn what_would_be_held_is_told_with_its_grounds() {
        let new: &[(&str, &[u8], u32)] =
            &[(".github/workflows/ci.yml", b"on: push\n", 0o644), ("src/a", b"a\n", 0o644)];
        let judged = Judged::of(&material(&[], new, &[]).changes).unwrap();
        assert_eq!(judged.verdict, Verdict::NeedsApproval);
        assert_eq!(judged.grounds.len(), 1);
        assert!(judged.grounds[0].starts_with("tier: R3: `.github/workflows/ci.yml`"));
        let judged = Judged::of(&material(&[], &new[1..], &[]).changes).unwrap();
        assert_eq!((judged.verdict, judged.grounds.len()), (Verdict::Allow, 0));
    }
}
