//! Searches the active simulations for a goal and creates one packet with the result.

use std::collections::BTreeSet;

use actum_agent::FinderPacket;
use actum_agent::limits::{ATTEMPTS_MAX, CANDIDATES_MAX, UTTERANCE_CHARS_MAX};
use actum_agent::packet::{
    Candidate, ClarifyPacket, MissingSimulationPacket, PacketHead, RefusePacket,
    RollbackSimulation, SimulationMatchPacket,
};
use actum_core::canonical::{self, CanonicalError};
use actum_core::{ActionName, CoreAction, Digest};
use actum_record::ledger::TenantId;
use serde::Serialize;
use serde_json::Map;

use crate::core_frames::core_simulations;
use crate::goal::Goal;
use crate::learning::LearningTable;
use crate::lexicon::{LexiconError, Lexicons};
use crate::limits::{CLARIFY_CANDIDATES_MAX, SIMULATIONS_MAX};
use crate::rank::{Outcome, Ranked, order, rank};
use crate::reading::{Reader, Reading, ReadingEvidence};
use crate::refusal::RefusalCode;
use crate::simulation::{Rollback, Simulation};
use crate::utterance::{Flaw, Utterance};
use crate::wording::{Wording, capability};

/// Version of the search rules. It must change whenever the same search could produce a different packet.
pub const FINDER_SEMANTICS: u32 = 2;
/// Maximum number of readings in the evidence.
pub(crate) const EVIDENCE_READINGS_MAX: usize = 16;
/// Value of `format` in the evidence document.
pub(crate) const EVIDENCE_FORMAT: &str = "actum.finder-evidence/1";
/// Maximum number of languages in one search: either the language of the goal, or those of all lexicons.
pub(crate) const LANGUAGES_MAX: usize = 16;
/// Language in which the normalised intent may be written, in addition to the language of the goal.
const INTENT_LANGUAGE: &str = "en";

/// Searches simulations with built-in lexicons. The lexicons are read on creation, and a search changes no state.
#[derive(Debug, Clone)]
pub struct Finder {
    lexicons: Lexicons,
    core: Vec<Simulation>,
    version: String,
}

/// Result of a search: the packet, and the evidence that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Finding {
    /// Packet with the outcome of the search.
    pub packet: FinderPacket,
    /// Evidence in canonical JSON, whose digest is `finder_proof_ref`. It contains no values from the utterance.
    pub evidence: Vec<u8>,
}

/// Reason why a search failed without a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The utterance has too many characters.
    #[error("the utterance has more than {UTTERANCE_CHARS_MAX} characters; no packet was created")]
    TooLong,
    /// There are too many simulations, or one has too many frames.
    #[error(
        "there are more than {SIMULATIONS_MAX} simulations, or one has too many frames; no packet was created"
    )]
    TooMany,
    /// Two simulations have the same name.
    #[error("the simulation `{id}` is listed more than once; no packet was created")]
    Repeated {
        /// Name that is listed more than once.
        id: ActionName,
    },
    /// The learning table belongs to another tenant.
    #[error("the learning table belongs to the tenant `{found}`; no packet was created")]
    LearningOfAnotherTenant {
        /// Tenant of the learning table.
        found: TenantId,
    },
    /// A value cannot be written as canonical JSON.
    #[error("a value cannot be written as canonical JSON: {0}; no packet was created")]
    Canonical(#[from] CanonicalError),
}

#[derive(Serialize)]
struct Evidence<'e> {
    format: &'static str,
    finder_version: &'e str,
    semantics: u32,
    goal_fingerprint: Digest,
    catalog_snapshot_ref: Digest,
    lexicons: Digest,
    /// Digest of the names, versions, phrases and parameters of all simulations.
    simulations: Digest,
    learning_table_ref: Option<Digest>,
    languages: &'e [String],
    intended: &'e BTreeSet<String>,
    outcome: &'static str,
    readings: Vec<ReadingEvidence>,
}

