//! Rollback script in POSIX sh, which rolls back a run on hosts without actum (EX-16).

use actum_core::path::Quoted;
use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath};

use super::names::{
    BACKUPS_DIRECTORY, REPORTS_DIRECTORY, ReportName, TEMPORARY_PREFIX, backup_name,
};
use super::rollback::{RestoredFrom, Rollback, Step, There};

/// Part of the script that is the same for every run. The generated functions, which contain the paths, follow it.
const BODY: &str = include_str!("rollback_body.sh");

/// Returns the script that rolls back a run. It must be stored in the directory `report` of the workspace, because it finds the
/// other files relative to its own location.
///
/// If a path is neither in its original state nor as the run left it, the script lists the path and changes nothing. An interrupted
/// rollback can be completed by running the script again.
///
/// The script never overwrites data that another process saves after the check. Before it removes or replaces a file, it moves the
/// file to the report directory and compares its digest there. A new file gets its path by a hard link, which fails if the path is
/// taken.
pub(super) fn script(rollback: &Rollback, manifest: &PlainId, report: &ReportName) -> Vec<u8> {
    let mut script = Script(Vec::new());
    script.text("#!/bin/sh\n");
    script.text("# Rolls back a run of actum: restores every file that the run changed.\n");
    script.text("# Before it changes anything, it checks that no other process changed the files since the run.\n");
    script.text(&format!("# Rollback manifest {manifest}. Usage: sh rollback.sh [--check]\n\n"));
    script.text(&format!("report=./{REPORTS_DIRECTORY}/{report}\n"));
    script.text(&format!("backups=$report/{BACKUPS_DIRECTORY}\n"));
    script.text(&format!("temporaries=$report/{TEMPORARY_PREFIX}\n"));
    script.text(BODY);

    let steps = rollback.steps();
    script.text("\nsettle_all() {\n  :\n");
    for step in &steps {
        script.settle(step, report);
    }
    script.text("}\n\nexpect_all() {\n  :\n");
    for (path, was, is) in rollback.states() {
        let call = script.call("expect").path(path.as_bytes()).shown(path).there(was).there(is);
        // Replacing a file by a directory or the reverse takes two steps, so the path may be absent in between.
        let is_swapped = !matches!(was, There::Nothing)
            && !matches!(is, There::Nothing)
            && (matches!(was, There::Directory(_)) || matches!(is, There::Directory(_)));
        let call = match is {
            There::File(_) => call.path(report.displaced(path).as_bytes()),
            There::Nothing | There::Directory(_) => call.word(&"-"),
        };
        if is_swapped { call.word(&"between").end() } else { call.end() }
    }
    for (path, to) in rollback.moves() {
        script
            .call("expect_one")
            .path(path.as_bytes())
            .path(to.as_bytes())
            .shown(path)
            .path(report.displaced(to).as_bytes())
            .end();
    }
    for (path, inside) in rollback.directories_in_the_way() {
        let call = script.call("expect_only").path(path.as_bytes()).shown(path);
        inside.iter().fold(call, |call, path| call.path(path.as_bytes())).end();
    }
    for path in rollback.directories_on_the_way() {
        script.call("expect_directory").path(path.as_bytes()).shown(&path).end();
    }
    for path in rollback.run_as_their_owner() {
        script.call("expect_owner").path(path.as_bytes()).shown(path).end();
    }
    script.text("}\n\nexpect_backups() {\n  :\n");
    for (path, kept) in rollback.whole_backups() {
        script.call("expect_backup").word(&backup_name(path)).word(&kept.sha256).end();
    }
    for step in &steps {
        if let Step::RestoreFile { path, from: RestoredFrom::Delta(delta, _), .. } = step {
            script.call("expect_delta").word(&backup_name(path)).word(&delta.sha256).end();
        }
    }
    script.text("}\n\nexpect_links() {\n  :\n");
    for (number, step) in steps.iter().enumerate() {
        if let Some(Displaced { path, .. }) = displaced(step) {
            let call = script.call("expect_link").path(path.as_bytes()).shown(path);
            call.path(&temporary(report, number)).end();
        }
    }
    script.text("}\n\nrestore_all() {\n  :\n");
    for (number, step) in steps.iter().enumerate() {
        script.step(step, report, number);
    }
    script.text("}\n\nmain \"$@\"\nexit 0\n");
    script.0
}

struct Script(Vec<u8>);

/// Call of a shell function, which is written on one line.
struct Call<'s>(&'s mut Vec<u8>);

