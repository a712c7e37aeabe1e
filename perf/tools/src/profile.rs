//! A profile: server, load, and one window after the other.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    arguments::Run,
    build, counts,
    elf::Program,
    flame, ledger, limits,
    load::{self, Load},
    meter::{Meter, Window},
    perf::{self, Perf},
    probes::Probes,
    proc_fs,
    report::{self, Report},
    scenario,
    script::{self, FIELDS, FIELDS_TRACED},
    server::Server,
    stacks::Stacks,
    symbols::Symbols,
};

/// Profiles a scenario and writes what was found.
pub fn run(run: &Run) -> Result<(), String> {
    let scenario = scenario::find(&run.scenario)?;
    for program in ["perf", "taskset", "mkfifo"] {
        if build::on_path(program).is_none() {
            return Err(format!("{program} is missing (Debian: linux-perf, util-linux, coreutils)"));
        }
    }
    let repository = build::repository()?;
    let given = |path: &Option<PathBuf>, build: fn(&Path) -> Result<PathBuf, String>| {
        let path = path.clone().map_or_else(|| build(&repository), Ok)?;
        fs::canonicalize(&path).map_err(|e| format!("{}: {e}", path.display()))
    };
    let binary = given(&run.binary, build::server)?;
    let bench = match (&run.bench, scenario.seed.is_empty(), scenario.load) {
        (None, true, scenario::Load::Wrk { .. } | scenario::Load::H2load { .. }) => PathBuf::new(),
        _ => given(&run.bench, build::bench)?,
    };
    let out = run
        .out
        .clone()
        .unwrap_or_else(|| build::target_dir(&repository).join("profiles").join(scenario.name));
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let write = |name: &str, text: &str| fs::write(out.join(name), text).map_err(|e| format!("{name}: {e}"));

    let folder = env::temp_dir().join(format!("ringbolt-perf-{}", std::process::id()));
    let server = Server::start(&binary, folder, run.port, run.server_cpu, &run.server_flag)?;
    let pid = server.pid();
    let meter = Meter { pid, port: server.plain_port(), unit: scenario.unit };
    load::seed(scenario, &server, &bench)?;
    let mut load = Load::start(scenario, &server, &bench, run.load_cpu, out.join("load.log"))?;
    thread::sleep(limits::WARM_UP);
    load.check()?;

    let window = Duration::try_from_secs_f64(run.seconds).map_err(|e| format!("--seconds: {e}"))?;
    say("measuring with nothing attached");
    let before = meter.read()?;
    thread::sleep(window);
    let bare = meter.read()? - before;

    say("sampling");
    let event = perf::sample_event();
    let data = out.join("perf.data");
    let arguments =
        strings(&["record", "-q", "-g", "-e", event, "-F", &limits::SAMPLE_HZ.to_string(), "-o"], &data);
    let profiled = Perf::start(pid, &arguments, &out)?.run(window, &meter)?;
    let resident_kib = proc_fs::resident_kib(pid)?;

    say("counting system calls and ring operations");
    let (events, mut left_out) = counts::kernel_events();
    let mut note = |why: String| left_out.push(why);
    let window = count_window(&bare);
    let counted = counts::count(pid, &events, window, &out, &meter).map_err(&mut note).ok();
    let opcodes = match events.contains(&counts::RING_SUBMITTED) {
        true => counts::opcodes(pid, window, &out, &meter).map_err(&mut note).ok(),
        false => None,
    };

    say("probing allocations and copies");
    let program = Program::read(&binary)?;
    let probed = match Probes::install(pid, &binary, &program) {
        Ok(probes) => Some(probe(pid, &probes, window, &out, &meter)?),
        Err(why) => {
            note(format!("allocations and copies: {why}"));
            None
        }
    };
    load.check()?;
    let command = load.command.clone();
    drop(load);
    drop(server);

    say("reading the samples");
    let mut symbols = Symbols::read(&binary)?;
    let mut stacks = Stacks::default();
    for sample in script::parse(&perf::script(&data, FIELDS)?) {
        stacks.add(&sample, &mut symbols, 1);
    }
    if stacks.total() == 0 {
        return Err("perf took no sample".to_owned());
    }
    write("folded.txt", &stacks.folded())?;
    write("top.txt", &stacks.top(bare.cpu_us(), "µs"))?;
    let mut drawn = vec![("folded.txt", "flame.svg", "samples")];

    let mut by_group = [None; 2];
    if let Some((counts, data)) = &probed {
        let samples = script::parse(&perf::script(data, FIELDS_TRACED)?);
        for (i, (name, group)) in report::GROUPS.into_iter().enumerate() {
            let (mut stacks, mut calls, mut bytes) = (Stacks::default(), 0, 0);
            for sample in samples.iter().filter(|sample| sample.event.starts_with(group)) {
                let size = script::number(&sample.recorded, "size").unwrap_or(0);
                (calls, bytes) = (calls + 1, bytes + size);
                stacks.add(sample, &mut symbols, size);
            }
            let seen = report::probed(counts, group, calls, bytes);
            by_group[i] = Some(seen);
            write(&format!("{name}.folded.txt"), &stacks.folded())?;
            write(&format!("{name}.txt"), &stacks.top(seen.bytes, "bytes"))?;
        }
        drawn.push(("allocations.folded.txt", "allocations.svg", "bytes"));
        drawn.push(("copies.folded.txt", "copies.svg", "bytes"));
        fs::remove_file(data).map_err(|e| format!("{}: {e}", data.display()))?;
    }
    match build::flamegraph(&repository) {
        Ok(program) => {
            for (folded, svg, unit) in drawn {
                let title = format!("{}: {} ({unit})", scenario.name, scenario.about);
                let folded = out.join(folded);
                if fs::metadata(&folded).is_ok_and(|file| file.len() > 0) {
                    flame::draw(&program, &folded, &out.join(svg), &title, unit)?;
                }
            }
        }
        Err(why) => left_out.push(format!("flamegraphs: {why}")),
    }

    let report = Report {
        scenario,
        load: &command,
        about: about(&repository),
        event,
        bare,
        profiled,
        resident_kib,
        rows: ledger::rows(&stacks),
        weight: stacks.total(),
        counts: counted,
        opcodes,
        allocated: by_group[0],
        copied: by_group[1],
        left_out,
    };
    let text = report.text();
    write("summary.md", &text)?;
    write("summary.json", &format!("{:#}\n", report.json()))?;
    print!("{text}");
    println!("\nWritten to {}", out.display());
    Ok(())
}

