//! Reads the checks of a block as lease terms, and rejects every check that does not exactly have a documented form.

use std::collections::BTreeSet;
use std::str::FromStr;

use actum_core::{PathRule, Scope, Timestamp};
use actum_record::lease::{BaseDirectory, LeaseTerms};
use biscuit_auth::builder::CheckKind;
use biscuit_auth::datalog::{Binary, Check, Op, Rule, SymbolIndex, SymbolTable, Term};

use crate::source::SECOND_MICROS;

/// Name that Biscuit gives to the head of every query in a check.
const HEAD: &str = "query";

/// Reason why a check is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckProblem {
    /// The check does not have a documented form.
    Unknown,
    /// An earlier check in the block already restricts this field.
    Repeated(&'static str),
}

/// Reader of checks, which records the symbols that the checks use.
pub(crate) struct CheckReader<'s> {
    symbols: &'s SymbolTable,
    used: BTreeSet<SymbolIndex>,
}

/// Query over a single predicate, split into its parts.
struct Query<'s, 'q> {
    predicate: &'s str,
    arguments: &'q [Term],
    expressions: Vec<&'q [Op]>,
}

impl<'s> CheckReader<'s> {
    pub(crate) fn new(symbols: &'s SymbolTable) -> Self {
        Self { symbols, used: BTreeSet::new() }
    }

    /// Returns true if any check that was read so far uses the symbol.
    pub(crate) fn has_used(&self, symbol: SymbolIndex) -> bool {
        self.used.contains(&symbol)
    }

    /// Reads a check, and adds its restriction to the terms.
    pub(crate) fn read(
        &mut self,
        check: &Check,
        terms: &mut LeaseTerms,
    ) -> Result<(), CheckProblem> {
        let queries: Option<Vec<Query<'s, '_>>> =
            check.queries.iter().map(|query| self.query(query)).collect();
        let queries = queries.ok_or(CheckProblem::Unknown)?;
        match (&check.kind, queries.as_slice()) {
            (CheckKind::One, [query]) => self.read_single(query, terms),
            (CheckKind::One, [exact, below]) => self.read_agent(exact, below, terms),
            (CheckKind::All, [query]) => self.read_directories(query, terms),
            (CheckKind::One | CheckKind::All | CheckKind::Reject, _) => Err(CheckProblem::Unknown),
        }
    }

