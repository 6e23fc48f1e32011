//! Policy of a command: what it may do, as its caller states it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::limits::{Limits, Resource};

/// Confinement of a command: how much of the kernel is between it and the host. More is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Landlock and seccomp: the command sees the file system of the host, and the kernel refuses
    /// what is not allowed. Tier L cannot take rights away again below a directory that may be
    /// written.
    L,
    /// Namespaces besides: a root of its own that holds only declared paths, and processes, network
    /// and inter-process communication of its own.
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
    /// No network; no socket can be made.
    #[default]
    None,
    /// A loopback of its own, in which it can talk to itself. Needs tier N.
    PrivateLoopback,
    /// The network of the host, by IPv4 and IPv6 sockets alone. Needs tier N.
    Host,
}

/// Standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Empty input.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Bytes that the supervisor reads from its own standard input, through a pipe.
    Inherited,
    /// A terminal of its own. The supervisor passes it the input of its own terminal, and the
    /// outputs go to it as well. Standard input of the supervisor must be a terminal.
    Terminal,
}

/// Permissions of a command. Nothing is allowed that is not listed here.
///
/// All paths are absolute and lead through no symbolic link of the command's making: they are
/// opened before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxPolicy {
    /// Files and directories that may be read, with their content.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// Paths that may be read, written, made and removed.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// Paths that cannot be changed, below a directory that may be written. Needs tier N.
    #[serde(default)]
    pub deny_write: Vec<PathBuf>,
    /// Files and directories whose content cannot be read, though they lie in something that may be
    /// read. In tier N an empty directory, or a file that cannot be opened, is seen in their place.
    /// In tier L the names in a directory can still be listed, and nothing hidden may lie in
    /// `write`. One that is missing is not hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<PathBuf>,
    /// Files and directories whose programs may be started. This keeps honest programs in line;
    /// code that already runs can load any file that it can read.
    #[serde(default)]
    pub exec: Vec<PathBuf>,
    /// The network.
    #[serde(default)]
    pub net: Net,
    /// Limits of its use of resources.
    #[serde(default)]
    pub limits: Limits,
    /// The whole environment: nothing is inherited.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Standard input. It is set by the program that starts the command, and by no file.
    #[serde(skip)]
    pub stdin: Stdin,
    /// Working directory at the start.
    #[serde(default)]
    pub cwd: PathBuf,
    /// A private directory for temporary files, as the most bytes it may hold. `TMPDIR` and `HOME`
    /// lead to it. In tier N it is `/tmp`, in memory, and the kernel refuses more. In tier L it is
    /// a new directory among the temporary files of the host, which is removed afterwards, and
    /// bytes written there count as written to storage.
    #[serde(default)]
    pub scratch: Option<u64>,
    /// A directory of which the command gets a view of its own: its changes there are captured, and
    /// the directory is not changed. Needs tier N.
    #[serde(default)]
    pub view: Option<View>,
    /// The lowest tier that will do.
    #[serde(default = "lowest")]
    pub floor: Tier,
}

/// A directory that a command sees, with staged changes, and may change as it likes without any of that
/// reaching the directory itself (overlayfs).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// The directory, which is seen at its own path. Other file systems mounted in it are not seen.
    pub base: PathBuf,
    /// A layer with changes that lie over it already, as [`crate::Layer`] makes them. It is only read.
    #[serde(default)]
    pub staged: Option<PathBuf>,
    /// Directories in it that are passed through: changes there are real, and are not captured.
    #[serde(default)]
    pub caches: Vec<PathBuf>,
    /// Another path at which the base is seen, too: without the staged changes, and read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<PathBuf>,
    /// An empty directory on the file system of the base, which holds the changes in `upper`, if
    /// the kernel can use it for that. Otherwise they are held in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<PathBuf>,
    /// Limit of the memory of the changes, in bytes; the kernel refuses more.
    pub max: u64,
}

fn lowest() -> Tier {
    Tier::L
}

