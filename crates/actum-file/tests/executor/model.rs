//! Random manifests and leases, each with the error code of the closed set that it must return.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use actum::{Grantor, RequestLease};
use actum_core::Timestamp;
use actum_file::{ErrorCode, TaskStatus};
use actum_ledger::Keys;
use actum_record::lease::{Capability, LeaseTerms, Quotas};
use actum_record::ledger::{Actor, Isolation, TenantId};
use actum_record::signer::KeyRole;
use actum_testkit::{Random, effort};
use serde_json::json;

use crate::world::World;

/// Number of requests. `ACTUM_MODEL_CASES` overrides it.
const CASES: usize = 1000;
/// Each code must occur at least once in this many requests.
const CASES_PER_CODE: usize = 50;

/// Defect that makes a manifest invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    UnknownCapability,
    UnknownField,
    NoTask,
    RelativePath,
    ParentDirectory,
    Nul,
    NotJson,
    Irreversible,
    OtherInput,
}

/// Lease presented with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lease {
    Valid,
    None,
    Expired,
    NotYet,
    Revoked,
    OtherCapability,
    OtherDirectory,
    OtherAgent,
    OtherTask,
    NoFiles,
    LittleSpace,
    LittleStorage,
    NoTime,
}

/// State of the files on disk before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    Good,
    Missing,
    Directory,
    Link,
    HardLink,
    DestinationExists,
    NoParent,
    Outside,
}

const FLAWS: [Flaw; 9] = [
    Flaw::UnknownCapability,
    Flaw::UnknownField,
    Flaw::NoTask,
    Flaw::RelativePath,
    Flaw::ParentDirectory,
    Flaw::Nul,
    Flaw::NotJson,
    Flaw::Irreversible,
    Flaw::OtherInput,
];
const LEASES: [Lease; 13] = [
    Lease::Valid,
    Lease::None,
    Lease::Expired,
    Lease::NotYet,
    Lease::Revoked,
    Lease::OtherCapability,
    Lease::OtherDirectory,
    Lease::OtherAgent,
    Lease::OtherTask,
    Lease::NoFiles,
    Lease::LittleSpace,
    Lease::LittleStorage,
    Lease::NoTime,
];
const FILES: [Files; 7] = [
    Files::Missing,
    Files::Directory,
    Files::Link,
    Files::HardLink,
    Files::DestinationExists,
    Files::NoParent,
    Files::Outside,
];

