//! Keys protected by a passphrase, which only that passphrase opens, in actum and in OpenSSL.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use actum_core::Timestamp;
use actum_ledger::keys::{LEEWAY_MICROS, WAIT_MICROS, public_pem};
use actum_ledger::{Admission, KeyError, Keys, LedgerHome, Passphrase, Passphrases, Protection};
use actum_record::keyring::{KEYS_MAX, KeyEntry, Keyring};
use actum_record::signer::{KeyId, KeyRole, PublicKey, Signer};
use ed25519_dalek::{Signature, VerifyingKey};
use tempfile::TempDir;

const ROLE: KeyRole = KeyRole::Approval;
const OPEN: &str = "open sesame";

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_795_291_387_000_000 + micros)
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.as_bytes().to_vec().into()).unwrap()
}

fn keys() -> (TempDir, LedgerHome, Keys) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("home");
    let home = LedgerHome::open(&path).unwrap();
    let keys = Keys::open(&home, at(0)).unwrap();
    (directory, home, keys)
}

fn key_path(home: &LedgerHome, key: &KeyEntry) -> PathBuf {
    home.path().join(format!("keys/{}/{}.pem", key.role, key.id))
}

fn keyring_path(home: &LedgerHome) -> PathBuf {
    home.path().join("keys/keyring.json")
}

fn approval_files(home: &LedgerHome) -> usize {
    fs::read_dir(home.path().join("keys/approval")).map_or(0, Iterator::count)
}

fn is_signed(key: &PublicKey, signature: &[u8; 64]) -> bool {
    let key = VerifyingKey::from_bytes(&key.0).unwrap();
    key.verify_strict(b"message", &Signature::from_bytes(signature)).is_ok()
}

/// FE-14, AA-5: the key file without the passphrase is not enough to approve anything.
#[test]
fn encrypted_key_signs_only_with_its_passphrase() {
    let (_directory, home, mut keys) = keys();
    let key = keys.make(ROLE, at(0), Some(&passphrase(OPEN)), Admission::AtOnce).unwrap();
    let path = key_path(&home, &key);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(keys.keyring().newest(ROLE), Some(&key));
    assert_eq!((key.not_before, key.not_after), (at(-LEEWAY_MICROS), None));

    let keys = Keys::open(&home, at(0)).unwrap();
    assert_eq!(keys.protection(ROLE, at(0)).unwrap(), Protection::Passphrase);
    assert_eq!(keys.protection(KeyRole::Result, at(0)).unwrap(), Protection::FilePermissions);
    let locked = keys.signer(ROLE, at(0)).unwrap_err();
    assert_eq!(
        locked.to_string(),
        format!(
            "cannot use the approval key `{}`: `{}` is protected by a passphrase, but none was given",
            key.id,
            path.display()
        )
    );
    keys.check(ROLE, at(0)).unwrap();
    let signer = keys.unlock(ROLE, at(0), &passphrase(OPEN)).unwrap();
    assert_eq!((signer.role(), signer.key_id()), (ROLE, key.id.clone()));
    assert!(is_signed(&key.public, &signer.sign(b"message").unwrap().0));
    let wrong = keys.unlock(ROLE, at(0), &passphrase("open sesamE")).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        format!(
            "cannot unlock the approval key `{}`: the passphrase is wrong, or `{}` is damaged; if the passphrase is \
             lost, make a new key with `actum key rotate approval --old-passphrase-lost`",
            key.id,
            path.display()
        )
    );
    // Its validity period applies as for any other key.
    let early = keys.unlock(ROLE, at(-LEEWAY_MICROS - 1), &passphrase(OPEN));
    assert!(matches!(early, Err(KeyError::TooEarly { .. })));
    // A passphrase is not accepted for a key that has none.
    let open = keys.unlock(KeyRole::Result, at(0), &passphrase(OPEN));
    assert!(matches!(open, Err(KeyError::Unprotected { .. })), "{open:?}");
}

