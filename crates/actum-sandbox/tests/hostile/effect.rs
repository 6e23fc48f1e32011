//! The effect of an attack on the host, if any.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actum_sandbox::{Ended, Outcome, Violation};

use crate::act::resources::STORAGE;
use crate::scene::Scene;

/// First line that every attack prints.
pub(crate) const BEGUN: &str = "begun";
/// Prefix of a line in which an attack reports success.
pub(crate) const GOT: &str = "GOT";

/// The supervisor's report on a run in a sandbox.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunReport {
    /// Protected paths that the command changed, or created although they had to stay absent.
    pub(crate) made: Vec<PathBuf>,
    /// How the command ended by itself, if it did.
    pub(crate) ended: Option<Ended>,
    /// Standard error of the command.
    pub(crate) stderr: Vec<u8>,
}

impl From<&Outcome> for RunReport {
    fn from(outcome: &Outcome) -> Self {
        let made = outcome.violated.iter().filter_map(|violation| match violation {
            Violation::Made(path) => Some(path.clone()),
            Violation::Limit(_) | Violation::Unwatched | Violation::Interrupted => None,
        });
        Self { made: made.collect(), ended: outcome.ended, stderr: outcome.stderr.clone() }
    }
}

/// The part of the host that is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Names, contents, modes, owners, times, attributes and links in a directory outside the sandbox.
    Outside,
    /// All files in the protected paths of the workspace.
    Kept,
    /// A path that had to stay absent exists, and the outcome does not report it.
    UnreportedCreation,
    /// The text of the secret appeared in the output.
    Secret,
    /// A socket of the host received data.
    Heard,
    /// The host reached a port on which the command listens.
    Reached,
    /// The target process on the host: whether it lives, its limits, priorities and CPU affinity.
    Victim,
    /// The shared memory segment of the host.
    Shared,
    /// The memory of the process that runs the sandbox.
    Memory,
    /// Set-id files in the workspace.
    SetId,
    /// A program that ran as another user.
    OtherUser,
    /// Resources that the attack obtained and used.
    Got,
    /// A file that keeps growing after the outcome because a process of the command is still alive.
    Beats,
    /// Storage used by files, if it is more than half of the attempted amount.
    Storage,
    /// Size of the largest file.
    LargestFile,
    /// Amount of captured output.
    Output,
    /// Input that is waiting on the terminal of the host.
    Terminal,
    /// A marker that shows that the command ran.
    Ran,
    /// An exit status that differs from the actual one of the command.
    WrongEnd,
}

