//! The rules of same work, as a report states them.

/// What is the same on both sides, and what is not.
pub(super) const SAME_WORK: &[&str] = &[
    "All servers run on this machine, on the same core or cores, and clients on others. The peer is kube-apiserver and \
     etcd together: their CPU and memory are added up.",
    "While a side is measured, the processes of all other sides are stopped (SIGSTOP). They go on (SIGCONT) some \
     hundred milliseconds before their own run, and a run begins with unmeasured load.",
    "Runs alternate between the sides, A B A B A B; medians are compared.",
    "CPU a request is the CPU of the server's processes over the whole life of the client, connections and handshakes \
     included, divided by the requests that were answered as they should be.",
    "TLS with the same ECDSA P-256 certificate, the same bearer token of the same user (in system:masters), \
     Node and RBAC authorization, audit off. API Priority and Fairness is at its default on the peer.",
    "The admission plugins that are on by default, on both sides. No controllers run on either: namespaces get their \
     default ServiceAccount from the benchmark, and only pods of create-pods-64 ask for its token.",
    "Both start with an empty store on the same file system and get the same objects through the API. Writes are \
     answered when they are on disk: etcd with its defaults (fsync on), Ringbolt with its own default.",
    "Before a case is measured both sides are asked once: status, media type and number of objects must be equal, \
     lengths within 15 %. Else the case is not compared.",
    "All connections are over loopback. Where the system's congestion control paces (BBR), Ringbolt gives such \
     connections one without pacing, and the peer does not: set net.ipv4.tcp_congestion_control=cubic to compare \
     without.",
    "Requests that fail or answer with another status are errors; a case with errors is marked.",
    "CPU is read from /proc/PID/task/*/schedstat and /proc/PID/stat; memory is VmRSS, read every 50 ms.",
];
