//! Keys are created once, kept, rotated, and rejected if they are invalid.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use actum_core::Timestamp;
use actum_core::canonical::is_canonical;
use actum_ledger::keys::Admission;
use actum_ledger::keys::LEEWAY_MICROS;
use actum_ledger::{HomeError, KeyError, Keys, LedgerHome, Passphrases, Rotated, SigningKey};
use actum_record::keyring::{KEYS_MAX, KeyEntry, Keyring};
use actum_record::signer::{KeyId, KeyRole, PublicKey, Signer};
use ed25519_dalek::{Signature, VerifyingKey};
use tempfile::TempDir;

const ROLE: KeyRole = KeyRole::Result;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_795_291_387_000_000 + micros)
}

fn home() -> (TempDir, LedgerHome) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("home");
    let home = LedgerHome::open(&path).unwrap();
    (directory, home)
}

fn keyring_path(home: &LedgerHome) -> PathBuf {
    home.path().join("keys/keyring.json")
}

fn key_path(home: &LedgerHome, key: &KeyEntry) -> PathBuf {
    home.path().join(format!("keys/{}/{}.pem", key.role, key.id))
}

fn signer(home: &LedgerHome, now: Timestamp) -> Result<SigningKey, KeyError> {
    Keys::open(home, now)?.signer(ROLE, now)
}

fn rotate(keys: &mut Keys, now: Timestamp) -> Result<Rotated, KeyError> {
    keys.rotate(ROLE, now, Passphrases::default())
}

fn newest(home: &LedgerHome) -> KeyEntry {
    let keys = Keys::open_existing(home).unwrap().unwrap();
    keys.keyring().newest(ROLE).unwrap().clone()
}

/// Edits a keyring as a user could do by hand.
fn edit(home: &LedgerHome, edit: impl Fn(&mut KeyEntry)) {
    let keyring = Keyring::read(&fs::read(keyring_path(home)).unwrap()).unwrap();
    let mut keys = keyring.keys().to_vec();
    keys.iter_mut().for_each(edit);
    fs::write(keyring_path(home), Keyring::new(keys).to_vec().unwrap()).unwrap();
}

fn is_signed(key: &PublicKey, message: &[u8], signature: &[u8; 64]) -> bool {
    let key = VerifyingKey::from_bytes(&key.0).unwrap();
    key.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
}

fn private_files(home: &LedgerHome) -> usize {
    let roles = KeyRole::ALL.map(|role| home.path().join(format!("keys/{role}")));
    roles.iter().filter_map(|path| fs::read_dir(path).ok()).map(Iterator::count).sum()
}

/// FE-14
#[test]
fn first_use_creates_a_result_key_and_a_checkpoint_key() {
    let (_directory, home) = home();
    assert!(Keys::open_existing(&home).unwrap().is_none());
    assert!(!home.path().join("keys").exists());
    let keys = Keys::open(&home, at(0)).unwrap();
    let roles: Vec<KeyRole> = keys.keyring().keys().iter().map(|key| key.role).collect();
    assert_eq!(roles, [KeyRole::Result, KeyRole::Checkpoint]);
    let bytes = fs::read(keyring_path(&home)).unwrap();
    assert!(is_canonical(&bytes));
    assert_eq!(&Keyring::read(&bytes).unwrap(), keys.keyring());
    for role in roles {
        let signer = keys.signer(role, at(0)).unwrap();
        let entry = keys.keyring().newest(role).unwrap();
        assert_eq!((signer.role(), signer.key_id()), (role, entry.id.clone()));
        assert_eq!(signer.public_key(), entry.public);
        let signature = signer.sign(b"message").unwrap();
        assert!(is_signed(&entry.public, b"message", &signature.0));
        assert_eq!((entry.not_after, entry.revoked), (None, None));
    }
    assert_eq!(Keys::open(&home, at(1)).unwrap().keyring(), keys.keyring());
    assert!(matches!(keys.signer(KeyRole::Lease, at(0)), Err(KeyError::NoKey { .. })));
}

/// FE-14: no error message or debug output contains a private key, and all keys differ.
#[test]
fn private_keys_never_appear_in_errors_or_debug_output() {
    let (_directory, home) = home();
    let keys = Keys::open(&home, at(0)).unwrap();
    let key = keys.signer(ROLE, at(0)).unwrap();
    assert_eq!(format!("{key:?}"), format!("SigningKey(result {})", key.key_id()));
    let text = fs::read_to_string(key_path(&home, &newest(&home))).unwrap();
    let (_, secret) = text.lines().nth(1).unwrap().split_at(22);
    assert_eq!(text.lines().count(), 3);
    assert!(!format!("{keys:?}").contains(secret));
    let (_other_directory, other) = self::home();
    assert_ne!(signer(&other, at(0)).unwrap().key_id(), key.key_id());
}

