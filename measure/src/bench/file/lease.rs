//! Time to read a lease, verify it, query the ledger for its blocks, and decide whether it allows a task.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{SystemTime, UNIX_EPOCH};

use actum::{Clock, EntryPoint, FileTask, Records, Request, RequestLease};
use actum_core::{Digest, RelPath, Timestamp};
use actum_lease::Token;
use actum_record::lease::{Capability, LeaseTerms, Quotas};
use actum_record::ledger::{Actor, TenantId};

use super::executor::{AGENT, Executor};
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};

const READ: &str = "2 blocks, read only";
const TWO: &str = "2 blocks";
const FOUR: &str = "4 blocks";

pub(super) fn contest(executor: &Executor, rounds: usize) -> Result<Contest, Failure> {
    let records = Records::open(&executor.actum_home(), &TenantId::default(), Clock::new(now))?;
    let granted = Token::read(&std::fs::read(executor.lease())?)?;
    let narrower = LeaseTerms {
        capabilities: Some(BTreeSet::from([Capability::FileMove, Capability::FileCopy])),
        ..LeaseTerms::default()
    };
    let two = granted.attenuate(&narrower)?;
    let four = two.attenuate(&narrower)?.attenuate(&narrower)?;
    let [two, four] = [two, four].map(|token| token.to_text());
    let check = |text: &str| time(|| authorise(&records, executor, text.as_bytes()));
    let finishes = race(
        vec![
            Contestant::new(READ, || {
                time(|| {
                    black_box(Token::read(two.as_bytes())?);
                    Ok(())
                })
            }),
            Contestant::new(TWO, || check(&two)),
            Contestant::new(FOUR, || check(&four)),
        ],
        rounds,
    );
    Ok(Contest {
        title: "A lease is read, verified, looked up in the ledger, and judged, in memory"
            .to_owned(),
        finishes,
        bars: vec![
            Bar { who: TWO, limit: Limit::InAll(0.15) },
            Bar { who: FOUR, limit: Limit::InAll(0.22) },
        ],
    })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Authorises a copy from the text of a lease, which includes all work up to the decision.
fn authorise(records: &Records, executor: &Executor, text: &[u8]) -> Result<(), Failure> {
    let lease = RequestLease::present_in(&Token::read(text)?, records)?;
    let request = Request {
        actor: Actor { user: "user".to_owned(), uid: 1000, agent: Some(AGENT.to_owned()) },
        entry_point: EntryPoint::FileTask,
        file_task: Some(FileTask {
            task: "task".parse()?,
            manifest: Digest::of(b""),
            capability: Capability::FileCopy,
            limits: Quotas::default(),
        }),
        lease: Some(lease),
        ..Request::apply(Vec::new())
    };
    let base = executor.base.to_str().ok_or("the path of the base directory is no text")?;
    let below = |name: &str| RelPath::new(format!("{base}/{name}").trim_start_matches('/'));
    let paths = Some((below("b")?, Some(below("a")?)));
    Ok(request.check_lease_of_file(paths, records.tenant(), records.now())?)
}
