//! Decision of a gate, as documents and the terminal show it.

use std::fmt;

use actum_core::path::Harmless;
use actum_gate::{GateDecision, Grounds, Verdict, sentence};
use actum_record::receipt::{GateRecord, RecordedGround};
use serde::{Serialize, Serializer};

/// Decision of one gate. Shown on a line of its own, with text from outside escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct GateView {
    pub(crate) gate: String,
    pub(crate) verdict: String,
    /// Fields by which programs tell grounds apart.
    ground: GroundView,
    /// Sentence for people; its wording is not fixed.
    pub(crate) message: String,
}

/// Ground, in the form that the receipt has it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum GroundView {
    Known(Box<Grounds>),
    /// One of another version of the rules.
    Other(RecordedGround),
}

/// Views of recorded decisions, or of those just made.
pub(crate) fn views<'g, G: 'g>(gates: impl IntoIterator<Item = &'g G>) -> Vec<GateView>
where
    GateView: From<&'g G>,
{
    gates.into_iter().map(GateView::from).collect()
}

/// Serializes recorded decisions as their views: `log` reads many and shows few.
pub(crate) fn serialize_views<S: Serializer>(
    gates: &[GateRecord],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(gates.iter().map(GateView::from))
}

/// Sentence of the first gate that needs approval.
pub(crate) fn why_approval(gates: &[GateDecision]) -> Option<String> {
    let asks = |gate: &&GateDecision| gate.verdict == Verdict::NeedsApproval;
    gates.iter().find(asks).map(|gate| gate.ground.to_string())
}

impl From<&GateDecision> for GateView {
    fn from(GateDecision { gate, verdict, ground }: &GateDecision) -> Self {
        Self {
            gate: gate.as_str().to_owned(),
            verdict: verdict.as_str().to_owned(),
            ground: GroundView::Known(Box::new(ground.clone())),
            message: ground.to_string(),
        }
    }
}

impl From<&GateRecord> for GateView {
    fn from(record: &GateRecord) -> Self {
        let GateRecord { gate, verdict, ground } = record;
        let known = Grounds::read(ground).map(|grounds| GroundView::Known(Box::new(grounds)));
        Self {
            gate: gate.clone(),
            verdict: verdict.clone(),
            ground: known.unwrap_or_else(|| GroundView::Other(ground.clone())),
            message: sentence(record),
        }
    }
}

impl fmt::Display for GateView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gate, verdict, message, .. } = self;
        let [gate, verdict, message] = [gate, verdict, message].map(|it| Harmless(it.as_bytes()));
        write!(f, "{gate}: {}, {message}", verdict.to_string().replace('_', " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AEC-10: ledgers of other versions of the rules name other gates.
    #[test]
    fn a_recorded_gate_with_an_unknown_name_is_shown() {
        let ground = RecordedGround("nobody else holds it".into());
        let record = GateRecord { gate: "lease".to_owned(), verdict: "allow".to_owned(), ground };
        assert_eq!(GateView::from(&record).to_string(), "lease: allow, nobody else holds it");
    }
}
