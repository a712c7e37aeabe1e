//! The `ringbolt` command.
#![forbid(unsafe_code)]
#![expect(unreachable_pub, reason = "nothing is reachable from outside of a program")]

mod admission_plugins;
mod aggregation;
mod authentication;
mod authentication_config;
mod authorization;
mod authorization_config;
mod bootstrap;
mod config_file;
mod config_reloads;
mod control_plane;
mod disk;

mod flags;
mod flow_control;
mod front;
mod identity_lease;
mod inspect;
mod kubeconfig;
mod kubelets;
mod layout;
mod lifecycle;
mod pages;
mod pki;
mod rest;
mod run;
mod service_account;
mod serving;
mod settings;
mod storage_command;
mod trust;
mod webhooks;

use std::{process::ExitCode, time::Instant};

use flags::Request;
use ringbolt_apiserver::version;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let begun = Instant::now();
    let result = match flags::parse(std::env::args().skip(1)) {
        Ok(Request::Help) => {
            print!("{}", flags::help());
            Ok(())
        }
        Ok(Request::Version) => {
            println!("Kubernetes {}", version::GIT_VERSION);
            Ok(())
        }
        Ok(Request::Storage { action, arguments }) => storage_command::run(&action, &arguments),
        Ok(Request::Serve(flags)) => run::run(&flags, begun),
        Err(why) => Err(why),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("Error: {why}");
            ExitCode::FAILURE
        }
    }
}
