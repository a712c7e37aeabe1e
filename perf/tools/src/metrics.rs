//! How many operations the server has done: its own metrics, over its port without TLS.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crate::scenario::Unit;

/// A page of metrics takes milliseconds; a server under load answers it between others.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The operations that the server behind this port has done.
pub fn operations(port: u16, token: &str, unit: Unit) -> Result<f64, String> {
    let text = get(port, token, "/metrics")?;
    let requests = |label: &str| sum(&text, "apiserver_request_total", label);
    Ok(match unit {
        Unit::Request => requests(""),
        // Each update is an event of each watch that is open. The load itself checks that all come.
        Unit::Event => {
            requests("verb=\"PUT\"") * sum(&text, "apiserver_longrunning_requests", "verb=\"WATCH\"")
        }
        Unit::Second => 0.0,
    })
}

/// The body of the answer to a GET.
pub fn get(port: u16, token: &str, path: &str) -> Result<String, String> {
    let fail = |e: std::io::Error| format!("GET {path} on port {port}: {e}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(fail)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(fail)?;
    // HTTP/1.0: no chunks, and the end of the connection is the end of the body.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n")
        .map_err(fail)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(fail)?;
    let answer = String::from_utf8_lossy(&answer);
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.split(' ').nth(1) == Some("200") => Ok(body.to_owned()),
        _ => Err(format!("GET {path} on port {port}: {}", answer.lines().next().unwrap_or("no answer"))),
    }
}

/// The sum of all series of a family that have this label.
fn sum(text: &str, family: &str, label: &str) -> f64 {
    text.lines()
        .filter(|line| line.strip_prefix(family).is_some_and(|rest| rest.starts_with(['{', ' '])))
        .filter(|line| line.contains(label))
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_summed() {
        let text = "# TYPE a counter\na{b=\"c d\"} 2\na{b=\"e\"} 3\na_bucket{b=\"e\"} 7\nab 9\na 1e+01\n";
        assert_eq!(sum(text, "a", ""), 15.0);
        assert_eq!(sum(text, "a", "b=\"e\""), 3.0);
        assert_eq!(sum(text, "none", ""), 0.0);
    }
}
