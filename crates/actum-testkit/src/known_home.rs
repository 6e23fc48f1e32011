//! Runs a program with a modified password database, in which its user has a different home directory.
//!
//! Some settings of the operator's policy are read only from the home directory in the password database, which no
//! environment variable can override. Tests therefore run the program in a mount namespace with its own `/etc/passwd`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// User name for the added entry if the password database of this machine has no entry for the user ID.
const NAME: &str = "person";

/// User whose home directory is replaced.
#[derive(Debug, Clone, Copy)]
pub enum User {
    /// The user that runs the tests.
    Own,
    /// A different user and group with this ID. The command is run as that user, which requires root.
    Other(u32),
}

/// Wraps a command so that it runs in a mount namespace in which the home directory of `user` is `home`. The modified
/// password database is written to `home/passwd`.
///
/// Keeps the program, its arguments, the variables that it sets and the current directory. Standard streams and
/// variables to be cleared must be set on the returned command.
pub fn command(command: &Command, user: User, home: &Path) -> Command {
    let own = fs::metadata("/proc/self").expect("this process");
    let (uid, gid) = match user {
        User::Own => (own.uid(), own.gid()),
        User::Other(id) => (id, id),
    };
    let database = home.join("passwd");
    fs::write(&database, database_with(uid, gid, home)).expect("a file of the test");
    let mut within = Command::new("/usr/bin/unshare");
    within.arg("--mount").args((own.uid() != 0).then_some("--map-root-user"));
    let script = "/usr/bin/mount --bind \"$0\" /etc/passwd && exec \"$@\"";
    within.args(["/bin/sh", "-c", script]).arg(database);
    match user {
        User::Own if own.uid() != 0 => {
            within.arg("/usr/bin/unshare");
            within.args([format!("--map-user={uid}"), format!("--map-group={gid}")]);
        }
        User::Own => {}
        User::Other(id) => {
            within.args(["/usr/bin/setpriv", "--clear-groups"]);
            within.args([format!("--reuid={id}"), format!("--regid={id}")]);
        }
    }
    within.arg(command.get_program()).args(command.get_args());
    within.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    if let Some(directory) = command.get_current_dir() {
        within.current_dir(directory);
    }
    within
}

/// Returns the password database of this machine (passwd(5)), with the home directory of user `uid` set to `home`.
fn database_with(uid: u32, gid: u32, home: &Path) -> String {
    let home = home.to_str().expect("the path is text");
    let id = uid.to_string();
    let users = fs::read_to_string("/etc/passwd").expect("the password database");
    let is_known = users.lines().any(|line| line.split(':').nth(2) == Some(&id));
    let with_home = |line: &str| {
        let mut fields: Vec<&str> = line.split(':').collect();
        if fields.len() > 5 && fields[2] == id {
            fields[5] = home;
        }
        fields.join(":") + "\n"
    };
    let mut users: String = users.lines().map(with_home).collect();
    if !is_known {
        users += &format!("{NAME}:x:{uid}:{gid}::{home}:/bin/sh\n");
    }
    users
}