/// A random request.
#[derive(Debug, Clone, Copy)]
struct Case {
    capability: &'static str,
    flaw: Flaw,
    lease: Lease,
    files: Files,
    is_between: bool,
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let capability = random.one_of(&["FILE_MOVE", "FILE_COPY", "FILE_DELETE"]);
        Self {
            capability,
            flaw: if random.below(5) == 0 { random.one_of(&FLAWS) } else { Flaw::None },
            lease: if random.below(2) == 0 { random.one_of(&LEASES) } else { Lease::Valid },
            files: if random.below(4) == 0 { random.one_of(&FILES) } else { Files::Good },
            is_between: random.below(3) == 0,
        }
    }

    fn has_destination(&self) -> bool {
        self.capability != "FILE_DELETE"
    }

    /// Whether the state of the files makes the task fail.
    fn fails_by_files(&self) -> bool {
        match self.files {
            Files::Good => false,
            Files::DestinationExists | Files::NoParent => self.has_destination(),
            Files::Missing | Files::Directory | Files::Link | Files::HardLink | Files::Outside => {
                true
            }
        }
    }

    /// Error codes that the request may return, where `None` is success. The capability is checked first, then the manifest, then
    /// the lease. If both a quota and the state of the files reject a request, either code is correct.
    fn expected(&self) -> Vec<Option<ErrorCode>> {
        match self.flaw {
            Flaw::None => {}
            Flaw::UnknownCapability => return vec![Some(ErrorCode::UnsupportedCapability)],
            // Only a deletion is required to be reversible.
            Flaw::Irreversible if self.has_destination() => {}
            Flaw::UnknownField
            | Flaw::NoTask
            | Flaw::RelativePath
            | Flaw::ParentDirectory
            | Flaw::Nul
            | Flaw::NotJson
            | Flaw::Irreversible
            | Flaw::OtherInput => return vec![Some(ErrorCode::ExecutionFailed)],
        }
        let exceeds = match self.lease {
            Lease::Valid => None,
            Lease::NoFiles | Lease::LittleSpace | Lease::LittleStorage | Lease::NoTime => {
                Some(ErrorCode::ResourceExhausted)
            }
            Lease::Expired => return vec![Some(ErrorCode::LeaseExpired)],
            Lease::None
            | Lease::NotYet
            | Lease::Revoked
            | Lease::OtherCapability
            | Lease::OtherDirectory
            | Lease::OtherAgent
            | Lease::OtherTask => return vec![Some(ErrorCode::InvalidLease)],
        };
        let fails = self.fails_by_files().then_some(ErrorCode::ExecutionFailed);
        match (exceeds, fails) {
            (None, None) => vec![None],
            (exceeds, fails) => exceeds.into_iter().chain(fails).map(Some).collect(),
        }
    }

    /// Creates the files of a request. Returns its source and its destination.
    fn put(&self, world: &World, number: usize) -> (String, String) {
        let directory = &world.directory;
        let base = if self.files == Files::Outside { "c" } else { "a" };
        let from = format!("{base}/{number}");
        let other = if self.is_between { "b" } else { "a" };
        let parent = if self.files == Files::NoParent { "none/" } else { "" };
        let to = format!("{other}/{parent}{number}-to");
        match self.files {
            Files::Missing => {}
            Files::Directory => directory.mkdir(&from),
            Files::Link => symlink(world.path("c/target"), directory.join(&from)).unwrap(),
            Files::Good
            | Files::HardLink
            | Files::DestinationExists
            | Files::NoParent
            | Files::Outside => directory.put(&from, CONTENT),
        }
        if self.files == Files::HardLink {
            std::fs::hard_link(directory.join(&from), directory.join(format!("{from}-link")))
                .unwrap();
        }
        if self.files == Files::DestinationExists {
            directory.put(&to, "theirs");
        }
        (from, to)
    }

    fn manifest(&self, world: &World, number: usize, from: &str, to: &str) -> String {
        let mut manifest = json!({
            "task_id": format!("t{number}"),
            "capability_id": self.capability,
            "input": {"source_path": world.path(from)},
            "constraints": {"reversible": true},
        });
        if self.has_destination() != (self.flaw == Flaw::OtherInput) {
            manifest["input"]["destination_path"] = json!(world.path(to));
        }
        let source = &mut manifest["input"]["source_path"];
        match self.flaw {
            Flaw::None | Flaw::OtherInput => {}
            Flaw::UnknownCapability => manifest["capability_id"] = json!("FILE_CHMOD"),
            Flaw::UnknownField => manifest["more"] = json!(1),
            Flaw::NoTask => drop(manifest.as_object_mut().unwrap().remove("task_id")),
            Flaw::RelativePath => *source = json!(from),
            Flaw::ParentDirectory => *source = json!(world.path(&format!("a/../{from}"))),
            Flaw::Nul => *source = json!(world.path(&format!("{from}\0"))),
            Flaw::NotJson => return manifest.to_string().split_off(1),
            Flaw::Irreversible => manifest["constraints"]["reversible"] = json!(false),
        }
        manifest.to_string()
    }
}

const CONTENT: &str = "some content that is longer than the quotas allow";