impl Finder {
    /// Creates a Finder with the built-in lexicons.
    ///
    /// # Errors
    /// Returns [`LexiconError`] if a built-in lexicon is invalid. A test ensures that all of them are valid.
    pub fn new() -> Result<Self, LexiconError> {
        let lexicons = Lexicons::built_in()?;
        let core = core_simulations(&lexicons)?;
        let reference = lexicons.reference().to_string();
        let version =
            format!("actum-finder/{FINDER_SEMANTICS}+{}", reference.get(..16).unwrap_or_default());
        Ok(Self { lexicons, core, version })
    }

    /// Returns the name and version of the Finder, including a prefix of the lexicon digest.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the simulation of a core action, with the phrases of all built-in languages.
    pub fn core_simulation(&self, action: CoreAction) -> Option<&Simulation> {
        self.core.iter().find(|simulation| simulation.id.as_str() == action.as_str())
    }

    /// Searches the active simulations for a goal and creates exactly one packet (AEC-1).
    ///
    /// The result depends only on the arguments, and not on the order of simulations, frames and phrases.
    ///
    /// # Errors
    /// Returns [`FindError`] if an argument exceeds a limit or does not fit the others.
    pub fn find(
        &self,
        goal: &Goal,
        catalog_snapshot_ref: Digest,
        simulations: &[Simulation],
        learning: Option<&LearningTable>,
    ) -> Result<Finding, FindError> {
        check(goal, simulations, learning)?;
        let languages = match goal.language_code() {
            Some(code) => vec![code],
            None => self.lexicons.languages().map(|(code, _)| code.to_owned()).collect(),
        };
        let utterance = Utterance::new(&goal.utterance);
        let intended = self.intended(goal, simulations, &languages);
        let reader = Reader {
            utterance: &utterance,
            lexicons: &self.lexicons,
            languages: &languages,
            intended: &intended,
        };
        let mut readings: Vec<Reading<'_>> =
            simulations.iter().flat_map(|simulation| reader.read(simulation)).collect();
        order(&mut readings);
        let outcome = self.judge(&reader, &readings, simulations, learning);
        let outcome = match (outcome.is_question(), goal.attempt_counter) {
            (true, attempts) if i64::from(attempts) >= ATTEMPTS_MAX => {
                Outcome::Refuse(RefusalCode::AttemptsExhausted)
            }
            (true | false, _) => outcome,
        };
        let learning_table_ref = learning.map(LearningTable::reference);
        let shown = readings.iter().take(EVIDENCE_READINGS_MAX);
        let simulations = digest(simulations);
        let evidence = canonical::to_vec(&Evidence {
            format: EVIDENCE_FORMAT,
            finder_version: &self.version,
            semantics: FINDER_SEMANTICS,
            goal_fingerprint: goal.fingerprint,
            catalog_snapshot_ref,
            lexicons: self.lexicons.reference(),
            simulations,
            learning_table_ref,
            languages: &languages,
            intended: &intended,
            outcome: outcome.name(),
            readings: shown.map(Reading::evidence).collect::<Result<_, _>>()?,
        })?;
        let key = Digest::tagged(
            "actum/finder-packet/1",
            &[
                goal.tenant_id.as_str().as_bytes(),
                goal.correlation_id.as_str().as_bytes(),
                &goal.attempt_counter.to_le_bytes(),
                Digest::of(&evidence).as_bytes(),
            ],
        );
        let head = PacketHead {
            correlation_id: goal.correlation_id.clone(),
            tenant_id: goal.tenant_id.clone(),
            goal_fingerprint: goal.fingerprint,
            catalog_snapshot_ref,
            finder_proof_ref: Digest::of(&evidence),
            finder_version: self.version.clone(),
            idempotency_key: key.to_string(),
            attempt_counter: goal.attempt_counter,
        };
        let language = outcome
            .language()
            .map_or_else(|| self.language_of(&utterance, &languages), ToOwned::to_owned);
        let packet = self.packet(outcome, head, &utterance, &language, learning_table_ref)?;
        Ok(Finding { packet, evidence })
    }

    /// Returns the names of the simulations that match the normalised intent. Underscores in the intent separate words.
    fn intended(
        &self,
        goal: &Goal,
        simulations: &[Simulation],
        languages: &[String],
    ) -> BTreeSet<String> {
        let intent = Utterance::new(&goal.normalized_intent.replace('_', " "));
        let mut languages = languages.to_vec();
        if !languages.iter().any(|code| code == INTENT_LANGUAGE) {
            languages.push(INTENT_LANGUAGE.to_owned());
        }
        let reader = Reader {
            utterance: &intent,
            lexicons: &self.lexicons,
            languages: &languages,
            intended: &BTreeSet::new(),
        };
        let is_intended = |simulation: &&Simulation| !reader.read(simulation).is_empty();
        simulations.iter().filter(is_intended).map(|it| it.id.to_string()).collect()
    }

