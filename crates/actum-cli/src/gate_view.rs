//! Converts gate decisions to the form that JSON documents show.

use actum_api::gate::{Gate, Ground};
use actum_gate::{GateDecision, Grounds, Verdict, sentence};
use actum_record::receipt::GateRecord;

/// Gate decision, recorded or just made, that can be shown in a JSON document.
pub(crate) trait GateView {
    /// Returns the form of the decision in JSON documents.
    fn view(&self) -> Gate;
}

/// Converts several gate decisions to their form in JSON documents.
pub(crate) fn views<'g, G: GateView + 'g>(gates: impl IntoIterator<Item = &'g G>) -> Vec<Gate> {
    gates.into_iter().map(GateView::view).collect()
}

/// Returns the explanation of the first gate that requires approval.
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
        // Records sort the fields of a ground, while documents start with its kind. A ground that is unknown to this version
        // is shown as recorded.
        let known = Grounds::read(ground).as_ref().map(fields);
        Gate {
            gate: gate.clone(),
            verdict: verdict.as_str().into(),
            ground: known.unwrap_or_else(|| Ground(ground.0.clone())),
            message: sentence(self),
        }
    }
}

/// Converts a ground to its JSON fields. Because all keys are strings, serialization never falls back to the sentence.
fn fields(ground: &Grounds) -> Ground {
    Ground(serde_json::to_value(ground).unwrap_or_else(|_| ground.to_string().into()))
}

#[cfg(test)]
mod tests {
    use actum_record::receipt::RecordedGround;

    use super::*;

    /// AEC-10: ledgers written under a different version of the rules may name gates that this version does not know.
    #[test]
    fn a_recorded_gate_with_an_unknown_name_is_shown() {
        let ground = RecordedGround("nobody else holds it".into());
        let record = GateRecord { gate: "lease".to_owned(), verdict: "allow".to_owned(), ground };
        assert_eq!(record.view().to_string(), "lease: allow, nobody else holds it");
    }
}