/// FE-14
#[test]
fn changed_or_swapped_encrypted_key_file_is_rejected() {
    let (_directory, home, mut keys) = keys();
    let key = keys.make(ROLE, at(0), Some(&passphrase(OPEN)), Admission::AtOnce).unwrap();
    let (_other_directory, other_home, mut others) = self::keys();
    let other = others.make(ROLE, at(0), Some(&passphrase(OPEN)), Admission::AtOnce).unwrap();
    let path = key_path(&home, &key);
    let sound = fs::read(&path).unwrap();
    // The format does not authenticate the start of the cipher chain, so damage there changes the seed.
    let data = sound.len() - 60;
    let mut changed = sound.clone();
    changed[data] = if changed[data] == b'A' { b'B' } else { b'A' };
    fs::write(&path, &changed).unwrap();
    let refused = keys.unlock(ROLE, at(0), &passphrase(OPEN)).unwrap_err();
    let is_reported =
        matches!(refused, KeyError::WrongPassphrase { .. } | KeyError::OtherKey { .. });
    assert!(is_reported, "{refused}");
    fs::write(&path, &sound[..sound.len() / 2]).unwrap();
    let refused = keys.unlock(ROLE, at(0), &passphrase(OPEN));
    assert!(matches!(refused, Err(KeyError::Malformed { .. })), "{refused:?}");
    assert!(matches!(keys.check(ROLE, at(0)), Err(KeyError::Malformed { .. })));
    fs::write(&path, fs::read(key_path(&other_home, &other)).unwrap()).unwrap();
    let refused = keys.unlock(ROLE, at(0), &passphrase(OPEN));
    assert!(matches!(refused, Err(KeyError::OtherKey { .. })), "{refused:?}");
}

/// FE-14
#[test]
fn first_key_of_a_role_is_created_once() {
    let (_directory, home, mut keys) = keys();
    assert!(matches!(keys.protection(ROLE, at(0)), Err(KeyError::NoKey { .. })));
    let key = keys.make(ROLE, at(0), None, Admission::AtOnce).unwrap();
    assert_eq!(keys.protection_of(&key).unwrap(), Protection::FilePermissions);
    assert_eq!(keys.signer(ROLE, at(0)).unwrap().key_id(), key.id);
    for role in [ROLE, KeyRole::Result, KeyRole::Checkpoint] {
        let id = keys.keyring().newest(role).unwrap().id.clone();
        let refused = keys.make(role, at(1), None, Admission::AtOnce).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "the {role} key `{id}` already exists; use `actum key rotate {role}` to replace it"
            )
        );
    }
    assert_eq!(Keys::open(&home, at(0)).unwrap().keyring(), keys.keyring());
    assert_eq!((keys.keyring().keys().len(), approval_files(&home)), (3, 1));
}

/// FE-14: a process killed between creating the key and updating the keyring leaves an unused key.
#[test]
fn interrupted_first_key_creation_is_restarted() {
    let (_directory, home, mut keys) = keys();
    let before = fs::read(keyring_path(&home)).unwrap();
    let cut_off = keys.make(ROLE, at(0), None, Admission::AtOnce).unwrap();
    fs::write(keyring_path(&home), &before).unwrap();
    fs::write(home.path().join("keys/keyring.json.new"), &before[..40]).unwrap();
    fs::write(home.path().join("lock"), "").unwrap();
    let mut keys = Keys::open(&home, at(1)).unwrap();
    assert!(matches!(keys.signer(ROLE, at(1)), Err(KeyError::NoKey { .. })));
    let made = keys.make(ROLE, at(1), None, Admission::AtOnce).unwrap();
    assert_ne!(made.id, cut_off.id);
    assert_eq!(Keys::open(&home, at(1)).unwrap().signer(ROLE, at(1)).unwrap().key_id(), made.id);
    assert!(key_path(&home, &cut_off).exists(), "nothing that could be a key is removed");
}

