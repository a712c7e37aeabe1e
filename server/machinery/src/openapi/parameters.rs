//! The parameters that requests take.

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    Path,
    Query,
}

impl Location {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Location::Path => "path",
            Location::Query => "query",
        }
    }
}

/// A parameter in a path or query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) location: Location,
    pub(super) ty: &'static str,
    /// What v2 appends to the name where operations share the parameter: Kubernetes hashes the text of the parameter,
    /// description included. Empty for those that v2 repeats each time (old kubectl looks for them in place).
    pub(super) shared: &'static str,
}

const fn query(name: &'static str, ty: &'static str, shared: &'static str) -> Parameter {
    Parameter { name, location: Location::Query, ty, shared }
}

const fn path(name: &'static str, shared: &'static str) -> Parameter {
    Parameter { name, location: Location::Path, ty: "string", shared }
}

/// Name that v2 gives the body of a patch.
pub(super) const PATCH_BODY: &str = "body-78PwaGsr";
/// Name that v2 gives the body of a delete.
pub(super) const DELETE_BODY: &str = "body-2Y1dVQaQ";

pub(super) const NAME: Parameter = path("name", "");
pub(super) const NAMESPACE: Parameter = path("namespace", "vgWSWtn3");
/// The rest of a proxied path.
pub(super) const PATH: Parameter = path("path", "z6Ciiujn");
pub(super) const PRETTY: Parameter = query("pretty", "string", "tJGM1-ng");

const DRY_RUN: Parameter = query("dryRun", "string", "");
const FIELD_VALIDATION: Parameter = query("fieldValidation", "string", "");

/// `CreateOptions` and `UpdateOptions`.
pub(super) const WRITE_OPTIONS: [Parameter; 3] =
    [DRY_RUN, query("fieldManager", "string", "Qy4HdaTW"), FIELD_VALIDATION];

/// `PatchOptions`: apply needs a field manager, so the description differs from that of a write.
pub(super) const PATCH_OPTIONS: [Parameter; 4] = [
    DRY_RUN,
    query("fieldManager", "string", "7c6nTn1T"),
    FIELD_VALIDATION,
    query("force", "boolean", "tOGGb0Yi"),
];

/// `DeleteOptions`.
pub(super) const DELETE_OPTIONS: [Parameter; 5] = [
    DRY_RUN,
    query("gracePeriodSeconds", "integer", "-K5HaBOS"),
    query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "QbNkfIqj"),
    query("orphanDependents", "boolean", "uRB25kX5"),
    query("propagationPolicy", "string", "6jk3prlO"),
];

/// `GetOptions`, which only custom resources show.
pub(super) const RESOURCE_VERSION: Parameter = query("resourceVersion", "string", "5WAnf1kx");

/// `ListOptions` but for those that only a watch has.
pub(super) const LIST_OPTIONS: [Parameter; 9] = [
    query("continue", "string", "QfD61s0i"),
    query("fieldSelector", "string", "xIcQKXFG"),
    query("labelSelector", "string", "5Zw57w4C"),
    query("limit", "integer", "1NfNmdNH"),
    RESOURCE_VERSION,
    query("resourceVersionMatch", "string", "t8XhRHeC"),
    query("sendInitialEvents", "boolean", "rLXlEK_k"),
    query("shardSelector", "string", "Kgyki_3_"),
    query("timeoutSeconds", "integer", "yvYezaOC"),
];

/// `ListOptions` that only a watch has.
pub(super) const WATCH_OPTIONS: [Parameter; 2] =
    [query("allowWatchBookmarks", "boolean", "HC2hJt-J"), query("watch", "boolean", "XNNPZGbK")];

/// `PodLogOptions`.
pub(super) const LOG: [Parameter; 9] = [
    query("container", "string", "1GeXxFDC"),
    query("follow", "boolean", "9OIXh_2R"),
    query("insecureSkipTLSVerifyBackend", "boolean", "gM00jVbe"),
    query("limitBytes", "integer", "zwd1RXuc"),
    query("previous", "boolean", "1jxDPu3y"),
    query("sinceSeconds", "integer", "vE2NLdnP"),
    query("stream", "string", "l-48cgXv"),
    query("tailLines", "integer", "9xQLWHMV"),
    query("timestamps", "boolean", "c17fW1w_"),
];

const ATTACH: [Parameter; 5] = [
    query("container", "string", "_Q-EJ3nR"),
    query("stderr", "boolean", "26jJhFUR"),
    query("stdin", "boolean", "sEFnN3IS"),
    query("stdout", "boolean", "005YMKE6"),
    query("tty", "boolean", "g7MlET_l"),
];

const EXEC: [Parameter; 6] = [
    query("command", "string", "Py3eQybp"),
    query("container", "string", "i5dOmRiM"),
    query("stderr", "boolean", "W_1TNlWc"),
    query("stdin", "boolean", "PSzNhyUC"),
    query("stdout", "boolean", "-EZLRwV1"),
    query("tty", "boolean", "s0flW37O"),
];

/// Options of the kinds that connections to a node, pod or service take; `None` of any other kind.
pub(super) fn connect_options(kind: &str) -> Option<&'static [Parameter]> {
    const PORT_FORWARD: [Parameter; 1] = [query("ports", "integer", "91KROJmm")];
    const NODE_PROXY: [Parameter; 1] = [query("path", "string", "rFDtV0x9")];
    const POD_PROXY: [Parameter; 1] = [query("path", "string", "oPbzgLUj")];
    const SERVICE_PROXY: [Parameter; 1] = [query("path", "string", "QCf0eosM")];
    Some(match kind {
        "PodAttachOptions" => &ATTACH,
        "PodExecOptions" => &EXEC,
        "PodPortForwardOptions" => &PORT_FORWARD,
        "NodeProxyOptions" => &NODE_PROXY,
        "PodProxyOptions" => &POD_PROXY,
        "ServiceProxyOptions" => &SERVICE_PROXY,
        _ => return None,
    })
}
