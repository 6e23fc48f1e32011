//! Ranks the readings of an utterance and determines the outcome of the search.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use actum_core::ActionName;
use serde_json::{Map, Value};

use crate::learning::LearningTable;
use crate::limits::{CLARIFY_CANDIDATES_MAX, MARGIN};
use crate::reading::Reading;
use crate::refusal::RefusalCode;
use crate::simulation::{Parameter, Simulation};
use crate::utterance::Flaw;

/// Outcome of a search, before it is put into words.
#[derive(Debug)]
pub(crate) enum Outcome<'s> {
    /// The first ranked simulation matches, and all required fields have values.
    Match { ranked: Vec<Ranked<'s>>, fields: Map<String, Value> },
    /// A required field of the simulation has no value, or a field has a value that cannot be used.
    Field { ranked: Ranked<'s>, parameter: &'s Parameter },
    /// Several candidates, if it is unclear which of these simulations the user wants, or whether it is any of them.
    Doubt { ranked: Vec<Ranked<'s>> },
    /// The utterance has a flaw that makes its meaning unreliable.
    Flawed(Flaw),
    /// The utterance has no words or values.
    Empty,
    /// The goal is of a kind that the Finder always refuses.
    Refuse(RefusalCode),
    /// No simulation fits the goal.
    Missing,
}

/// Simulation with its score, which includes the learning bonus if one was needed to break a tie.
#[derive(Debug, Clone)]
pub(crate) struct Ranked<'s> {
    pub(crate) simulation: &'s Simulation,
    pub(crate) score: u32,
    /// Language of the reading, or `None` if the simulation was found without a reading.
    pub(crate) language: Option<String>,
}

/// Sorts readings so that clear ones come first, then those with higher scores. Names break ties, so that the order is
/// total.
pub(crate) fn order(readings: &mut [Reading<'_>]) {
    readings.sort_by(|one, other| key(one).cmp(&key(other)));
}

fn key<'r>(
    reading: &'r Reading<'_>,
) -> (Reverse<bool>, Reverse<u32>, &'r str, &'r str, &'r str, &'r str) {
    let Reading { simulation, frame, language, phrase, .. } = reading;
    (
        Reverse(reading.is_clear()),
        Reverse(reading.score),
        simulation.id.as_str(),
        &frame.name,
        language,
        phrase.as_str(),
    )
}

/// Determines the outcome from ordered readings. `intended` contains the names of the simulations that match the
/// normalised intent.
pub(crate) fn rank<'s>(
    readings: &[Reading<'s>],
    intended: &BTreeSet<String>,
    learning: Option<&LearningTable>,
) -> Outcome<'s> {
    let best = best_of_each(readings);
    let clear: Vec<&&Reading<'s>> = best.iter().filter(|reading| reading.is_clear()).collect();
    let Some(first) = clear.first() else { return doubt(&best) };
    let first_id = &first.simulation.id;
    if let Some(rival) = rival(first, &clear) {
        return Outcome::Doubt { ranked: vec![ranked(first), ranked(rival)] };
    }
    let mut ranked: Vec<Ranked<'s>> = clear.iter().map(|reading| ranked(reading)).collect();
    if are_near(&ranked) {
        add_bonus(&mut ranked, learning);
        if are_near(&ranked) {
            ranked.truncate(CLARIFY_CANDIDATES_MAX);
            return Outcome::Doubt { ranked };
        }
    }
    let winner = ranked.first().map(|winner| &winner.simulation.id);
    let first = match winner {
        Some(id) if id != first_id => {
            clear.iter().find(|it| it.simulation.id == *id).unwrap_or(first)
        }
        Some(_) | None => first,
    };
    if !intended.is_empty() && !intended.contains(first.simulation.id.as_str()) {
        ranked.truncate(1);
        return Outcome::Doubt { ranked };
    }
    let of_first = readings.iter().filter(|it| it.simulation.id == first.simulation.id);
    let fields = first.fields.to_object(first.frame);
    // A rival is an equally good reading of the same simulation that results in a different input.
    let is_rival = |other: &Reading<'_>| {
        other.is_clear()
            && other.fields.missing(other.frame).is_none()
            && other.score.abs_diff(first.score) < MARGIN
            && other.fields.to_object(other.frame) != fields
    };
    let has_rival = of_first.into_iter().any(is_rival);
    if let Some(parameter) = first.fields.missing(first.frame) {
        return Outcome::Field { ranked: self::ranked(first), parameter };
    }
    if has_rival {
        ranked.truncate(1);
        return Outcome::Doubt { ranked };
    }
    Outcome::Match { ranked, fields }
}

/// Returns the first clear reading of a different simulation, unless both simulations are core actions.
///
/// INVARIANT: a package cannot win an utterance from a core action or another package through longer phrases, more
/// parameters or a bonus.
fn rival<'r, 's>(first: &Reading<'_>, clear: &[&'r &'r Reading<'s>]) -> Option<&'r Reading<'s>> {
    let is_rival = |other: &Reading<'_>| {
        let (first, other) = (&first.simulation.id, &other.simulation.id);
        other != first && !(first.is_core() && other.is_core())
    };
    clear.iter().map(|reading| **reading).find(|reading| is_rival(reading))
}

/// Returns the first and therefore best reading of each simulation, keeping the order of the readings.
fn best_of_each<'r, 's>(readings: &'r [Reading<'s>]) -> Vec<&'r Reading<'s>> {
    let mut seen: BTreeSet<&ActionName> = BTreeSet::new();
    readings.iter().filter(|reading| seen.insert(&reading.simulation.id)).collect()
}

fn doubt<'s>(best: &[&Reading<'s>]) -> Outcome<'s> {
    let likely: Vec<&&Reading<'s>> = best.iter().filter(|reading| reading.has_evidence()).collect();
    let Some(first) = likely.first() else { return Outcome::Missing };
    let is_alone = likely.len() == 1;
    match first.fields.missing(first.frame) {
        Some(parameter) if is_alone && !first.has_guard && !first.is_mismatched => {
            Outcome::Field { ranked: ranked(first), parameter }
        }
        Some(_) | None => {
            let likely = likely.iter().take(CLARIFY_CANDIDATES_MAX);
            Outcome::Doubt { ranked: likely.map(|reading| ranked(reading)).collect() }
        }
    }
}

fn ranked<'s>(reading: &Reading<'s>) -> Ranked<'s> {
    Ranked {
        simulation: reading.simulation,
        score: reading.score,
        language: Some(reading.language.clone()),
    }
}

/// Returns true if the difference between the first two scores is less than [`MARGIN`].
fn are_near(ranked: &[Ranked<'_>]) -> bool {
    match ranked {
        [first, second, ..] => first.score.abs_diff(second.score) < MARGIN,
        [_] | [] => false,
    }
}

fn add_bonus(ranked: &mut [Ranked<'_>], learning: Option<&LearningTable>) {
    let Some(learning) = learning else { return };
    for it in ranked.iter_mut() {
        it.score = it.score.saturating_add(learning.bonus(&it.simulation.id));
    }
    ranked.sort_by(|one, other| {
        let key = |it: &Ranked<'_>| (Reverse(it.score), it.simulation.id.clone());
        key(one).cmp(&key(other))
    });
}
