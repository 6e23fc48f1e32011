//! Sandbox policy: the permissions and limits that a caller gives to a command.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::limits::{Limits, Resource};

/// Level of isolation between a command and the host. Stronger tiers compare as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Isolation by Landlock and seccomp. The command sees the file system of the host, and the kernel
    /// denies all access that is not allowed. Tier L cannot exclude paths below a writable directory.
    L,
    /// Isolation by namespaces in addition. The command has a private root that contains only declared
    /// paths, and its own processes, network and inter-process communication.
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

/// Network access of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Net {
    /// No network. The command cannot create any sockets.
    #[default]
    None,
    /// A private loopback interface, which only the command's own processes can use. Requires tier N.
    PrivateLoopback,
    /// The network of the host, through IPv4 and IPv6 sockets only. Requires tier N.
    Host,
}

/// Standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// No input: the command reads from `/dev/null`.
    #[default]
    Empty,
    /// Fixed bytes, which the supervisor writes to a pipe.
    Bytes(Vec<u8>),
    /// Standard input of the supervisor, which forwards its bytes through a pipe.
    Inherited,
    /// A separate pseudo-terminal, which the command also uses for its outputs. The supervisor forwards
    /// input from its own terminal, so its standard input must be a terminal.
    Terminal,
}

/// Permissions and limits of a sandboxed command. Anything that is not listed here is denied.
///
/// All paths must be absolute. They are opened before the command starts, so it cannot redirect them
/// with symbolic links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxPolicy {
    /// Files and directories that the command may read, including everything below them.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// Files and directories that the command may read and change, including everything below them.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// Paths below a writable directory that the command cannot change. Requires tier N.
    #[serde(default)]
    pub deny_write: Vec<PathBuf>,
    /// Files and directories whose content the command cannot read, even if they are below a readable
    /// directory. Paths that do not exist are ignored.
    ///
    /// In tier N, the command sees an empty directory or a file that it cannot open instead. In tier L, it
    /// can still list the names in a hidden directory, and hidden paths must not be below a path in `write`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<PathBuf>,
    /// Files and directories from which the command may execute programs. This is no protection against
    /// malicious code, because a running program can load code from any file that it can read.
    #[serde(default)]
    pub exec: Vec<PathBuf>,
    /// Network access of the command.
    #[serde(default)]
    pub net: Net,
    /// Resource limits of the command.
    #[serde(default)]
    pub limits: Limits,
    /// All environment variables of the command. None are inherited.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Standard input of the command. It is set by the program that starts the command and cannot be set
    /// in a policy file.
    #[serde(skip)]
    pub stdin: Stdin,
    /// Working directory in which the command starts.
    #[serde(default)]
    pub cwd: PathBuf,
    /// Maximum size in bytes of a private directory for temporary files, or `None` for no such directory.
    /// `TMPDIR` and `HOME` are set to it.
    ///
    /// In tier N, the directory is an in-memory file system at `/tmp`, whose size the kernel limits. In tier
    /// L, it is a new temporary directory on the host that is removed afterwards. Bytes written to it count
    /// as written to storage.
    #[serde(default)]
    pub scratch: Option<u64>,
    /// View of a directory in which the command's changes are captured instead of changing the directory.
    /// Requires tier N.
    #[serde(default)]
    pub view: Option<View>,
    /// Minimum tier in which the command may run.
    #[serde(default = "lowest")]
    pub floor: Tier,
}

/// View of a directory, optionally with staged changes (overlayfs). The command may change everything in
/// it, but the directory itself remains unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Directory that the command sees at its usual path. Other file systems mounted below it are not
    /// visible.
    pub base: PathBuf,
    /// Layer of staged changes that the command sees applied to the base, in the format of
    /// [`crate::Layer`]. It is never modified.
    #[serde(default)]
    pub staged: Option<PathBuf>,
    /// Directories below the base that the command accesses directly. Changes to them take effect on the
    /// host and are not captured.
    #[serde(default)]
    pub caches: Vec<PathBuf>,
    /// Additional path at which the command sees the base without staged changes, read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<PathBuf>,
    /// Empty directory on the file system of the base, in whose subdirectory `upper` the changes are stored.
    /// If the kernel cannot use it for an overlay, they are stored in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<PathBuf>,
    /// Maximum size in bytes of the changes if they are stored in memory, enforced by the kernel.
    pub max: u64,
}

