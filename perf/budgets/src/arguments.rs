//! The command line.

use ringbolt_micro::{ALL, Scenario, find};

/// How to call the program.
pub(crate) const USAGE: &str = "usage: ringbolt-budgets [--slowdown PERCENT] [SCENARIO…]
Runs the scenarios (all, where none is named) and prints a line for each: name, runs, allocations a run, bytes a run.";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) scenarios: Vec<&'static Scenario>,
    /// So much more work in each measurement, to see that a budget notices.
    pub(crate) slowdown_percent: usize,
}

impl Arguments {
    /// From the words after the program's name.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments { scenarios: Vec::new(), slowdown_percent: 0 };
        while let Some(word) = words.next() {
            if word == "--slowdown" {
                let percent = words.next().and_then(|text| text.parse().ok());
                arguments.slowdown_percent = percent.ok_or("--slowdown takes a number of percent")?;
            } else if let Some(scenario) = find(&word) {
                arguments.scenarios.push(scenario);
            } else {
                return Err(format!("there is no scenario {word:?}"));
            }
        }
        if arguments.scenarios.is_empty() {
            arguments.scenarios.extend(ALL);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<(usize, usize), String> {
        let arguments = Arguments::parse(words.iter().map(|word| (*word).to_owned()))?;
        Ok((arguments.scenarios.len(), arguments.slowdown_percent))
    }

    #[test]
    fn command_lines() {
        assert_eq!(parse(&[]), Ok((ALL.len(), 0)));
        assert_eq!(parse(&["get_http1", "--slowdown", "7"]), Ok((1, 7)));
        assert!(parse(&["--slowdown", "x"]).is_err());
        assert!(parse(&["--slowdown"]).is_err());
        assert!(parse(&["get"]).is_err());
    }
}