impl Script {
    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn call(&mut self, function: &str) -> Call<'_> {
        self.text("  ");
        self.text(function);
        Call(&mut self.0)
    }

    fn settle(&mut self, step: &Step, report: &ReportName) {
        let Some(Displaced { path, left, content }) = displaced(step) else { return };
        let call = self.call("settle").path(path.as_bytes()).shown(path).word(left);
        let call = call.path(report.displaced(path).as_bytes());
        match content {
            Needed::Not => call.end(),
            Needed::At(from) => call.path(from.as_bytes()).end(),
            Needed::Until(kept) => call.path(path.as_bytes()).word(kept).end(),
        }
    }

    fn step(&mut self, step: &Step, report: &ReportName, number: usize) {
        match step {
            Step::RemoveFile { path, left } => {
                let call = self.call("remove_file").path(path.as_bytes()).shown(path);
                let call = call.word(&left.sha256).path(report.displaced(path).as_bytes());
                call.word(&bits(left.mode)).end();
            }
            Step::MakeDirectory { path } => {
                self.call("make_directory").path(path.as_bytes()).shown(path).end();
            }
            Step::MoveBack { path, to, kept } => {
                let call =
                    self.call("move_back").path(path.as_bytes()).path(to.as_bytes()).shown(path);
                let call = call.word(&kept.sha256).path(report.displaced(to).as_bytes());
                call.word(&bits(kept.mode)).end();
            }
            Step::RemoveDirectory { path } => {
                self.call("remove_directory").path(path.as_bytes()).shown(path).end();
            }
            Step::RestoreFile { path, kept, from } => {
                let call = self.call("restore_file").path(path.as_bytes()).shown(path).state(kept);
                let left = match from {
                    RestoredFrom::Backup => None,
                    RestoredFrom::BackupOver(left) | RestoredFrom::Delta(_, left) => Some(left),
                };
                let sum = left.map_or("-".to_owned(), |left| left.sha256.to_string());
                let call = call.word(&sum).word(&backup_name(path));
                let call = call.path(&temporary(report, number));
                let call = call.path(report.displaced(path).as_bytes());
                let call = call.word(&left.map_or("-".to_owned(), |left| bits(left.mode)));
                match from {
                    RestoredFrom::Backup | RestoredFrom::BackupOver(_) => call.end(),
                    RestoredFrom::Delta(delta, _) => {
                        call.word(&delta.blocks).word(&kept.size).end();
                    }
                }
            }
            Step::RestoreMode { path, kept, left } => {
                let call = self.call("restore_mode").path(path.as_bytes()).shown(path).state(kept);
                call.word(&bits(*left)).end();
            }
            Step::RestoreDirectoryMode { path, mode } => {
                let call = self.call("restore_mode").path(path.as_bytes()).shown(path);
                call.word(&"d").word(&bits(*mode)).word(&"-").end();
            }
        }
    }
}

/// File that a step moves to the report directory before it removes or replaces it.
struct Displaced<'s> {
    path: &'s RelPath,
    left: &'s Digest,
    content: Needed<'s>,
}

/// Period for which the content of a displaced file must be kept.
enum Needed<'s> {
    /// The content is not needed, because the original content is in a backup or is not restored.
    Not,
    /// The content must be kept until it has been moved back to this path.
    At(&'s RelPath),
    /// The content must be kept until a file with this digest, which is built from it and a block delta, is in place.
    Until(&'s Digest),
}

fn displaced(step: &Step) -> Option<Displaced<'_>> {
    let (path, left, content) = match step {
        Step::RemoveFile { path, left } => (path, &left.sha256, Needed::Not),
        Step::MoveBack { path, to, kept } => (to, &kept.sha256, Needed::At(path)),
        Step::RestoreFile { path, from: RestoredFrom::BackupOver(left), .. } => {
            (path, &left.sha256, Needed::Not)
        }
        Step::RestoreFile { path, kept, from: RestoredFrom::Delta(_, left) } => {
            (path, &left.sha256, Needed::Until(&kept.sha256))
        }
        Step::RestoreFile { from: RestoredFrom::Backup, .. }
        | Step::MakeDirectory { .. }
        | Step::RemoveDirectory { .. }
        | Step::RestoreMode { .. }
        | Step::RestoreDirectoryMode { .. } => return None,
    };
    Some(Displaced { path, left, content })
}

/// Formats permission bits in the form that the script compares.
fn bits(mode: FileMode) -> String {
    mode.to_string()
}

/// Returns the path to which the script copies a backup temporarily, on the same file system as the workspace.
///
/// The path depends only on the step, so an interrupted script that runs again reuses it. It is in the report directory, so no
/// temporary files are left among the user's files.
fn temporary(report: &ReportName, number: usize) -> Vec<u8> {
    format!("{REPORTS_DIRECTORY}/{report}/{TEMPORARY_PREFIX}{number}").into_bytes()
}

impl Call<'_> {
    /// Appends a path relative to the root. The prefix `./` and the quotes prevent the shell and its commands from interpreting it.
    fn path(self, path: &[u8]) -> Self {
        self.0.push(b' ');
        quote(self.0, &[b"./", path].concat());
        self
    }

    /// Appends a path in the form in which messages show it.
    fn shown(self, path: &RelPath) -> Self {
        self.0.push(b' ');
        quote(self.0, Quoted(path.as_bytes()).to_string().as_bytes());
        self
    }

    /// Appends a word without special characters, such as a digest, a mode or the name of a backup.
    fn word(self, word: &impl ToString) -> Self {
        self.0.push(b' ');
        quote(self.0, word.to_string().as_bytes());
        self
    }

    fn state(self, state: &FileState) -> Self {
        self.word(&state.sha256).word(&state.mode)
    }

    fn there(self, there: &There) -> Self {
        match there {
            There::Nothing => self.word(&"-").word(&"-"),
            There::File(state) => self.state(state),
            There::Directory(None) => self.word(&"d").word(&"-"),
            There::Directory(Some(mode)) => self.word(&"d").word(&mode.to_string()),
        }
    }

    fn end(self) {
        self.0.push(b'\n');
    }
}

/// Appends the bytes in single quotes, within which a shell interprets no byte except the quote itself.
fn quote(script: &mut Vec<u8>, bytes: &[u8]) {
    script.push(b'\'');
    for (index, part) in bytes.split(|&byte| byte == b'\'').enumerate() {
        if index > 0 {
            script.extend_from_slice(b"'\\''");
        }
        script.extend_from_slice(part);
    }
    script.push(b'\'');
}
