//! The users who run the attacks: root, if the tests run as root, and an ordinary user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::attack::{Attack, Users};

/// ID of a user who owns nothing on the machine.
const ORDINARY: u32 = 12345;

/// A user who runs attacks.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    /// ID of the user to switch to, if it is a different one.
    pub(crate) become_id: Option<u32>,
    is_root: bool,
}

/// Returns all users who can run attacks.
pub(crate) fn users() -> Vec<User> {
    let user = |name, become_id, is_root| User { name, become_id, is_root };
    if is_root() {
        vec![user("as root", None, true), user("as a user", Some(ORDINARY), false)]
    } else {
        vec![user("as this user", None, false)]
    }
}

impl User {
    /// Returns a command that runs the program as this user.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some(id) = self.become_id {
            command.uid(id).gid(id);
        }
        command.current_dir("/");
        command
    }

    /// Returns whether this user runs the attack.
    pub(crate) fn fits(&self, attack: &Attack) -> bool {
        // An ordinary user cannot switch to another user.
        match attack.users {
            Users::All => true,
            Users::Root => self.is_root,
            Users::Ordinary | Users::Alone => self.become_id.is_some(),
        }
    }

    /// Returns the user who runs this attack. An attack that would affect all processes of its user gets a separate one. `other`
    /// distinguishes it from concurrent trials.
    pub(crate) fn of(&self, attack: &Attack, other: u32) -> Self {
        let other = if attack.users == Users::Alone { other } else { 0 };
        Self { become_id: self.become_id.map(|id| id + other), ..*self }
    }
}

/// Copies this program to where every user may execute it. For root, it also installs a setuid-root copy of `id`, which is harmless
/// and executable only by the ordinary test user.
pub(crate) fn install(place: &TempDir) -> PathBuf {
    let open = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode));
    open(place.path(), 0o755).unwrap();
    let program = place.path().join("hostile");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    open(&program, 0o755).unwrap();
    if is_root() {
        let id = place.path().join("id");
        fs::copy("/usr/bin/id", &id).unwrap();
        chown(&id, Some(0), Some(ORDINARY)).unwrap();
        open(&id, 0o4750).unwrap();
        assert_eq!(fs::metadata(&id).unwrap().mode() & 0o7777, 0o4750);
    }
    program
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