const PLACE: &str = "ACTUM_TEST_HOME";

/// Child process of the following tests. It does nothing when run directly.
#[test]
fn one_of_many_processes() {
    let Some(path) = std::env::var_os(PLACE) else { return };
    let home = LedgerHome::open(Path::new(&path)).unwrap();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    let id = keys.signer(ROLE, at(0)).unwrap().key_id();
    if std::env::var_os("ACTUM_TEST_ROTATE").is_some() {
        drop(rotate(&mut keys, at(0)).unwrap());
    }
    println!("signer {id}");
}

/// Returns the keys that concurrently started processes use for signing.
fn signers_of_many(path: &Path, rotate: bool) -> Vec<String> {
    let children: Vec<_> = (0..16)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args(["--exact", "keys::one_of_many_processes", "--nocapture"])
                .env(PLACE, path);
            if rotate {
                command.env("ACTUM_TEST_ROTATE", "1");
            }
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let signers = children.into_iter().map(|child| {
        let ended = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(ended.stdout).unwrap();
        stdout.lines().find_map(|line| line.split("signer ").nth(1)).unwrap().to_owned()
    });
    signers.collect()
}

/// FE-14
#[test]
fn sixteen_concurrent_first_uses_create_one_key_per_role() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("new/home");
    let signers: BTreeSet<String> = signers_of_many(&path, false).into_iter().collect();
    let home = LedgerHome::open_existing(&path).unwrap().unwrap();
    assert_eq!(signers, BTreeSet::from([newest(&home).id.to_string()]));
    assert_eq!(private_files(&home), 2);
    assert!(!path.join("keys.new").exists());
}

/// FE-14
#[test]
fn sixteen_concurrent_rotations_lose_no_key() {
    let (_directory, home) = home();
    signers_of_many(home.path(), true);
    let keys = Keys::open(&home, at(0)).unwrap();
    assert_eq!((keys.keyring().keys().len(), private_files(&home)), (18, 18));
    let open_ended = |key: &&KeyEntry| key.role == ROLE && key.not_after.is_none();
    assert_eq!(keys.keyring().keys().iter().filter(open_ended).count(), 1);
    assert_eq!(keys.signer(ROLE, at(0)).unwrap().key_id(), newest(&home).id);
}

/// FE-14
#[test]
fn rotated_key_stays_valid_for_a_grace_period() {
    let (_directory, home) = home();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    let stale = Keys::open(&home, at(0)).unwrap();
    let before = keys.keyring().clone();
    let old = before.newest(ROLE).unwrap().clone();
    let now = at(10 * LEEWAY_MICROS);
    let rotated = rotate(&mut keys, now).unwrap();
    assert_eq!(rotated.signer.unwrap().key_id(), old.id);
    assert_eq!(rotated.new.not_before, at(9 * LEEWAY_MICROS));
    let ended = KeyEntry { not_after: Some(at(11 * LEEWAY_MICROS)), ..old.clone() };
    let expected = Keyring::new(vec![ended, before.keys()[1].clone(), rotated.new.clone()]);
    assert_eq!(keys.keyring(), &expected);
    assert_eq!(Keys::open(&home, now).unwrap().keyring(), &expected);
    for keys in [&keys, &stale] {
        assert_eq!(keys.signer(ROLE, now).unwrap().key_id(), rotated.new.id);
    }
    // Signatures from the end of its validity are still accepted, and the other role has its own key.
    expected.valid(old.id.as_str(), ROLE, at(11 * LEEWAY_MICROS)).unwrap();
    expected.valid(old.id.as_str(), ROLE, at(11 * LEEWAY_MICROS + 1)).unwrap_err();
    assert_eq!(expected.newest(KeyRole::Checkpoint), before.newest(KeyRole::Checkpoint));
    assert!(key_path(&home, &old).exists());
}

