//! Ringbolt's own engine: with the loop of the other reactors, and with Ringbolt's HTTP on top.

mod http;
mod reactor;

use ringbolt_engine::{Engine, EngineConfig, EngineHandle, Listener};
use rival_reply::Args;
use std::io;

fn main() -> io::Result<()> {
    let args = Args::of_process(&["reactor", "h1", "h2"]);
    let listeners = vec![Listener { addr: args.address, tls: None, id: 0 }];
    // No cores named: those this process is pinned to.
    let config = EngineConfig::default();
    let _running: EngineHandle = match args.mode.as_str() {
        "reactor" => Engine::start(config, listeners, |_| reactor::Reactor),
        "h1" => Engine::start(config, listeners, |_| http::Server { h2: false }),
        _ => Engine::start(config, listeners, |_| http::Server { h2: true }),
    }
    .map_err(io::Error::other)?;
    loop {
        std::thread::park();
    }
}
