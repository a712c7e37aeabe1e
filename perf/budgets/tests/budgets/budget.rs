//! `perf/budgets.toml`: what each scenario may take.

use std::{collections::BTreeMap, fs, path::PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::callgrind::Measured;

/// The file of budgets.
pub(crate) struct Budgets(DocumentMut);

/// How a measurement stands to its budget.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Within the budget.
    Kept,
    /// So far below that the budget would not notice if that were lost.
    FarBelow(String),
    /// Above it.
    Broken(String),
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../budgets.toml"))
}

/// How far below its budget a scenario may be without a hint, in tolerances.
const FAR: f64 = 2.0;

/// A scenario's budget.
#[derive(Clone, Copy)]
struct Budget {
    instructions: f64,
    allocations: f64,
    tolerance: f64,
}

impl Budgets {
    /// The file as it stands.
    pub(crate) fn read() -> Budgets {
        let text = fs::read_to_string(path()).expect("perf/budgets.toml is there");
        Budgets(text.parse().expect("perf/budgets.toml is TOML"))
    }

    fn budget(&self, name: &str) -> Option<Budget> {
        let table = self.0.get(name)?.as_table()?;
        let common = self.0.get("tolerance").and_then(number)?;
        Some(Budget {
            instructions: table.get("instructions").and_then(number)?,
            allocations: table.get("allocations").and_then(number)?,
            tolerance: table.get("tolerance").map_or(Some(common), number)?,
        })
    }

    /// Holds what was measured against the budget.
    pub(crate) fn judge(&self, name: &str, measured: &Measured) -> Verdict {
        let Some(budget) = self.budget(name) else {
            return Verdict::Broken(format!("{name} has no budget in perf/budgets.toml"));
        };
        let pairs = [
            ("instructions", measured.instructions, budget.instructions),
            ("allocations", measured.allocations, budget.allocations),
        ];
        let say = |(what, found, allowed): (&str, f64, f64)| {
            let change = if allowed > 0.0 {
                format!("{:+.1} %", (found / allowed - 1.0) * 100.0)
            } else {
                "was none".to_owned()
            };
            format!("{name}: {found:.1} {what} a run, the budget is {allowed:.1} ({change})")
        };
        if let Some(pair) =
            pairs.into_iter().find(|(_, found, allowed)| *found > allowed * (1.0 + budget.tolerance))
        {
            return Verdict::Broken(say(pair));
        }
        match pairs.into_iter().find(|(_, found, allowed)| *found < allowed * (1.0 - FAR * budget.tolerance))
        {
            Some(pair) => Verdict::FarBelow(say(pair)),
            None => Verdict::Kept,
        }
    }

    /// A line for each budget of a scenario that is not there.
    pub(crate) fn unknown<'n>(&self, scenarios: impl Iterator<Item = &'n str>) -> Vec<String> {
        let scenarios: Vec<&str> = scenarios.collect();
        let tables = self.0.iter().filter(|(_, item)| item.is_table());
        tables
            .filter(|(name, _)| !scenarios.contains(name))
            .map(|(name, _)| format!("{name} has a budget and is no scenario"))
            .collect()
    }

    /// Writes what was measured into the file. Comments stay.
    pub(crate) fn update(&mut self, measured: &BTreeMap<String, Measured>) {
        for scenario in ringbolt_micro::ALL {
            let found = &measured[scenario.name];
            let item = self.0.entry(scenario.name).or_insert_with(|| {
                let mut table = Table::new();
                table.decor_mut().set_prefix(format!("\n# {}\n", scenario.about));
                Item::Table(table)
            });
            let Some(table) = item.as_table_mut() else { panic!("{} is no table", scenario.name) };
            set(table, "instructions", value(rounded(found.instructions)));
            let whole = (found.allocations - found.allocations.round()).abs() < 0.05;
            set(
                table,
                "allocations",
                if whole { value(found.allocations.round() as i64) } else { value(found.allocations) },
            );
        }
        fs::write(path(), self.0.to_string()).expect("perf/budgets.toml can be written");
    }
}

/// Sets a value and keeps the comment behind it.
fn set(table: &mut Table, key: &str, mut to: Item) {
    let before = table.get(key).and_then(Item::as_value).map(|value| value.decor().clone());
    if let (Some(decor), Some(value)) = (before, to.as_value_mut()) {
        *value.decor_mut() = decor;
    }
    table.insert(key, to);
}

/// A number of TOML, with or without a point.
fn number(item: &Item) -> Option<f64> {
    item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64))
}

/// To three digits that count: more would change with every build.
fn rounded(count: f64) -> i64 {
    let mut unit = 1.0;
    while count / unit >= 1000.0 {
        unit *= 10.0;
    }
    ((count / unit).round() * unit) as i64
}

#[test]
fn verdicts() {
    let text = "tolerance = 0.05\n[a]\ninstructions = 1000\nallocations = 0\n[b]\ninstructions = 1000\n\
                allocations = 10\ntolerance = 0.2\n";
    let budgets = Budgets(text.parse().expect("it is TOML"));
    let judge = |name: &str, instructions, allocations| {
        let measured = Measured { instructions, allocations, bytes: 0.0, annotate: String::new() };
        match budgets.judge(name, &measured) {
            Verdict::Kept => "kept",
            Verdict::FarBelow(_) => "far below",
            Verdict::Broken(_) => "broken",
        }
    };
    assert_eq!(judge("a", 1000.0, 0.0), "kept");
    assert_eq!(judge("a", 1049.0, 0.0), "kept");
    assert_eq!(judge("a", 1051.0, 0.0), "broken");
    assert_eq!(judge("a", 1000.0, 0.1), "broken");
    assert_eq!(judge("a", 899.0, 0.0), "far below");
    assert_eq!(judge("b", 1150.0, 11.0), "kept");
    assert_eq!(judge("b", 1000.0, 12.5), "broken");
    assert_eq!(judge("b", 1000.0, 5.0), "far below");
    assert_eq!(judge("c", 1.0, 0.0), "broken");
    assert_eq!(budgets.unknown(["a"].into_iter()), ["b has a budget and is no scenario"]);
}

#[test]
fn three_digits() {
    let check = |count: f64, expect: i64| assert_eq!(rounded(count), expect, "{count}");
    check(7.4, 7);
    check(864.4, 864);
    check(30_754.2, 30_800);
    check(91_003_295.0, 91_000_000);
}
