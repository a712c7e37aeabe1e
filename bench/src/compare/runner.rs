//! Runs the cases: stage by stage, side by side, one side at a time.

use std::{fs::File, io::Write as _, process::ExitCode};

use super::{
    CompareArgs,
    bench::Bench,
    limits, memory,
    meta::{self, installed},
    nginx, seed, server,
    server::Server,
    table::{self, LeftOut},
};
use crate::{
    cases::{self, Case, Stage},
    error::{Context as _, Error, Result},
    objects::NAMESPACE,
    report::{MetaLine, ReportMeta, write_html},
    result::{Measurement, Side},
    summary::summarize,
};

/// Everything a run has found so far, written to disk as it is found.
struct Findings {
    measurements: Vec<Measurement>,
    meta: ReportMeta,
    left_out: Vec<LeftOut>,
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
        self.left_out.push(LeftOut { case: case.to_owned(), why });
    }
}

/// Runs all wanted cases, and writes what came out.
pub(super) fn run(args: &CompareArgs, bench: &Bench) -> Result<ExitCode> {
    let path = args.out.join("results.jsonl");
    let lines = File::create(&path).context(path.display())?;
    let mut wanted: Vec<Case> = args.wanted(cases::all(bench.large));
    let meta = meta::begin(bench, args.runs, &wanted)?;
    let mut findings = Findings { measurements: Vec::new(), meta, left_out: Vec::new(), lines };
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
        if cases.is_empty() {
            continue;
        }
        // What was measured is worth something even if a later stage cannot be.
        if let Err(why) = run_stage(args, bench, stage, &cases, &mut findings) {
            findings.leave_out(stage.name(), format!("the rest of this stage: {why}"));
        }
    }
    finish(args, findings)
}

fn finish(args: &CompareArgs, mut findings: Findings) -> Result<ExitCode> {
    meta::leave_out(&mut findings.meta, &findings.left_out);
    let line = MetaLine { meta: findings.meta };
    writeln!(findings.lines, "{}", serde_json::to_string(&line)?)?;
    let path = args.out.join("report.html");
    write_html(&findings.measurements, &line.meta, &path).context(path.display())?;
    let path = args.out.join("table.txt");
    let text = table::whole(&findings.measurements, &findings.left_out);
    std::fs::write(&path, text).context(path.display())?;
    println!("results are in {}", args.out.display());
    let failed: Vec<String> = summarize(&findings.measurements)
        .iter()
        .flat_map(|case| case.sides.iter().map(move |(&side, summary)| (case, side, summary.errors)))
        .filter(|&(_, _, errors)| errors > 0)
        .map(|(case, side, errors)| format!("{} on {}: {errors}", case.case, table::side_name(side)))
        .collect();
    if !failed.is_empty() {
        println!("requests failed or events were lost: {}", failed.join(", "));
    }
    // Errors are results: the fastest watches are more than some servers can do. What was not measured is none.
    let whole = findings.left_out.is_empty() && !findings.measurements.is_empty();
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
    let mut servers: Vec<Server> = Vec::new();
    if stage != Stage::Alone {
        for side in sides(bench) {
            let mut server = server::start(side, &bench.common, &bench.server_cores, bench.ports)?;
            meta::ask(&mut findings.meta, bench, &server)?;
            server.empty_rss_kib = server.rss_kib();
            fill(bench, stage, &server).context(table::side_name(side))?;
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
        run_case(args, bench, case, &servers, reference.as_ref(), findings);
        for summary in summarize(&findings.measurements).iter().filter(|summary| summary.case == case.name) {
            print!("{}", table::case_lines(summary));
        }
        std::io::stdout().flush()?;
        servers.iter_mut().try_for_each(Server::check_alive)?;
    }
    servers.into_iter().chain(reference).for_each(Server::end);
    Ok(())
}

/// All runs of a case. A side that fails is not run again, and the others go on.
fn run_case(
    args: &CompareArgs,
    bench: &Bench,
    case: &Case,
    servers: &[Server],
    reference: Option<&Server>,
    findings: &mut Findings,
) {
    let mut going: Vec<Side> = sides(bench).into_iter().filter(|side| case.sides.contains(side)).collect();
    going.extend(reference.filter(|_| case.nginx).map(|server| server.side));
    for run in 1..=args.runs.min(case.runs_max) {
        going.retain(|&side| {
            let server = servers.iter().chain(reference).find(|server| server.side == side);
            if let Some(server) = server {
                server.resume();
                std::thread::sleep(limits::SETTLE);
            }
            let done = memory::warm().and_then(|()| case.work.run(bench, case, side, server));
            let done = done.and_then(|mut measurement| {
                measurement.run = run;
                answered(case, &measurement)?;
                findings.keep(measurement)
            });
            if let Some(server) = server {
                server.pause();
            }
            if let Err(why) = &done {
                findings.leave_out(&format!("{} on {}", case.name, table::side_name(side)), why.to_string());
            }
            done.is_ok()
        });
    }
}

/// Refuses a figure of requests that were refused: a 403 or a 429 is cheap. Events that a server does not keep up with
/// are a finding, so watches are left to the marks of reports.
fn answered(case: &Case, measurement: &Measurement) -> Result<()> {
    let (errors, all) = (measurement.errors, measurement.errors + measurement.operations);
    if case.stage != Stage::Watches && errors as f64 > all as f64 * limits::ERRORS_MAX {
        return Err(Error::new(format!("{errors} of {all} requests were not answered as they should be")));
    }
    Ok(())
}

/// What a stage's store holds before its cases.
fn fill(bench: &Bench, stage: Stage, server: &Server) -> Result<()> {
    let common = &bench.common;
    seed::role(server, common)?;
    match stage {
        Stage::Small => {
            seed::namespace(server, common, NAMESPACE)?;
            seed::config_map(server, common, cases::CONFIG_MAP)?;
            seed::pods(server, common, &[NAMESPACE.to_owned()], cases::SMALL_PODS)?;
            seed::warm(server, common, "/api/v1/pods", cases::SMALL_PODS)
        }
        Stage::Custom => {
            seed::namespace(server, common, NAMESPACE)?;
            seed::definition(server, common, "widgets", "Widget")?;
            seed::widgets(server, common, cases::WIDGETS)
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
    // Debian keeps it out of the path of ordinary users.
    let Some(program) = ["nginx", "/usr/sbin/nginx"].into_iter().find(|program| installed(program)) else {
        findings.leave_out("nginx", "nginx is not installed: the reference is missing".to_owned());
        return Ok(None);
    };
    first.resume();
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{}", cases::CONFIG_MAP);
    let length = first.client(&bench.common)?.get(&path, "application/json")?.expect(200, &path)?.body.len();
    first.pause();
    let server =
        nginx::start(&bench.common, &bench.server_cores, bench.ports.nginx, program.as_ref(), length)?;
    meta::ask(&mut findings.meta, bench, &server)?;
    server.pause();
    Ok(Some(server))
}
