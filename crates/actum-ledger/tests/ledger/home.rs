//! The home of the ledger: which files are created, and which existing ones are rejected.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use actum_core::Timestamp;
use actum_ledger::home::Thing;
use actum_ledger::{HomeError, Keys, LedgerHome};
use actum_record::ledger::TenantId;
use actum_record::signer::KeyRole;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use tempfile::TempDir;

fn now() -> Timestamp {
    Timestamp::from_micros(1_795_291_387_000_000)
}

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refusal(path: &Path) -> HomeError {
    let refused = LedgerHome::open(path).unwrap_err();
    let existing = LedgerHome::open_existing(path);
    if !matches!(refused, HomeError::Unwritable { .. } | HomeError::System { .. }) {
        assert_eq!(existing.unwrap_err().to_string(), refused.to_string());
    }
    refused
}

/// Lists everything below a directory with its mode.
fn tree(path: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap().path();
            let name = entry.strip_prefix(path).unwrap().to_str().unwrap().to_owned();
            found.push((name, mode(&entry)));
            if entry.is_dir() {
                open.push(entry);
            }
        }
    }
    found.sort();
    found
}

fn check_root() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test must run as root, as all of `cargo xtask test` that needs it"
    );
}

/// A private in-memory file system that is unmounted when the value is dropped.
struct Mount(PathBuf);

impl Mount {
    fn new(path: &Path, options: &str) -> Self {
        check_root();
        fs::create_dir_all(path).unwrap();
        let options = std::ffi::CString::new(options).unwrap();
        rustix::mount::mount("tmpfs", path, "tmpfs", MountFlags::empty(), options.as_c_str())
            .unwrap();
        rustix::mount::mount_change(path, MountPropagationFlags::PRIVATE).unwrap();
        Self(path.to_owned())
    }

    fn remount(&self, flags: MountFlags, options: &str) {
        rustix::mount::mount_remount(&self.0, flags, options).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, UnmountFlags::DETACH).unwrap();
    }
}

/// AEC-11
#[test]
fn missing_home_and_its_parents_are_created_private() {
    let (_directory, root) = directory();
    let path = root.join(".local/share/actum");
    assert!(LedgerHome::open_existing(&path).unwrap().is_none());
    assert_eq!(tree(&root), []);
    let home = LedgerHome::open(&path).unwrap();
    assert_eq!(home.path(), path);
    let tenant = "team-7".parse().unwrap();
    assert_eq!(home.tenant(&tenant).unwrap().path(), path.join("tenants/team-7"));
    Keys::open(&home, now()).unwrap();
    for (name, mode) in tree(&root) {
        let wanted = if root.join(&name).is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{name}");
    }
    let again = LedgerHome::open(&path).unwrap();
    assert_eq!(again.tenants().unwrap(), [tenant]);
    assert!(again.existing_tenant(&TenantId::default()).unwrap().is_none());
}

/// AEC-11
#[test]
fn home_accessible_to_others_is_rejected_and_not_repaired() {
    let (_directory, root) = directory();
    let path = root.join("home");
    drop(LedgerHome::open(&path).unwrap());
    for open in [0o755, 0o750, 0o701, 0o710, 0o720, 0o777, 0o1777, 0o2770] {
        set_mode(&path, open);
        let refused = refusal(&path);
        assert!(
            matches!(refused, HomeError::TooOpen { what: Thing::Directory, mode, .. } if mode == open)
        );
        let (path, message) = (path.display(), refused.to_string());
        assert_eq!(
            message,
            format!(
                "cannot use `{path}`: other users can access it, because its mode is {open:04o} instead of \
                 0700; if none of them did, run `chmod 700 {path}`"
            )
        );
        assert_eq!(mode(&root.join("home")), open);
    }
    for closed in [0o700, 0o2700, 0o1700] {
        set_mode(&path, closed);
        LedgerHome::open(&path).unwrap();
    }
}

