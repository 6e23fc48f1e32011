//! A compromised byte worker is killed when it attempts anything but its work. This binary is both the test runner and the
//! attacking program.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test may fail loudly"
)]

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;
use std::time::Duration;

use actum_sandbox::Helper;
use actum_sandbox::inside::{Files, enter_worker};
use actum_sandbox::worker::{Answer, Job, Worker, WorkerError};
use libtest_mimic::{Arguments, Trial};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};

const NAME: &str = "attacking-worker";

type Attack = fn(&mut Files);

/// Ignores the result of an attempt, because the worker should be killed before it gets one.
fn tried<T>(_: T) {}

/// Attacks against FE-16, with the name and the action of each.
const ATTACKS: &[(&str, Attack)] = &[
    ("opens_a_path", |_| tried(File::open("/etc/passwd"))),
    ("opens_a_path_below_a_descriptor", |files| {
        tried(rustix::fs::openat(&files.source, "x", OFlags::RDONLY, Mode::empty()));
    }),
    ("opens_itself_through_proc", |_| tried(File::open("/proc/self/exe"))),
    ("opens_the_source_for_writing_through_proc", |_| {
        tried(File::options().write(true).open("/proc/self/fd/3"));
    }),
    ("writes_to_the_source", |files| tried(rustix::io::write(&files.source, b"x"))),
    ("reads_the_staged_file", |files| {
        tried(rustix::io::read(files.staged.as_ref().unwrap(), &mut files.buffer));
    }),
    ("reads_from_its_supervisor", |files| {
        tried(rustix::io::read(rustix::stdio::stdin(), &mut files.buffer));
    }),
    ("writes_to_standard_error", |_| tried(rustix::io::write(rustix::stdio::stderr(), b"x"))),
    ("reads_at_an_offset", |files| {
        tried(rustix::io::pread(&files.source, &mut files.buffer, 0));
    }),
    ("copies_backwards", |files| {
        let staged = files.staged.as_ref().unwrap();
        tried(rustix::fs::copy_file_range(staged, None, &files.source, None, 1));
    }),
    ("copies_at_an_offset", |files| {
        let staged = files.staged.as_ref().unwrap();
        tried(rustix::fs::copy_file_range(&files.source, Some(&mut 0), staged, None, 1));
    }),
    ("clones_backwards", |files| {
        tried(rustix::fs::ioctl_ficlone(&files.source, files.staged.as_ref().unwrap()));
    }),
    ("sends_another_request_to_the_device", |files| {
        tried(rustix::io::ioctl_fionread(files.staged.as_ref().unwrap()));
    }),
    ("truncates_the_source", |files| tried(rustix::fs::ftruncate(&files.source, 0))),
    ("makes_a_socket", |_| tried(std::net::UdpSocket::bind("127.0.0.1:0"))),
    ("connects", |_| tried(std::net::TcpStream::connect("127.0.0.1:1"))),
    ("executes_a_program", |_| tried(std::process::Command::new("/bin/true").spawn())),
    ("starts_a_thread", |_| tried(std::thread::Builder::new().spawn(|| ()))),
    ("maps_memory", |_| tried(std::hint::black_box(vec![1_u8; 64 << 20]))),
    ("changes_a_mode", |files| {
        tried(rustix::fs::fchmod(files.staged.as_ref().unwrap(), Mode::RWXU));
    }),
    ("changes_an_owner", |files| {
        let staged = files.staged.as_ref().unwrap();
        tried(rustix::fs::fchown(staged, Some(Uid::from_raw(0)), Some(Gid::from_raw(0))));
    }),
    ("removes_a_name", |_| tried(rustix::fs::unlinkat(CWD, "x", rustix::fs::AtFlags::empty()))),
    ("makes_a_link", |_| tried(rustix::fs::symlinkat("/etc", CWD, "x"))),
    ("kills_its_supervisor", |_| {
        let supervisor = rustix::process::getppid().unwrap();
        tried(rustix::process::kill_process(supervisor, rustix::process::Signal::TERM));
    }),
    ("copies_a_descriptor", |files| tried(rustix::io::dup(&files.source))),
    ("closes_a_descriptor", |files| tried(files.staged.take())),
    ("becomes_dumpable", |_| {
        let dumpable = rustix::process::DumpableBehavior::Dumpable;
        tried(rustix::process::set_dumpable_behavior(dumpable));
    }),
    ("raises_a_limit", |_| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        tried(rustix::process::setrlimit(rustix::process::Resource::Nofile, limit));
    }),
];

fn attack(job: &Job, files: &mut Files) -> Answer {
    let attack = usize::try_from(job.work).ok().and_then(|index| ATTACKS.get(index));
    if let Some((_, attack)) = attack {
        attack(files);
    }
    Answer::Done([0; 32])
}

fn carry_out(work: usize) -> Result<Answer, WorkerError> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("source"), "content").unwrap();
    // Permit reading and writing, so that only the filter can stop the call.
    let open = |name: &str| {
        let path = directory.path().join(name);
        File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
    };
    let (source, staged) = (open("source"), open("staged"));
    let worker = Worker::start(&Helper::this_program(), NAME).unwrap();
    let job = Job {
        work: u64::try_from(work).unwrap(),
        size: 7,
        storage_max: None,
        size_max: None,
        memory_max: None,
    };
    let staged = Some(staged.as_fd());
    let ended = worker.run(&job, source.as_fd(), staged, Duration::from_secs(20), None);
    assert_eq!(std::fs::read(directory.path().join("source")).unwrap(), b"content");
    ended
}

fn main() -> ExitCode {
    enter_worker(NAME, attack);
    let mut trials: Vec<Trial> = (0..ATTACKS.len())
        .map(|index| {
            let (name, _) = ATTACKS.get(index).unwrap();
            // FE-1, FE-16
            Trial::test(format!("a_worker_that_{name}_is_ended"), move || match carry_out(index) {
                Err(WorkerError::Ended { signal: Some(libc::SIGSYS) }) => Ok(()),
                other => Err(format!("{other:?}").into()),
            })
        })
        .collect();
    // FE-1
    trials.push(Trial::test("a_worker_that_does_its_work_answers", || {
        match carry_out(ATTACKS.len()) {
            Ok(Answer::Done(_)) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }));
    // FE-1
    trials.push(Trial::test("a_worker_ends_with_its_supervisor", || {
        let worker = Worker::start(&Helper::this_program(), NAME).unwrap();
        let process = rustix::process::Pid::from_raw(worker.id().cast_signed()).unwrap();
        let flags = rustix::process::PidfdFlags::empty();
        let end = rustix::process::pidfd_open(process, flags).unwrap();
        drop(worker);
        assert!(end.as_raw_fd() > 0);
        let mut ends = [rustix::event::PollFd::new(&end, rustix::event::PollFlags::IN)];
        let second = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
        match rustix::event::poll(&mut ends, Some(&second)) {
            Ok(1) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