/// FE-14: an interrupted first use starts again, and leftover keys sign nothing.
#[test]
fn interrupted_first_use_is_restarted() {
    let (_directory, home) = home();
    drop(Keys::open(&home, at(0)).unwrap());
    let keys = home.path().join("keys");
    for cut in ["", "keyring.json", "checkpoint", "result"] {
        let lost = newest(&home);
        fs::rename(&keys, home.path().join("keys.new")).unwrap();
        let left = home.path().join("keys.new").join(cut);
        match cut {
            "" => {}
            "keyring.json" => fs::write(left, "{\"form").unwrap(),
            _ => fs::remove_dir_all(left).unwrap(),
        }
        fs::write(home.path().join("lock"), "").unwrap();
        assert!(Keys::open_existing(&home).unwrap().is_none());
        assert_ne!(signer(&home, at(0)).unwrap().key_id(), lost.id);
        assert_eq!(private_files(&home), 2);
        assert!(!home.path().join("keys.new").exists());
    }
}

/// FE-14: a process killed between creating the key and updating the keyring leaves an unused key, and the next call succeeds.
#[test]
fn interrupted_rotation_keeps_the_old_key_active() {
    let (_directory, home) = home();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    let before = fs::read(keyring_path(&home)).unwrap();
    let first = newest(&home);
    let cut_off = rotate(&mut keys, at(1)).unwrap().new;
    for half in [&b""[..], &before[..40]] {
        fs::write(keyring_path(&home), &before).unwrap();
        fs::write(home.path().join("keys/keyring.json.new"), half).unwrap();
        fs::write(home.path().join("lock"), "").unwrap();
        assert_eq!(signer(&home, at(2)).unwrap().key_id(), first.id);
        let mut keys = Keys::open(&home, at(2)).unwrap();
        let rotated = rotate(&mut keys, at(3)).unwrap();
        assert_eq!(rotated.signer.unwrap().key_id(), first.id);
        assert_eq!(signer(&home, at(3)).unwrap().key_id(), rotated.new.id);
        assert_eq!(keys.keyring().keys().len(), 3);
    }
    assert!(key_path(&home, &cut_off).exists(), "nothing that could be a key is removed");
}

/// FE-14: names that were not yet durable when their process was killed are made durable before they are used.
#[test]
fn lock_file_records_that_the_home_is_durable() {
    let (_directory, home) = home();
    let lock = home.path().join("lock");
    drop(Keys::open(&home, at(0)).unwrap());
    assert_eq!(fs::metadata(&lock).unwrap().len(), 1);
    fs::write(&lock, "").unwrap();
    signer(&home, at(0)).unwrap();
    assert_eq!(fs::metadata(&lock).unwrap().len(), 1);
    fs::remove_file(&lock).unwrap();
    signer(&home, at(0)).unwrap();
    assert_eq!(fs::metadata(&lock).unwrap().len(), 1);
}

/// FE-14
#[test]
fn key_accessible_to_others_is_rejected_and_not_repaired() {
    let (_directory, home) = home();
    drop(Keys::open(&home, at(0)).unwrap());
    let key = key_path(&home, &newest(&home));
    for (path, open, wanted) in [
        (key.clone(), 0o604, "600"),
        (key.clone(), 0o640, "600"),
        (key.parent().unwrap().to_owned(), 0o750, "700"),
        (home.path().join("keys"), 0o755, "700"),
    ] {
        let closed = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
        let refused = signer(&home, at(0)).unwrap_err();
        assert!(
            matches!(&refused, KeyError::Home(HomeError::TooOpen { mode, .. }) if *mode == open)
        );
        let shown = path.display();
        assert_eq!(
            refused.to_string(),
            format!(
                "cannot use `{shown}`: other users can access it, because its mode is {open:04o} instead of \
                 0{wanted}; if none of them did, run `chmod {wanted} {shown}`"
            )
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, open);
        fs::set_permissions(&path, closed).unwrap();
    }
    for closed in [0o400, 0o600, 0o700] {
        fs::set_permissions(&key, Permissions::from_mode(closed)).unwrap();
        signer(&home, at(0)).unwrap();
    }
}

/// FE-14
#[test]
fn key_owned_by_another_user_or_behind_a_symlink_is_rejected() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test must run as root, as all of `cargo xtask test` that needs it"
    );
    let (directory, home) = home();
    drop(Keys::open(&home, at(0)).unwrap());
    let key = key_path(&home, &newest(&home));
    std::os::unix::fs::chown(&key, Some(12), Some(34)).unwrap();
    let refused = signer(&home, at(0)).unwrap_err();
    assert!(matches!(refused, KeyError::Home(HomeError::Owner { owner: 12, user: 0, .. })));
    std::os::unix::fs::chown(&key, Some(0), Some(0)).unwrap();
    let aside = directory.path().join("aside");
    fs::rename(&key, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &key).unwrap();
    let refused = signer(&home, at(0)).unwrap_err();
    assert!(matches!(refused, KeyError::Home(HomeError::Symlink { .. })));
    fs::remove_file(&key).unwrap();
    fs::create_dir(&key).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o700)).unwrap();
    let refused = signer(&home, at(0)).unwrap_err();
    assert!(matches!(refused, KeyError::Home(HomeError::Other { .. })), "{refused}");
}

