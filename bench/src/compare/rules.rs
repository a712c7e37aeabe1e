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
    "TLS with the same ECDSA P-256 certificate, the same bearer token of the same user, Node and RBAC \
     authorization, audit off.",
    "The user is nobody's administrator: a ClusterRole and a ClusterRoleBinding of its group, made by an administrator \
     on both sides, allow what cases do. API Priority and Fairness is on on both with the configuration of a new \
     cluster; requests are of the flow schema global-default and take seats. Seats are raised on both alike \
     (--max-requests-inflight=10000, --max-mutating-requests-inflight=5000), so that nothing waits or is refused.",
    "The admission plugins that are on by default, on both sides. No controllers run on either: namespaces get their \
     default ServiceAccount from the benchmark, and only pods of create-pods-64 ask for its token.",
    "Those pods are of 24 specs in turn, as replicas are of one: Ringbolt takes less for a spec that came before \
     (create_pod_admitted of perf/budgets.toml) than for one that did not (create_pod_new_spec).",
    "Both start with an empty store on the same file system and get the same objects through the API. Writes are \
     answered when they are on disk: etcd with its defaults (fsync on), Ringbolt with its own default.",
    "Before a case is measured both sides are asked once: status, media type and number of objects must be equal, \
     lengths within 15 %. Else the case is not compared.",
    "All connections are over loopback. Where the system's congestion control paces (BBR), Ringbolt gives such \
     connections one without pacing, and the peer does not: set net.ipv4.tcp_congestion_control=cubic to compare \
     without.",
    "Before each run 1 GiB of memory is taken from the machine and given back: a virtual machine may have lent its free \
     memory to the host, which takes 2 ms of CPU a MiB to give it back, and would be counted to the side that grows.",
    "A client with one write in flight looks for its answer without sleeping, so that its own CPU's getting up is in no \
     latency.",
    "Requests that fail or answer with another status (403 and 429 among them) are errors. A case with errors is marked; \
     where they are more than one in 1,000, and it is none of watches, its figures are refused.",
    "CPU is read from /proc/PID/task/*/schedstat and /proc/PID/stat; memory is VmRSS, read every 50 ms.",
];
