//! The drawing of ratios: a bar a case on a log axis, a line where both are equal, a mark where the budget is.

use super::{
    axis::Axis,
    html::{escape, put},
};
use crate::{
    budget::{BUDGETS, Demand, significant},
    summary::CaseSummary,
};

const WIDTH: f64 = 1080.0;
/// Room for the longest name of a case.
const LEFT: f64 = 232.0;
/// Room for the number behind the longest bar.
const RIGHT: f64 = 1000.0;
const TOP: f64 = 44.0;
const ROW: f64 = 25.0;
const BAR: f64 = 15.0;

/// What the budgets of a case ask its CPU ratio to be.
fn least(case: &str) -> Option<f64> {
    BUDGETS.iter().filter(|budget| budget.case == case).find_map(|budget| match budget.demand {
        Demand::CpuRatio(least) => Some(least),
        _ => None,
    })
}

/// Draws the ratios, largest first, and names the cases that have none.
pub(super) fn draw(out: &mut String, cases: &[CaseSummary]) {
    let mut rows: Vec<(&str, f64, Option<f64>)> = cases
        .iter()
        .filter_map(|case| Some((case.case.as_str(), case.cpu_ratio()?, least(&case.case))))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    if !rows.is_empty() {
        legend(out);
        chart(out, &rows);
    }
    let without: Vec<String> =
        cases.iter().filter(|case| case.cpu_ratio().is_none()).map(|case| escape(&case.case)).collect();
    if !without.is_empty() {
        put!(
            out,
            "<p class=\"note\">Without a ratio, as it ran on one server only or answers no requests: {}.</p>\n",
            without.join(", ")
        );
    }
}

fn legend(out: &mut String) {
    out.push_str("<p class=\"legend\">");
    for (class, text) in [
        ("swatch better", "Ringbolt needs less CPU"),
        ("swatch short", "less, but its budget asks for more"),
        ("swatch worse", "Ringbolt needs more CPU"),
    ] {
        put!(out, "<span><i class=\"{class}\"></i>{text}</span> ");
    }
    out.push_str("<span><i class=\"mark\"></i>budget</span></p>\n");
}

fn chart(out: &mut String, rows: &[(&str, f64, Option<f64>)]) {
    let ends = || rows.iter().flat_map(|(_, ratio, least)| [Some(*ratio), *least]).flatten();
    let axis = Axis::log(ends().fold(1.0, f64::min), ends().fold(2.0, f64::max), LEFT, RIGHT);
    let bottom = TOP + ROW * rows.len() as f64;
    put!(
        out,
        "<svg class=\"bars\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" \
         aria-label=\"CPU a request of the peer by that of Ringbolt, a bar a case\">\n",
        bottom + 8.0
    );
    // Unmet is told by the pattern as well as the shade, so that it prints without colour.
    out.push_str(
        "<defs><pattern id=\"stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" class=\"stripe-back\"/>\
         <rect width=\"2.5\" height=\"6\" class=\"stripe\"/></pattern></defs>\n",
    );
    put!(
        out,
        "<text x=\"{LEFT:.0}\" y=\"12\" class=\"axis-title\">CPU a request, kube-apiserver + etcd ÷ Ringbolt \
         (log scale)</text>\n"
    );
    for tick in axis.ticks() {
        let x = axis.at(tick);
        put!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{bottom:.0}\" class=\"grid\"/>\
             <text x=\"{x:.1}\" y=\"{:.0}\" class=\"tick middle\">{}×</text>\n",
            TOP - 8.0,
            TOP - 14.0,
            tick_text(tick)
        );
    }
    let one = axis.at(1.0);
    for (index, (case, ratio, least)) in rows.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let middle = y + ROW / 2.0;
        let end = axis.at(*ratio);
        let class = match least {
            _ if *ratio < 1.0 => "bar worse",
            Some(least) if ratio < least => "bar short",
            _ => "bar better",
        };
        put!(
            out,
            "<text x=\"{:.0}\" y=\"{middle:.1}\" class=\"name end\">{}</text>\
             <rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" class=\"{class}\"/>",
            LEFT - 10.0,
            escape(case),
            one.min(end),
            middle - BAR / 2.0,
            (end - one).abs().max(1.0),
        );
        if let Some(least) = least {
            let x = axis.at(*least);
            put!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" class=\"budget-halo\"/>\
                 <line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" class=\"budget\"/>",
                middle - BAR / 2.0 - 3.0,
                middle + BAR / 2.0 + 3.0,
                middle - BAR / 2.0 - 3.0,
                middle + BAR / 2.0 + 3.0,
            );
        }
        // Behind the mark where the bar ends just before it, lest the mark strikes the number through.
        let mut text = end.max(one) + 7.0;
        if let Some(x) = least.map(|least| axis.at(least))
            && x > text - 8.0
            && x < text + 46.0
        {
            text = x + 7.0;
        }
        put!(
            out,
            "<text x=\"{text:.1}\" y=\"{middle:.1}\" class=\"value\">{}×</text>\n",
            significant(*ratio)
        );
    }
    put!(
        out,
        "<line x1=\"{one:.1}\" x2=\"{one:.1}\" y1=\"{:.0}\" y2=\"{bottom:.0}\" class=\"equal\"/></svg>\n",
        TOP - 8.0
    );
}

/// Ticks are round: no more digits than they need.
pub(super) fn tick_text(value: f64) -> String {
    if value >= 1_000.0 {
        crate::summary::thousands(value.round() as u64)
    } else {
        format!("{}", (value * 1e6).round() / 1e6)
    }
}