/// FE-14
#[test]
fn missing_key_is_reported_and_not_recreated() {
    let (_directory, home) = home();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    let path = key_path(&home, &newest(&home));
    let text = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let refused = keys.signer(ROLE, at(0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "the result key `{}` is missing: `{}` does not exist; restore it from a backup, or make a new \
             one with `actum key rotate result`",
            newest(&home).id,
            path.display()
        )
    );
    assert_eq!(private_files(&home), 1);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    signer(&home, at(0)).unwrap();
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert!(matches!(signer(&home, at(0)), Err(KeyError::NoFile { .. })));
    // The role gets a new key that the missing key cannot vouch for.
    let rotated = rotate(&mut keys, at(1)).unwrap();
    assert!(rotated.signer.is_none());
    assert_eq!(signer(&home, at(1)).unwrap().key_id(), rotated.new.id);
}

/// FE-14
#[test]
fn wrong_or_invalid_key_file_is_rejected() {
    let (_directory, home) = home();
    let keys = Keys::open(&home, at(0)).unwrap();
    let path = key_path(&home, &newest(&home));
    let sound = fs::read(&path).unwrap();
    let other = keys.keyring().newest(KeyRole::Checkpoint).unwrap();
    fs::write(&path, fs::read(key_path(&home, other)).unwrap()).unwrap();
    assert!(matches!(signer(&home, at(0)), Err(KeyError::OtherKey { role: ROLE, .. })));
    for bytes in [&b""[..], b"\xff", &sound[..sound.len() / 2], &sound[1..], &[b'A'; 5000]] {
        fs::write(&path, bytes).unwrap();
        let refused = signer(&home, at(0)).unwrap_err();
        let is_reported = matches!(
            refused,
            KeyError::Malformed { role: ROLE, .. } | KeyError::Home(HomeError::TooLarge { .. })
        );
        assert!(is_reported, "{refused}");
    }
    // A single flipped bit makes it a different private key.
    for at_byte in [50, 70, 90] {
        let mut bytes = sound.clone();
        bytes[at_byte] = if bytes[at_byte] == b'A' { b'B' } else { b'A' };
        fs::write(&path, &bytes).unwrap();
        assert!(signer(&home, at(0)).is_err());
    }
}

/// FE-14
#[test]
fn changed_keyring_bytes_are_detected_or_leave_the_same_keys() {
    let (_directory, home) = home();
    let keys = Keys::open(&home, at(0)).unwrap();
    let sound = fs::read(keyring_path(&home)).unwrap();
    for place in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[place] ^= 1;
        fs::write(keyring_path(&home), &bytes).unwrap();
        let read = Keys::open(&home, at(0)).map(|keys| keys.keyring().clone());
        if let Ok(read) = read {
            // The validity times are not covered by the key, but only the owner can edit them.
            let ids = |ring: &Keyring| {
                ring.keys().iter().map(|key| (key.id.clone(), key.public)).collect::<Vec<_>>()
            };
            assert_eq!(ids(&read), ids(keys.keyring()), "byte {place}");
        }
    }
    for cut in 0..sound.len() {
        fs::write(keyring_path(&home), &sound[..cut]).unwrap();
        assert!(matches!(Keys::open(&home, at(0)), Err(KeyError::Keyring { .. })), "{cut}");
    }
    fs::remove_file(keyring_path(&home)).unwrap();
    let refused = Keys::open(&home, at(0)).unwrap_err();
    assert!(matches!(refused, KeyError::NoKeyring { .. }));
    assert_eq!(Keys::open_existing(&home).unwrap_err().to_string(), refused.to_string());
    assert_eq!(private_files(&home), 2);
}

/// FE-14
#[test]
fn keyring_of_a_newer_version_is_neither_read_nor_written() {
    let (_directory, home) = home();
    drop(Keys::open(&home, at(0)).unwrap());
    let sound = fs::read_to_string(keyring_path(&home)).unwrap();
    let later = sound.replace("actum.keyring/1", "actum.keyring/2");
    fs::write(keyring_path(&home), &later).unwrap();
    let refused = Keys::open(&home, at(0)).unwrap_err().to_string();
    assert!(refused.contains("has the format `actum.keyring/2`"), "{refused}");
    assert_eq!(fs::read_to_string(keyring_path(&home)).unwrap(), later);
}

