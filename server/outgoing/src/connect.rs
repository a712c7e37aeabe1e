//! Connections: TCP, TLS, and which protocol was agreed on.

use std::{io, net::IpAddr, sync::Arc};

use hyper::{
    client::conn::{http1, http2},
    rt::{Read, Write},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::{
    call::Upload,
    client::{Destination, Scheme},
    error::{CallError, Failure},
    limits,
};

/// A way to send requests.
pub(crate) enum Sender {
    /// One at a time.
    Http1(http1::SendRequest<Upload>),
    /// Many.
    Http2(http2::SendRequest<Upload>),
}

/// Dials the addresses of a destination one after the other, those of IPv4 first. The first failure is told.
async fn dial(destination: &Destination) -> Result<TcpStream, CallError> {
    let no_such_host = || CallError::lookup(&destination.host);
    let found = lookup_host((&*destination.host, destination.port)).await.map_err(|_| no_such_host())?;
    let mut addresses: Vec<_> = found.collect();
    if destination.only_global && !addresses.iter().all(|address| is_global(address.ip())) {
        return Err(CallError::not_allowed());
    }
    addresses.sort_by_key(|address| !address.is_ipv4());
    let mut failed = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(socket) => return Ok(socket),
            Err(error) => _ = failed.get_or_insert_with(|| CallError::dial(&address.to_string(), &error)),
        }
    }
    Err(failed.unwrap_or_else(no_such_host))
}

/// Whether an address is neither this machine's nor of its link, nor of many (`net.IP.IsGlobalUnicast`).
pub fn is_global(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            !(ip.is_unspecified()
                || ip.is_loopback()
                || ip.is_link_local()
                || ip.is_multicast()
                || ip.is_broadcast())
        }
        IpAddr::V6(ip) => {
            !(ip.is_unspecified() || ip.is_loopback() || ip.is_unicast_link_local() || ip.is_multicast())
        }
    }
}

/// Opens a connection to a destination.
pub(crate) async fn connect(destination: &Destination, tls: &Arc<ClientConfig>) -> Result<Sender, CallError> {
    let socket = match timeout(limits::DIAL_TIMEOUT, dial(destination)).await {
        Ok(dialed) => dialed?,
        Err(_) => return Err(CallError::dial(&destination.address(), &io::ErrorKind::TimedOut.into())),
    };
    // Small writes are requests that somebody waits for.
    let _ = socket.set_nodelay(true);
    if destination.scheme == Scheme::Http {
        return http1(TokioIo::new(socket)).await;
    }
    let name = ServerName::try_from(destination.server_name.clone()).map_err(|_| {
        CallError::new(Failure::Tls, format!("tls: {:?} is no name", destination.server_name))
    })?;
    let stream =
        match timeout(limits::TLS_TIMEOUT, TlsConnector::from(tls.clone()).connect(name, socket)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(CallError::tls(&error)),
            Err(_) => return Err(CallError::new(Failure::Timeout, "net/http: TLS handshake timeout")),
        };
    let speaks_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    if speaks_http2 {
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(limits::H2_STREAM_WINDOW)
            .initial_connection_window_size(limits::H2_CONNECTION_WINDOW)
            .max_header_list_size(limits::H2_HEAD_MAX)
            .keep_alive_interval(limits::H2_PING_AFTER)
            .keep_alive_timeout(limits::H2_PING_TIMEOUT)
            .handshake(stream)
            .await
            .map_err(|e| CallError::exchange(&e))?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to another server ended");
            }
        });
        return Ok(Sender::Http2(sender));
    }
    http1(stream).await
}

/// Speaks HTTP/1.1 on a connection.
async fn http1(stream: impl Read + Write + Unpin + Send + 'static) -> Result<Sender, CallError> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(limits::H1_BUFFER)
        .handshake(stream)
        .await
        .map_err(|e| CallError::exchange(&e))?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to another server ended");
        }
    });
    Ok(Sender::Http1(sender))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_others() {
        let check = |ip: &str, expect: bool| assert_eq!(is_global(ip.parse().unwrap()), expect, "{ip}");
        for ip in ["10.0.0.1", "192.168.1.1", "1.2.3.4", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"] {
            check(ip, true);
        }
        for ip in [
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
        ] {
            check(ip, false);
        }
    }
}