/// Counts all calls, then looks at some of them with their stacks. Returns the counts and the recording.
fn probe(
    pid: u32,
    probes: &Probes,
    window: Duration,
    out: &Path,
    meter: &Meter,
) -> Result<(counts::Counts, PathBuf), String> {
    let events: Vec<&str> = probes.events.iter().map(String::as_str).collect();
    let counts = counts::count(pid, &events, window, out, meter)?;
    let data = out.join("probes.data");
    let period = limits::PROBE_PERIOD.to_string();
    let arguments =
        strings(&["record", "-q", "-g", "-m", "4M", "-e", &events.join(","), "-c", &period, "-o"], &data);
    Perf::start(pid, &arguments, out)?.run(limits::PROBE_WINDOW, meter)?;
    Ok((counts, data))
}

/// How long to count at this rate.
fn count_window(bare: &Window) -> Duration {
    let wanted = limits::COUNT_OPERATIONS * bare.seconds / bare.operations;
    let most = limits::COUNT_WINDOW_MAX.as_secs_f64();
    Duration::from_secs_f64(wanted.min(most)).max(limits::COUNT_WINDOW)
}

fn strings(arguments: &[&str], path: &Path) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).chain([path.display().to_string()]).collect()
}

fn say(what: &str) {
    eprintln!("perf/profile: {what}");
}

/// What the figures are of.
fn about(repository: &Path) -> Vec<(&'static str, String)> {
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(repository).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("")
        .trim_start_matches(['\t', ' ', ':']);
    vec![
        ("date", output("date", &["-u", "+%Y-%m-%d"])),
        ("processor", format!("{model}, {} CPUs", thread::available_parallelism().map_or(0, usize::from))),
        ("kernel", output("uname", &["-sr"])),
        ("sources", output("git", &["describe", "--always", "--dirty"])),
    ]
}