/// AEC-11
#[test]
fn directory_in_the_home_accessible_to_others_is_rejected() {
    let (_directory, root) = directory();
    let home = LedgerHome::open(&root.join("home")).unwrap();
    let tenant = TenantId::default();
    home.tenant(&tenant).unwrap();
    Keys::open(&home, now()).unwrap();
    for name in ["tenants", "tenants/default"] {
        let path = home.path().join(name);
        set_mode(&path, 0o770);
        let refused = home.tenant(&tenant).unwrap_err();
        assert!(matches!(refused, HomeError::TooOpen { mode: 0o770, .. }), "{refused}");
        assert_eq!(home.existing_tenant(&tenant).unwrap_err().to_string(), refused.to_string());
        set_mode(&path, 0o700);
    }
    for name in ["lock", "keys/keyring.json"] {
        let path = home.path().join(name);
        set_mode(&path, 0o640);
        let refused = Keys::open(&home, now()).unwrap_err().to_string();
        let path_shown = path.display();
        assert_eq!(
            refused,
            format!(
                "cannot use `{path_shown}`: other users can access it, because its mode is 0640 instead of \
                 0600; if none of them did, run `chmod 600 {path_shown}`"
            )
        );
        set_mode(&path, 0o600);
    }
    Keys::open(&home, now()).unwrap().signer(KeyRole::Result, now()).unwrap();
}

/// AEC-11
#[test]
fn symlink_or_non_directory_as_home_is_rejected() {
    let (_directory, root) = directory();
    let real = root.join("real");
    drop(LedgerHome::open(&real).unwrap());
    let link = root.join("link");
    symlink(&real, &link).unwrap();
    for path in [link.clone(), root.join("link/"), root.join("link/.")] {
        assert!(matches!(refusal(&path), HomeError::Symlink { what: Thing::Directory, .. }));
    }
    // A caller that opens a home below a symlink resolves the path once beforehand.
    symlink(&root, root.join("way")).unwrap();
    assert!(matches!(refusal(&root.join("way/real")), HomeError::Symlink { .. }));
    symlink(root.join("nowhere"), root.join("dangling")).unwrap();
    assert!(matches!(refusal(&root.join("dangling")), HomeError::Symlink { .. }));
    assert!(!root.join("nowhere").exists());

    fs::write(root.join("file"), "mine").unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    for name in ["file", "socket"] {
        let refused = refusal(&root.join(name));
        assert!(matches!(refused, HomeError::Other { what: Thing::Directory, .. }), "{refused}");
    }
    assert!(matches!(refusal(&root.join("file/below")), HomeError::Other { .. }));
    assert!(LedgerHome::open(&root.join("dangling/below")).is_err());
    assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "mine");
}

