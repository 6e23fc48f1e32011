//! Commits of a git repository, and their changes.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use actum_core::RelPath;
use actum_core::path_name::PathName;
use actum_record::receipt::EffectKind;

use super::{Failure, Kind};
use crate::realworld::child::run;
use crate::realworld::git::{TIME_MAX, git};
use crate::realworld::judged::Touched;

/// Commits of a repository.
pub(super) struct History {
    pub(super) name: String,
    pub(super) kind: Kind,
    repository: PathBuf,
    /// File that lists the commit ids, one per line.
    commits: PathBuf,
}

/// The change of one commit.
pub(super) struct Commit {
    pub(super) id: String,
    files: Vec<FileChange>,
}

struct FileChange {
    path: PathName,
    effect: EffectKind,
    from: Option<PathName>,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// An entry of `git diff-tree --raw`.
struct Entry<'a> {
    modes: [&'a str; 2],
    ids: [&'a str; 2],
    is_rename: bool,
    /// One path, or the old and the new path.
    paths: Vec<&'a [u8]>,
}

impl Commit {
    pub(super) fn touched(&self) -> Vec<Touched<'_>> {
        let touched = self.files.iter().map(|file| Touched {
            path: file.path.clone(),
            effect: file.effect,
            from: file.from.clone(),
            before: file.before.as_deref(),
            after: file.after.as_deref(),
        });
        touched.collect()
    }
}

impl History {
    /// Returns all non-merge commits reachable from the head of a repository. Writes their ids to the file `commits`.
    pub(super) fn whole(repository: &Path, name: &str, commits: PathBuf) -> Result<Self, Failure> {
        let ids = run(&mut git(repository, &["rev-list", "--no-merges", "HEAD"]), TIME_MAX)?;
        std::fs::write(&commits, ids)?;
        Ok(Self::new(name, Kind::Whole, repository, commits))
    }

    pub(super) fn new(name: &str, kind: Kind, repository: &Path, commits: PathBuf) -> Self {
        Self { name: name.to_owned(), kind, repository: repository.to_owned(), commits }
    }

    /// Calls `each` for every commit that changes files. Returns the number of links and submodules that were left out.
    pub(super) fn each_commit(
        &self,
        mut each: impl FnMut(&Commit) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let flags = ["diff-tree", "--stdin", "--root", "-r", "--raw", "-z", "--no-abbrev", "-M"];
        let mut command = git(&self.repository, &flags);
        let raw = run(command.stdin(File::open(&self.commits)?), TIME_MAX)?;
        let mut blobs = Blobs::open(&self.repository)?;
        let mut left_out = 0;
        for (id, entries) in commits(&raw)? {
            let mut files = Vec::new();
            for entry in entries {
                match entry.file_change(&mut blobs)? {
                    Some(file) => files.push(file),
                    None => left_out += 1,
                }
            }
            if !files.is_empty() {
                files.sort_by(|one, other| one.path.cmp(&other.path));
                each(&Commit { id: id.to_owned(), files })?;
            }
        }
        Ok(left_out)
    }
}

impl<'a> Entry<'a> {
    /// Returns the change of a file, or `None` if neither side is a file.
    fn file_change(&self, blobs: &mut Blobs) -> Result<Option<FileChange>, Failure> {
        let [before, after] = [0, 1].map(|at| self.blob(at));
        let effect = match (&before, &after) {
            (None, None) => return Ok(None),
            (None, Some(_)) => EffectKind::Created,
            (Some(_), None) => EffectKind::Deleted,
            (Some(_), Some(_)) if self.is_rename => EffectKind::Renamed,
            (Some(before), Some(after)) if before == after => EffectKind::Mode,
            (Some(_), Some(_)) => EffectKind::Modified,
        };
        let path = |path: &&[u8]| RelPath::new(path).map(PathName);
        let from = self.paths.first().filter(|_| self.is_rename).map(path).transpose()?;
        let path = path(self.paths.last().ok_or("an entry without a path")?)?;
        let mut content = |blob: Option<&str>| blob.map(|id| blobs.get(id)).transpose();
        Ok(Some(FileChange {
            path,
            effect,
            from,
            before: content(before)?,
            after: content(after)?,
        }))
    }

    /// Returns the blob id on one side, if that side is a file.
    fn blob(&self, at: usize) -> Option<&'a str> {
        let (mode, id) = (self.modes.get(at)?, self.ids.get(at)?);
        mode.starts_with("100").then_some(*id)
    }
}

/// Parses the output of `git diff-tree --stdin --raw -z`. Each commit id is followed by `:modes ids status` and one path for each
/// entry, or two paths after `R`.
fn commits(raw: &[u8]) -> Result<Vec<(&str, Vec<Entry<'_>>)>, Failure> {
    let mut commits: Vec<(&str, Vec<Entry<'_>>)> = Vec::new();
    let mut fields = raw.split(|&byte| byte == 0).filter(|field| !field.is_empty());
    while let Some(field) = fields.next() {
        let text = std::str::from_utf8(field)?;
        let Some(header) = text.strip_prefix(':') else {
            commits.push((text, Vec::new()));
            continue;
        };
        let columns: Vec<&str> = header.split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, status] = *columns else {
            return Err(format!("an entry that git does not document: `{header}`").into());
        };
        let is_rename = status.starts_with('R');
        let paths = fields.by_ref().take(if is_rename { 2 } else { 1 }).collect();
        let (modes, ids) = ([old_mode, new_mode], [old_id, new_id]);
        let (_, entries) = commits.last_mut().ok_or("an entry without a commit")?;
        entries.push(Entry { modes, ids, is_rename, paths });
    }
    Ok(commits)
}

/// Process running `git cat-file --batch`, which lives as long as contents are requested.
struct Blobs {
    child: Child,
    /// Set to `None` to make the child process exit.
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
}

impl Blobs {
    fn open(repository: &Path) -> Result<Self, Failure> {
        let mut command: Command = git(repository, &["cat-file", "--batch"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().map(BufWriter::new);
        let output = child.stdout.take().ok_or("git has no output")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn get(&mut self, id: &str) -> Result<Vec<u8>, Failure> {
        let input = self.input.as_mut().ok_or("git has no input")?;
        writeln!(input, "{id}")?;
        input.flush()?;
        let mut header = String::new();
        self.output.read_line(&mut header)?;
        let size = header.trim_end().rsplit(' ').next().unwrap_or_default();
        let size: usize = size.parse().map_err(|_| format!("git: {}", header.trim_end()))?;
        // The content is followed by a line feed.
        let mut content = vec![0; size + 1];
        self.output.read_exact(&mut content)?;
        content.truncate(size);
        Ok(content)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        self.input = None;
        // The process only reads, and all its output has been received.
        let _ended = self.child.wait();
    }
}
