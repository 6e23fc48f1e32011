//! What a command may do, as whoever runs it says.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::limits::{Limits, Resource};

/// How much of the kernel stands between a command and the host. More is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Landlock and seccomp: the command sees the file system of the host, and the kernel refuses what
    /// is not allowed. It cannot take rights away again below a directory that may be written.
    L,
    /// Namespaces besides: a root of its own that holds what was declared and nothing else, and
    /// processes, network and inter-process communication of its own.
    N,
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::L => "L",
            Self::N => "N",
        })
    }
}

/// What a command may reach of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Net {
    /// Nothing; no socket can be made.
    #[default]
    None,
    /// A loopback of its own, in which it can talk to itself. Needs tier N.
    PrivateLoopback,
}

/// What a command reads from standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Nothing.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// What the supervisor reads from its own.
    Inherited,
}

/// What a command may do. Nothing is allowed that is not said here.
///
/// All paths are absolute and lead through no symbolic link of the command's making: they are opened
/// before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxPolicy {
    /// Files and directories that may be read, and what is in them.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// The same for reading, writing, making and removing.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// What stays as it is below a directory that may be written. Needs tier N.
    #[serde(default)]
    pub deny_write: Vec<PathBuf>,
    /// Files and directories whose programs may be started. This keeps honest programs in line; code
    /// that already runs can load what it can read.
    #[serde(default)]
    pub exec: Vec<PathBuf>,
    /// The network.
    #[serde(default)]
    pub net: Net,
    /// How much it may use.
    #[serde(default)]
    pub limits: Limits,
    /// The whole environment: nothing is inherited.
    #[serde(default)]
    pub env: BTreeMap<OsString, OsString>,
    /// Standard input.
    #[serde(default)]
    pub stdin: Stdin,
    /// Where it starts.
    pub cwd: PathBuf,
    /// The lowest tier that will do.
    #[serde(default = "lowest")]
    pub floor: Tier,
}

fn lowest() -> Tier {
    Tier::L
}

/// Why a policy cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum PolicyError {
    /// Relative to what would depend on who reads it.
    #[error("`{}` in `{field}` is not an absolute path", path.display())]
    Relative { field: &'static str, path: PathBuf },
    /// `.` and `..` mean another place as soon as a link is on the way.
    #[error("`{}` in `{field}` has a `.` or `..` in it", path.display())]
    Dots { field: &'static str, path: PathBuf },
    /// Everything would be allowed.
    #[error("`/` in `{field}` allows everything; name what is needed")]
    Root { field: &'static str },
    /// A NUL byte is in no path and no variable.
    #[error("`{field}` holds a NUL byte")]
    Nul { field: &'static str },
    /// It denies what nothing allows, so whoever wrote it expects something else.
    #[error("`{}` in `deny_write` is not below anything in `write`", path.display())]
    DeniesNothing { path: PathBuf },
    /// It allows and denies the same.
    #[error("`{}` is both in `write` and in `deny_write`", path.display())]
    Contradiction { path: PathBuf },
    /// The command would start where it may not be.
    #[error("the working directory `{}` is not below anything in `read` or `write`", path.display())]
    WorkingDirectory { path: PathBuf },
    /// A limit that allows nothing, or everything.
    #[error("the limit of {resource} is {max}, which is not from {least} to {most}{}", unit(*resource))]
    Limit { resource: Resource, max: u64, least: u64, most: u64 },
    /// A variable that execve(2) cannot carry.
    #[error("`{}` is no name of a variable", name.display())]
    VariableName { name: OsString },
    /// A private loopback is a network namespace, which tier L has not.
    #[error(
        "a private loopback needs tier N, and the floor is {floor}; raise the floor or take `none`"
    )]
    LoopbackFloor { floor: Tier },
}

fn unit(resource: Resource) -> String {
    match resource.unit() {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

impl SandboxPolicy {
    /// A policy that allows nothing yet, for a command that starts in `cwd`.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            read: Vec::new(),
            write: Vec::new(),
            deny_write: Vec::new(),
            exec: Vec::new(),
            net: Net::None,
            limits: Limits::default(),
            env: BTreeMap::new(),
            stdin: Stdin::Empty,
            cwd: cwd.into(),
            floor: lowest(),
        }
    }

    /// Whether the policy can be meant, whatever the host is.
    ///
    /// # Errors
    /// The first [`PolicyError`] in the order of the fields.
    pub fn check(&self) -> Result<(), PolicyError> {
        let lists = [
            ("read", &self.read),
            ("write", &self.write),
            ("deny_write", &self.deny_write),
            ("exec", &self.exec),
        ];
        for (field, paths) in lists {
            for path in paths {
                check_path(field, path)?;
                if path == Path::new("/") && field != "deny_write" {
                    return Err(PolicyError::Root { field });
                }
            }
        }
        check_path("cwd", &self.cwd)?;
        for path in &self.deny_write {
            if self.write.contains(path) {
                return Err(PolicyError::Contradiction { path: path.clone() });
            }
            if !is_below(path, &self.write) {
                return Err(PolicyError::DeniesNothing { path: path.clone() });
            }
        }
        if !is_below(&self.cwd, &self.read) && !is_below(&self.cwd, &self.write) {
            return Err(PolicyError::WorkingDirectory { path: self.cwd.clone() });
        }
        for (resource, limit) in self.limits.iter() {
            let (least, most) = resource.sensible();
            if !(least..=most).contains(&limit.max) {
                return Err(PolicyError::Limit { resource, max: limit.max, least, most });
            }
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return Err(PolicyError::VariableName { name: name.clone() });
            }
            if has_nul(name) || has_nul(value) {
                return Err(PolicyError::Nul { field: "env" });
            }
        }
        if self.net == Net::PrivateLoopback && self.floor < Tier::N {
            return Err(PolicyError::LoopbackFloor { floor: self.floor });
        }
        Ok(())
    }
}

