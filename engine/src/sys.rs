//! System calls the standard library does not have: affinity, event descriptors, and options of sockets.

use crate::limits;
use std::{
    fs::File,
    io, mem,
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The CPUs this process may use.
pub(crate) fn affinity() -> io::Result<Vec<usize>> {
    // SAFETY: all-zero bytes are a valid cpu_set_t, which is an array of integers.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live cpu_set_t and the size is its own, so the kernel writes within it.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    // SAFETY: CPU_ISSET reads the bit `cpu` of the set, and `cpu` is below the number of its bits.
    Ok((0..8 * size_of::<libc::cpu_set_t>()).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// Pins the calling thread to a CPU.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: all-zero bytes are a valid, empty cpu_set_t.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `cpu` was checked to be below the number of bits of the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the pointer is to a live cpu_set_t of the given size; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) }).map(drop)
}

/// Raises the limit of open descriptors as far as the process may by itself, and returns it.
pub(crate) fn raise_descriptors() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live rlimit that the call fills.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the pointer is to a live rlimit that the call reads.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(limit.rlim_cur)
}

/// Makes a descriptor that wakes a ring which reads it.
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })?;
    // SAFETY: the kernel just made this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds one to an event descriptor.
pub(crate) fn signal(fd: &OwnedFd) {
    let one = 1u64;
    // SAFETY: the pointer is to eight live bytes, which is the length given. The write cannot fail in a way that
    // matters: the counter is full only if a wake-up is pending already.
    unsafe { libc::write(fd.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
}

fn set_option(fd: RawFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer is to a live c_int and the length is its own.
    check(unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Opens an address for several listeners of this engine, one a core. The first is bound alone, so that a port which
/// another process has is an error even if that process shares its port too; then the others join it.
pub(crate) fn bind(addr: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    let mut bound = addr;
    let mut sockets = Vec::with_capacity(count);
    for i in 0..count {
        let socket = tcp_socket(&addr)?;
        let fd = socket.as_raw_fd();
        set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        if i > 0 {
            set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        bind_socket(fd, &bound)?;
        if i == 0 {
            set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        let listener = TcpListener::from(socket);
        if i == 0 {
            bound = listener.local_addr()?;
        }
        // Accepted sockets inherit these, which saves four calls a connection.
        set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        set_option(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        set_option(fd, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, limits::KEEPALIVE_SECS)?;
        set_option(fd, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, limits::KEEPALIVE_SECS)?;
        sockets.push(listener);
    }
    for socket in &sockets {
        // SAFETY: the call takes no pointers.
        check(unsafe { libc::listen(socket.as_raw_fd(), limits::LISTEN_BACKLOG) })?;
    }
    Ok(sockets)
}

fn tcp_socket(addr: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: the call takes no pointers.
    let fd = check(unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel just made this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bind_socket(fd: RawFd, addr: &SocketAddr) -> io::Result<()> {
    match addr {
        SocketAddr::V4(addr) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: addr.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(addr.ip().octets()) },
                sin_zero: [0; 8],
            };
            let len = size_of_val(&raw) as libc::socklen_t;
            // SAFETY: the pointer is to a live sockaddr_in and the length is its own.
            check(unsafe { libc::bind(fd, (&raw const raw).cast(), len) }).map(drop)
        }
        SocketAddr::V6(addr) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: addr.port().to_be(),
                sin6_flowinfo: addr.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: addr.ip().octets() },
                sin6_scope_id: addr.scope_id(),
            };
            let len = size_of_val(&raw) as libc::socklen_t;
            // SAFETY: the pointer is to a live sockaddr_in6 and the length is its own.
            check(unsafe { libc::bind(fd, (&raw const raw).cast(), len) }).map(drop)
        }
    }
}

/// Takes over a descriptor that an accept on the ring returned.
///
/// # Safety
/// `fd` is a descriptor that the kernel just returned and that nobody else owns.
pub(crate) unsafe fn accepted(fd: RawFd) -> TcpStream {
    // SAFETY: the caller says that the descriptor is open and ours.
    unsafe { TcpStream::from_raw_fd(fd) }
}

/// Makes the close of a socket a reset.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the pointer is to a live linger and the length is its own. A failure means that the socket is dead
    // already, so its result does not matter.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
}

/// Bytes free to this process on the volume of an open folder.
pub(crate) fn free_bytes(fd: &impl AsRawFd) -> io::Result<u64> {
    // SAFETY: all-zero bytes are a valid statvfs, which is integers only.
    let mut stat: libc::statvfs = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live statvfs that the call fills.
    check(unsafe { libc::fstatvfs(fd.as_raw_fd(), &mut stat) })?;
    Ok(stat.f_bavail * stat.f_frsize)
}

/// Takes the space of a file's first bytes, which are zero then; the file becomes as long. An error of kind
/// `Unsupported` or `InvalidInput` where the file system cannot.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    loop {
        // SAFETY: the call takes numbers only.
        match check(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as libc::off_t) }) {
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(drop),
        }
    }
}

/// The first byte from an offset on that was never written, as far as the file system can tell; the end of the file, or
/// the offset if it is beyond that, where there is none.
pub(crate) fn next_hole(file: &File, from: u64) -> io::Result<u64> {
    Ok(seek(file, from, libc::SEEK_HOLE)?.unwrap_or(from))
}

/// The first byte from an offset on that was written, if there is one.
pub(crate) fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    seek(file, from, libc::SEEK_DATA)
}

/// Moves the file's own offset, which nobody else uses.
fn seek(file: &File, from: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, whence) } {
        -1 => match io::Error::last_os_error() {
            // There is no such place before the end of the file.
            err if err.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            err => Err(err),
        },
        at => Ok(Some(at as u64)),
    }
}
