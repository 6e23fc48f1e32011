//! Decisions of gates, as documents show them.

use actum_api::gate::{Gate, Ground};
use actum_gate::{GateDecision, Grounds, Verdict, sentence};
use actum_record::receipt::GateRecord;

/// Decision of a gate that a document can show.
pub(crate) trait GateView {
    /// Makes the form of the decision in documents.
    fn view(&self) -> Gate;
}

/// Views of recorded decisions, or of those just made.
pub(crate) fn views<'g, G: GateView + 'g>(gates: impl IntoIterator<Item = &'g G>) -> Vec<Gate> {
    gates.into_iter().map(GateView::view).collect()
}

/// Returns the sentence of the first gate that needs approval.
pub(crate) fn why_approval(gates: &[GateDecision]) -> Option<String> {
    let asks = |gate: &&GateDecision| gate.verdict == Verdict::NeedsApproval;
    gates.iter().find(asks).map(|gate| gate.ground.to_string())
}

impl GateView for GateDecision {
    fn view(&self) -> Gate {
        let Self { gate, verdict, ground } = self;
        Gate {
            gate: gate.as_str().to_owned(),
            verdict: verdict.as_str().into(),
            ground: fields(ground),
            message: ground.to_string(),
        }
    }
}

impl GateView for GateRecord {
    fn view(&self) -> Gate {
        let Self { gate, verdict, ground } = self;
        // A record sorts its fields; documents begin with the kind. A ground of other rules is shown as recorded.
        let known = Grounds::read(ground).as_ref().map(fields);
        Gate {
            gate: gate.clone(),
            verdict: verdict.as_str().into(),
            ground: known.unwrap_or_else(|| Ground(ground.0.clone())),
            message: sentence(self),
        }
    }
}

/// Fields of a ground. All their names are texts, so the sentence is never needed.
fn fields(ground: &Grounds) -> Ground {
    Ground(serde_json::to_value(ground).unwrap_or_else(|_| ground.to_string().into()))
}

#[cfg(test)]
mod tests {
    use actum_record::receipt::RecordedGround;

    use super::*;

    /// AEC-10: ledgers of other versions of the rules name other gates.
    #[test]
    fn a_recorded_gate_with_an_unknown_name_is_shown() {
        let ground = RecordedGround("nobody else holds it".into());
        let record = GateRecord { gate: "lease".to_owned(), verdict: "allow".to_owned(), ground };
        assert_eq!(record.view().to_string(), "lease: allow, nobody else holds it");
    }
}