/// FE-14
#[test]
fn full_keyring_blocks_the_first_key() {
    let (_directory, home, mut keys) = keys();
    let few = keys.keyring().keys().to_vec();
    let more = (few.len()..KEYS_MAX).map(|number| {
        let mut public = [7; 32];
        public[..8].copy_from_slice(&number.to_le_bytes());
        let (role, public) = (KeyRole::Lease, PublicKey(public));
        let id = KeyId::new(role, &public);
        KeyEntry {
            id,
            role,
            public,
            not_before: at(0),
            not_after: None,
            revoked: None,
            unproven: false,
        }
    });
    let full = Keyring::new(few.iter().cloned().chain(more).collect());
    fs::write(keyring_path(&home), full.to_vec().unwrap()).unwrap();
    assert!(matches!(
        keys.make(ROLE, at(0), None, Admission::AtOnce),
        Err(KeyError::TooMany { .. })
    ));
    assert_eq!(approval_files(&home), 0);
}

/// AA-5: keys that sign unattended cannot have a passphrase.
#[test]
fn only_operator_keys_can_have_a_passphrase() {
    let (_directory, home, mut keys) = keys();
    let before = keys.keyring().clone();
    let open = passphrase(OPEN);
    let new = Passphrases { old: None, new: Some(&open) };
    for role in [KeyRole::Result, KeyRole::Checkpoint] {
        for refused in [
            keys.make(role, at(0), Some(&open), Admission::AtOnce).unwrap_err(),
            keys.rotate(role, at(0), new).unwrap_err(),
        ] {
            assert_eq!(
                refused.to_string(),
                format!(
                    "cannot protect a {role} key with a passphrase: it has to sign without user interaction"
                )
            );
        }
    }
    let short =
        keys.make(ROLE, at(0), Some(&passphrase("1234567")), Admission::AtOnce).unwrap_err();
    assert_eq!(short.to_string(), "cannot make a key: the passphrase has fewer than 8 characters");
    assert_eq!(Keys::open(&home, at(0)).unwrap().keyring(), &before);
    assert_eq!(approval_files(&home), 0);
}

/// FE-14, AA-5
#[test]
fn encrypted_key_proves_its_successor_only_when_unlocked() {
    let (_directory, home, mut keys) = keys();
    let (first, second) = (passphrase(OPEN), passphrase("another one"));
    let none = keys.rotate(ROLE, at(0), Passphrases::default());
    assert!(matches!(none, Err(KeyError::NoKey { .. })), "{none:?}");
    let made = keys.make(ROLE, at(0), Some(&first), Admission::AtOnce).unwrap();
    let wrong = Passphrases { old: Some(&second), new: None };
    let wrong = keys.rotate(ROLE, at(1), wrong);
    assert!(matches!(wrong, Err(KeyError::WrongPassphrase { .. })), "{wrong:?}");
    assert_eq!((keys.keyring().keys().len(), approval_files(&home)), (3, 1));

    let both = Passphrases { old: Some(&first), new: Some(&second) };
    let rotated = keys.rotate(ROLE, at(2), both).unwrap();
    assert_eq!(rotated.signer.unwrap().key_id(), made.id);
    let unlocked = keys.unlock(ROLE, at(2), &second).unwrap();
    assert_eq!(unlocked.key_id(), rotated.new.id);
    assert!(matches!(keys.unlock(ROLE, at(2), &first), Err(KeyError::WrongPassphrase { .. })));

    assert_eq!(keys.protection_of(&made).unwrap(), Protection::Passphrase);
}

