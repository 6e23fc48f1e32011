//! The target of an attack: files outside of a workspace, a process and sockets, all created for that attack only.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::IntoRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::effect::{Sight, list};

/// Environment variable of the runner that contains the secret.
pub(crate) const SECRET: &str = "ACTUM_HOSTILE_SECRET";

/// Returns a random text that occurs nowhere by chance.
pub(crate) fn new_secret() -> String {
    let mut bytes = [0_u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).unwrap();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("secret{digits}")
}

/// Facts about the host that an attack may use. They do not include the secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Copy of this program that every user may execute.
    pub(crate) program: PathBuf,
    /// A directory that the policy does not declare.
    pub(crate) outside: PathBuf,
    /// The writable directory in which the attack starts.
    pub(crate) workspace: PathBuf,
    /// A setuid-root program, if there is one.
    pub(crate) set_id: Option<PathBuf>,
    /// ID of the process that runs the sandbox.
    pub(crate) runner: i32,
    /// Address of the secret in the memory of that process, and its length.
    pub(crate) address: u64,
    pub(crate) length: usize,
    /// Address of writable memory in that process.
    pub(crate) written: u64,
    /// A file descriptor that is open in that process.
    pub(crate) fd: i32,
    /// ID of an unrelated process on the host.
    pub(crate) victim: i32,
    /// TCP port of a server on the loopback interface of the host.
    pub(crate) tcp: u16,
    pub(crate) udp: u16,
    pub(crate) abstract_name: String,
    /// ID of a shared memory segment of the host that contains the secret.
    pub(crate) shared: i32,
    /// ID of a message queue of the host that contains the secret in a message.
    pub(crate) queue: i32,
}

pub(crate) struct Scene {
    pub(crate) facts: Facts,
    pub(crate) secret: String,
    /// Whether the host reached a port on which the command listens.
    pub(crate) reached: bool,
    /// Time within which every heartbeat of the attack must stop.
    pub(crate) patience: Duration,
    victim: Child,
    written: &'static mut [u8; 16],
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    tcp: TcpListener,
    udp: UdpSocket,
    _place: TempDir,
}

impl Scene {
    pub(crate) fn new(program: &Path) -> Self {
        Self::with_workspace_at(program, "workspace")
    }

    /// Creates a scene whose workspace is at a path relative to it.
    pub(crate) fn with_workspace_at(program: &Path, workspace: &str) -> Self {
        let secret = std::env::var(SECRET).unwrap();
        // Use `/var/tmp`, because a scratch directory would hide files in `/tmp`, and because storage attacks need a real disk.
        let place = tempfile::Builder::new().prefix("actum-hostile-").tempdir_in("/var/tmp");
        let place = place.unwrap();
        let (outside, workspace) = (place.path().join("outside"), place.path().join(workspace));
        fs::create_dir_all(workspace.parent().unwrap()).unwrap();
        fill(&outside, &workspace, &secret);
        std::env::set_current_dir(&outside).unwrap();
        // Leave a descriptor open across `exec`, as careless programs do.
        let fd = leak(&outside.join("secret"));
        leak(&outside);
        let victim = Command::new("/bin/sleep")
            .arg0(&secret)
            .arg("60")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let abstract_name = place.path().display().to_string();
        let of_name = |name: &str| SocketAddr::from_abstract_name(name).unwrap();
        let streams = vec![
            UnixListener::bind(outside.join("stream")).unwrap(),
            UnixListener::bind(workspace.join("stream")).unwrap(),
            UnixListener::bind_addr(&of_name(&abstract_name)).unwrap(),
        ];
        let datagrams = vec![
            UnixDatagram::bind(outside.join("datagram")).unwrap(),
            UnixDatagram::bind(workspace.join("datagram")).unwrap(),
            UnixDatagram::bind_addr(&of_name(&format!("{abstract_name}-datagram"))).unwrap(),
        ];
        streams.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        datagrams.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let tcp = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let udp = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let written = Box::leak(Box::new(*b"as it always was"));
        let set_id = Some(program.with_file_name("id")).filter(|path| path.exists());
        let facts = Facts {
            program: program.to_owned(),
            set_id,
            runner: std::process::id() as i32,
            address: secret.as_ptr() as u64,
            length: secret.len(),
            written: written.as_ptr() as u64,
            fd,
            victim: victim.id() as i32,
            tcp: tcp.local_addr().unwrap().port(),
            udp: udp.local_addr().unwrap().port(),
            abstract_name,
            shared: share(&secret),
            queue: queue(&secret),
            outside,
            workspace,
        };
        Self {
            facts,
            secret,
            reached: false,
            patience: Duration::ZERO,
            victim,
            written,
            streams,
            datagrams,
            tcp,
            udp,
            _place: place,
        }
    }

    /// Records the current state of the host.
    pub(crate) fn look(&mut self) -> Sight {
        Sight {
            outside: list(&self.facts.outside),
            kept: self.kept(),
            victim: self.victim(),
            written: self.written(),
        }
    }

    pub(crate) fn kept(&self) -> Vec<String> {
        let paths = [".git", ".env", "deep/er/.git"];
        paths.iter().flat_map(|path| list(&self.facts.workspace.join(path))).collect()
    }

    pub(crate) fn written(&self) -> [u8; 16] {
        // SAFETY: this process owns the memory. The read is volatile because another process may have written to it.
        unsafe { std::ptr::read_volatile(std::ptr::from_ref::<[u8; 16]>(self.written)) }
    }

