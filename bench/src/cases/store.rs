//! The case of the embedded store alone.

use std::process::Command;

use super::{Case, Stage, Work};
use crate::{
    compare::{bench::Bench, flush, latency::Latency, own::THIS_PROGRAM, proc_fs, server::Server, wrk::Told},
    error::{Context as _, Error, Result},
    result::{Measurement, ProcessCpu, Shape, Side},
    store::StoreOutcome,
};

/// Writes of a group: submitted at once, then waited for.
const GROUP: u32 = 1024;
/// Bytes of an object.
const OBJECT_BYTES: usize = 1024;

struct Store;

impl Work for Store {
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn check(&self, _: &Bench, _: &[Server]) -> Result<()> {
        // There is nothing it is compared with.
        Ok(())
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, _: Option<&Server>) -> Result<Measurement> {
        let folder = bench.common.folder.join("store");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context(folder.display())?;
        }
        std::fs::create_dir_all(&folder).context(folder.display())?;
        let before = proc_fs::children()?;
        let mut command = Command::new(THIS_PROGRAM);
        command.arg("store").arg("--folder").arg(&folder).args([
            "--seconds",
            &bench.seconds.to_string(),
            "--group",
            &GROUP.to_string(),
        ]);
        // The one who writes is the client, and has a core of its own as all clients.
        let cores = bench.server_cores.with(&bench.client_cores);
        let output = cores.within(|| command.output().context("ringbolt-bench store"))?;
        if !output.status.success() {
            return Err(Error::new(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let after = proc_fs::children()?;
        let outcome: StoreOutcome = serde_json::from_slice(&output.stdout).context("what the store told")?;
        let told = Told {
            seconds: outcome.seconds,
            operations: outcome.operations,
            errors: 0,
            bytes: 0,
            latency: Latency::default(),
            extra: [].into(),
        };
        let cpu = ProcessCpu {
            name: "store".to_owned(),
            user_seconds: after.user - before.user,
            system_seconds: after.system - before.system,
        };
        let mut measurement = bench.unserved(case, side, told, cpu);
        // What no group can be faster than, on this disk and in this minute.
        let bytes = GROUP as usize * OBJECT_BYTES;
        let us = flush::median_us(&bench.common.folder, &bench.server_cores, bytes)?;
        measurement.extra.insert("bare_group_us".to_owned(), us);
        Ok(measurement)
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "store".to_owned(),
        about: format!("the embedded store alone, no server: durable writes of 1 KiB, in groups of {GROUP}"),
        stage: Stage::Alone,
        shape: Shape { in_flight: GROUP, object_bytes: OBJECT_BYTES as u64, ..Shape::default() },
        nginx: false,
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt],
        work: Box::new(Store),
    }]
}
