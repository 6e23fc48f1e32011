//! Signed approvals of tasks.

use actum_core::path_name::PathName;
use actum_core::{Digest, FileMode, FileState, RelPath, Timestamp, canonical};
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::ledger::{Actor, Isolation, TenantId, WorkspaceId};
use actum_record::receipt::{EffectKind, PathEffect};
use actum_record::signer::{KeyRole, PublicKey, SignError, Signature, Signer};
use actum_task::{
    ApprovalSubject, ErrorCode, TaskApproval, TaskApprovalError, verify_task_approval,
};
use ed25519_dalek::{Signer as _, SigningKey};

fn effect(path: &str, mode: FileMode) -> PathEffect {
    let facts =
        |bytes: &[u8]| FileState { mode, sha256: Digest::of(bytes), size: bytes.len() as u64 };
    PathEffect {
        added: 1,
        after: Some(facts(b"new\n")),
        before: Some(facts(b"old\n")),
        effect: EffectKind::Modified,
        from: None,
        path: PathName(RelPath::new(path).unwrap()),
        removed: 1,
    }
}

fn approval() -> TaskApproval {
    TaskApproval {
        external: Vec::new(),
        format: TaskApproval::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_000_000),
        expires: Timestamp::from_micros(2_000_000),
        tenant: TenantId::default(),
        workspace: WorkspaceId::from_random(7),
        task: "task-7".parse().unwrap(),
        plan: Digest::of(b"plan"),
        config: Digest::of(b"config"),
        change: vec![effect("a.txt", FileMode::REGULAR)],
        umask: 0o022,
        reason: None,
        by: Actor { agent: None, uid: 7, user: "an operator".to_owned() },
        isolation: Isolation::Passphrase,
    }
}

/// EX-1, D-3
#[test]
fn approval_is_valid_for_its_subject_until_it_expires() {
    let approval = approval();
    let (tenant, task) = (TenantId::default(), approval.task.clone());
    let subject = ApprovalSubject {
        tenant: &tenant,
        workspace: approval.workspace,
        task: &task,
        plan: approval.plan,
        config: approval.config,
    };
    let at = |micros| approval.check(&subject, Timestamp::from_micros(micros));
    assert_eq!((at(1_000_000), at(1_999_999)), (Ok(()), Ok(())));
    let code_and_message =
        |error: actum_task::TaskApprovalProblem| (error.code(), error.to_string());
    assert_eq!(
        code_and_message(at(999_999).unwrap_err()),
        (
            ErrorCode::ApprovalInvalid,
            "the time of the approval, 1970-01-01T00:00:01.000000Z, is in the future".to_owned()
        )
    );
    assert_eq!(
        code_and_message(at(2_000_000).unwrap_err()),
        (
            ErrorCode::ApprovalExpired,
            "the approval expired at 1970-01-01T00:00:02.000000Z; request a new one".to_owned()
        )
    );
    let other_task = "task-8".parse().unwrap();
    let other = Digest::of(b"");
    for (subject, message) in [
        (
            ApprovalSubject { workspace: WorkspaceId::from_random(8), ..subject },
            "the approval is for a different workspace",
        ),
        (
            ApprovalSubject { task: &other_task, ..subject },
            "the approval is for the task `task-7`, not for `task-8`",
        ),
        (ApprovalSubject { plan: other, ..subject }, "the approval is for a different plan"),
        (
            ApprovalSubject { config: other, ..subject },
            "the approval is for the plan with a different config",
        ),
    ] {
        let error = approval.check(&subject, approval.time).unwrap_err();
        assert_eq!(code_and_message(error), (ErrorCode::ApprovalInvalid, message.to_owned()));
    }
}

/// EX-1, AA-5: an approval covers only the change that was shown to the approver.
#[test]
fn approval_covers_only_the_shown_change() {
    let approval = approval();
    assert!(approval.covers(&[effect("a.txt", FileMode::REGULAR)]));
    let more = vec![effect("a.txt", FileMode::REGULAR), effect("b.txt", FileMode::REGULAR)];
    for other in [
        Vec::new(),
        vec![effect("a.txt", FileMode::PRIVATE)],
        vec![effect("b.txt", FileMode::REGULAR)],
        more,
    ] {
        assert!(!approval.covers(&other), "{other:?}");
    }
}

/// D-4
#[test]
fn approval_round_trips_and_rejects_unknown_fields() {
    let approval = approval();
    let text = serde_json::to_string(&approval).unwrap();
    assert_eq!(serde_json::from_str::<TaskApproval>(&text).unwrap(), approval);
    let more = text.replacen('{', "{\"more\":1,", 1);
    assert!(serde_json::from_str::<TaskApproval>(&more).is_err());
}

/// EX-1: an approval in the older format, which names no change, is rejected with a specific error, signed or not.
#[test]
fn approval_without_a_change_is_rejected() {
    let key = ApprovalKey(SigningKey::from_bytes(&[4; 32]));
    let keyring = Keyring::new(vec![KeyEntry {
        id: key.key_id(),
        role: KeyRole::Approval,
        public: key.public_key(),
        not_before: Timestamp::from_micros(0),
        not_after: None,
        revoked: None,
        unproven: false,
    }]);
    let verified = |value: &serde_json::Value| {
        let payload = canonical::to_vec(value).unwrap();
        let envelope = Envelope::sign(TaskApproval::PAYLOAD_TYPE, payload, &key).unwrap();
        verify_task_approval(&envelope.to_vec().unwrap(), &keyring)
    };
    let approval = approval();
    let mut value = serde_json::to_value(&approval).unwrap();
    assert_eq!(verified(&value).unwrap().approval, approval);
    let fields = value.as_object_mut().unwrap();
    fields.insert("format".to_owned(), TaskApproval::FORMAT_WITHOUT_CHANGE.into());
    fields.remove("change");
    fields.remove("umask");
    let error = verified(&value).unwrap_err();
    assert_eq!(error, TaskApprovalError::WithoutChange);
    assert!(error.to_string().contains("approve the plan again"), "{error}");
}

struct ApprovalKey(SigningKey);

impl Signer for ApprovalKey {
    fn role(&self) -> KeyRole {
        KeyRole::Approval
    }

    fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    fn sign(&self, message: &[u8]) -> Result<Signature, SignError> {
        Ok(Signature(self.0.sign(message).to_bytes()))
    }
}