    fn read_single(
        &mut self,
        query: &Query<'s, '_>,
        terms: &mut LeaseTerms,
    ) -> Result<(), CheckProblem> {
        let Query { predicate, arguments, expressions } = query;
        match (*predicate, *arguments, expressions.as_slice()) {
            ("tenant", [Term::Str(name)], []) => {
                put(&mut terms.tenant, self.parse(*name), "tenant")
            }
            ("task", [Term::Str(name)], []) => put(&mut terms.task, self.parse(*name), "task"),
            (
                "capability",
                [Term::Variable(variable)],
                [
                    [
                        Op::Value(Term::Set(set)),
                        Op::Value(Term::Variable(same)),
                        Op::Binary(Binary::Contains),
                    ],
                ],
            ) if variable == same => {
                put(&mut terms.capabilities, self.parse_set(set), "capabilities")
            }
            (
                "time",
                [Term::Variable(variable)],
                [
                    [
                        Op::Value(Term::Variable(same)),
                        Op::Value(Term::Date(seconds)),
                        Op::Binary(Binary::LessThan),
                    ],
                ],
            ) if variable == same => put(&mut terms.expires, read_time(*seconds), "expires"),
            (
                "time",
                [Term::Variable(variable)],
                [
                    [
                        Op::Value(Term::Variable(same)),
                        Op::Value(Term::Date(seconds)),
                        Op::Binary(Binary::GreaterOrEqual),
                    ],
                ],
            ) if variable == same => put(&mut terms.not_before, read_time(*seconds), "not_before"),
            ("uses", [Term::Variable(variable)], [most]) => {
                put(&mut terms.uses, read_most(*variable, most), "uses")
            }
            ("quota", [Term::Str(name), Term::Variable(variable)], [most]) => {
                let most = read_most(*variable, most);
                let quotas = &mut terms.quotas;
                match self.text(*name) {
                    Some("files") => put(&mut quotas.files, most, "files"),
                    Some("memory_bytes") => put(&mut quotas.memory_bytes, most, "memory_bytes"),
                    Some("space_bytes") => put(&mut quotas.space_bytes, most, "space_bytes"),
                    Some("storage_bytes") => put(&mut quotas.storage_bytes, most, "storage_bytes"),
                    Some("wall_ms") => put(&mut quotas.wall_ms, most, "wall_ms"),
                    Some(_) | None => Err(CheckProblem::Unknown),
                }
            }
            ("scope_allow", [Term::Set(allow)], []) => {
                let allow = self.rules(allow);
                let scope = allow.map(|allow| Scope { allow: Some(allow), deny: Vec::new() });
                put(&mut terms.scope, scope, "scope")
            }
            ("scope_deny", [Term::Set(deny)], []) => {
                let scope = self.rules(deny).map(|deny| Scope { allow: None, deny });
                put(&mut terms.scope, scope, "scope")
            }
            ("scope", [Term::Set(allow), Term::Set(deny)], []) => {
                let scope = self
                    .rules(allow)
                    .zip(self.rules(deny))
                    .map(|(allow, deny)| Scope { allow: Some(allow), deny });
                put(&mut terms.scope, scope, "scope")
            }
            _ => Err(CheckProblem::Unknown),
        }
    }

    /// Reads a check for an agent and its subagents: `agent("a") or agent($agent), $agent.starts_with("a/")`.
    fn read_agent(
        &mut self,
        exact: &Query<'s, '_>,
        below: &Query<'s, '_>,
        terms: &mut LeaseTerms,
    ) -> Result<(), CheckProblem> {
        let ("agent", [Term::Str(name)], []) =
            (exact.predicate, exact.arguments, exact.expressions.as_slice())
        else {
            return Err(CheckProblem::Unknown);
        };
        let (
            "agent",
            [Term::Variable(variable)],
            [
                [
                    Op::Value(Term::Variable(same)),
                    Op::Value(Term::Str(start)),
                    Op::Binary(Binary::Prefix),
                ],
            ],
        ) = (below.predicate, below.arguments, below.expressions.as_slice())
        else {
            return Err(CheckProblem::Unknown);
        };
        let (name, start) = self.text(*name).zip(self.text(*start)).ok_or(CheckProblem::Unknown)?;
        if variable != same || start.strip_suffix('/') != Some(name) {
            return Err(CheckProblem::Unknown);
        }
        put(&mut terms.agent, name.parse().ok(), "agent")
    }

    /// Reads a check for base directories: `all path($path), {"/a/", "/b/"}.any($base -> $path.starts_with($base))`.
    fn read_directories(
        &mut self,
        query: &Query<'s, '_>,
        terms: &mut LeaseTerms,
    ) -> Result<(), CheckProblem> {
        let (
            "path",
            [Term::Variable(path)],
            [[Op::Value(Term::Set(set)), Op::Closure(parameters, body), Op::Binary(Binary::Any)]],
        ) = (query.predicate, query.arguments, query.expressions.as_slice())
        else {
            return Err(CheckProblem::Unknown);
        };
        let (
            [base],
            [
                Op::Value(Term::Variable(same_path)),
                Op::Value(Term::Variable(same_base)),
                Op::Binary(Binary::Prefix),
            ],
        ) = (parameters.as_slice(), body.as_slice())
        else {
            return Err(CheckProblem::Unknown);
        };
        if path != same_path || base != same_base || path == base {
            return Err(CheckProblem::Unknown);
        }
        self.text(SymbolIndex::from(*base)).ok_or(CheckProblem::Unknown)?;
        let texts = self.texts(set).ok_or(CheckProblem::Unknown)?;
        // Require a trailing `/`, because `/base` would also match `/base-evil`.
        let directory = |text: &str| {
            let directory: BaseDirectory = text.parse().ok()?;
            (directory.as_str() == text).then_some(directory)
        };
        let directories: Option<BTreeSet<BaseDirectory>> =
            texts.into_iter().map(directory).collect();
        put(&mut terms.base_directories, directories, "base_directories")
    }

