//! Compares the decisions of a model on terms with those of Biscuit's own authorizer on the token.

use std::collections::BTreeSet;
use std::time::Duration;

use actum_core::{PathRule, RelPath, Scope};
use actum_lease::Token;
use actum_record::lease::{BaseDirectory, Capability, LeaseTerms, Quotas};
use biscuit_auth::builder::{Term, date, fact, int, string};
use biscuit_auth::{AuthorizerBuilder, AuthorizerLimits, Biscuit};

use crate::fixture::{Random, SECRET, biscuit_key, bytes, granted, seconds};

const TENANTS: [&str; 2] = ["default", "other"];
const TASKS: [&str; 2] = ["task-1", "task-10"];
const AGENTS: [&str; 4] = ["planner", "planner/copier", "planner/copier/x", "planner-evil"];
const DIRECTORIES: [&str; 6] = ["/", "/a", "/a/b", "/a-evil", "/b c", "/é/ü"];
const FILES: [&str; 7] = ["/a/x", "/a/b/x", "/a/b/y.rs", "/a-evil/x", "/b c/x", "/é/ü/x", "/ab"];
const RULES: [&str; 5] = ["x", "b/", "**/*.rs", "y.rs", "a"];

struct Request {
    agent: &'static str,
    capability: Capability,
    files: Vec<&'static str>,
    quotas: [u64; 5],
    task: &'static str,
    tenant: &'static str,
    time: i64,
    uses: u64,
}

fn random_terms(random: &mut Random, is_first: bool) -> LeaseTerms {
    let capabilities = capabilities();
    let has = |random: &mut Random| is_first || random.happens(1, 4);
    let tenant = has(random).then(|| TENANTS[usize::from(random.happens(1, 16))]);
    let capabilities =
        has(random).then(|| random.some(&capabilities).into_iter().cloned().collect());
    let base_directories = has(random)
        .then(|| random.some(&DIRECTORIES).into_iter().map(|it| it.parse().unwrap()).collect());
    let expires = has(random).then(|| seconds(100 + i64::try_from(random.below(100)).unwrap()));
    let quota = |random: &mut Random| random.happens(1, 6).then(|| random.below(12) + 3);
    let rules = |random: &mut Random| -> Vec<PathRule> {
        random.some(&RULES).into_iter().map(|rule| PathRule::new(rule).unwrap()).collect()
    };
    LeaseTerms {
        agent: random.happens(1, 4).then(|| random.pick(&AGENTS).parse().unwrap()),
        base_directories,
        capabilities,
        expires,
        not_before: random
            .happens(1, 4)
            .then(|| seconds(i64::try_from(random.below(110)).unwrap())),
        quotas: Quotas {
            files: quota(random),
            memory_bytes: quota(random),
            space_bytes: quota(random),
            storage_bytes: quota(random),
            wall_ms: quota(random),
        },
        scope: match random.below(9) {
            0 => Some(Scope { allow: Some(rules(random)), deny: Vec::new() }),
            1 => Some(Scope { allow: None, deny: rules(random) }),
            2 => Some(Scope { allow: Some(rules(random)), deny: rules(random) }),
            _ => None,
        },
        task: random.happens(1, 6).then(|| random.pick(&TASKS).parse().unwrap()),
        tenant: tenant.map(|tenant| tenant.parse().unwrap()),
        uses: random.happens(1, 4).then(|| random.below(6)),
    }
}

fn capabilities() -> Vec<Capability> {
    let action = Capability::Action("send_mail".parse().unwrap());
    Capability::PLAIN.into_iter().chain([action]).collect()
}

fn random_request(random: &mut Random) -> Request {
    Request {
        agent: AGENTS[usize::try_from(random.below(25) / 8).unwrap()],
        capability: random.pick(&capabilities()).clone(),
        files: (0..=random.below(2)).map(|_| *random.pick(&FILES)).collect(),
        quotas: std::array::from_fn(|_| random.below(8)),
        task: if random.happens(1, 8) { TASKS[1] } else { TASKS[0] },
        tenant: if random.happens(1, 16) { TENANTS[1] } else { TENANTS[0] },
        time: 60 + i64::try_from(random.below(100)).unwrap(),
        uses: random.below(4),
    }
}

/// Returns the path of a file relative to a directory, compared name by name.
fn below(directory: &BaseDirectory, file: &str) -> Option<RelPath> {
    let names: Vec<&str> = file.split('/').skip(1).collect();
    let base: Vec<&str> = directory.names().collect();
    let rest = names.strip_prefix(base.as_slice())?;
    RelPath::new(rest.join("/")).ok()
}

fn meets_scope(scope: &Scope, directories: &BTreeSet<BaseDirectory>, file: &str) -> bool {
    directories.iter().any(|base| below(base, file).is_some_and(|path| scope.check(&path).is_ok()))
}

/// Whether a request is within the scope of block `index`.
fn block_scope_holds(chain: &[LeaseTerms], index: usize, request: &Request) -> bool {
    let directories = chain[..=index].iter().rev().find_map(|it| it.base_directories.as_ref());
    let Some((scope, directories)) = chain[index].scope.as_ref().zip(directories) else {
        return true;
    };
    request.files.iter().all(|file| meets_scope(scope, directories, file))
}