    fn judge<'s>(
        &self,
        reader: &Reader<'_>,
        readings: &[Reading<'s>],
        simulations: &'s [Simulation],
        learning: Option<&LearningTable>,
    ) -> Outcome<'s> {
        if let Some(flaw) = reader.utterance.flaw {
            return Outcome::Flawed(flaw);
        }
        if reader.utterance.tokens.is_empty() {
            return Outcome::Empty;
        }
        if let Some(code) = self.refusal(reader, readings) {
            return Outcome::Refuse(code);
        }
        let outcome = rank(readings, reader.intended, learning);
        if !matches!(outcome, Outcome::Missing) || !reader.has_given() {
            return outcome;
        }
        let mut mistyped: Vec<Ranked<'s>> = simulations
            .iter()
            .filter(|simulation| reader.has_mistyped_verb(simulation))
            .map(|simulation| Ranked { simulation, score: 0, language: None })
            .collect();
        mistyped.sort_by(|one, other| one.simulation.id.cmp(&other.simulation.id));
        mistyped.truncate(CLARIFY_CANDIDATES_MAX);
        match mistyped.is_empty() {
            true => outcome,
            false => Outcome::Doubt { ranked: mistyped },
        }
    }

    /// Returns the reason to refuse the goal if the utterance contains a refused phrase (seed 004, section 1).
    ///
    /// A money transfer is not refused if a clear reading of a simulation has all refused words in its own phrase. No
    /// simulation can permit any other refused kind of goal in this way.
    fn refusal(&self, reader: &Reader<'_>, readings: &[Reading<'_>]) -> Option<RefusalCode> {
        RefusalCode::ALL.into_iter().find(|code| {
            let lexicons = reader.languages.iter().map(|language| self.lexicons.get(language));
            let phrases = lexicons.filter_map(|lexicon| lexicon.refusals.get(code)).flatten();
            phrases.filter_map(|phrase| phrase.find_anywhere(reader.utterance)).any(|found| {
                !readings.iter().any(|reading| {
                    code.can_be_declared()
                        && reading.is_clear()
                        && found.iter().all(|at| reading.matched.contains(at))
                })
            })
        })
    }

    /// Returns the language whose function words and guards occur most often in the utterance. The first language wins a
    /// tie.
    fn language_of(&self, utterance: &Utterance, languages: &[String]) -> String {
        let known = |code: &&String| {
            let lexicon = self.lexicons.get(code);
            let is_known =
                |word: &str| lexicon.function_words.has(word) || lexicon.guards.has(word);
            utterance.words().filter(|(_, word)| is_known(word)).count()
        };
        let best = languages.iter().rev().max_by_key(known);
        match best {
            Some(code) if languages.len() == 1 || known(&code) > 0 => code.clone(),
            Some(_) | None => INTENT_LANGUAGE.to_owned(),
        }
    }

    fn packet(
        &self,
        outcome: Outcome<'_>,
        head: PacketHead,
        utterance: &Utterance,
        language: &str,
        learning_table_ref: Option<Digest>,
    ) -> Result<FinderPacket, FindError> {
        let wording = Wording { lexicons: &self.lexicons, language };
        let clarify = |head: PacketHead, question, missing_field, ranked: &[Ranked<'_>]| {
            let attempt_counter = head.attempt_counter.saturating_add(1);
            let head = PacketHead { attempt_counter, ..head };
            let candidates = candidates(ranked);
            FinderPacket::Clarify(ClarifyPacket { head, question, missing_field, candidates })
        };
        Ok(match outcome {
            Outcome::Match { ranked, fields } => {
                let Some(first) = ranked.first().map(|first| first.simulation) else {
                    return Ok(missing(head, utterance));
                };
                FinderPacket::Match(SimulationMatchPacket {
                    head,
                    candidates: candidates(&ranked),
                    required_fields: fields,
                    access_action: first.access_action.clone(),
                    rollback_plan: rollback(first.rollback),
                    learning_table_ref,
                })
            }
            Outcome::Field { ranked, parameter } => {
                let question = wording.ask_field(parameter);
                clarify(head, question, Some(parameter.member().to_owned()), &[ranked])
            }
            Outcome::Doubt { ranked } => {
                clarify(head, wording.ask_simulation(&ranked), None, &ranked)
            }
            Outcome::Flawed(Flaw::Hidden | Flaw::Unclosed) => {
                clarify(head, wording.ask("hidden"), None, &[])
            }
            Outcome::Empty => clarify(head, wording.ask("empty"), None, &[]),
            Outcome::Refuse(code) => FinderPacket::Refuse(RefusePacket {
                head,
                refusal_code: code.as_str().to_owned(),
                message: self.lexicons.message(language, code).to_owned(),
            }),
            Outcome::Missing => missing(head, utterance),
        })
    }
}

