//! System call filter of a byte worker. Only the listed calls are allowed, each for a stated reason, and
//! any other call kills the worker.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Descriptor of the socket to the supervisor.
pub(crate) const LINE: i32 = 0;
/// Descriptor of the source file, which the worker reads.
pub(crate) const SOURCE: i32 = 3;
/// Descriptor of the staged file, which the worker writes.
pub(crate) const STAGED: i32 = 4;

/// ioctl(2) request that shares the blocks of one file with another (FICLONE, linux/fs.h).
const FICLONE: u64 = 0x4004_9409;

/// Condition that an argument has a given value: its index, the number of bits to compare, and the value.
type Is = (u8, SeccompCmpArgLen, u64);

/// Returns the condition that an argument is the given file descriptor.
const fn descriptor(argument: u8, value: i32) -> Is {
    (argument, SeccompCmpArgLen::Dword, value.unsigned_abs() as u64)
}

/// Returns the condition that an argument is a null pointer.
const fn null(argument: u8) -> Is {
    (argument, SeccompCmpArgLen::Qword, 0)
}

/// Allowed calls: the reason, the call, and alternative sets of conditions on its arguments.
const ALLOWED: &[(&str, i64, &[&[Is]])] = &[
    ("reads the source file only", libc::SYS_read, &[&[descriptor(0, SOURCE)]]),
    (
        "writes the staged file and the answer to the supervisor",
        libc::SYS_write,
        &[&[descriptor(0, STAGED)], &[descriptor(0, LINE)]],
    ),
    (
        "finds data and holes in the source and positions them in the staged file",
        libc::SYS_lseek,
        &[&[descriptor(0, SOURCE)], &[descriptor(0, STAGED)]],
    ),
    (
        "copies inside the kernel, only from the source to the staged file at their offsets",
        libc::SYS_copy_file_range,
        &[&[descriptor(0, SOURCE), null(1), descriptor(2, STAGED), null(3)]],
    ),
    (
        "shares the blocks of the source with the staged file if the file system supports it",
        libc::SYS_ioctl,
        &[&[
            descriptor(0, STAGED),
            (1, SeccompCmpArgLen::Dword, FICLONE),
            (2, SeccompCmpArgLen::Dword, SOURCE.unsigned_abs() as u64),
        ]],
    ),
    (
        "starts writing the staged file to disk, without waiting for completion",
        libc::SYS_sync_file_range,
        &[&[
            descriptor(0, STAGED),
            (3, SeccompCmpArgLen::Dword, libc::SYNC_FILE_RANGE_WRITE as u64),
        ]],
    ),
    (
        "sets the final size of the staged file, which may end in a hole",
        libc::SYS_ftruncate,
        &[&[descriptor(0, STAGED)]],
    ),
    ("ends the process", libc::SYS_exit_group, &[]),
    ("ends the thread", libc::SYS_exit, &[]),
    (
        "resumes an interrupted call after the process was stopped and continued",
        libc::SYS_restart_syscall,
        &[],
    ),
];

/// Builds the filter of a byte worker. The worker can neither map memory nor open files, so it never has
/// access to more than it has when the filter is installed.
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
