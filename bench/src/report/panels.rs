//! Small drawings side by side, one a case: latency by percentile, and memory over time.

use super::{
    axis::Axis,
    bars::tick_text,
    html::{class, escape, put, server},
};
use crate::{
    result::Side,
    summary::{CaseSummary, SideSummary},
};
use std::collections::BTreeSet;

const WIDTH: f64 = 350.0;
const HEIGHT: f64 = 226.0;
const LEFT: f64 = 48.0;
/// Leaves half of the last label's width.
const RIGHT: f64 = 330.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 186.0;

/// Percentiles that an axis names.
const PERCENTILES: [f64; 6] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99];

/// A curve is told apart by colour and by its dashes.
struct Curve {
    side: Side,
    points: Vec<(f64, f64)>,
}

/// A place on the axis that gives each further nine the same room: 0 for 0, 1 for 90, 2 for 99, 3 for 99.9.
fn tail(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// Draws latency by percentile of each case that has such a curve.
pub(super) fn latencies(out: &mut String, cases: &[CaseSummary]) {
    let of = |side: &SideSummary| -> Vec<(f64, f64)> {
        side.latency_curve
            .iter()
            // The slowest request of all has no place on an axis of nines, and no latency none on a log axis.
            .filter(|(percentile, us)| *percentile >= 0.0 && *percentile <= 99.99 && *us > 0.0)
            .map(|(percentile, us)| (tail(*percentile), *us / 1e3))
            .collect()
    };
    panels(out, cases, of, |curves, case| {
        let values = || curves.iter().flat_map(|curve| &curve.points);
        let low = values().map(|point| point.1).fold(f64::MAX, f64::min);
        let high = values().map(|point| point.1).fold(0.0, f64::max);
        let right = values().map(|point| point.0).fold(1.0, f64::max);
        let frame = Frame {
            x: Axis::exact(0.0, right, LEFT, RIGHT),
            y: Axis::log(low, high, BOTTOM, TOP),
            x_ticks: PERCENTILES
                .iter()
                .map(|p| (tail(*p), format!("{p}")))
                .filter(|tick| tick.0 <= right)
                .collect(),
            x_title: "percentile of requests",
            y_title: "latency, ms (log)",
            label: format!("Latency by percentile, {case}"),
        };
        frame.draw(curves)
    });
}

/// Draws memory over time of each case that has such a curve.
pub(super) fn memory(out: &mut String, cases: &[CaseSummary]) {
    let of = |side: &SideSummary| -> Vec<(f64, f64)> {
        side.memory_curve.iter().map(|(seconds, kib)| (*seconds, *kib as f64 / 1024.0)).collect()
    };
    panels(out, cases, of, |curves, case| {
        let values = || curves.iter().flat_map(|curve| &curve.points);
        let high = values().map(|point| point.1).fold(0.0, f64::max);
        let right = values().map(|point| point.0).fold(0.0, f64::max);
        let x = Axis::linear(right, LEFT, RIGHT);
        let frame = Frame {
            x_ticks: x.ticks().into_iter().map(|tick| (tick, tick_text(tick))).collect(),
            x,
            y: Axis::linear(high, BOTTOM, TOP),
            x_title: "seconds",
            y_title: "resident memory, MiB",
            label: format!("Memory over time, {case}"),
        };
        frame.draw(curves)
    });
}

fn panels(
    out: &mut String,
    cases: &[CaseSummary],
    of: impl Fn(&SideSummary) -> Vec<(f64, f64)>,
    draw: impl Fn(&[Curve], &str) -> String,
) {
    let mut sides = BTreeSet::new();
    let mut drawn = String::new();
    for case in cases {
        let curves: Vec<Curve> = case
            .sides
            .iter()
            .map(|(side, summary)| Curve { side: *side, points: of(summary) })
            // One point is no curve.
            .filter(|curve| curve.points.len() > 1)
            .collect();
        if curves.is_empty() {
            continue;
        }
        sides.extend(curves.iter().map(|curve| curve.side));
        put!(
            drawn,
            "<figure><figcaption>{}<small>{}</small></figcaption>{}</figure>\n",
            escape(&case.case),
            escape(&case.shape.in_words()),
            draw(&curves, &case.case)
        );
    }
    if drawn.is_empty() {
        out.push_str("<p class=\"note\">No run recorded such a curve.</p>\n");
        return;
    }
    out.push_str("<p class=\"legend\">");
    for side in sides {
        put!(
            out,
            "<span><svg class=\"key\" viewBox=\"0 0 30 10\" aria-hidden=\"true\"><line x1=\"1\" x2=\"29\" y1=\"5\" \
             y2=\"5\" class=\"curve {}\"/></svg>{}</span> ",
            class(side),
            server(side)
        );
    }
    put!(out, "</p>\n<div class=\"panels\">\n{drawn}</div>\n");
}

struct Frame {
    x: Axis,
    y: Axis,
    x_ticks: Vec<(f64, String)>,
    x_title: &'static str,
    y_title: &'static str,
    label: String,
}

impl Frame {
    fn draw(&self, curves: &[Curve]) -> String {
        let mut out = String::new();
        put!(
            out,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.label)
        );
        for tick in self.y.ticks() {
            let y = self.y.at(tick);
            put!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"grid\"/>\
                 <text x=\"{:.0}\" y=\"{y:.1}\" class=\"tick end\">{}</text>",
                LEFT - 6.0,
                tick_text(tick)
            );
        }
        for (place, text) in &self.x_ticks {
            let x = self.x.at(*place);
            put!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{BOTTOM}\" y2=\"{:.0}\" class=\"stroke\"/>\
                 <text x=\"{x:.1}\" y=\"{:.0}\" class=\"tick middle\">{text}</text>",
                BOTTOM + 4.0,
                BOTTOM + 14.0
            );
        }
        put!(out, "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\" class=\"stroke\"/>");
        // Ours last, so that it lies on top.
        for curve in curves.iter().rev() {
            put!(out, "<polyline class=\"curve {}\" points=\"", class(curve.side));
            for (x, y) in &curve.points {
                put!(out, "{:.1},{:.1} ", self.x.at(*x), self.y.at(*y));
            }
            out.push_str("\"/>");
        }
        put!(
            out,
            "<text x=\"{:.0}\" y=\"{:.0}\" class=\"axis-title middle\">{}</text>\
             <text x=\"0\" y=\"8\" class=\"axis-title\">{}</text></svg>",
            (LEFT + RIGHT) / 2.0,
            HEIGHT - 8.0,
            self.x_title,
            self.y_title
        );
        out
    }
}
