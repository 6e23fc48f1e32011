//! Owner, mode and ACL of new files and directories. They are created in the stage directory, but get the attributes
//! that the kernel would set in their final directory.

use std::sync::Arc;

use actum_core::{FileMode, RelPath};
use actum_edit::ModeChange;

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{Result, ResultExt};
use crate::transaction::Transaction;
use crate::transaction::node::{Node, Post};
use crate::tree::Tree;

const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";
const ACL: &[u8] = b"system.posix_acl_access";
const SET_GROUP: u32 = 0o2000;

/// Attributes that a new entry inherits from its parent directory.
pub(crate) struct Inherited {
    group: Option<u32>,
    default_acl: Option<Vec<u8>>,
}

impl<D: Disk> Transaction<'_, D> {
    /// Returns the umask applied to the mode of new files.
    pub fn umask(&self) -> u32 {
        self.umask
    }

    /// Overrides the umask of the process for this transaction.
    #[must_use]
    pub fn with_umask(mut self, umask: u32) -> Self {
        self.umask = umask;
        self
    }

    pub(crate) fn fresh_attributes(
        &self,
        path: &RelPath,
        mode: Option<ModeChange>,
    ) -> Result<Attributes> {
        let inherited = self.inherited(path)?;
        let (asked, exact) = match mode {
            Some(ModeChange::Exact(mode)) => (mode, true),
            Some(ModeChange::Executable(true)) => (FileMode::new(0o777), false),
            Some(ModeChange::Executable(false)) | None => (FileMode::new(0o666), false),
        };
        Ok(self.fresh(&inherited, asked, exact, false))
    }

    pub(crate) fn fresh_directory_attributes(
        &self,
        path: &RelPath,
        mode: Option<FileMode>,
    ) -> Result<Attributes> {
        let inherited = self.inherited(path)?;
        let group_bit = if inherited.group.is_some() { SET_GROUP } else { 0 };
        let asked = mode.unwrap_or(FileMode::new(0o777));
        let mut fresh = self.fresh(&inherited, asked, mode.is_some(), true);
        fresh.mode = FileMode::new(fresh.mode.bits() | group_bit);
        Ok(fresh)
    }

    /// Returns the attributes that the kernel would give a new entry, following "object creation and default ACLs" in
    /// acl(5).
    fn fresh(
        &self,
        inherited: &Inherited,
        asked: FileMode,
        exact: bool,
        directory: bool,
    ) -> Attributes {
        let (user, group) = self.workspace.identity;
        let group = inherited.group.unwrap_or(group);
        let mut xattrs = Vec::new();
        let mut mode = asked;
        match &inherited.default_acl {
            Some(default) => {
                let (acl, masked) = crate::transaction::acl::inherit(default, asked);
                mode = masked;
                xattrs.extend(acl.map(|acl| (ACL.to_vec(), acl)));
                if directory {
                    xattrs.push((DEFAULT_ACL.to_vec(), default.clone()));
                }
            }
            None if !exact => mode = FileMode::new(asked.bits() & !self.umask),
            None => {}
        }
        Attributes { mode, user, group, xattrs }
    }

    fn inherited(&self, path: &RelPath) -> Result<Arc<Inherited>> {
        let parent = path.parent();
        if let Some(known) = self.inherited.borrow().get(&parent) {
            return Ok(Arc::clone(known));
        }
        let workspace = &*self.workspace;
        let attributes = match &parent {
            Some(parent) => match self.nodes.get(parent) {
                Some(Node { post: Post::Directory(attributes), .. }) => attributes.clone(),
                Some(_) | None => {
                    Tree::new(&workspace.disk, &workspace.home.root).directory_attributes(parent)?
                }
            },
            None => {
                let doing = || "inspect the workspace root".to_owned();
                let root = &workspace.home.root;
                let stat = workspace.disk.stat(root).doing(doing)?;
                Tree::new(&workspace.disk, root).attributes(root, &stat).doing(doing)?
            }
        };
        let acl = attributes.xattrs.into_iter().find(|(name, _)| name == DEFAULT_ACL);
        let inherited = Arc::new(Inherited {
            group: (attributes.mode.bits() & SET_GROUP != 0).then_some(attributes.group),
            default_acl: acl.map(|(_, value)| value),
        });
        self.inherited.borrow_mut().insert(parent, Arc::clone(&inherited));
        Ok(inherited)
    }
}
