//! Tree in memory with the simplest possible implementation of operations.

use std::collections::BTreeMap;

use actum_core::{Digest, FileMode, RelPath};
use actum_edit::hunk::Patcher;
use actum_edit::{ModeChange, Operation, Splice};

/// Content of a file, and whether it is executable.
pub(crate) type File = (Vec<u8>, bool);

/// Files of a directory, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree(pub(crate) BTreeMap<RelPath, File>);

impl Tree {
    /// Applies `operations` in order. Returns an error if an operation is not allowed, or would create a file below a file.
    pub(crate) fn apply(mut self, operations: &[Operation]) -> Result<Self, String> {
        for operation in operations {
            self.step(operation).map_err(|error| format!("{operation:?}: {error}"))?;
        }
        Ok(self)
    }

    fn step(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Patch { path, hunks, expected } => {
                assert_eq!(*expected, None);
                let content = match self.0.get(path) {
                    Some((content, _)) => content.clone(),
                    None if matches!(&**hunks, [h] if h.old_start == 0 && h.at_end) => {
                        self.put(path, (Vec::new(), false))?;
                        Vec::new()
                    }
                    None => return Err("nothing to patch".into()),
                };
                let mut patched = Vec::new();
                let mut patcher = Patcher::new(hunks).map_err(|e| e.to_string())?;
                patcher
                    .feed(&content, |bytes| patched.extend_from_slice(bytes))
                    .and_then(|()| patcher.finish(|bytes| patched.extend_from_slice(bytes)))
                    .map_err(|e| e.to_string())?;
                self.get(path)?.0 = patched;
            }
            Operation::Edit { path, edit, .. } => {
                let file = self.get(path)?;
                let splices = edit.splices(&file.0).map_err(|error| error.to_string())?;
                file.0 = Splice::apply(&splices, &file.0).map_err(|error| error.to_string())?;
            }
            Operation::Write { path, content, .. } => self.get(path)?.0 = content.clone(),
            Operation::Create { path, content, mode } => {
                let executable = mode.is_some_and(is_executable);
                self.put(path, (content.clone(), executable))?;
            }
            Operation::Delete { path, expected, .. } => {
                let (content, _) = self.0.remove(path).ok_or("nothing to delete")?;
                if expected.is_some_and(|digest| digest != Digest::of(&content)) {
                    return Err("the content is not what is to be deleted".into());
                }
            }
            Operation::Rename { from, to, .. } => {
                let file = self.0.remove(from).ok_or("nothing to rename")?;
                self.put(to, file)?;
            }
            Operation::Copy { from, to } => {
                let file = self.0.get(from).cloned().ok_or("nothing to copy")?;
                self.put(to, file)?;
            }
            Operation::Chmod { path, mode } => self.get(path)?.1 = is_executable(*mode),
            Operation::MakeDirectory { .. }
            | Operation::RemoveDirectory { .. }
            | Operation::ChmodDirectory { .. } => {
                return Err("no diff speaks of directories".into());
            }
            Operation::Link { .. } | Operation::Take { .. } => {
                return Err("no diff makes links here, or takes files from a capture".into());
            }
        }
        Ok(())
    }

    fn get(&mut self, path: &RelPath) -> Result<&mut File, String> {
        self.0.get_mut(path).ok_or_else(|| "no such file".into())
    }

    fn put(&mut self, path: &RelPath, file: File) -> Result<(), String> {
        let in_the_way = |other: &&RelPath| other.starts_with(path) || path.starts_with(other);
        match self.0.keys().find(in_the_way) {
            Some(other) => Err(format!("`{other}` is in the way")),
            None => {
                self.0.insert(path.clone(), file);
                Ok(())
            }
        }
    }
}

fn is_executable(mode: ModeChange) -> bool {
    mode.apply(FileMode::REGULAR).bits() & 0o111 != 0
}
