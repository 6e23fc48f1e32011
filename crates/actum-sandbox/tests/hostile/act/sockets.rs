//! Attacks through sockets. The host listens on sockets of each kind, only on its loopback interface, and checks whether it
//! received anything.

use std::io::Write;
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;

use super::calls::{got, sleep_ms};
use crate::scene::Facts;

const WORD: &[u8] = b"pwned";

pub(crate) fn tcp(facts: &Facts) {
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", facts.tcp)) {
        drop(stream.write_all(WORD));
    }
}

fn address(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    }
}

pub(crate) fn mptcp(facts: &Facts) {
    let to = address(facts.tcp);
    // SAFETY: the address and the buffer are passed with their sizes.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP);
        libc::connect(socket, (&raw const to).cast(), size_of_val(&to) as u32);
        libc::send(socket, WORD.as_ptr().cast(), WORD.len(), libc::MSG_NOSIGNAL);
    }
}

pub(crate) fn fast_open(facts: &Facts) {
    let to = address(facts.tcp);
    let flags = libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL;
    // SAFETY: the address and the buffer are passed with their sizes.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        let size = size_of_val(&to) as u32;
        libc::sendto(socket, WORD.as_ptr().cast(), WORD.len(), flags, (&raw const to).cast(), size);
    }
}

/// Listens on a port that the host tries to reach. The port number is written to the workspace.
pub(crate) fn listen(facts: &Facts) {
    if let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)) {
        wait_for_host(facts, &listener);
    }
}

/// Listens without bind(2), in which case listen(2) chooses a port.
pub(crate) fn listen_unbound(facts: &Facts) {
    use std::os::fd::FromRawFd;
    // SAFETY: the calls take only integers, and the descriptor is new and has no other owner.
    let listener = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        if socket < 0 || libc::listen(socket, 1) < 0 {
            return;
        }
        TcpListener::from_raw_fd(socket)
    };
    wait_for_host(facts, &listener);
}

fn wait_for_host(facts: &Facts, listener: &TcpListener) {
    let port = listener.local_addr().unwrap().port();
    let name = facts.workspace.join("port");
    drop(std::fs::write(name.with_extension("new"), port.to_string()));
    drop(std::fs::rename(name.with_extension("new"), &name));
    drop(listener.set_nonblocking(true));
    for _ in 0..60 {
        if let Ok((mut stream, _)) = listener.accept() {
            // Send a name, so that the host knows that it reached this listener and no other.
            drop(stream.write_all(facts.abstract_name.as_bytes()));
            return;
        }
        sleep_ms(5);
    }
}

pub(crate) fn udp(facts: &Facts) {
    if let Ok(socket) = UdpSocket::bind(("127.0.0.1", 0)) {
        drop(socket.send_to(WORD, ("127.0.0.1", facts.udp)));
    }
}

pub(crate) fn abstract_stream(facts: &Facts) {
    let address = SocketAddr::from_abstract_name(&facts.abstract_name).unwrap();
    if let Ok(mut stream) = UnixStream::connect_addr(&address) {
        drop(stream.write_all(WORD));
    }
}

pub(crate) fn abstract_datagram(facts: &Facts) {
    let name = format!("{}-datagram", facts.abstract_name);
    let address = SocketAddr::from_abstract_name(name).unwrap();
    if let Ok(socket) = UnixDatagram::unbound() {
        drop(socket.send_to_addr(WORD, &address));
    }
}

fn stream_to(path: &Path) {
    if let Ok(mut stream) = UnixStream::connect(path) {
        drop(stream.write_all(WORD));
    }
}

fn datagram_to(path: &Path) {
    if let Ok(socket) = UnixDatagram::unbound() {
        drop(socket.send_to(WORD, path));
    }
}

pub(crate) fn path_stream(facts: &Facts) {
    stream_to(&facts.outside.join("stream"));
}

pub(crate) fn path_datagram(facts: &Facts) {
    datagram_to(&facts.outside.join("datagram"));
}

pub(crate) fn path_in_workspace(facts: &Facts) {
    stream_to(&facts.workspace.join("stream"));
    datagram_to(&facts.workspace.join("datagram"));
}