    /// Splits a query into its parts. Returns `None` if it has several predicates, or a scope that trusts other blocks.
    fn query<'q>(&mut self, query: &'q Rule) -> Option<Query<'s, 'q>> {
        let Rule { head, body, expressions, scopes } = query;
        let [predicate] = body.as_slice() else { return None };
        if !scopes.is_empty() || !head.terms.is_empty() || self.text(head.name) != Some(HEAD) {
            return None;
        }
        for term in &predicate.terms {
            if let Term::Variable(variable) = term {
                self.text(SymbolIndex::from(*variable))?;
            }
        }
        Some(Query {
            predicate: self.text(predicate.name)?,
            arguments: &predicate.terms,
            expressions: expressions.iter().map(|expression| expression.ops.as_slice()).collect(),
        })
    }

    fn text(&mut self, symbol: SymbolIndex) -> Option<&'s str> {
        self.used.insert(symbol);
        self.symbols.get_symbol(symbol)
    }

    fn parse<T: FromStr>(&mut self, symbol: SymbolIndex) -> Option<T> {
        self.text(symbol)?.parse().ok()
    }

    fn parse_set<T: FromStr + Ord>(&mut self, set: &BTreeSet<Term>) -> Option<BTreeSet<T>> {
        self.texts(set)?.into_iter().map(|text| text.parse().ok()).collect()
    }

    fn rules(&mut self, set: &BTreeSet<Term>) -> Option<Vec<PathRule>> {
        let mut texts = self.texts(set)?;
        texts.sort_unstable();
        texts.into_iter().map(|text| PathRule::new(text).ok()).collect()
    }

    /// Returns the strings of a set, or `None` if the set is empty or contains anything else.
    fn texts(&mut self, set: &BTreeSet<Term>) -> Option<Vec<&'s str>> {
        if set.is_empty() {
            return None;
        }
        let text = |term: &Term| match term {
            Term::Str(symbol) => self.text(*symbol),
            Term::Variable(_)
            | Term::Integer(_)
            | Term::Date(_)
            | Term::Bytes(_)
            | Term::Bool(_)
            | Term::Set(_)
            | Term::Null
            | Term::Array(_)
            | Term::Map(_) => None,
        };
        set.iter().map(text).collect()
    }
}

/// Reads the limit from an expression of the form `$variable <= limit`.
fn read_most(variable: u32, expression: &[Op]) -> Option<u64> {
    match expression {
        [
            Op::Value(Term::Variable(same)),
            Op::Value(Term::Integer(most)),
            Op::Binary(Binary::LessOrEqual),
        ] if variable == *same => u64::try_from(*most).ok(),
        _ => None,
    }
}

fn read_time(seconds: u64) -> Option<Timestamp> {
    let micros = i64::try_from(seconds).ok()?.checked_mul(SECOND_MICROS)?;
    let time = Timestamp::from_micros(micros);
    // Reject times that `Timestamp` would clamp to its maximum.
    (time.micros() == micros).then_some(time)
}

/// Sets a field of the terms. Returns an error if there is no value, or if the field is already set.
fn put<T>(field: &mut Option<T>, value: Option<T>, name: &'static str) -> Result<(), CheckProblem> {
    let value = value.ok_or(CheckProblem::Unknown)?;
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(CheckProblem::Repeated(name)),
    }
}