fn check_path(field: &'static str, path: &Path) -> Result<(), PolicyError> {
    if has_nul(path.as_os_str()) {
        return Err(PolicyError::Nul { field });
    }
    if !path.is_absolute() {
        return Err(PolicyError::Relative { field, path: path.to_owned() });
    }
    // `components` leaves out a `.` in the middle, so the text is looked at too.
    let dots = |component: Component<'_>| matches!(component, Component::ParentDir);
    let dot = path.as_os_str().as_bytes().split(|&b| b == b'/').any(|part| part == b".");
    if dot || path.components().any(dots) {
        return Err(PolicyError::Dots { field, path: path.to_owned() });
    }
    Ok(())
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

/// Whether `path` is one of `trees` or in one of them.
fn is_below(path: &Path, trees: &[PathBuf]) -> bool {
    trees.iter().any(|tree| path.starts_with(tree))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Enforcement;

    fn policy() -> SandboxPolicy {
        SandboxPolicy {
            read: vec!["/usr".into()],
            write: vec!["/work".into()],
            deny_write: vec!["/work/.git".into()],
            exec: vec!["/usr/bin".into()],
            ..SandboxPolicy::new("/work/src")
        }
    }

    fn refusal(change: impl FnOnce(&mut SandboxPolicy)) -> String {
        let mut policy = policy();
        change(&mut policy);
        policy.check().unwrap_err().to_string()
    }

    /// AA-10
    #[test]
    fn a_policy_that_cannot_be_meant_is_refused_with_the_reason() {
        assert_eq!(policy().check(), Ok(()));
        let cases = [
            (refusal(|p| p.read.push("src".into())), "`src` in `read` is not an absolute path"),
            (
                refusal(|p| p.write.push("/a/../b".into())),
                "`/a/../b` in `write` has a `.` or `..` in it",
            ),
            (
                refusal(|p| p.exec.push("/a/./b".into())),
                "`/a/./b` in `exec` has a `.` or `..` in it",
            ),
            (
                refusal(|p| p.write.push("/".into())),
                "`/` in `write` allows everything; name what is needed",
            ),
            (refusal(|p| p.read.push("/a\0b".into())), "`read` holds a NUL byte"),
            (
                refusal(|p| p.deny_write.push("/usr/lib".into())),
                "`/usr/lib` in `deny_write` is not below anything in `write`",
            ),
            (
                refusal(|p| p.deny_write.push("/work".into())),
                "`/work` is both in `write` and in `deny_write`",
            ),
            (
                refusal(|p| p.cwd = "/etc".into()),
                "the working directory `/etc` is not below anything in `read` or `write`",
            ),
            (
                refusal(|p| {
                    p.limits = Limits::default().with(Resource::Wall, 0, Enforcement::Hard)
                }),
                "the limit of wall is 0, which is not from 1 to 604800000 ms",
            ),
            (
                refusal(|p| {
                    p.limits =
                        Limits::default().with(Resource::Processes, u64::MAX, Enforcement::Hard);
                }),
                "the limit of processes is 18446744073709551615, which is not from 1 to 4194304",
            ),
            (
                refusal(|p| drop(p.env.insert("A=B".into(), "".into()))),
                "`A=B` is no name of a variable",
            ),
            (refusal(|p| drop(p.env.insert("A".into(), "\0".into()))), "`env` holds a NUL byte"),
            (
                refusal(|p| p.net = Net::PrivateLoopback),
                "a private loopback needs tier N, and the floor is L; raise the floor or take `none`",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