/// Sends data to a path from one socket of a pair.
fn pair_to(kind: i32, path: &Path) {
    // SAFETY: an all-zero `sockaddr_un` is valid.
    let mut to: libc::sockaddr_un = unsafe { MaybeUninit::zeroed().assume_init() };
    to.sun_family = libc::AF_UNIX as u16;
    for (slot, byte) in to.sun_path.iter_mut().zip(path.as_os_str().as_bytes()) {
        *slot = *byte as libc::c_char;
    }
    let mut pair = [0; 2];
    // SAFETY: the address and the buffer are passed with their sizes.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) == 0 {
            let (bytes, size) = (WORD.as_ptr().cast(), size_of_val(&to) as u32);
            libc::sendto(pair[0], bytes, WORD.len(), 0, (&raw const to).cast(), size);
            // Try again after disconnecting.
            libc::connect(pair[0], (&raw const to).cast(), size);
            libc::send(pair[0], bytes, WORD.len(), libc::MSG_NOSIGNAL);
        }
    }
}

pub(crate) fn pair_of_datagrams(facts: &Facts) {
    pair_to(libc::SOCK_DGRAM, &facts.outside.join("datagram"));
    pair_to(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, &facts.workspace.join("datagram"));
}

/// Uses SOCK_RAW, which is an alias of SOCK_DGRAM for Unix sockets (`unix_create` in the kernel).
pub(crate) fn raw_pair(facts: &Facts) {
    pair_to(libc::SOCK_RAW, &facts.outside.join("datagram"));
}

pub(crate) fn raw_pair_in_workspace(facts: &Facts) {
    pair_to(libc::SOCK_RAW, &facts.workspace.join("datagram"));
}

/// Opens sockets that no namespace confines, or that configure the machine.
pub(crate) fn other_families(_: &Facts) {
    for (family, kind, name) in [
        (libc::AF_VSOCK, libc::SOCK_STREAM, "vsock"),
        (libc::AF_NETLINK, libc::SOCK_RAW, "netlink"),
        (libc::AF_ALG, libc::SOCK_SEQPACKET, "alg"),
        (libc::AF_PACKET, libc::SOCK_RAW, "packet"),
        (libc::AF_BLUETOOTH, libc::SOCK_RAW, "bluetooth"),
    ] {
        // SAFETY: the call takes only integers.
        if unsafe { libc::socket(family, kind, 0) } >= 0 {
            got(format_args!("a socket of {name}"));
        }
    }
}

/// Creates a datagram socket with a 32-bit system call, which has a different number, and sends with 64-bit calls.
#[cfg(target_arch = "x86_64")]
pub(crate) fn by_32_bit_call(facts: &Facts) {
    const SOCKET: i64 = 359;
    let (family, kind) = (i64::from(libc::AF_INET), i64::from(libc::SOCK_DGRAM));
    let mut socket: i64;
    // SAFETY: the call takes only integers, and `rbx` is restored because the compiler reserves it.
    unsafe {
        std::arch::asm!(
            "mov {kept}, rbx",
            "mov rbx, {family}",
            "int 0x80",
            "mov rbx, {kept}",
            kept = out(reg) _,
            family = in(reg) family,
            inlateout("rax") SOCKET => socket,
            in("rcx") kind,
            in("rdx") 0_i64,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    send_by(socket as i32, facts);
    by_x32_call(facts);
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn by_32_bit_call(facts: &Facts) {
    udp(facts); // no machine of this kind has them
}

/// Connects with the system call numbers of the x32 interface, which some kernels also support.
#[cfg(target_arch = "x86_64")]
fn by_x32_call(facts: &Facts) {
    const X32: i64 = 0x4000_0000;
    // SAFETY: the call takes only integers.
    let socket =
        unsafe { libc::syscall(X32 + libc::SYS_socket, libc::AF_INET, libc::SOCK_DGRAM, 0) };
    send_by(socket as i32, facts);
}

#[cfg(target_arch = "x86_64")]
fn send_by(socket: i32, facts: &Facts) {
    let to = address(facts.udp);
    let size = size_of_val(&to) as u32;
    // SAFETY: the address and the buffer are passed with their sizes.
    unsafe {
        libc::sendto(socket, WORD.as_ptr().cast(), WORD.len(), 0, (&raw const to).cast(), size);
    }
}