impl Effect {
    /// Returns the description for the table of attacks.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Outside => "any file outside changes, including its metadata",
            Self::Kept => "any protected path changes, including its metadata",
            Self::UnreportedCreation => "the report does not list the created path",
            Self::Secret => "the secret appears in the output",
            Self::Heard => "a socket of the host receives a connection or data",
            Self::Reached => "the host can connect to the command",
            Self::Victim => "a host process ends or stops, or one of its settings changes",
            Self::Shared => "the shared memory of the host is removed",
            Self::Memory => "the memory of a host process changes",
            Self::SetId => "a set-ID file or directory is in the workspace",
            Self::OtherUser => "the program runs as root",
            Self::Got => "the command completes the operation",
            Self::Beats => "a process still runs after the outcome is reported",
            Self::Storage => "the files take up more than twice the limit",
            Self::LargestFile => "the file is larger than the limit",
            Self::Output => "more output is kept than the limit",
            Self::Terminal => "the text appears on the terminal",
            Self::Ran => "the program runs",
            Self::WrongEnd => "the report does not contain the exit code",
        }
    }

    /// Returns the observed effect, if any. `before` is the state that [`Scene::look`] recorded.
    pub(crate) fn seen(
        self,
        scene: &mut Scene,
        before: &Sight,
        out: &[u8],
        report: Option<&RunReport>,
    ) -> Option<String> {
        let text = String::from_utf8_lossy(out);
        let differs = |name: &str, was: &[String], is: Vec<String>| {
            let gone = was.iter().filter(|line| !is.contains(line)).map(|line| format!("-{line}"));
            let new = is.iter().filter(|line| !was.contains(line)).map(|line| format!("+{line}"));
            let lines: Vec<String> = gone.chain(new).collect();
            (!lines.is_empty()).then(|| format!("{name}: {}", lines.join(" ")))
        };
        let when = |is: bool, what: String| is.then_some(what);
        match self {
            Self::Outside => differs("outside", &before.outside, list(&scene.facts.outside)),
            Self::Kept => differs("kept", &before.kept, scene.kept()),
            Self::UnreportedCreation => {
                let path = scene.facts.workspace.join(".npmrc");
                let is_reported = report.is_some_and(|report| report.made.contains(&path));
                when(path.exists() && !is_reported, "it was made, and nobody told".to_owned())
            }
            Self::Secret => when(text.contains(&scene.secret), "the secret came out".to_owned()),
            Self::Heard => scene.heard(),
            Self::Reached => when(scene.reached, "the host reached the port".to_owned()),
            Self::Victim => {
                // Sent data arrives with a delay.
                let patience = if report.is_some() { 30 } else { 1000 };
                let begun = Instant::now();
                loop {
                    let seen = differs("process", &before.victim, scene.victim());
                    if seen.is_some() || begun.elapsed() > Duration::from_millis(patience) {
                        break seen;
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            Self::Shared => when(!scene.has_shared(), "it is gone".to_owned()),
            Self::Memory => {
                when(scene.written() != before.written, "its memory was changed".to_owned())
            }
            Self::SetId => set_id(&scene.facts.workspace),
            Self::OtherUser => when(text.contains("user 0\n"), "it ran as root".to_owned()),
            Self::Got => {
                let line = text.lines().find(|line| line.starts_with(GOT));
                line.map(str::to_owned)
            }
            Self::Beats => scene.beats(),
            Self::Storage => {
                let taken = storage(&scene.facts.workspace);
                when(taken > STORAGE as u64 * 2 / 3, format!("{taken} bytes were taken"))
            }
            Self::LargestFile => {
                let size = fs::metadata(scene.facts.workspace.join("many-huge"));
                let size = size.map_or(0, |metadata| metadata.size());
                when(size > 8 << 20, format!("a file of {size} bytes"))
            }
            Self::Output => {
                let kept = out.len() + report.map_or(0, |report| report.stderr.len());
                when(kept > 64 << 10, format!("{kept} bytes came out"))
            }
            Self::Terminal => {
                let reached = ["typed: pwned", "shown: pwned"].iter().any(|it| text.contains(it));
                when(reached, "it reached the terminal".to_owned())
            }
            Self::Ran => when(scene.facts.workspace.join("marker").exists(), "it ran".to_owned()),
            // There is no report without a supervisor.
            Self::WrongEnd => match report.map(|report| report.ended) {
                Some(Some(Ended::Code(7))) => None,
                other => Some(format!("the end was {other:?}")),
            },
        }
    }
}

/// Recorded state of the host.
pub(crate) struct Sight {
    pub(crate) outside: Vec<String>,
    pub(crate) kept: Vec<String>,
    pub(crate) victim: Vec<String>,
    pub(crate) written: [u8; 16],
}

/// Describes each file at and below a path in one line, in order.
pub(crate) fn list(path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    add(path, &mut lines);
    lines
}

fn add(path: &Path, lines: &mut Vec<String>) {
    let name = path.file_name().unwrap_or_default().display();
    let Ok(metadata) = fs::symlink_metadata(path) else {
        lines.push(format!("{name} absent"));
        return;
    };
    let mut content = Vec::new();
    if metadata.is_file() {
        let file = fs::File::open(path);
        drop(file.and_then(|mut file| file.read_to_end(&mut content)));
    } else if metadata.is_symlink() {
        content = fs::read_link(path).unwrap_or_default().into_os_string().into_encoded_bytes();
    }
    // The modification time of a socket is ignored.
    let times = if metadata.file_type().is_socket() { 0 } else { metadata.mtime() };
    lines.push(format!(
        "{name} {:o} {}:{} links {} times {times}.{} attributes {:?} {:?}",
        metadata.mode(),
        metadata.uid(),
        metadata.gid(),
        metadata.nlink(),
        metadata.mtime_nsec(),
        attribute(path),
        String::from_utf8_lossy(&content),
    ));
    if metadata.is_dir() {
        let mut names: Vec<_> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names.iter().for_each(|path| add(path, lines));
    }
}

fn attribute(path: &Path) -> isize {
    let mut value = [0_u8; 16];
    let (path, name) = (crate::act::calls::c(path), c"user.pwned".as_ptr());
    // SAFETY: the paths are C strings, and the buffer is passed with its length.
    unsafe { libc::lgetxattr(path.as_ptr(), name, value.as_mut_ptr().cast(), value.len()) }
}

fn set_id(directory: &Path) -> Option<String> {
    for line in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let mode = fs::symlink_metadata(&line).map_or(0, |metadata| metadata.mode());
        if mode & 0o6000 != 0 {
            return Some(format!("`{}` has mode {mode:o}", line.display()));
        }
    }
    let mode = fs::symlink_metadata(directory).map_or(0, |metadata| metadata.mode());
    (mode & 0o6000 != 0).then(|| format!("the workspace has mode {mode:o}"))
}

fn storage(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let many = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("many-"));
    many.map(|entry| taken(&entry.path())).sum()
}

/// Returns the storage used by a path and everything below it, in bytes.
fn taken(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    let below = if metadata.is_dir() { fs::read_dir(path).ok() } else { None };
    let below = below.into_iter().flatten().flatten().map(|entry| taken(&entry.path()));
    metadata.blocks() * 512 + below.sum::<u64>()
}
