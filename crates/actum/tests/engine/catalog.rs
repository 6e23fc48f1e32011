//! Catalog of actions: the built-in ones, changes by the operator, and the changes that are valid.

use crate::grounds::Grounds;
use actum::{
    Approver, Catalog, CatalogError, Error, Origin, Registered, Registration, RollbackKind, Schema,
    Step, lint_manifest,
};
use actum_action::Manifest;
use actum_core::{ActionName, CORE_ACTIONS, CoreEffect, Digest, RiskTier, canonical};
use actum_edit::format::Format;
use actum_ledger::{LedgerError, NewEntry, Refusal, SigningKey};
use actum_record::dsse::Envelope;
use actum_record::ledger::{ActionState, Actor, CatalogChanged, EntryKind, Isolation};
use actum_record::signer::{KeyRole, Signer};
use serde_json::{Value, json};

fn name(text: &str) -> ActionName {
    text.parse().unwrap()
}

fn key(grounds: &Grounds, role: KeyRole) -> SigningKey {
    grounds.keys().signer(role, grounds.now()).unwrap()
}

fn step_by(
    grounds: &Grounds,
    signer: &dyn Signer,
    action: &str,
    step: &Step,
) -> actum::Result<Registered> {
    let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    let approver = Approver { by, signer, isolation: Isolation::SameUser };
    let (records, action) = (grounds.records(), name(action));
    let (shown, _) = records.catalog()?.after(&action, step)?;
    records.change_catalog((&action, step), &shown, Some("looked at".to_owned()), &approver)
}

/// AA-10: the approval key signs only the catalog that was shown.
#[test]
fn catalog_changed_after_display_is_not_signed() {
    let grounds = Grounds::new();
    let records = grounds.records();
    let (action, step) = (name("run_command"), Step::Retire);
    let (shown, _) = records.catalog().unwrap().after(&action, &step).unwrap();
    self::step(&grounds, "diagnose_error", &Step::Retire).unwrap();
    let signer = key(&grounds, KeyRole::Approval);
    let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    let approver = Approver { by, signer: &signer, isolation: Isolation::SameUser };
    let changed = records.change_catalog((&action, &step), &shown, None, &approver);
    assert!(matches!(refusal(changed), CatalogError::ChangedSinceShown));
}

fn step(grounds: &Grounds, action: &str, step: &Step) -> actum::Result<Registered> {
    step_by(grounds, &key(grounds, KeyRole::Approval), action, step)
}

fn in_force(grounds: &Grounds) -> Result<Catalog, CatalogError> {
    Catalog::in_force(&grounds.store, grounds.records().keyring())
}

fn refusal(result: actum::Result<Registered>) -> CatalogError {
    let error = result.unwrap_err();
    if let Error::Catalog(error) = error { *error } else { panic!("{error}") }
}

const ACTIVATE: Step = Step::Activate { package: None };

fn package(version: &str, bytes: &[u8]) -> Registration {
    let manifest = json!({
        "name": "bump_version",
        "riskTier": "R2",
        "inputSchema": { "type": "object", "required": ["part"], "additionalProperties": false,
            "properties": { "part": { "enum": ["major", "minor"] } } },
        "outputSchema": {},
        "permissions": { "commands": [], "filesystem": "workspace" },
        "verification": { "required": true, "commands": [] },
        "rollback": { "required": true },
        "version": version,
    });
    let manifest = Manifest::read(manifest.to_string().as_bytes()).unwrap();
    Registration { manifest, digest: Digest::of(bytes) }
}