/// Reason why a policy is contradictory or malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are named in each message")]
pub enum PolicyError {
    /// A relative path would depend on its reader.
    #[error("`{}` in `{field}` is not an absolute path", path.display())]
    Relative { field: &'static str, path: PathBuf },
    /// `.` and `..` name another path as soon as a link is on the way.
    #[error("`{}` in `{field}` has a `.` or `..` in it", path.display())]
    Dots { field: &'static str, path: PathBuf },
    /// The root of the file system would allow everything.
    #[error("`/` in `{field}` allows everything; name what is needed")]
    Root { field: &'static str },
    /// A NUL byte is in no path and no variable.
    #[error("`{field}` holds a NUL byte")]
    Nul { field: &'static str },
    /// The policy denies paths that nothing allows, so its author expects another policy.
    #[error("`{}` in `deny_write` is not below anything in `write`", path.display())]
    DeniesNothing { path: PathBuf },
    /// A path is both allowed and denied.
    #[error("`{}` may be written, and is or lies in what is in `deny_write`", path.display())]
    Contradiction { path: PathBuf },
    /// A path would be both seen and hidden.
    #[error("`{}` in `hide` is or holds `{}`, which is to be seen", path.display(), seen.display())]
    HidesSeen { path: PathBuf, seen: PathBuf },
    /// The command would start in a directory that it may not read.
    #[error("the working directory `{}` is not below anything in `read` or `write`", path.display())]
    WorkingDirectory { path: PathBuf },
    /// A limit that allows nothing, or everything.
    #[error("the limit of {resource} is {max}, which is not from {least} to {most}{}", unit(*resource))]
    Limit { resource: Resource, max: u64, least: u64, most: u64 },
    /// A variable that execve(2) cannot carry.
    #[error("`{name}` is no name of a variable")]
    VariableName { name: String },
    /// Policies are text.
    #[error("`{}` in `{field}` is no UTF-8", path.display())]
    NotText { field: &'static str, path: PathBuf },
    /// Less than a page holds nothing, and more than the memory is a mistake.
    #[error("`{field}` is {max} bytes, which is not from {least} to {most}")]
    Size { field: &'static str, max: u64, least: u64, most: u64 },
    /// A cache must be part of the view.
    #[error("`{}` in `caches` is not below the view's base `{}`", path.display(), base.display())]
    CacheOutside { path: PathBuf, base: PathBuf },
    /// A path would be both captured and not captured.
    #[error("`{}` lies in the directory whose changes are captured, and so may be written already", path.display())]
    WrittenInView { path: PathBuf },
    /// Two things would be at one path.
    #[error("`{}` in `view.before` is, lies in or holds `{}`, which is seen there already", path.display(), other.display())]
    BeforeTaken { path: PathBuf, other: PathBuf },
    /// No path of the host can be seen in `/tmp`, which is the scratch directory.
    #[error("`{}` in `{field}` is hidden by the scratch directory, which is `/tmp`", path.display())]
    HiddenByScratch { field: &'static str, path: PathBuf },
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

    /// Checks the policy for contradictions, whatever the host is.
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

    /// Checks that no other path is where the base is seen once more.
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

    /// Paths whose content cannot be read, also where the base of a view is seen once more.
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

    /// Paths that the command may write, captured or not.
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
    // `components` leaves out a `.` in the middle, so the text is looked at too.
    let dots = |component: Component<'_>| matches!(component, Component::ParentDir);
    let dot = text.split('/').any(|part| part == ".");
    if dot || path.components().any(dots) {
        return Err(PolicyError::Dots { field, path: path.to_owned() });
    }
    Ok(())
}

/// Returns true if `path` is one of `trees` or in one of them.
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
                "`/work` may be written, and is or lies in what is in `deny_write`",
            ),
            (
                refusal(|p| p.cwd = "/etc".into()),
                "the working directory `/etc` is not below anything in `read` or `write`",
            ),
            (
                refusal(|p| p.hide.push("/work".into())),
                "`/work` in `hide` is or holds `/work`, which is to be seen",
            ),
            (refusal(|p| p.hide.push("x".into())), "`x` in `hide` is not an absolute path"),
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
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