/// FE-14, AA-5
#[test]
fn unproven_key_waits_a_day_and_can_be_denied() {
    let (_directory, home, mut keys) = keys();
    let (first, second) = (passphrase(OPEN), passphrase("another one"));
    let made = keys.make(ROLE, at(0), Some(&first), Admission::AtOnce).unwrap();
    let lost = Passphrases { old: None, new: Some(&second) };
    let denied = keys.rotate(ROLE, at(3), lost).unwrap();
    assert!(denied.signer.is_none() && denied.new.unproven);
    // The old key remains in force until then, and no third key can be created.
    assert_eq!(keys.unlock(ROLE, at(3), &first).unwrap().key_id(), made.id);
    let refused = keys.rotate(ROLE, at(4), lost).unwrap_err();
    assert!(matches!(&refused, KeyError::Waiting { id, .. } if *id == denied.new.id), "{refused}");
    assert_eq!(keys.deny(ROLE, at(5)).unwrap(), denied.new);
    assert!(matches!(keys.deny(ROLE, at(5)), Err(KeyError::NoneWaiting { .. })));
    let late = at(10 * WAIT_MICROS);
    assert_eq!(keys.unlock(ROLE, late, &first).unwrap().key_id(), made.id);

    let admitted = keys.rotate(ROLE, at(6), lost).unwrap().new;
    let due = at(6 + WAIT_MICROS);
    assert_eq!(admitted.not_before, due);
    assert_eq!(keys.unlock(ROLE, at(5 + WAIT_MICROS), &first).unwrap().key_id(), made.id);
    assert_eq!(keys.unlock(ROLE, due, &second).unwrap().key_id(), admitted.id);
    assert!(matches!(keys.deny(ROLE, due), Err(KeyError::NoneWaiting { .. })));
    // Keys that follow an unproven key are unproven too, but need not wait.
    let both = Passphrases { old: Some(&second), new: Some(&first) };
    let next = keys.rotate(ROLE, due, both).unwrap().new;
    assert!(next.unproven && next.not_before < due);
    assert_eq!(keys.unlock(ROLE, due, &first).unwrap().key_id(), next.id);
    drop(home);
}

/// FE-14, AA-5
#[test]
fn key_without_a_passphrase_cannot_prove_its_successor() {
    let (_directory, _home, mut keys) = keys();
    keys.make(ROLE, at(0), None, Admission::AtOnce).unwrap();
    let rotated = keys.rotate(ROLE, at(1), Passphrases::default()).unwrap();
    assert!(rotated.new.unproven && rotated.signer.is_none());
}

fn openssl(arguments: &[&str], passphrases: &[(&str, &str)]) -> Output {
    let mut command = Command::new("openssl");
    command.args(arguments).envs(passphrases.iter().copied());
    let output = command.output();
    output.unwrap_or_else(|error| {
        panic!("this test runs `openssl` (Debian: `apt-get install openssl`): {error}")
    })
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// FE-14: OpenSSL can open keys that actum encrypted, and vice versa.
#[test]
fn encrypted_keys_are_interoperable_with_openssl() {
    let (directory, home, mut keys) = keys();
    let key = keys.make(ROLE, at(0), Some(&passphrase(OPEN)), Admission::AtOnce).unwrap();
    let path = key_path(&home, &key);
    let read = ["pkey", "-in", text(&path), "-passin", "env:OLD", "-pubout"];
    let output = openssl(&read, &[("OLD", OPEN)]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), public_pem(&key.public), "{stderr}");
    assert!(!openssl(&read, &[("OLD", "open sesamE")]).status.success());

    let changed = directory.path().join("changed.pem");
    let mut write = vec!["pkcs8", "-topk8", "-in", text(&path), "-out", text(&changed)];
    write.extend(["-passin", "env:OLD", "-passout", "env:NEW", "-v2", "aes-256-cbc"]);
    let both = [("OLD", OPEN), ("NEW", "another one")];
    // The default scheme of OpenSSL is weaker, and is rejected.
    assert!(openssl(&write, &both).status.success());
    let sound = fs::read(&path).unwrap();
    fs::write(&path, fs::read(&changed).unwrap()).unwrap();
    let refused = keys.unlock(ROLE, at(0), &passphrase("another one"));
    assert!(matches!(refused, Err(KeyError::OtherProtection { .. })), "{refused:?}");
    // Such a key counts as lost and can be replaced.
    assert!(matches!(keys.protection(ROLE, at(0)), Err(KeyError::OtherProtection { .. })));

    fs::write(&path, sound).unwrap();
    write.push("-scrypt");
    let output = openssl(&write, &both);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(&path, fs::read(&changed).unwrap()).unwrap();
    let opened = keys.unlock(ROLE, at(0), &passphrase("another one")).unwrap();
    assert_eq!(opened.key_id(), key.id);
    assert!(matches!(
        keys.unlock(ROLE, at(0), &passphrase(OPEN)),
        Err(KeyError::WrongPassphrase { .. })
    ));
}
