//! Users as which attacks are made: root, if the tests run as root, and an ordinary user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::attack::{Attack, Users};

/// Id of a user that has nothing on the machine.
const ORDINARY: u32 = 12345;

/// User as which attacks are made.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    /// Id of the user to become, if it is another.
    pub(crate) become_id: Option<u32>,
    is_root: bool,
}

/// All users as which attacks can be made.
pub(crate) fn users() -> Vec<User> {
    let user = |name, become_id, is_root| User { name, become_id, is_root };
    if is_root() {
        vec![user("as root", None, true), user("as a user", Some(ORDINARY), false)]
    } else {
        vec![user("as this user", None, false)]
    }
}

impl User {
    /// Starts the program as this user.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some(id) = self.become_id {
            command.uid(id).gid(id);
        }
        command.current_dir("/");
        command
    }

    /// Returns true if the attack is made as this user.
    pub(crate) fn fits(&self, attack: &Attack) -> bool {
        // A user other than root cannot become another user either.
        match attack.users {
            Users::All => true,
            Users::Root => self.is_root,
            Users::Ordinary | Users::Alone => self.become_id.is_some(),
        }
    }

    /// Returns the user as which this attack is made. An attack that would reach all of its user
    /// gets one of its own, which is `other` than those of trials that are made beside it.
    pub(crate) fn of(&self, attack: &Attack, other: u32) -> Self {
        let other = if attack.users == Users::Alone { other } else { 0 };
        Self { become_id: self.become_id.map(|id| id + other), ..*self }
    }
}

/// Installs this program where every user may run it, and, for root, a program that runs as root:
/// `id`. That does no harm, and only the ordinary user of the tests may run it.
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
