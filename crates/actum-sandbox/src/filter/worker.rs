//! System calls that a byte worker can make: a list of allowed calls, each with its reason. Any
//! other ends the worker.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Descriptor of the line to the supervisor.
pub(crate) const LINE: i32 = 0;
/// Descriptor of the file that is read.
pub(crate) const SOURCE: i32 = 3;
/// Descriptor of the file that is written.
pub(crate) const STAGED: i32 = 4;

/// FICLONE (linux/fs.h).
const FICLONE: u64 = 0x4004_9409;

/// A condition: argument, whether all 64 bits of it count, value.
type Is = (u8, SeccompCmpArgLen, u64);

/// A descriptor as argument.
const fn descriptor(argument: u8, value: i32) -> Is {
    (argument, SeccompCmpArgLen::Dword, value.unsigned_abs() as u64)
}

/// A null pointer as argument.
const fn null(argument: u8) -> Is {
    (argument, SeccompCmpArgLen::Qword, 0)
}

/// Allowed calls, and the conditions on their arguments.
const ALLOWED: &[(&str, i64, &[&[Is]])] = &[
    ("reads the source, and nothing else", libc::SYS_read, &[&[descriptor(0, SOURCE)]]),
    (
        "writes the staged file, and the answer to the supervisor",
        libc::SYS_write,
        &[&[descriptor(0, STAGED)], &[descriptor(0, LINE)]],
    ),
    (
        "finds data and holes of the source, and places them in the staged file",
        libc::SYS_lseek,
        &[&[descriptor(0, SOURCE)], &[descriptor(0, STAGED)]],
    ),
    (
        "copies inside the kernel, from the source to the staged file alone, at their offsets",
        libc::SYS_copy_file_range,
        &[&[descriptor(0, SOURCE), null(1), descriptor(2, STAGED), null(3)]],
    ),
    (
        "shares the blocks of the source with the staged file, where the file system can; no other request",
        libc::SYS_ioctl,
        &[&[
            descriptor(0, STAGED),
            (1, SeccompCmpArgLen::Dword, FICLONE),
            (2, SeccompCmpArgLen::Dword, SOURCE.unsigned_abs() as u64),
        ]],
    ),
    (
        "starts to write the staged file to its disk, without waiting for it",
        libc::SYS_sync_file_range,
        &[&[
            descriptor(0, STAGED),
            (3, SeccompCmpArgLen::Dword, libc::SYNC_FILE_RANGE_WRITE as u64),
        ]],
    ),
    ("ends the staged file with a hole", libc::SYS_ftruncate, &[&[descriptor(0, STAGED)]]),
    ("ends the process", libc::SYS_exit_group, &[]),
    ("ends its thread", libc::SYS_exit, &[]),
    ("goes on after it was stopped and continued", libc::SYS_restart_syscall, &[]),
];

/// Returns the filter of a byte worker. No memory can be mapped and no file opened, so the worker
/// never gets more than it has at this moment.
pub(crate) fn worker_filter() -> Result<BpfProgram, BackendError> {
    let mut rules = BTreeMap::new();
    for (_, call, cases) in ALLOWED {
        let mut of_call = Vec::with_capacity(cases.len());
        for case in *cases {
            let conditions = case.iter().map(|(argument, length, value)| {
                SeccompCondition::new(*argument, length.clone(), SeccompCmpOp::Eq, *value)
            });
            of_call.push(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?);
        }
        rules.insert(*call, of_call);
    }
    let architecture = std::env::consts::ARCH.try_into()?;
    let (other, allowed) = (SeccompAction::KillProcess, SeccompAction::Allow);
    SeccompFilter::new(rules, other, allowed, architecture)?.try_into()
}
