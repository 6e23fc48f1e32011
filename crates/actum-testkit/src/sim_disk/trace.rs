//! Trace of the system calls on a simulated disk. Each call has one entry, which is formatted only when it is printed.

use std::fmt;
use std::rc::Rc;

use actum_core::path::Quoted;
use actum_workspace::disk::{Barrier, Rename};

use super::Errno;

/// Trace entry for a single system call.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) verb: &'static str,
    /// Path from which the handle was opened.
    pub(super) on: Rc<[u8]>,
    pub(super) name: Option<Box<[u8]>>,
    pub(super) detail: Detail,
    pub(super) error: Option<Errno>,
}

#[derive(Debug, Clone)]
pub(super) enum Detail {
    None,
    To(Rc<[u8]>, Box<[u8]>, Option<Rename>),
    Range { offset: u64, length: usize },
    Size(u64),
    Mode(u32),
    Owner(u32, u32),
    Xattr(Box<[u8]>),
    Barrier(Barrier),
    Wait(bool),
}

impl Entry {
    pub(super) fn new(verb: &'static str, on: &Rc<[u8]>) -> Self {
        Self { verb, on: Rc::clone(on), name: None, detail: Detail::None, error: None }
    }

    pub(super) fn name(mut self, name: &[u8]) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(super) fn detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }
}

/// Joins the directory path `on` and `name`.
pub(super) fn join(on: &[u8], name: &[u8]) -> Rc<[u8]> {
    if on.is_empty() { name.into() } else { [on, b"/", name].concat().into() }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match &self.name {
            Some(name) => join(&self.on, name),
            None => Rc::clone(&self.on),
        };
        write!(f, "{} `{}`", self.verb, Quoted(&path))?;
        match &self.detail {
            Detail::None => {}
            Detail::To(on, name, rename) => {
                write!(f, " to `{}`", Quoted(&join(on, name)))?;
                if let Some(rename) = rename {
                    write!(f, " {rename:?}")?;
                }
            }
            Detail::Range { offset, length } => write!(f, " {length} bytes at {offset}")?,
            Detail::Size(size) => write!(f, " {size}")?,
            Detail::Mode(mode) => write!(f, " {mode:04o}")?,
            Detail::Owner(user, group) => write!(f, " {user}:{group}")?,
            Detail::Xattr(name) => write!(f, " {}", Quoted(name))?,
            Detail::Barrier(barrier) => write!(f, " {barrier:?}")?,
            Detail::Wait(wait) => f.write_str(if *wait { " and wait" } else { "" })?,
        }
        match self.error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}