/// AEC-2, AA-13: the phrases of a package are taken only from the catalog that the operator signed.
#[test]
fn package_phrases_are_kept_as_signed() {
    let grounds = Grounds::new();
    let records = grounds.records();
    let without = package("1.0.0", b"first");
    step(&grounds, "bump_version", &Step::Adopt(Box::new(without))).unwrap();
    let snapshot = in_force(&grounds).unwrap().snapshot().unwrap().to_vec();
    let snapshot = String::from_utf8(snapshot).unwrap();
    assert!(!snapshot.contains("phrases"), "catalogs without phrases are as before");

    let mut with = package("1.1.0", b"second");
    with.manifest.phrases.insert("en".to_owned(), vec!["raise version".to_owned()]);
    let adopt = Step::Adopt(Box::new(with.clone()));
    let (shown, _) = records.catalog().unwrap().after(&name("bump_version"), &adopt).unwrap();
    step(&grounds, "bump_version", &adopt).unwrap();
    let catalog = in_force(&grounds).unwrap();
    assert_eq!(catalog.find(&name("bump_version")).unwrap().phrases, with.manifest.phrases);
    assert_eq!(catalog.digest().unwrap(), shown.digest().unwrap());

    // Files with the same digest cannot be registered again with other phrases.
    with.manifest.phrases.clear();
    let again = step(&grounds, "bump_version", &Step::Adopt(Box::new(with)));
    assert!(matches!(refusal(again), CatalogError::State { .. }));
    assert_eq!(in_force(&grounds).unwrap(), catalog);
}

fn register(package: &Registration) -> Step {
    Step::Register(Box::new(package.clone()))
}

/// AA-9
#[test]
fn core_actions_are_all_active_by_default() {
    let catalog = in_force(&Grounds::new()).unwrap();
    let mut names = CORE_ACTIONS.to_vec();
    names.sort_unstable();
    assert_eq!(catalog.actions().map(|it| it.name.as_str()).collect::<Vec<_>>(), names);
    for registered in catalog.actions() {
        let effect = registered.name.core().unwrap().effect();
        let looks = effect == CoreEffect::Diagnoses;
        assert_eq!((registered.is_active(), registered.origin), (true, Origin::Core));
        let (tier, rollback) = match looks {
            true => (RiskTier::R0, RollbackKind::None),
            false => (RiskTier::R2, RollbackKind::Undo),
        };
        assert_eq!((registered.tier, registered.rollback), (tier, rollback));
        assert_eq!((registered.flags.writes, registered.flags.irreversible), (!looks, false));
        assert_eq!(registered.input_schema["additionalProperties"], json!(false));
    }
    let access = |action| catalog.find(&name(action)).unwrap().access.as_str();
    assert_eq!(access("file_copy"), "change_files");
    assert_eq!(access("run_command"), "run_command");
    assert_eq!(catalog.lint(), []);
    let change_set = catalog.find(&name("apply_changeset")).unwrap();
    let formats = &change_set.input_schema["properties"]["format"]["enum"];
    assert_eq!(*formats, json!(Format::ALL.map(Format::name)));
}