fn lowest() -> Tier {
    Tier::L
}

/// Error in a sandbox policy that makes it invalid on every host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum PolicyError {
    /// A path is relative, so its meaning would depend on the working directory.
    #[error("`{}` in `{field}` is not an absolute path", path.display())]
    Relative { field: &'static str, path: PathBuf },
    /// A path contains `.` or `..`, which could lead elsewhere if the path contains a symbolic link.
    #[error("`{}` in `{field}` contains a `.` or `..` component", path.display())]
    Dots { field: &'static str, path: PathBuf },
    /// The policy allows access to the root of the file system, and therefore to everything.
    #[error("`/` in `{field}` would allow everything; list only the paths that are needed")]
    Root { field: &'static str },
    /// A path or environment variable contains a NUL byte, which the kernel does not accept.
    #[error("`{field}` contains a NUL byte")]
    Nul { field: &'static str },
    /// A path is denied although no other entry allows it, so the policy is probably a mistake.
    #[error("`{}` in `deny_write` is not below any path in `write`", path.display())]
    DeniesNothing { path: PathBuf },
    /// A path is both writable and denied.
    #[error("`{}` is writable, but is also in `deny_write` or below a path in it", path.display())]
    Contradiction { path: PathBuf },
    /// A path is both visible and hidden.
    #[error("`{}` in `hide` would hide `{}`, which must be visible", path.display(), seen.display())]
    HidesSeen { path: PathBuf, seen: PathBuf },
    /// The command would start in a directory that it is not allowed to read.
    #[error("the working directory `{}` is not below any path in `read` or `write`", path.display())]
    WorkingDirectory { path: PathBuf },
    /// A resource limit is outside of its valid range.
    #[error("the limit on {resource} is {max}, but must be between {least} and {most}{}", unit(*resource))]
    Limit { resource: Resource, max: u64, least: u64, most: u64 },
    /// The name of an environment variable is empty or contains `=`.
    #[error("`{name}` is not a valid name of an environment variable")]
    VariableName { name: String },
    /// A path is not valid UTF-8, so it cannot be written to a policy file.
    #[error("`{}` in `{field}` is not valid UTF-8", path.display())]
    NotText { field: &'static str, path: PathBuf },
    /// The size of an in-memory file system is outside of its valid range.
    #[error("`{field}` is {max} bytes, but must be between {least} and {most}")]
    Size { field: &'static str, max: u64, least: u64, most: u64 },
    /// A cache is not below the base of its view.
    #[error("`{}` in `caches` is not below `{}`, the base of the view", path.display(), base.display())]
    CacheOutside { path: PathBuf, base: PathBuf },
    /// A writable path overlaps the view, so changes would be both captured and not captured.
    #[error("`{}` in `write` overlaps the view, which is writable already", path.display())]
    WrittenInView { path: PathBuf },
    /// The additional path of the base overlaps another declared path.
    #[error("`{}` in `view.before` overlaps `{}`, another path of the policy", path.display(), other.display())]
    BeforeTaken { path: PathBuf, other: PathBuf },
    /// A policy with a scratch directory declares `/tmp`, where that directory is mounted.
    #[error("`{}` in `{field}` is hidden by the scratch directory at `/tmp`", path.display())]
    HiddenByScratch { field: &'static str, path: PathBuf },
}

fn unit(resource: Resource) -> String {
    match resource.unit() {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

impl SandboxPolicy {
    /// Creates a policy that allows nothing, for a command that starts in `cwd`.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            read: Vec::new(),
            write: Vec::new(),
            deny_write: Vec::new(),
            hide: Vec::new(),
            exec: Vec::new(),
            net: Net::None,
            limits: Limits::default(),
            env: BTreeMap::new(),
            stdin: Stdin::Empty,
            cwd: cwd.into(),
            scratch: None,
            view: None,
            floor: lowest(),
        }
    }

    /// Checks the policy for errors that do not depend on the host.
    ///
    /// # Errors
    /// Returns the first [`PolicyError`] that is found.
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
        self.check_view()?;
        let written: Vec<&PathBuf> = self.written().collect();
        for path in &self.deny_write {
            if written.contains(&path) {
                return Err(PolicyError::Contradiction { path: path.clone() });
            }
            if !is_below(path, &written) {
                return Err(PolicyError::DeniesNothing { path: path.clone() });
            }
        }
        let caches = self.view.iter().flat_map(|view| &view.caches);
        for path in self.write.iter().chain(caches) {
            if self.deny_write.iter().any(|kept| path.starts_with(kept)) {
                return Err(PolicyError::Contradiction { path: path.clone() });
            }
        }
        let seen: Vec<&PathBuf> = self.read.iter().chain(self.written()).collect();
        if !is_below(&self.cwd, &seen) {
            return Err(PolicyError::WorkingDirectory { path: self.cwd.clone() });
        }
        self.check_hidden()?;
        self.check_scratch()?;
        for (resource, limit) in self.limits.iter() {
            let (least, most) = resource.sensible();
            if !(least..=most).contains(&limit.max) {
                return Err(PolicyError::Limit { resource, max: limit.max, least, most });
            }
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains('=') {
                return Err(PolicyError::VariableName { name: name.clone() });
            }
            if name.contains('\0') || value.contains('\0') {
                return Err(PolicyError::Nul { field: "env" });
            }
        }
        Ok(())
    }

    fn check_view(&self) -> Result<(), PolicyError> {
        let Some(View { base, staged, caches, before, upper, max }) = &self.view else {
            return Ok(());
        };
        check_path("view.base", base)?;
        check_size("view.max", *max)?;
        if base == Path::new("/") {
            return Err(PolicyError::Root { field: "view.base" });
        }
        for (field, path) in [("view.staged", staged), ("view.upper", upper)] {
            path.as_ref().map_or(Ok(()), |path| check_path(field, path))?;
        }
        for path in caches {
            check_path("view.caches", path)?;
            if path == base || !path.starts_with(base) {
                return Err(PolicyError::CacheOutside { path: path.clone(), base: base.clone() });
            }
        }
        match self.write.iter().find(|path| path.starts_with(base) || base.starts_with(path)) {
            Some(path) => Err(PolicyError::WrittenInView { path: path.clone() }),
            None => before.as_ref().map_or(Ok(()), |before| self.check_before(before, base)),
        }
    }

    /// Checks that the additional path of the base overlaps no other path of the policy.
    fn check_before(&self, before: &Path, base: &PathBuf) -> Result<(), PolicyError> {
        check_path("view.before", before)?;
        let seen = [&self.read, &self.write, &self.deny_write, &self.exec];
        let mut seen = seen.into_iter().flatten().chain([base]);
        let taken = seen.find(|path| path.starts_with(before) || before.starts_with(path));
        match taken {
            Some(other) => {
                let (path, other) = (before.to_owned(), other.clone());
                Err(PolicyError::BeforeTaken { path, other })
            }
            None => Ok(()),
        }
    }

    fn check_hidden(&self) -> Result<(), PolicyError> {
        let view = self.view.iter();
        let view = view.flat_map(|view| std::iter::once(&view.base).chain(&view.caches));
        let lists = [&self.read, &self.write, &self.deny_write, &self.exec];
        let seen = || lists.into_iter().flatten().chain(view.clone()).chain([&self.cwd]);
        for path in &self.hide {
            check_path("hide", path)?;
            if let Some(seen) = seen().find(|seen| seen.starts_with(path)) {
                return Err(PolicyError::HidesSeen { path: path.clone(), seen: seen.clone() });
            }
        }
        Ok(())
    }

    /// Returns the hidden paths. If the base of a view is visible at an additional path, the hidden paths
    /// below the base are included there as well.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        let before = self.view.iter().filter_map(|view| Some((&view.base, view.before.as_ref()?)));
        let again = before.flat_map(|(base, before)| {
            let below = self.hide.iter().filter_map(move |path| path.strip_prefix(base).ok());
            below.map(|path| before.join(path))
        });
        self.hide.iter().cloned().chain(again).collect()
    }

    fn check_scratch(&self) -> Result<(), PolicyError> {
        let Some(max) = self.scratch else { return Ok(()) };
        check_size("scratch", max)?;
        let tmp = Path::new(crate::SCRATCH);
        let view = self
            .view
            .iter()
            .flat_map(|view| std::iter::once(&view.base).chain(&view.caches).chain(&view.before));
        let view: Vec<PathBuf> = view.cloned().collect();
        let lists = [
            ("read", &self.read),
            ("write", &self.write),
            ("deny_write", &self.deny_write),
            ("exec", &self.exec),
            ("view", &view),
        ];
        for (field, paths) in lists {
            if let Some(path) = paths.iter().find(|path| path.as_path() == tmp) {
                return Err(PolicyError::HiddenByScratch { field, path: path.clone() });
            }
        }
        Ok(())
    }

    /// Returns the paths that the command may write to, including the base of a view.
    pub(crate) fn written(&self) -> impl Iterator<Item = &PathBuf> {
        let view = self.view.iter().flat_map(|view| std::iter::once(&view.base));
        self.write.iter().chain(view)
    }
}

fn check_size(field: &'static str, max: u64) -> Result<(), PolicyError> {
    let (least, most) = (4096, 1 << 40);
    if (least..=most).contains(&max) {
        return Ok(());
    }
    Err(PolicyError::Size { field, max, least, most })
}

fn check_path(field: &'static str, path: &Path) -> Result<(), PolicyError> {
    let Some(text) = path.to_str() else {
        return Err(PolicyError::NotText { field, path: path.to_owned() });
    };
    if text.contains('\0') {
        return Err(PolicyError::Nul { field });
    }
    if !path.is_absolute() {
        return Err(PolicyError::Relative { field, path: path.to_owned() });
    }
    // `components` skips a `.` in the middle of a path, so check the text as well.
    let dots = |component: Component<'_>| matches!(component, Component::ParentDir);
    let dot = text.split('/').any(|part| part == ".");
    if dot || path.components().any(dots) {
        return Err(PolicyError::Dots { field, path: path.to_owned() });
    }
    Ok(())
}

/// Returns whether `path` is one of `trees` or below one of them.
fn is_below(path: &Path, trees: &[&PathBuf]) -> bool {
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
    fn invalid_sandbox_policy_is_rejected_with_the_reason() {
        assert_eq!(policy().check(), Ok(()));
        let cases = [
            (refusal(|p| p.read.push("src".into())), "`src` in `read` is not an absolute path"),
            (
                refusal(|p| p.write.push("/a/../b".into())),
                "`/a/../b` in `write` contains a `.` or `..` component",
            ),
            (
                refusal(|p| p.exec.push("/a/./b".into())),
                "`/a/./b` in `exec` contains a `.` or `..` component",
            ),
            (
                refusal(|p| p.write.push("/".into())),
                "`/` in `write` would allow everything; list only the paths that are needed",
            ),
            (refusal(|p| p.read.push("/a\0b".into())), "`read` contains a NUL byte"),
            (
                refusal(|p| p.deny_write.push("/usr/lib".into())),
                "`/usr/lib` in `deny_write` is not below any path in `write`",
            ),
            (
                refusal(|p| p.deny_write.push("/work".into())),
                "`/work` is writable, but is also in `deny_write` or below a path in it",
            ),
            (
                refusal(|p| p.cwd = "/etc".into()),
                "the working directory `/etc` is not below any path in `read` or `write`",
            ),
            (
                refusal(|p| p.hide.push("/work".into())),
                "`/work` in `hide` would hide `/work`, which must be visible",
            ),
            (refusal(|p| p.hide.push("x".into())), "`x` in `hide` is not an absolute path"),
            (
                refusal(|p| {
                    p.limits = Limits::default().with(Resource::Wall, 0, Enforcement::Hard)
                }),
                "the limit on wall is 0, but must be between 1 and 604800000 ms",
            ),
            (
                refusal(|p| {
                    p.limits =
                        Limits::default().with(Resource::Processes, u64::MAX, Enforcement::Hard);
                }),
                "the limit on processes is 18446744073709551615, but must be between 1 and 4194304",
            ),
            (
                refusal(|p| drop(p.env.insert("A=B".into(), "".into()))),
                "`A=B` is not a valid name of an environment variable",
            ),
            (refusal(|p| drop(p.env.insert("A".into(), "\0".into()))), "`env` contains a NUL byte"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