impl Reader<'_> {
    fn has_given(&self) -> bool {
        self.utterance.given().next().is_some()
    }
}

impl Outcome<'_> {
    fn is_question(&self) -> bool {
        match self {
            Self::Field { .. } | Self::Doubt { .. } | Self::Flawed(_) | Self::Empty => true,
            Self::Match { .. } | Self::Refuse(_) | Self::Missing => false,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Match { .. } => "match",
            Self::Field { .. } => "field",
            Self::Doubt { .. } => "doubt",
            Self::Flawed(_) => "flawed",
            Self::Empty => "empty",
            Self::Refuse(code) => code.as_str(),
            Self::Missing => "missing",
        }
    }

    /// Returns the language of the best reading, or `None` if the outcome is not based on a reading.
    fn language(&self) -> Option<&str> {
        match self {
            Self::Match { ranked, .. } | Self::Doubt { ranked } => {
                ranked.first()?.language.as_deref()
            }
            Self::Field { ranked, .. } => ranked.language.as_deref(),
            Self::Flawed(_) | Self::Empty | Self::Refuse(_) | Self::Missing => None,
        }
    }
}

fn check(
    goal: &Goal,
    simulations: &[Simulation],
    learning: Option<&LearningTable>,
) -> Result<(), FindError> {
    if goal.utterance.chars().count() > UTTERANCE_CHARS_MAX {
        return Err(FindError::TooLong);
    }
    if simulations.len() > SIMULATIONS_MAX || !simulations.iter().all(Simulation::fits) {
        return Err(FindError::TooMany);
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = simulations.iter().find(|simulation| !seen.insert(&simulation.id)) {
        return Err(FindError::Repeated { id: twice.id.clone() });
    }
    match learning.filter(|table| *table.tenant() != goal.tenant_id) {
        Some(table) => Err(FindError::LearningOfAnotherTenant { found: table.tenant().clone() }),
        None => Ok(()),
    }
}

/// Computes a digest of everything that a search uses of the simulations. Their order does not affect the digest.
fn digest(simulations: &[Simulation]) -> Digest {
    let mut parts: Vec<Digest> = simulations.iter().map(Simulation::digest).collect();
    parts.sort_unstable();
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes().as_slice()).collect();
    Digest::tagged("actum/finder-simulations/1", &parts)
}

fn candidates(ranked: &[Ranked<'_>]) -> Vec<Candidate> {
    let candidate =
        |it: &Ranked<'_>| Candidate { simulation_id: it.simulation.id.clone(), score: it.score };
    ranked.iter().take(CANDIDATES_MAX).map(candidate).collect()
}

fn rollback(rollback: Rollback) -> Option<RollbackSimulation> {
    match rollback {
        Rollback::None => None,
        Rollback::UndoRun => {
            let simulation_id = CoreAction::UndoRun.as_str().parse().ok()?;
            Some(RollbackSimulation { simulation_id, required_fields: Map::new() })
        }
    }
}

fn missing(head: PacketHead, utterance: &Utterance) -> FinderPacket {
    let requested_capability = match capability(utterance) {
        words if words.is_empty() => "?".to_owned(),
        words => words,
    };
    FinderPacket::Missing(MissingSimulationPacket { head, requested_capability })
}