/// AA-8
#[test]
fn core_action_schemas_accept_only_valid_input() {
    let catalog = Catalog::core().unwrap();
    let takes = |action: &str, input: &Value| {
        let registered = catalog.find(&name(action)).unwrap();
        Schema::read(&registered.input_schema).unwrap().check(input).is_ok()
    };
    let cases = [
        ("apply_changeset", json!({ "document": "--- a" }), true),
        ("apply_changeset", json!({ "document": "x", "format": "git-diff", "repair": "x" }), true),
        ("apply_changeset", json!({ "document": "x", "recount": true }), true),
        ("apply_changeset", json!({ "document": "x", "recount": "yes" }), false),
        ("apply_changeset", json!({ "document": "x", "format": "tar" }), false),
        ("apply_changeset", json!({ "document": "" }), false),
        ("file_create", json!({ "path": "a", "content": "" }), true),
        ("file_create", json!({ "path": "a", "contentBase64": "YQ==", "executable": true }), true),
        ("file_create", json!({ "path": "a" }), false),
        ("file_create", json!({ "path": "a", "content": "", "contentBase64": "" }), false),
        ("file_create", json!({ "path": "a", "contentBase64": "*" }), false),
        ("file_create", json!({ "path": "a", "content": "", "mode": 7 }), false),
        ("file_modify", json!({ "path": "a", "edits": [{ "find": "a", "replace": "b" }] }), true),
        ("file_modify", json!({ "path": "a", "edits": [{ "find": "", "replace": "b" }] }), false),
        ("file_modify", json!({ "path": "a", "edits": [] }), false),
        ("file_modify", json!({ "path": "a", "edits": [{ "find": "a" }] }), false),
        ("file_modify", json!({ "path": "a", "content": "x", "edits": [] }), false),
        (
            "file_modify",
            json!({ "path": "a", "content": "x", "expectedSha256": "0".repeat(64) }),
            true,
        ),
        (
            "file_modify",
            json!({ "path": "a", "content": "x", "expectedSha256": "F".repeat(64) }),
            false,
        ),
        ("file_delete", json!({ "path": "a" }), true),
        ("file_delete", json!({ "path": "" }), false),
        ("file_rename", json!({ "from": "a", "to": "b" }), true),
        ("file_rename", json!({ "from": "a" }), false),
        ("file_copy", json!({ "from": "a", "to": "b", "repair": "x" }), true),
        ("run_command", json!({ "command": "cargo test", "acceptExitCodes": [1, 255] }), true),
        ("run_command", json!({ "argv": ["cargo", ""] }), true),
        ("run_command", json!({ "command": "x", "argv": ["x"] }), false),
        ("run_command", json!({ "command": "x", "acceptExitCodes": [0] }), false),
        ("run_command", json!({ "command": "x", "acceptExitCodes": [1, 1] }), false),
        ("run_command", json!({}), false),
        ("diagnose_error", json!({}), true),
        ("diagnose_error", json!({ "commands": ["x"], "error": "E0308" }), true),
        ("diagnose_error", json!({ "commands": vec!["x"; 21] }), false),
        ("undo_run", json!({ "run": "newest" }), true),
        ("undo_run", json!({ "run": "f3k7t2mzq9ra" }), true),
        ("undo_run", json!({ "run": "last" }), false),
        ("undo_run", json!({ "run": "newest", "repair": "x" }), false),
    ];
    for (action, input, is_taken) in cases {
        assert_eq!(takes(action, &input), is_taken, "{action} {input}");
    }
}

/// AA-13
#[test]
fn operator_retires_and_reactivates_a_core_action() {
    let grounds = Grounds::new();
    let before = in_force(&grounds).unwrap();
    let error = refusal(step(&grounds, "run_command", &ACTIVATE));
    assert!(
        matches!(error, CatalogError::State { from: Some(ActionState::Active), .. }),
        "{error}"
    );
    step(&grounds, "run_command", &Step::Retire).unwrap();
    let retired = in_force(&grounds).unwrap();
    assert!(!retired.find(&name("run_command")).unwrap().is_active());
    assert_eq!(retired.actions().filter(|it| it.is_active()).count(), CORE_ACTIONS.len() - 1);
    assert_ne!(retired.digest().unwrap(), before.digest().unwrap());
    refusal(step(&grounds, "run_command", &Step::Retire));
    step(&grounds, "run_command", &ACTIVATE).unwrap();
    assert_eq!(in_force(&grounds).unwrap(), before);
    let error = refusal(step(&grounds, "run_all", &ACTIVATE));
    assert!(matches!(error, CatalogError::Unknown { .. }), "{error}");
    assert_eq!(grounds.store.count(EntryKind::CatalogChanged), 2);
}