/// AEC-11
#[test]
fn symlinks_in_the_home_are_not_followed() {
    let (_directory, root) = directory();
    let home = LedgerHome::open(&root.join("home")).unwrap();
    let tenant = TenantId::default();
    home.tenant(&tenant).unwrap();
    Keys::open(&home, now()).unwrap();
    for name in ["tenants", "tenants/default", "keys", "keys/keyring.json", "lock"] {
        let (path, aside) = (home.path().join(name), root.join("aside"));
        fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        let refused = match name.starts_with("tenants") {
            true => home.tenant(&tenant).unwrap_err().to_string(),
            false => Keys::open(&home, now()).unwrap_err().to_string(),
        };
        assert!(refused.contains("it is a symbolic link"), "{name}: {refused}");
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
    Keys::open(&home, now()).unwrap();
}

/// AEC-11
#[test]
fn fifo_in_place_of_a_file_is_rejected_without_blocking() {
    let (_directory, root) = directory();
    let home = LedgerHome::open(&root.join("home")).unwrap();
    Keys::open(&home, now()).unwrap();
    for name in ["keys/keyring.json", "lock"] {
        let path = home.path().join(name);
        fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
        let refused = Keys::open(&home, now()).unwrap_err().to_string();
        assert!(refused.contains("it is not a regular file"), "{refused}");
    }
}

/// AEC-11
#[test]
fn home_contents_owned_by_another_user_are_rejected() {
    check_root();
    let (_directory, root) = directory();
    let path = root.join("home");
    let home = LedgerHome::open(&path).unwrap();
    home.tenant(&TenantId::default()).unwrap();
    Keys::open(&home, now()).unwrap();
    for name in ["lock", "keys", "keys/keyring.json"] {
        chown(path.join(name), Some(12), Some(34)).unwrap();
        let refused = Keys::open(&home, now()).unwrap_err().to_string();
        assert!(refused.contains("it belongs to user 12, but this process runs as user 0"));
        chown(path.join(name), Some(0), Some(0)).unwrap();
    }
    chown(path.join("tenants/default"), Some(12), None).unwrap();
    assert!(matches!(home.tenant(&TenantId::default()), Err(HomeError::Owner { owner: 12, .. })));
    chown(&path, Some(12), Some(34)).unwrap();
    let refused = refusal(&path);
    assert_eq!(
        refused.to_string(),
        format!(
            "cannot use `{}`: it belongs to user 12, but this process runs as user 0; run actum as the \
             owner, or use a different `ACTUM_HOME`",
            path.display()
        )
    );
}

/// AEC-11
#[test]
fn read_only_home_can_be_read() {
    let (_directory, root) = directory();
    let mount = Mount::new(&root.join("mount"), "mode=700");
    let path = root.join("mount/home");
    let home = LedgerHome::open(&path).unwrap();
    Keys::open(&home, now()).unwrap();
    mount.remount(MountFlags::RDONLY, "");
    let refused = refusal(&path);
    assert!(matches!(refused, HomeError::Unwritable { .. }), "{refused}");
    assert!(refused.to_string().ends_with("Read-only file system (os error 30)"));
    assert!(matches!(refusal(&root.join("mount/other")), HomeError::System { .. }));
    let home = LedgerHome::open_existing(&path).unwrap().unwrap();
    assert_eq!(Keys::open_existing(&home).unwrap().unwrap().keyring().keys().len(), 2);
}

/// AEC-11
#[test]
fn home_may_be_a_mount_point_on_another_file_system() {
    let (_directory, root) = directory();
    let _mount = Mount::new(&root.join("mount"), "mode=700");
    for path in [root.join("mount"), root.join("mount/a/b")] {
        let home = LedgerHome::open(&path).unwrap();
        Keys::open(&home, now()).unwrap().signer(KeyRole::Result, now()).unwrap();
    }
}

/// AEC-11: a full disk at any step leaves only complete files, which the next use keeps or creates again.
#[test]
fn full_disk_during_first_use_leaves_no_partial_files() {
    let (_directory, root) = directory();
    let mut failures = 0;
    for inodes in 2.. {
        let mount = Mount::new(&root.join("mount"), &format!("mode=700,nr_inodes={inodes}"));
        let path = root.join("mount/home");
        let first = LedgerHome::open(&path)
            .map_err(|error| error.to_string())
            .and_then(|home| Keys::open(&home, now()).map_err(|error| error.to_string()));
        let Err(message) = first else { break };
        assert!(message.contains("No space left on device"), "{message}");
        failures += 1;
        mount.remount(MountFlags::empty(), "nr_inodes=1000");
        let home = LedgerHome::open(&path).unwrap();
        Keys::open(&home, now()).unwrap().signer(KeyRole::Checkpoint, now()).unwrap();
        let names: Vec<String> = tree(&path).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 7, "{names:?}");
    }
    assert!(failures > 5, "{failures}");
}

/// AEC-11
#[test]
fn relative_home_path_is_rejected() {
    for path in ["", ".", "home", "./home", "../home"] {
        let refused = refusal(Path::new(path));
        assert_eq!(
            refused.to_string(),
            format!("cannot use `{path}` as the home of the ledger: the path is not absolute")
        );
    }
}

/// AEC-11
#[test]
fn unusual_home_name_works_and_is_escaped_in_errors() {
    let (_directory, root) = directory();
    let path = root.join("a \n'b\u{1b}[1m");
    let home = LedgerHome::open(&path).unwrap();
    Keys::open(&home, now()).unwrap().signer(KeyRole::Result, now()).unwrap();
    set_mode(&path, 0o755);
    let message = refusal(&path).to_string();
    let above = root.display();
    assert_eq!(
        message,
        format!(
            "cannot use `{above}/a \\n'b\\033[1m`: other users can access it, because its mode is 0755 \
             instead of 0700; if none of them did, run `chmod 700 $'{above}/a \\012\\047b\\033[1m'`"
        )
    );
}

/// AEC-11
#[test]
fn root_directory_as_home_is_rejected() {
    let refused = refusal(Path::new("/"));
    assert!(matches!(refused, HomeError::TooOpen { .. } | HomeError::Owner { .. }), "{refused}");
}
