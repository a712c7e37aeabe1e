//! The tables: all cases, what is worse, the budgets, what else was measured.

use super::{
    ReportMeta,
    html::{class, count, escape, mib, ms, put, server, with_unit},
};
use crate::{
    budget::{Verdict, significant},
    comparison::{self, Comparison, compare, direction},
    result::Side,
    summary::{CaseSummary, SideSummary, thousands},
};
use std::collections::BTreeSet;

/// How a figure that is worse than the peer's is marked; colour alone would not print.
const WORSE: &str = "▼&#160;";

/// All cases, a line a server.
pub(super) fn cases(out: &mut String, cases: &[CaseSummary], meta: &ReportMeta, verdicts: &[Verdict]) {
    out.push_str(
        "<table class=\"cases\"><thead><tr><th>Case</th><th>Server</th><th class=\"n\">CPU a request<small>µs, \
         median</small></th><th class=\"n\">of runs<small>lowest–highest</small></th><th class=\"n\">Requests<small>a \
         second</small></th><th class=\"n\">p50<small>ms</small></th><th class=\"n\">p99<small>ms</small></th>\
         <th class=\"n\">Memory<small>MiB, end / peak</small></th><th class=\"n\">Ratio<small>of CPU</small></th>\
         <th>Budget</th></tr></thead>\n",
    );
    for case in cases {
        let worse: Vec<String> =
            compare(case).into_iter().filter(Comparison::is_worse).map(|one| one.figure).collect();
        out.push_str("<tbody>");
        for (index, (side, summary)) in case.sides.iter().enumerate() {
            put!(out, "<tr class=\"{}\">", class(*side));
            let span = case.sides.len();
            if index == 0 {
                put!(
                    out,
                    "<th rowspan=\"{span}\" class=\"case\">{}<small>{}</small></th>",
                    escape(&case.case),
                    escape(&meta.about(case))
                );
            }
            line(out, *side, summary, &worse);
            if index == 0 {
                ratio(out, case, span);
                put!(out, "<td rowspan=\"{span}\" class=\"verdicts\">");
                for verdict in verdicts.iter().filter(|verdict| verdict.budget.case == case.case) {
                    let (class, mark) = match verdict.met {
                        Some(true) => ("good", "✓"),
                        Some(false) => ("bad", "✗"),
                        None => ("quiet", "?"),
                    };
                    put!(out, "<div><b class=\"{class}\">{mark}</b>&#160;{}</div>", verdict.budget.demand);
                }
                out.push_str("</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table>\n");
    put!(
        out,
        "<p class=\"note\"><b class=\"bad\">▼</b> worse than the peer by more than {:.0} %. † the client used more than \
         {:.0} % of its core: the rate is the client’s, not the server’s. Budgets: ✓ met, ✗ missed, ? not measured. For watches a request is an event that \
         arrived, and latency its delay.</p>\n",
        comparison::NOISE * 100.0,
        crate::summary::CLIENT_BUSY * 100.0
    );
}

fn line(out: &mut String, side: Side, summary: &SideSummary, worse: &[String]) {
    let is_worse = |figure: &str| side == Side::Ringbolt && worse.iter().any(|one| one == figure);
    let cell = |figure: &str, text: String| {
        if is_worse(figure) {
            format!("<td class=\"n bad\">{WORSE}{text}</td>")
        } else {
            format!("<td class=\"n\">{text}</td>")
        }
    };
    put!(out, "<td class=\"server\">{}", server(side));
    if summary.errors > 0 {
        put!(out, "<small class=\"bad\">{} failed</small>", thousands(summary.errors));
    }
    out.push_str("</td>");
    out.push_str(&cell(comparison::CPU, or_dash(summary.cpu_us, significant)));
    put!(
        out,
        "<td class=\"n quiet\">{}</td>",
        match summary.cpu_us_range {
            Some((low, high)) if summary.runs > 1 => format!("{}–{}", significant(low), significant(high)),
            _ => String::new(),
        }
    );
    let dagger = if summary.client_was_busy() { "&#8201;†" } else { "" };
    let rate = (summary.per_second > 0.0).then_some(summary.per_second);
    out.push_str(&cell(comparison::RATE, or_dash(rate, |rate| format!("{}{dagger}", significant(rate)))));
    out.push_str(&cell(comparison::P50, or_dash(summary.p50_us, ms)));
    out.push_str(&cell(comparison::P99, or_dash(summary.p99_us, ms)));
    let peak = summary.peak_rss_kib.max(summary.rss_kib);
    let memory =
        if peak > 0.0 { format!("{} / {}", mib(summary.rss_kib), mib(peak)) } else { "–".to_owned() };
    let figure = if is_worse(comparison::MEMORY) { comparison::MEMORY } else { comparison::PEAK_MEMORY };
    out.push_str(&cell(figure, memory));
}

fn ratio(out: &mut String, case: &CaseSummary, span: usize) {
    let (text, class) = match case.cpu_ratio() {
        Some(ratio) if ratio < 1.0 => (format!("{WORSE}{}×", significant(ratio)), "n ratio bad"),
        Some(ratio) => (format!("{}×", significant(ratio)), "n ratio"),
        None => ("–".to_owned(), "n ratio"),
    };
    put!(out, "<td rowspan=\"{span}\" class=\"{class}\">{text}");
    let (ours, peer) = (case.side(Side::Ringbolt).is_some(), case.side(Side::Peer).is_some());
    if !(ours && peer) {
        let ran: Vec<&str> = case.sides.keys().map(|side| server(*side)).collect();
        put!(out, "<small>only {} ran</small>", ran.join(" and "));
    }
    out.push_str("</td>");
}

fn or_dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

fn badge(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "<b class=\"good\">✓&#160;met</b>",
        Some(false) => "<b class=\"bad\">✗&#160;missed</b>",
        None => "<span class=\"quiet\">not measured</span>",
    }
}

/// The budgets, a line each.
pub(super) fn budgets(out: &mut String, verdicts: &[Verdict]) {
    out.push_str(
        "<table class=\"budgets\"><thead><tr><th>Case</th><th>Asked for</th><th>Measured</th><th>Verdict</th></tr>\
         </thead><tbody>\n",
    );
    for verdict in verdicts {
        put!(
            out,
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(verdict.budget.case),
            verdict.budget.demand,
            if verdict.measured.is_empty() { "–" } else { &verdict.measured },
            badge(verdict.met)
        );
    }
    out.push_str("</tbody></table>\n");
}

/// What is worse than the peer, by how much; the worst first.
pub(super) fn worse(out: &mut String, cases: &[CaseSummary]) {
    let mut worse: Vec<Comparison> = cases.iter().flat_map(compare).filter(Comparison::is_worse).collect();
    if worse.is_empty() {
        let compared = cases.iter().any(|case| !compare(case).is_empty());
        put!(
            out,
            "<p>{}</p>\n",
            if compared {
                "No figure of these cases."
            } else {
                "No case ran on both servers, so nothing was compared."
            }
        );
        return;
    }
    let factor =
        |one: &Comparison| if one.lower_is_better { one.ours / one.peer } else { one.peer / one.ours };
    worse.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    out.push_str(
        "<table class=\"worse\"><thead><tr><th>Case</th><th>Figure</th><th class=\"n\">Ringbolt</th>\
         <th class=\"n\">Peer</th><th class=\"n\">Worse by</th></tr></thead><tbody>\n",
    );
    for one in &worse {
        let by = factor(one);
        put!(
            out,
            "<tr><th>{}</th><td>{}</td><td class=\"n bad\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            escape(&one.case),
            escape(&words(&one.figure)),
            with_unit(one.ours, one.unit),
            with_unit(one.peer, one.unit),
            // From nothing to something is no factor.
            if by.is_finite() { format!("{}×", significant(by)) } else { "–".to_owned() }
        );
    }
    out.push_str("</tbody></table>\n");
}

/// What single cases measure besides. Says whether any does.
pub(super) fn extras(out: &mut String, cases: &[CaseSummary]) -> bool {
    let mut rows = String::new();
    for case in cases {
        let names: BTreeSet<&String> = case.sides.values().flat_map(|side| side.extra.keys()).collect();
        if names.is_empty() {
            continue;
        }
        rows.push_str("<tbody>");
        for (index, name) in names.iter().enumerate() {
            rows.push_str("<tr>");
            if index == 0 {
                put!(rows, "<th rowspan=\"{}\">{}</th>", names.len(), escape(&case.case));
            }
            put!(
                rows,
                "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                escape(&words(name)),
                extra(case, Side::Ringbolt, name),
                extra(case, Side::Peer, name)
            );
        }
        rows.push_str("</tbody>\n");
    }
    put!(
        out,
        "<table class=\"extras\"><thead><tr><th>Case</th><th>Figure</th><th class=\"n\">Ringbolt</th>\
         <th class=\"n\">Peer</th></tr></thead>\n{rows}</table>\n"
    );
    !rows.is_empty()
}

fn extra(case: &CaseSummary, side: Side, name: &str) -> String {
    match (case.side(side).and_then(|summary| summary.extra.get(name)), direction(name)) {
        (None, _) => "–".to_owned(),
        (Some(value), Some((unit, scale, _))) => with_unit(value * scale, unit),
        (Some(value), None) if name.ends_with("_us") => with_unit(*value, comparison::Unit::Us),
        (Some(value), None) => count(*value),
    }
}

/// The name of a figure without its unit, which the value has: `idle_rss_kib` is "idle rss".
fn words(name: &str) -> String {
    let name = ["_per_second", "_us", "_ms", "_seconds", "_kib", "_mib"]
        .into_iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    name.replace('_', " ")
}
