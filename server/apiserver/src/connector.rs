//! Connections to kubelets, pods and services: where a request goes is found here, whoever implements [`Connector`] goes
//! there.

use crate::{request::Request, response::Outcome};

/// What is spoken at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP.
    Http,
    /// HTTP under TLS.
    Https,
}

/// Who the other end is made sure to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A kubelet, and it is shown who asks.
    Kubelet,
    /// A kubelet that is not asked who it is (`insecureSkipTLSVerifyBackend`), and is shown who asks.
    AnyKubelet,
    /// Whoever answers.
    Anyone,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// What is spoken there.
    pub scheme: Scheme,
    /// Who is made sure to be there.
    pub trust: Trust,
    /// An address or a name, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Neither this machine nor its link may be there: who may use a proxy must not reach what trusts the server.
    pub only_global: bool,
    /// The path, decoded.
    pub path: String,
    /// The query, sorted by key. Proxies hand on that of the request instead.
    pub query: Vec<(&'static str, String)>,
}

/// Streams of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// What the client sends.
    pub stdin: bool,
    /// What the command says.
    pub stdout: bool,
    /// What it says of errors; with a terminal that is one with the other.
    pub stderr: bool,
    /// It has a terminal.
    pub tty: bool,
}

/// What the request is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The log of a container.
    Log,
    /// A command, or what runs already. `Some`: the kubelet speaks SPDY alone, and who comes with a WebSocket of version
    /// 5 is translated for.
    Command(Option<Streams>),
    /// Ports of a pod. `true`: the kubelet speaks SPDY alone, and who comes with a WebSocket has it in there.
    Ports(bool),
    /// Whatever it is.
    Proxy,
}

/// Goes where it was told to.
pub type Start = Box<dyn FnOnce() -> Outcome>;

/// Goes to kubelets, pods and services on behalf of clients.
pub trait Connector: Send + Sync {
    /// Makes a request ready; nothing is sent before it is started. What it comes to is [`Outcome::Ready`] or
    /// [`Outcome::Relay`].
    fn prepare(&self, request: &Request<'_>, backend: Backend, purpose: Purpose) -> Start;
    /// `--kubelet-preferred-address-types`
    fn address_types(&self) -> &[String];
    /// The port of a kubelet that says none (`--kubelet-port`).
    fn kubelet_port(&self) -> u16;
}
