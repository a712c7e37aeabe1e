//! Why an engine cannot start, in words that tell the fix.

use std::{fmt, io, net::SocketAddr};

/// What was being done when the system said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartStep {
    /// Making a core's ring.
    Ring,
    /// Giving the ring its receive buffers.
    Buffers,
    /// Opening an address.
    Listen(SocketAddr),
    /// Reading the affinity mask or pinning a thread.
    Affinity,
    /// Starting a core's thread or its wake-up descriptor.
    Thread,
}

/// Why an engine cannot start.
#[derive(Debug)]
pub struct StartError {
    /// What was being done.
    pub step: StartStep,
    /// What the system said.
    pub source: io::Error,
    message: String,
}

impl StartError {
    pub(crate) fn new(step: StartStep, source: io::Error) -> StartError {
        let message = explain(step, source.raw_os_error(), uring_disabled());
        StartError { step, source, message }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.source)
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The value of `kernel.io_uring_disabled`; nothing where the kernel has no such setting (before 6.6).
fn uring_disabled() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}

/// What went wrong and what to do about it.
fn explain(step: StartStep, errno: Option<i32>, uring_disabled: Option<u8>) -> String {
    match (step, errno) {
        (StartStep::Ring | StartStep::Buffers, Some(libc::EPERM)) => match uring_disabled {
            Some(2) => "io_uring is switched off for every process: set `sysctl kernel.io_uring_disabled=0`".into(),
            Some(1) => "io_uring is allowed to CAP_SYS_ADMIN and to members of `kernel.io_uring_group` only: set \
                        `sysctl kernel.io_uring_disabled=0`, or `kernel.io_uring_group` to a group of this process"
                .into(),
            _ => "a seccomp filter forbids io_uring (container runtimes do by default): allow io_uring_setup, \
                  io_uring_enter and io_uring_register in the profile, or run with `seccompProfile: Unconfined`"
                .into(),
        },
        (StartStep::Ring, Some(libc::ENOSYS)) => {
            "this kernel has no io_uring: Linux 6.1 or newer built with CONFIG_IO_URING is needed (a sandbox such as \
             gVisor has none either)"
                .into()
        }
        (StartStep::Ring | StartStep::Buffers, Some(libc::ENOMEM)) => {
            "too little lockable memory for io_uring: raise RLIMIT_MEMLOCK (`ulimit -l`, systemd `LimitMEMLOCK=`) to \
             at least 8 MiB"
                .into()
        }
        (StartStep::Ring | StartStep::Buffers, Some(libc::EINVAL)) => {
            "this kernel's io_uring is too old: Linux 6.1 or newer is needed".into()
        }
        (StartStep::Ring | StartStep::Listen(_) | StartStep::Thread, Some(libc::EMFILE)) => {
            "too few file descriptors: raise RLIMIT_NOFILE (`ulimit -n`, systemd `LimitNOFILE=`)".into()
        }
        (StartStep::Ring, _) => "cannot make an io_uring".into(),
        (StartStep::Buffers, _) => "cannot give io_uring its receive buffers".into(),
        (StartStep::Listen(addr), Some(libc::EADDRINUSE)) => {
            format!("{addr} is taken by another process: stop it (`ss -ltnp` names it), or choose another port")
        }
        (StartStep::Listen(addr), Some(libc::EACCES)) => format!(
            "no right to listen on {addr}: ports below `sysctl net.ipv4.ip_unprivileged_port_start` need \
             CAP_NET_BIND_SERVICE"
        ),
        (StartStep::Listen(addr), Some(libc::EADDRNOTAVAIL)) => {
            format!("this machine has no address {}: choose one that `ip addr` shows", addr.ip())
        }
        (StartStep::Listen(addr), _) => format!("cannot listen on {addr}"),
        (StartStep::Affinity, Some(libc::EINVAL)) => {
            "a core was asked for that this process may not use: see `taskset -p` and the cpuset of its cgroup".into()
        }
        (StartStep::Affinity, _) => "cannot pin a thread to its core".into(),
        (StartStep::Thread, Some(libc::EAGAIN)) => {
            "too few threads allowed: raise RLIMIT_NPROC (`ulimit -u`, systemd `TasksMax=`)".into()
        }
        (StartStep::Thread, _) => "cannot start a core's thread".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_their_fix() {
        let addr: SocketAddr = "127.0.0.1:6443".parse().unwrap();
        let check = |step, errno, disabled, expect: &[&str]| {
            let text = explain(step, Some(errno), disabled);
            for part in expect {
                assert!(text.contains(part), "{text:?} lacks {part:?}");
            }
        };
        check(StartStep::Ring, libc::EPERM, Some(2), &["kernel.io_uring_disabled=0", "every process"]);
        check(StartStep::Ring, libc::EPERM, Some(1), &["kernel.io_uring_disabled=0", "io_uring_group"]);
        check(StartStep::Ring, libc::EPERM, Some(0), &["seccomp", "io_uring_setup"]);
        check(StartStep::Ring, libc::EPERM, None, &["seccomp"]);
        check(StartStep::Ring, libc::ENOSYS, None, &["Linux 6.1"]);
        check(StartStep::Ring, libc::EINVAL, None, &["Linux 6.1"]);
        check(StartStep::Ring, libc::ENOMEM, Some(0), &["RLIMIT_MEMLOCK", "LimitMEMLOCK"]);
        check(StartStep::Buffers, libc::ENOMEM, Some(0), &["RLIMIT_MEMLOCK", "LimitMEMLOCK"]);
        check(StartStep::Ring, libc::EMFILE, Some(0), &["RLIMIT_NOFILE", "LimitNOFILE"]);
        check(
            StartStep::Listen(addr),
            libc::EADDRINUSE,
            None,
            &["127.0.0.1:6443", "another process", "port"],
        );
        check(StartStep::Listen(addr), libc::EACCES, None, &["127.0.0.1:6443", "CAP_NET_BIND_SERVICE"]);
        check(StartStep::Listen(addr), libc::EADDRNOTAVAIL, None, &["127.0.0.1", "ip addr"]);
        check(StartStep::Affinity, libc::EINVAL, None, &["taskset", "cpuset"]);
        check(StartStep::Thread, libc::EAGAIN, None, &["RLIMIT_NPROC"]);
    }

    #[test]
    fn the_system_says_its_word_too() {
        let err = StartError::new(StartStep::Ring, io::Error::from_raw_os_error(libc::ENOMEM));
        assert!(err.to_string().contains("os error 12"), "{err}");
    }
}