    /// Returns the state of the target process on the host.
    pub(crate) fn victim(&mut self) -> Vec<String> {
        let ended = self.victim.try_wait().unwrap();
        let process = format!("/proc/{}", self.facts.victim);
        let read = |name: &str| fs::read_to_string(format!("{process}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied().unwrap_or_default();
        // SAFETY: the call takes only integers.
        let storage = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, self.facts.victim) };
        let lines = |text: String, start: &'static str| {
            text.lines().filter(|line| line.starts_with(start)).collect::<Vec<_>>().join(" ")
        };
        vec![
            format!("ended {ended:?}"),
            format!("stopped {}", ["T", "t"].contains(&field(3))),
            format!("nice {} policy {} storage {storage}", field(19), field(41)),
            lines(read("limits"), "Max open files"),
            lines(read("status"), "Cpus_allowed:"),
            format!("score {}", read("oom_score_adj").trim()),
        ]
    }

    /// Returns whether the shared memory segment of the host still exists.
    pub(crate) fn has_shared(&self) -> bool {
        // SAFETY: the kernel fills the structure, and zeros are a valid value for it.
        unsafe {
            let mut found: libc::shmid_ds = std::mem::zeroed();
            libc::shmctl(self.facts.shared, libc::IPC_STAT, &raw mut found) == 0
        }
    }

    /// Returns the data that any of the sockets received.
    pub(crate) fn heard(&self) -> Option<String> {
        let mut bytes = [0; 64];
        let streams = self.streams.iter().position(|socket| socket.accept().is_ok());
        let datagrams = self.datagrams.iter().position(|socket| socket.recv(&mut bytes).is_ok());
        let tcp = self.tcp.accept().is_ok();
        let udp = self.udp.recv(&mut bytes).is_ok();
        let name = |at: usize| ["outside", "in the workspace", "by an abstract name"][at];
        streams
            .map(|at| format!("a stream socket {} heard it", name(at)))
            .or_else(|| datagrams.map(|at| format!("a datagram socket {} heard it", name(at))))
            .or_else(|| tcp.then(|| "TCP heard it".to_owned()))
            .or_else(|| udp.then(|| "UDP heard it".to_owned()))
    }

    /// Returns a description if a process of the command is still alive, which its heartbeat reveals, and then stops it.
    pub(crate) fn beats(&self) -> Option<String> {
        let begun = Instant::now();
        let beat = self.facts.workspace.join("beat");
        let size = || fs::metadata(&beat).map_or(0, |metadata| metadata.len());
        let mut grows;
        loop {
            let before = size();
            std::thread::sleep(Duration::from_millis(120));
            grows = size() > before;
            if !grows || begun.elapsed() > self.patience {
                break;
            }
        }
        fs::write(self.facts.workspace.join("stop"), "").unwrap();
        if grows {
            // Keep the directory until every such process has noticed the stop file.
            std::thread::sleep(Duration::from_millis(100));
        }
        grows.then(|| "it still beats".to_owned())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.victim.kill());
        drop(self.victim.wait());
        // SAFETY: the calls take only integers, and both objects were created for this scene.
        unsafe {
            libc::shmctl(self.facts.shared, libc::IPC_RMID, std::ptr::null_mut());
            libc::msgctl(self.facts.queue, libc::IPC_RMID, std::ptr::null_mut());
        }
        drop(std::env::set_current_dir("/"));
    }
}

fn fill(outside: &Path, workspace: &Path, secret: &str) {
    let open = |path: &Path| fs::DirBuilder::new().mode(0o755).create(path).unwrap();
    for name in ["", "empty", "view"] {
        open(&outside.join(name));
    }
    fs::write(outside.join("secret"), secret).unwrap();
    // A file name can reveal the secret as well.
    fs::write(outside.join(secret), "").unwrap();
    fs::write(outside.join("file"), "as it was").unwrap();
    let (path, name) = (crate::act::calls::c(outside.join("file")), c"user.secret".as_ptr());
    // SAFETY: path and name are C strings, and the value is passed with its length.
    unsafe { libc::setxattr(path.as_ptr(), name, secret.as_ptr().cast(), secret.len(), 0) };
    symlink(format!("/nowhere/{secret}"), outside.join("link")).unwrap();
    for name in ["file", "other", "gone"] {
        fs::write(outside.join("view").join(name), "as it was").unwrap();
    }
    let directories = ["", ".git", ".git/hooks", "deep", "deep/er", "deep/er/.git"];
    for name in directories {
        open(&workspace.join(name));
    }
    for name in ["file", ".env", ".git/config", "deep/er/.git/config"] {
        fs::write(workspace.join(name), "as it was").unwrap();
    }
    symlink(outside.join("secret"), workspace.join("given")).unwrap();
    symlink(outside, workspace.join("given-directory")).unwrap();
}

/// Opens a path for reading with a descriptor that child processes inherit.
fn leak(path: &Path) -> i32 {
    let fd = fs::File::open(path).unwrap().into_raw_fd();
    // SAFETY: the call takes only integers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    fd
}

/// Creates a shared memory segment that contains the secret.
fn share(secret: &str) -> i32 {
    // SAFETY: the segment is new, and larger than the secret.
    unsafe {
        let made = libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600);
        let at = libc::shmat(made, std::ptr::null(), 0);
        std::ptr::copy_nonoverlapping(secret.as_ptr(), at.cast(), secret.len());
        libc::shmdt(at);
        made
    }
}

/// Creates a message queue that contains the secret.
fn queue(secret: &str) -> i32 {
    let mut message = 1_u64.to_ne_bytes().to_vec();
    message.extend(secret.as_bytes());
    // SAFETY: the message starts with an eight-byte integer, and its text is passed with its length.
    unsafe {
        let made = libc::msgget(libc::IPC_PRIVATE, libc::IPC_CREAT | 0o600);
        let sent = libc::msgsnd(made, message.as_ptr().cast(), secret.len(), libc::IPC_NOWAIT);
        assert_eq!(sent, 0);
        made
    }
}