/// Whether the model allows the request, which requires that each block does.
fn model_allows(chain: &[LeaseTerms], request: &Request) -> bool {
    (0..chain.len()).all(|index| {
        let LeaseTerms {
            agent,
            base_directories,
            capabilities,
            expires,
            not_before,
            quotas,
            scope: _,
            task,
            tenant,
            uses,
        } = &chain[index];
        let Quotas { files, memory_bytes, space_bytes, storage_bytes, wall_ms } = *quotas;
        let most = [files, memory_bytes, space_bytes, storage_bytes, wall_ms];
        let time = seconds(request.time);
        agent.as_ref().is_none_or(|agent| agent.covers(request.agent))
            && base_directories.as_ref().is_none_or(|bases| {
                let is_inside = |file: &&str| bases.iter().any(|base| below(base, file).is_some());
                request.files.iter().all(is_inside)
            })
            && capabilities.as_ref().is_none_or(|it| it.contains(&request.capability))
            && expires.is_none_or(|expires| time < expires)
            && not_before.is_none_or(|from| from <= time)
            && most.iter().zip(request.quotas).all(|(most, used)| most.is_none_or(|it| used <= it))
            && task.as_ref().is_none_or(|task| task.as_str() == request.task)
            && tenant.as_ref().is_none_or(|tenant| tenant.as_str() == request.tenant)
            && uses.is_none_or(|uses| request.uses <= uses)
            && block_scope_holds(chain, index, request)
    })
}

fn rule_set(rules: &[PathRule]) -> Term {
    Term::Set(rules.iter().map(|rule| string(&rule.to_string())).collect())
}

/// Whether Biscuit's authorizer allows the request, given the facts in `docs/lease-format.md`.
fn biscuit_allows(token: &Token, chain: &[LeaseTerms], request: &Request) -> bool {
    let count = |count: u64| int(i64::try_from(count).unwrap());
    let quotas = ["files", "memory_bytes", "space_bytes", "storage_bytes", "wall_ms"];
    let time = std::time::UNIX_EPOCH + Duration::from_secs(u64::try_from(request.time).unwrap());
    let mut facts = vec![
        fact("agent", &[string(request.agent)]),
        fact("capability", &[string(&request.capability.to_string())]),
        fact("task", &[string(request.task)]),
        fact("tenant", &[string(request.tenant)]),
        fact("time", &[date(&time)]),
        fact("uses", &[count(request.uses)]),
    ];
    facts.extend(request.files.iter().map(|file| fact("path", &[string(file)])));
    facts.extend(
        quotas
            .iter()
            .zip(request.quotas)
            .map(|(name, used)| fact("quota", &[string(name), count(used)])),
    );
    for (index, terms) in chain.iter().enumerate() {
        if let Some(Scope { allow, deny }) = &terms.scope
            && block_scope_holds(chain, index, request)
        {
            facts.push(match (allow, deny.as_slice()) {
                (Some(allow), []) => fact("scope_allow", &[rule_set(allow)]),
                (None, deny) => fact("scope_deny", &[rule_set(deny)]),
                (Some(allow), deny) => fact("scope", &[rule_set(allow), rule_set(deny)]),
            });
        }
    }
    let limits =
        AuthorizerLimits { max_time: Duration::from_secs(60), ..AuthorizerLimits::default() };
    let builder = AuthorizerBuilder::new().policy("allow if true").unwrap().set_limits(limits);
    let builder = facts.into_iter().fold(builder, |builder, fact| builder.fact(fact).unwrap());
    let biscuit = Biscuit::from(bytes(token), biscuit_key(SECRET).public()).unwrap();
    let answer = builder.build(&biscuit).unwrap().authorize();
    match answer {
        Ok(_) => true,
        Err(biscuit_auth::error::Token::FailedLogic(_)) => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// FE-17: attenuation can only restrict a lease.
#[test]
fn biscuit_matches_the_model_and_attenuation_only_tightens() {
    let mut random = Random(24);
    let (mut yes, mut no, mut narrowed) = (0, 0, 0);
    for _ in 0..250 {
        let mut chain = vec![random_terms(&mut random, true)];
        let mut tokens = vec![granted(&chain[0])];
        for _ in 0..random.below(4) {
            let terms = random_terms(&mut random, false);
            if terms == LeaseTerms::default() {
                continue;
            }
            tokens.push(tokens[tokens.len() - 1].attenuate(&terms).unwrap());
            chain.push(terms);
        }
        for _ in 0..8 {
            let request = random_request(&mut random);
            let mut before = true;
            for (index, token) in tokens.iter().enumerate() {
                let chain = &chain[..=index];
                let allowed = model_allows(chain, &request);
                assert_eq!(biscuit_allows(token, chain, &request), allowed, "{chain:?}");
                assert!(before || !allowed, "{chain:?}");
                narrowed += usize::from(index > 0 && before && !allowed);
                before = allowed;
                *if allowed { &mut yes } else { &mut no } += 1;
            }
        }
    }
    assert!(
        yes + no >= 2_000 && yes >= 200 && no >= 200 && narrowed >= 50,
        "{yes} {no} {narrowed}"
    );
}

/// FE-17
#[test]
fn random_terms_survive_grant_and_attenuation() {
    let mut random = Random(1);
    for _ in 0..500 {
        let mut chain = vec![random_terms(&mut random, true)];
        let mut token = granted(&chain[0]);
        for _ in 0..random.below(3) {
            let terms = random_terms(&mut random, false);
            if terms != LeaseTerms::default() {
                token = token.attenuate(&terms).unwrap();
                chain.push(terms);
            }
        }
        let read: Vec<LeaseTerms> = Token::read(token.to_text().as_bytes())
            .unwrap()
            .blocks()
            .iter()
            .map(|block| block.terms.clone())
            .collect();
        chain.iter_mut().for_each(sort_rules);
        assert_eq!(read, chain);
    }
}

/// Sorts the rules of a scope, because a lease stores them as sets.
fn sort_rules(terms: &mut LeaseTerms) {
    if let Some(Scope { allow, deny }) = &mut terms.scope {
        for rules in allow.iter_mut().chain([deny]) {
            rules.sort_by_key(ToString::to_string);
            rules.dedup();
        }
    }
}
