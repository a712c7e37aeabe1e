//! Runs the cases: stage by stage, side by side, one side at a time.

use std::{collections::BTreeSet, fs::File, io::Write as _, process::ExitCode};

use super::{
    CompareArgs, Meta,
    bench::Bench,
    check, limits,
    meta::installed,
    nginx, seed, server,
    server::Server,
    table::{self, LeftOut},
};
use crate::{
    cases::{self, Case, Stage},
    error::{Context as _, Result},
    objects::NAMESPACE,
    result::{Measurement, Side},
};

/// Everything a run has found so far, written to disk as it is found.
struct Findings {
    measurements: Vec<Measurement>,
    meta: Meta,
    lines: File,
}

impl Findings {
    fn keep(&mut self, measurement: Measurement) -> Result<()> {
        writeln!(self.lines, "{}", serde_json::to_string(&measurement)?)?;
        self.measurements.push(measurement);
        Ok(())
    }

    fn leave_out(&mut self, case: &str, why: String) {
        println!("left out: {case}: {why}");
        self.meta.left_out.push(LeftOut { case: case.to_owned(), why });
    }
}

/// Runs all wanted cases, and writes what came out.
pub(super) fn run(args: &CompareArgs, bench: &Bench) -> Result<ExitCode> {
    let path = args.out.join("results.jsonl");
    let lines = File::create(&path).context(path.display())?;
    let mut findings = Findings { measurements: Vec::new(), meta: Meta::begin(bench, args.runs), lines };
    let mut wanted: Vec<Case> = cases::all().into_iter().filter(|case| args.wants(case)).collect();
    findings.meta.cases = wanted.iter().map(|case| (case.name.clone(), case.about.clone())).collect();
    wanted.retain(|case| {
        let missing = case.work.programs().iter().find(|program| !installed(program));
        if let Some(program) = missing {
            findings.leave_out(&case.name, format!("{program} is not installed"));
        }
        missing.is_none()
    });
    print!("{}", table::head());
    for stage in Stage::ALL {
        let cases: Vec<&Case> = wanted.iter().filter(|case| case.stage == stage).collect();
        if !cases.is_empty() {
            run_stage(args, bench, stage, &cases, &mut findings).context(stage.name())?;
        }
    }
    finish(args, &findings)
}

fn finish(args: &CompareArgs, findings: &Findings) -> Result<ExitCode> {
    let meta = args.out.join("meta.json");
    std::fs::write(&meta, serde_json::to_vec_pretty(&findings.meta)?).context(meta.display())?;
    let text = table::whole(&findings.measurements, &findings.meta.left_out);
    let path = args.out.join("table.txt");
    std::fs::write(&path, text).context(path.display())?;
    println!("results are in {}", args.out.display());
    let errors: u64 = findings.measurements.iter().map(|measurement| measurement.errors).sum();
    if errors > 0 {
        println!("{errors} requests failed: see the marked cases");
    }
    let good = errors == 0 && !findings.measurements.is_empty();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sides that are compared.
fn sides(bench: &Bench) -> Vec<Side> {
    let mut sides = vec![Side::Ringbolt];
    sides.extend(bench.common.peer.is_some().then_some(Side::Peer));
    sides
}

fn run_stage(
    args: &CompareArgs,
    bench: &Bench,
    stage: Stage,
    cases: &[&Case],
    findings: &mut Findings,
) -> Result<()> {
    let mut servers = Vec::new();
    if stage != Stage::Alone {
        for side in sides(bench) {
            let server = server::start(side, &bench.common, &bench.server_cores, bench.ports)?;
            findings.meta.ask(bench, &server)?;
            fill(bench, stage, &server)?;
            server.pause();
            servers.push(server);
        }
    }
    let wants_nginx = cases.iter().any(|case| case.nginx) && !args.no_nginx;
    let reference = if wants_nginx { start_nginx(bench, &servers, findings)? } else { None };
    for case in cases {
        servers.iter().for_each(Server::resume);
        let checked = case.work.check(bench, &servers);
        servers.iter().for_each(Server::pause);
        if let Err(why) = checked {
            findings.leave_out(&case.name, why.to_string());
            continue;
        }
        for run in 1..=args.runs.min(case.runs_max) {
            if stage == Stage::Alone {
                for side in sides(bench) {
                    keep(bench, case, run, side, None, findings)?;
                }
                continue;
            }
            for server in servers.iter().chain(reference.as_ref().filter(|_| case.nginx)) {
                server.resume();
                std::thread::sleep(limits::SETTLE);
                let kept = keep(bench, case, run, server.side, Some(server), findings);
                server.pause();
                kept?;
            }
        }
        print!("{}", table::case_lines(&findings.measurements, &case.name));
        std::io::stdout().flush()?;
        servers.iter_mut().try_for_each(Server::check_alive)?;
    }
    servers.into_iter().chain(reference).for_each(Server::end);
    Ok(())
}

fn keep(
    bench: &Bench,
    case: &Case,
    run: u32,
    side: Side,
    server: Option<&Server>,
    findings: &mut Findings,
) -> Result<()> {
    let mut measurement = case.work.run(bench, case, side, server).context(format!(
        "{} on {}",
        case.name,
        table::side_name(side)
    ))?;
    measurement.run = run;
    findings.keep(measurement)
}

/// What a stage's store holds before its cases.
fn fill(bench: &Bench, stage: Stage, server: &Server) -> Result<()> {
    let common = &bench.common;
    match stage {
        Stage::Small => {
            seed::namespace(server, common, NAMESPACE)?;
            seed::config_map(server, common, cases::CONFIG_MAP)?;
            seed::pods(server, common, &[NAMESPACE.to_owned()], cases::SMALL_PODS)?;
            seed::warm(server, common, "/api/v1/pods", cases::SMALL_PODS)
        }
        Stage::Large => {
            let names: Vec<String> = (0..10).map(|n| format!("{NAMESPACE}-{n}")).collect();
            for name in &names {
                seed::namespace(server, common, name)?;
            }
            seed::pods(server, common, &names, bench.large)?;
            seed::warm(server, common, "/api/v1/pods", bench.large)
        }
        Stage::Writes | Stage::Watches => seed::namespace(server, common, NAMESPACE),
        Stage::Alone => Ok(()),
    }
}

/// nginx with an answer as long as Ringbolt's GET; `None` with a word if it is not installed.
fn start_nginx(bench: &Bench, servers: &[Server], findings: &mut Findings) -> Result<Option<Server>> {
    let Some(first) = servers.first() else { return Ok(None) };
    let programs: BTreeSet<&str> = ["nginx", "/usr/sbin/nginx"].into();
    let Some(program) = programs.into_iter().find(|program| installed(program)) else {
        findings.leave_out("nginx", "nginx is not installed: the reference is missing".to_owned());
        return Ok(None);
    };
    first.resume();
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{}", cases::CONFIG_MAP);
    let answer = first.client(&bench.common)?.get(&path, "application/json")?.expect(200, &path)?;
    first.pause();
    check::objects(&answer)?;
    let cores = &bench.server_cores;
    let length = answer.body.len();
    let server = nginx::start(&bench.common, cores, bench.ports.nginx, program.as_ref(), length)?;
    findings.meta.ask(bench, &server)?;
    server.pause();
    Ok(Some(server))
}