/// FE-14
#[test]
fn clock_before_the_key_validity_is_reported() {
    let (_directory, home) = home();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    // A small correction of the clock is tolerated.
    keys.signer(ROLE, at(-LEEWAY_MICROS)).unwrap();
    let early = at(-LEEWAY_MICROS - 1);
    let refused = keys.signer(ROLE, early).unwrap_err();
    let id = newest(&home).id;
    assert_eq!(
        refused.to_string(),
        format!(
            "the result key `{id}` is not valid before {}, but the clock says that it is {early}; correct the \
             clock",
            at(-LEEWAY_MICROS)
        )
    );
    assert!(matches!(rotate(&mut keys, early), Err(KeyError::TooEarly { .. })));
    assert_eq!(private_files(&home), 2);
}

/// FE-14
#[test]
fn expired_or_revoked_key_cannot_sign_until_rotated() {
    let (_directory, home) = home();
    drop(Keys::open(&home, at(0)).unwrap());
    let end = |key: &mut KeyEntry| {
        if key.role == ROLE && key.not_after.is_none() {
            key.not_after = Some(at(5));
        }
    };
    edit(&home, end);
    signer(&home, at(5)).unwrap();
    let refused = signer(&home, at(6)).unwrap_err();
    assert!(matches!(refused, KeyError::Expired { .. }));
    assert!(refused.to_string().contains("`actum key rotate result`"), "{refused}");
    let mut keys = Keys::open(&home, at(6)).unwrap();
    let rotated = rotate(&mut keys, at(6)).unwrap();
    assert!(rotated.signer.is_none(), "what it signs now does not count");
    let new = rotated.new;
    assert_eq!(keys.keyring().keys()[0].not_after, Some(at(5)), "an end is not put off");
    assert_eq!(signer(&home, at(6)).unwrap().key_id(), new.id);

    edit(&home, |key| {
        if key.id == new.id {
            key.revoked = Some(at(7));
        }
    });
    let refused = signer(&home, at(8)).unwrap_err();
    assert!(matches!(refused, KeyError::Revoked { .. }));
    assert!(refused.to_string().contains("`actum key rotate result`"), "{refused}");
    assert!(rotate(&mut keys, at(8)).unwrap().signer.is_none());
    signer(&home, at(8)).unwrap();
}

/// FE-14
#[test]
fn keyring_size_limit_is_exact() {
    let (_directory, home) = home();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    let fill = |count: usize| {
        let more = (keys_of(&home).len()..count).map(|number| {
            let mut public = [7; 32];
            public[..8].copy_from_slice(&number.to_le_bytes());
            let (role, public) = (KeyRole::Lease, PublicKey(public));
            let id = KeyId::new(role, &public);
            let (not_before, not_after, revoked) = (at(0), None, None);
            KeyEntry { id, role, public, not_before, not_after, revoked, unproven: false }
        });
        let all = keys_of(&home).into_iter().chain(more).collect();
        fs::write(keyring_path(&home), Keyring::new(all).to_vec().unwrap()).unwrap();
    };
    fill(KEYS_MAX - 1);
    drop(rotate(&mut keys, at(1)).unwrap());
    let files = private_files(&home);
    assert!(matches!(rotate(&mut keys, at(1)), Err(KeyError::TooMany { .. })));
    assert_eq!(private_files(&home), files);
}

fn keys_of(home: &LedgerHome) -> Vec<KeyEntry> {
    Keyring::read(&fs::read(keyring_path(home)).unwrap()).unwrap().keys().to_vec()
}

/// D-7: only the secret of the lease key is exposed, because Biscuit needs it, and no other role does.
#[test]
fn only_the_lease_key_exposes_its_secret() {
    let (_directory, home) = home();
    let mut keys = Keys::open(&home, at(0)).unwrap();
    for role in [KeyRole::Lease, KeyRole::Approval, KeyRole::Host] {
        drop(keys.make(role, at(0), None, Admission::AtOnce).unwrap());
    }
    for role in KeyRole::ALL {
        let signer = keys.signer(role, at(0)).unwrap();
        let public_key = |secret: &[u8; 32]| {
            PublicKey(ed25519_dalek::SigningKey::from_bytes(secret).verifying_key().to_bytes())
        };
        let expected = (role == KeyRole::Lease).then(|| signer.public_key());
        assert_eq!(signer.with_secret(public_key), expected, "{role}");
    }
}
