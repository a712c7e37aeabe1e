//! The text format of Prometheus, version 0.0.4.

use std::{collections::BTreeMap, fmt::Write};

use super::value::HistogramSnapshot;

/// What kind of metric a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound.
    Histogram,
}

/// A family of metrics: name, help with its stability in front, kind.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name.
    pub name: &'static str,
    /// Help; starts with `[STABLE]`, `[BETA]` or `[ALPHA]`.
    pub help: &'static str,
    /// Kind.
    pub kind: Kind,
}

/// Samples on their way out. Families come out sorted by name, samples sorted by labels.
#[derive(Default)]
pub struct Exposition {
    families: BTreeMap<&'static str, (Family, Vec<String>)>,
}

/// Bounds of a histogram, as its labels and sums show them.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'b> {
    /// `le` labels.
    pub(super) labels: &'b [f64],
    /// How much of the unit of sums makes one.
    pub(super) scale: f64,
}

impl Exposition {
    /// Adds a family, shown even without samples.
    pub fn family(&mut self, family: &Family) {
        self.families.entry(family.name).or_insert_with(|| (*family, Vec::new()));
    }

    /// Adds a sample. Labels must be sorted by name.
    pub fn sample(&mut self, family: &Family, labels: &[(&str, &str)], value: f64) {
        let mut line = String::with_capacity(96);
        line.push_str(family.name);
        write_labels(&mut line, labels, None);
        line.push(' ');
        line.push_str(&format_float(value));
        line.push('\n');
        self.lines(family).push(line);
    }

    pub(super) fn histogram<const B: usize>(
        &mut self,
        family: &Family,
        labels: &[(&str, &str)],
        bounds: Bounds<'_>,
        values: &HistogramSnapshot<B>,
    ) {
        let sum = values.sum as f64 / bounds.scale;
        self.counted(family, labels, (bounds.labels, &values.buckets), values.count(), sum);
    }

    /// Adds a histogram of what was counted by bound; what lies beyond the last bound is in `count` alone. Labels must be
    /// sorted by name.
    pub fn counted(
        &mut self,
        family: &Family,
        labels: &[(&str, &str)],
        (bounds, buckets): (&[f64], &[u64]),
        count: u64,
        sum: f64,
    ) {
        let mut text = String::with_capacity(160 * (bounds.len() + 3));
        let mut cumulative = 0;
        for (bound, count) in bounds.iter().zip(buckets) {
            cumulative += count;
            let _ = write!(text, "{}_bucket", family.name);
            write_labels(&mut text, labels, Some(&format_float(*bound)));
            let _ = writeln!(text, " {cumulative}");
        }
        let _ = write!(text, "{}_bucket", family.name);
        write_labels(&mut text, labels, Some("+Inf"));
        let _ = writeln!(text, " {count}");
        let _ = write!(text, "{}_sum", family.name);
        write_labels(&mut text, labels, None);
        let _ = writeln!(text, " {}", format_float(sum));
        let _ = write!(text, "{}_count", family.name);
        write_labels(&mut text, labels, None);
        let _ = writeln!(text, " {count}");
        self.lines(family).push(text);
    }

    fn lines(&mut self, family: &Family) -> &mut Vec<String> {
        &mut self.families.entry(family.name).or_insert_with(|| (*family, Vec::new())).1
    }

    /// The text.
    pub fn finish(self) -> String {
        let mut out = String::with_capacity(64 << 10);
        for (name, (family, mut lines)) in self.families {
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
            lines.sort_unstable();
            lines.iter().for_each(|line| out.push_str(line));
        }
        out
    }
}

fn write_labels(out: &mut String, labels: &[(&str, &str)], le: Option<&str>) {
    if labels.is_empty() && le.is_none() {
        return;
    }
    let mut open = '{';
    for (name, value) in labels.iter().copied().chain(le.map(|le| ("le", le))) {
        out.push(open);
        out.push_str(name);
        out.push_str("=\"");
        for c in value.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
        open = ',';
    }
    out.push('}');
}

/// Go's shortest form: an exponent from a million on, and below a ten-thousandth.
pub(super) fn format_float(value: f64) -> String {
    if !value.is_finite() {
        let sign = if value < 0.0 { "-Inf" } else { "+Inf" };
        return if value.is_nan() { "NaN" } else { sign }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if value != 0.0 && !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Family = Family { name: "sizes", help: "[ALPHA] How large.", kind: Kind::Histogram };
    const UP: Family = Family { name: "a_up", help: "[STABLE] Whether it is.", kind: Kind::Gauge };

    #[test]
    fn floats_as_go_prints_them() {
        let check = |value: f64, expect: &str| assert_eq!(format_float(value), expect);
        check(0.0, "0");
        check(1.0, "1");
        check(0.005, "0.005");
        check(0.00001, "1e-05");
        check(258_048.0, "258048");
        check(1e6, "1e+06");
        check(1_234_567.0, "1.234567e+06");
        check(248_287_325.0, "2.48287325e+08");
        check(1.0e-4, "0.0001");
        check(-2.5, "-2.5");
        check(f64::INFINITY, "+Inf");
    }

    #[test]
    fn families_and_samples_are_sorted() {
        let mut out = Exposition::default();
        let sizes = HistogramSnapshot { buckets: [1, 2], beyond: 1, sum: 4500 };
        out.histogram(&SIZES, &[("kind", "x")], Bounds { labels: &[0.5, 1e6], scale: 1000.0 }, &sizes);
        out.sample(&UP, &[("name", "b\"\\\n")], 1.0);
        out.sample(&UP, &[("name", "a")], 0.0);
        assert_eq!(
            out.finish(),
            "# HELP a_up [STABLE] Whether it is.\n# TYPE a_up gauge\na_up{name=\"a\"} 0\n\
             a_up{name=\"b\\\"\\\\\\n\"} 1\n\
             # HELP sizes [ALPHA] How large.\n# TYPE sizes histogram\n\
             sizes_bucket{kind=\"x\",le=\"0.5\"} 1\nsizes_bucket{kind=\"x\",le=\"1e+06\"} 3\n\
             sizes_bucket{kind=\"x\",le=\"+Inf\"} 4\nsizes_sum{kind=\"x\"} 4.5\nsizes_count{kind=\"x\"} 4\n"
        );
    }
}