/// Grants a lease of each kind.
fn leases(world: &World) -> BTreeMap<Lease, Option<RequestLease>> {
    let now = world.records.now();
    let keys = Keys::open(&world.lease.home, now).unwrap();
    let signer = keys.signer(KeyRole::Lease, now).unwrap();
    let by = Actor { user: "operator".to_owned(), uid: 1001, agent: None };
    let grantor = Grantor { by, signer: &signer, isolation: Isolation::SameUser };
    let at =
        |seconds: i64| Timestamp::from_micros((now.micros() / 1_000_000 + seconds) * 1_000_000);
    let all = [Capability::FileMove, Capability::FileCopy, Capability::FileDelete];
    let usual = LeaseTerms {
        base_directories: Some(["/".parse().unwrap()].into()),
        capabilities: Some(all.into()),
        expires: Some(at(3600)),
        tenant: Some(TenantId::default()),
        ..LeaseTerms::default()
    };
    let quotas = Quotas::default();
    let with = |quotas: Quotas| LeaseTerms { quotas, ..usual.clone() };
    let grant = |lease: Lease| {
        let terms = match lease {
            Lease::None => return (lease, None),
            Lease::Valid | Lease::Revoked => usual.clone(),
            Lease::Expired => LeaseTerms { expires: Some(at(0)), ..usual.clone() },
            Lease::NotYet => LeaseTerms { not_before: Some(at(1800)), ..usual.clone() },
            Lease::OtherCapability => {
                LeaseTerms { capabilities: Some([Capability::Apply].into()), ..usual.clone() }
            }
            Lease::OtherDirectory => {
                let elsewhere = Some(["/elsewhere".parse().unwrap()].into());
                LeaseTerms { base_directories: elsewhere, ..usual.clone() }
            }
            Lease::OtherAgent => {
                LeaseTerms { agent: Some("planner".parse().unwrap()), ..usual.clone() }
            }
            Lease::OtherTask => {
                LeaseTerms { task: Some("other".parse().unwrap()), ..usual.clone() }
            }
            Lease::NoFiles => with(Quotas { files: Some(0), ..quotas }),
            Lease::LittleSpace => with(Quotas { space_bytes: Some(9), ..quotas }),
            Lease::LittleStorage => with(Quotas { storage_bytes: Some(9), ..quotas }),
            Lease::NoTime => with(Quotas { wall_ms: Some(0), ..quotas }),
        };
        let granted = world.records.grant_lease(&terms, &grantor).unwrap();
        if lease == Lease::Revoked {
            world.records.revoke_lease(granted.lease, None, &grantor).unwrap();
        }
        (lease, Some(RequestLease::present_in(&granted.token, &world.records).unwrap()))
    };
    LEASES.into_iter().map(grant).collect()
}

/// FE-2, FE-3, FE-12, FE-15, FE-17
#[test]
fn each_request_returns_the_code_predicted_by_the_model() {
    let cases = effort("ACTUM_MODEL_CASES", CASES);
    let world = World::in_memory();
    world.directory.mkdir("c");
    world.directory.put("c/target", CONTENT);
    let leases = leases(&world);
    let mut random = Random::new(1);
    let mut codes = BTreeMap::<_, usize>::new();
    for number in 0..cases {
        let case = Case::random(&mut random);
        let (from, to) = case.put(&world, number);
        let manifest = case.manifest(&world, number, &from, &to);
        *world.lease.presented.borrow_mut() = Some(leases[&case.lease].clone());
        let [source, destination] = [&from, &to].map(|path| world.directory.get(path));
        let result = world.run(&manifest).result;
        let what = format!("{number}, {case:?}: {:?}", result.detail);
        assert!(case.expected().contains(&result.error_code), "{what}");
        assert_eq!(result.status == TaskStatus::Success, result.error_code.is_none(), "{what}");
        let (keeps_source, makes) = match (result.status, case.capability) {
            (TaskStatus::Failed, _) => (true, false),
            (TaskStatus::Success, "FILE_COPY") => (true, true),
            (TaskStatus::Success, capability) => (false, capability == "FILE_MOVE"),
        };
        assert_eq!(world.directory.get(&from), source.clone().filter(|_| keeps_source), "{what}");
        let expected = if makes { source } else { destination };
        assert_eq!(world.directory.get(&to), expected, "{what}");
        let code = result.error_code.map_or("SUCCESS", ErrorCode::as_str);
        *codes.entry(code).or_default() += 1;
    }
    assert_eq!(codes.len(), 6, "{codes:?}");
    assert!(codes.values().all(|count| count * CASES_PER_CODE >= cases), "{codes:?}");
}