/// AA-8, AA-9, AA-13
#[test]
fn package_moves_from_draft_to_active_to_retired_and_an_update_to_draft() {
    let grounds = Grounds::new();
    let (one, two) = (package("1.0.0", b"one"), package("1.1.0", b"two"));
    let state = || in_force(&grounds).unwrap().find(&one.manifest.name).cloned();
    assert_eq!(state(), None);
    step(&grounds, "bump_version", &register(&one)).unwrap();
    let draft = state().unwrap();
    assert_eq!((draft.state, draft.version.as_deref()), (ActionState::Draft, Some("1.0.0")));
    assert_eq!(draft.origin, Origin::Package { digest: one.digest });
    assert_eq!((draft.rollback, draft.access.as_str()), (RollbackKind::Package, "run_action"));
    assert_eq!(*draft.input_schema, one.manifest.input_schema);
    // Only the reviewed package is activated.
    let other = Step::Activate { package: Some(two.digest) };
    let error = refusal(step(&grounds, "bump_version", &other));
    assert!(matches!(error, CatalogError::OtherPackage { .. }), "{error}");
    step(&grounds, "bump_version", &Step::Activate { package: Some(one.digest) }).unwrap();
    assert!(state().unwrap().is_active());
    // A package can be registered only once, whatever its state.
    refusal(step(&grounds, "bump_version", &register(&one)));
    step(&grounds, "bump_version", &Step::Retire).unwrap();
    refusal(step(&grounds, "bump_version", &register(&one)));
    step(&grounds, "bump_version", &ACTIVATE).unwrap();
    // Another package replaces it, but cannot be used until the operator activates it.
    step(&grounds, "bump_version", &register(&two)).unwrap();
    let draft = state().unwrap();
    assert_eq!((draft.state, draft.version.as_deref()), (ActionState::Draft, Some("1.1.0")));
    step(&grounds, "bump_version", &Step::Retire).unwrap();
    assert_eq!(state().unwrap().state, ActionState::Retired);
}

/// AA-9
#[test]
fn package_with_another_actions_name_or_an_invalid_schema_is_rejected() {
    let grounds = Grounds::new();
    let one = package("1.0.0", b"one");
    let error = refusal(step(&grounds, "file_copy", &register(&one)));
    assert!(matches!(error, CatalogError::OtherName { .. }), "{error}");
    let mut unsound = one.clone();
    unsound.manifest.input_schema.insert("type".to_owned(), json!("thing"));
    assert_eq!(lint_manifest(&unsound.manifest).len(), 1);
    let error = refusal(step(&grounds, "bump_version", &register(&unsound)));
    assert!(matches!(error, CatalogError::Unsound { .. }), "{error}");
    assert_eq!(grounds.store.count(EntryKind::CatalogChanged), 0);
    let mut careless = one.manifest.clone();
    careless.risk_tier = RiskTier::R1;
    careless.verification.required = false;
    careless.rollback.required = false;
    assert_eq!(lint_manifest(&careless).len(), 3);
    assert_eq!(lint_manifest(&one.manifest), []);
}

/// AA-13: an agent with access to the other keys cannot activate its own code as an action.
#[test]
fn key_of_another_role_cannot_change_the_catalog() {
    let grounds = Grounds::new();
    let result = step_by(&grounds, &key(&grounds, KeyRole::Result), "run_command", &Step::Retire);
    let error = refusal(result);
    assert!(matches!(error, CatalogError::Key(_)), "{error}");
    assert_eq!(grounds.store.count(EntryKind::CatalogChanged), 0);
}

/// Returns the next catalog change, signed and modified by `change`.
fn signed(grounds: &Grounds, role: KeyRole, change: impl FnOnce(&mut CatalogChanged)) -> NewEntry {
    let standing = grounds.records().catalog().unwrap();
    let (catalog, _) = standing.after(&name("file_copy"), &Step::Retire).unwrap();
    let snapshot = catalog.snapshot().unwrap();
    let mut changed = CatalogChanged {
        format: CatalogChanged::FORMAT.to_owned(),
        time: grounds.now(),
        tenant: "default".parse().unwrap(),
        follows: standing.last,
        action: name("file_copy"),
        from: Some(ActionState::Active),
        to: ActionState::Retired,
        reason: None,
        snapshot: Digest::of(snapshot),
        by: Actor { user: "mallory".to_owned(), uid: 1000, agent: None },
        isolation: Isolation::SameUser,
    };
    change(&mut changed);
    let payload = canonical::to_vec(&changed).unwrap();
    let signer = key(grounds, role);
    let body = Envelope::sign(CatalogChanged::PAYLOAD_TYPE, payload, &signer).unwrap();
    let (kind, body) = (EntryKind::CatalogChanged, body.to_vec().unwrap());
    NewEntry { kind, body, blobs: vec![snapshot.to_vec()] }
}

fn append(grounds: &Grounds, entry: NewEntry) -> Result<(), LedgerError> {
    grounds.records().ledger().append(vec![entry]).wait().map(drop)
}

