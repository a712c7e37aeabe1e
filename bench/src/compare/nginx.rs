//! Starts nginx with one static answer: the same TLS, the same length, none of the work. A reference near the limit.

use std::{path::Path, time::Instant};

use super::{
    cores::Cores,
    process::Process,
    server::{Common, Server, command, fresh_folder},
};
use crate::{
    error::{Context as _, Result},
    result::Side,
};

/// Starts nginx on `cores`; all paths answer with `length` bytes.
pub(super) fn start(
    common: &Common,
    cores: &Cores,
    port: u16,
    program: &Path,
    length: usize,
) -> Result<Server> {
    let folder = fresh_folder(common, "nginx")?;
    let configuration = folder.join("nginx.conf");
    std::fs::write(&configuration, text(common, &folder, port, length)).context(configuration.display())?;
    let arguments = [
        "-p".to_owned(),
        folder.display().to_string(),
        "-c".to_owned(),
        configuration.display().to_string(),
        // Before it has read its configuration it would write to the system's log.
        "-e".to_owned(),
        folder.join("error.log").display().to_string(),
    ];
    let since = Instant::now();
    let mut command = command(program, &arguments);
    let process = Process::start("nginx", &mut command, cores, &folder.join("log"))?;
    let mut server = Server::new(Side::Nginx, port, vec![process]);
    server.wait_ready(common, since)?;
    Ok(server)
}

fn text(common: &Common, folder: &Path, port: u16, length: usize) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|part| format!("  {part}_temp_path {};\n", folder.join(part).display()))
        .collect();
    format!(
        "daemon off;\nworker_processes 1;\npid {pid};\nevents {{ worker_connections 4096; }}\nhttp {{\n{temporary}  \
         access_log off;\n  default_type application/json;\n  keepalive_requests 1000000000;\n  keepalive_timeout \
         600s;\n  tcp_nodelay on;\n  server {{\n    listen 127.0.0.1:{port} ssl http2;\n    ssl_certificate \
         {certificate};\n    ssl_certificate_key {key};\n    ssl_protocols TLSv1.2 TLSv1.3;\n    location / {{ return \
         200 \"{body}\"; }}\n  }}\n}}\n",
        pid = folder.join("nginx.pid").display(),
        certificate = common.pki.certificate.display(),
        key = common.pki.key.display(),
        body = "x".repeat(length),
    )
}
