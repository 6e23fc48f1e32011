//! Ranking: from readings of an utterance to one outcome.

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

/// Result of a search, before its wording.
#[derive(Debug)]
pub(crate) enum Outcome<'s> {
    /// One simulation matches: the first of the ranked ones.
    Match { ranked: Vec<Ranked<'s>>, fields: Map<String, Value> },
    /// A field of the simulation is missing, or its value cannot be used.
    Field { ranked: Ranked<'s>, parameter: &'s Parameter },
    /// Simulations in doubt.
    Doubt { ranked: Vec<Ranked<'s>> },
    /// The utterance cannot be relied on.
    Flawed(Flaw),
    /// The utterance is empty.
    Empty,
    /// The goal is of a kind that is refused.
    Refuse(RefusalCode),
    /// No simulation fits.
    Missing,
}

/// Simulation with its score, including a bonus that counted.
#[derive(Debug, Clone)]
pub(crate) struct Ranked<'s> {
    pub(crate) simulation: &'s Simulation,
    pub(crate) score: u32,
    /// Language of the reading; `None` of one without a reading.
    pub(crate) language: Option<String>,
}

/// Orders readings: clear ones first, then by score. Names make the order total.
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

/// Ranks ordered readings. `intended` are the simulations that the normalised intent asks for, if any.
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
    // Another reading of the same simulation that is as good and gives another input.
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

/// Finds another simulation that claims the utterance, if one of the two is a package.
///
/// INVARIANT: neither more words in a phrase, nor more parameters, nor a bonus let a package take an utterance from a
/// core action or from another package.
fn rival<'r, 's>(first: &Reading<'_>, clear: &[&'r &'r Reading<'s>]) -> Option<&'r Reading<'s>> {
    let is_rival = |other: &Reading<'_>| {
        let (first, other) = (&first.simulation.id, &other.simulation.id);
        other != first && !(first.is_core() && other.is_core())
    };
    clear.iter().map(|reading| **reading).find(|reading| is_rival(reading))
}

/// Returns the best reading of each simulation, in the same order.
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

/// Returns true if the first two scores are too near.
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