/// AA-13
#[test]
fn unproven_catalog_change_blocks_the_catalog_until_signed_again() {
    let grounds = Grounds::new();
    step(&grounds, "run_command", &Step::Retire).unwrap();
    let proven = in_force(&grounds).unwrap();
    let entry = signed(&grounds, KeyRole::Result, |_| {});
    append(&grounds, entry).unwrap();
    let error = in_force(&grounds).unwrap_err();
    assert!(matches!(error, CatalogError::Unproven { index: 2, .. }), "{error}");
    // Another change hides neither the first change nor the state before it.
    let entry = signed(&grounds, KeyRole::Checkpoint, |_| {});
    append(&grounds, entry).unwrap();
    assert!(in_force(&grounds).is_err());
    // Retiring a retired action again leaves the catalog unchanged.
    step(&grounds, "run_command", &Step::Retire).unwrap();
    assert_eq!(in_force(&grounds).unwrap(), proven);
}

/// AA-13: a signature is valid only at one position of one log and for one catalog.
#[test]
fn catalog_change_signed_for_another_place_is_invalid() {
    let other = |change: &dyn Fn(&mut CatalogChanged)| {
        let grounds = Grounds::new();
        let entry = signed(&grounds, KeyRole::Approval, |changed| change(changed));
        append(&grounds, entry).map(|()| in_force(&grounds))
    };
    assert!(other(&|_| {}).unwrap().is_ok());
    let elsewhere = other(&|it| it.follows.origin = "actum/other/default".to_owned());
    let error = elsewhere.unwrap().unwrap_err();
    assert!(matches!(error, CatalogError::Misplaced { index: 1 }), "{error}");
    let contradicts = other(&|it| it.to = ActionState::Active).unwrap().unwrap_err();
    assert!(matches!(contradicts, CatalogError::Snapshot { index: 1, .. }), "{contradicts}");
    let refused = other(&|it| it.follows.leaf = Digest::of(b"another")).unwrap_err();
    let is_other = matches!(refused.refusal(), Some(Refusal::OtherCatalog { .. }));
    assert!(is_other, "{refused}");
}

/// AA-13: the change that activated an action cannot be replayed to activate it again after it was retired.
#[test]
fn catalog_change_cannot_be_replayed() {
    let grounds = Grounds::new();
    let one = package("1.0.0", b"one");
    step(&grounds, "bump_version", &register(&one)).unwrap();
    step(&grounds, "bump_version", &ACTIVATE).unwrap();
    let store = grounds.store.clone();
    let activated = actum_ledger::Log::sound_entry(&store, 2).unwrap();
    step(&grounds, "bump_version", &Step::Retire).unwrap();
    let again = NewEntry { kind: activated.kind, body: activated.body, blobs: Vec::new() };
    let refused = append(&grounds, again).unwrap_err();
    let is_other = matches!(
        refused.refusal(),
        Some(Refusal::OtherCatalog { index: Some(1), newest: Some(3) })
    );
    assert!(is_other, "{refused}");
    let state = in_force(&grounds).unwrap().find(&name("bump_version")).unwrap().state;
    assert_eq!(state, ActionState::Retired);
}

/// D-4: a snapshot with unknown content never becomes the active catalog.
#[test]
fn unreadable_snapshot_puts_no_catalog_in_force() {
    for (text, what) in [
        ("{}", "missing field"),
        (r#"{"actions":[],"format":"actum.catalog-snapshot/2"}"#, "has the format"),
        (r#"{"actions":[],"format":"actum.catalog-snapshot/1","more":1}"#, "unknown field"),
        (r#"{"actions":[],"format":"actum.catalog-snapshot/1"}"#, "does not contain the action"),
    ] {
        let grounds = Grounds::new();
        let digest = Digest::of(text.as_bytes());
        let entry = signed(&grounds, KeyRole::Approval, |changed| changed.snapshot = digest);
        append(&grounds, NewEntry { blobs: vec![text.as_bytes().to_vec()], ..entry }).unwrap();
        let error = in_force(&grounds).unwrap_err();
        assert!(matches!(error, CatalogError::Snapshot { .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}
