//! The page: what a reader is told, in which order.

use super::{
    ReportMeta, bars,
    html::{escape, list, put},
    panels, tables,
};
use crate::{
    budget::{significant, verdicts},
    comparison::{Comparison, compare},
    summary::{CaseSummary, SideSummary, median},
};

/// The whole page.
pub(super) fn page(cases: &[CaseSummary], meta: &ReportMeta) -> String {
    let verdicts = verdicts(cases);
    let mut out = String::new();
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put!(
        out,
        "<title>Ringbolt and kube-apiserver, {}</title>\n<style>\n{}</style></head>\n<body><main>\n",
        escape(&meta.date),
        include_str!("style.css")
    );
    header(&mut out, cases, meta);
    if cases.is_empty() {
        out.push_str("<p>The results hold no measurements.</p>\n");
    } else {
        figures(&mut out, cases, &verdicts);
        section(&mut out, "How many times less CPU", |out| bars::draw(out, cases));
        section(&mut out, "What is worse than the peer", |out| tables::worse(out, cases));
        section(&mut out, "Budgets", |out| tables::budgets(out, &verdicts));
        section(&mut out, "All cases", |out| tables::cases(out, cases, meta, &verdicts));
        let mut extras = String::new();
        if tables::extras(&mut extras, cases) {
            section(&mut out, "What else was measured", |out| out.push_str(&extras));
        }
        section(&mut out, "Latency", |out| panels::latencies(out, cases));
        section(&mut out, "Memory over time", |out| panels::memory(out, cases));
    }
    section(&mut out, "How it was measured", |out| method(out, cases, meta));
    out.push_str("</main></body></html>\n");
    out
}

fn section(out: &mut String, title: &str, body: impl FnOnce(&mut String)) {
    put!(out, "<section><h2>{title}</h2>\n");
    body(out);
    out.push_str("</section>\n");
}

fn header(out: &mut String, cases: &[CaseSummary], meta: &ReportMeta) {
    out.push_str("<header><h1>Ringbolt and kube-apiserver, side by side</h1>\n<p class=\"where\">");
    let parts: Vec<String> = [meta.date.clone(), meta.machine.in_words()]
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| escape(part))
        .collect();
    out.push_str(&parts.join(" · "));
    out.push_str("</p>\n<p class=\"where\">");
    let mut versions: Vec<String> = Vec::new();
    if !meta.ringbolt.is_empty() {
        versions.push(escape(&meta.ringbolt));
    }
    if !meta.peer.is_empty() {
        versions.push(format!("against {}", escape(&meta.peer.join(" with "))));
    }
    out.push_str(&versions.join(" "));
    put!(out, "</p></header>\n");
    if let Some(text) = lead(cases) {
        put!(out, "<p class=\"lead\">{text}</p>\n");
    }
}

/// What the figures come to, in a sentence or two.
fn lead(cases: &[CaseSummary]) -> Option<String> {
    let ratios: Vec<f64> = cases.iter().filter_map(CaseSummary::cpu_ratio).collect();
    let low = ratios.iter().copied().reduce(f64::min)?;
    let high = ratios.iter().copied().reduce(f64::max)?;
    let more = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let mut text = match ratios.len() {
        1 => format!(
            "In the one case that ran on both, the peer needs {}× the CPU of Ringbolt for a request.",
            significant(low)
        ),
        n => format!(
            "In {n} cases the peer needs between {}× and {}× the CPU of Ringbolt for the same request.",
            significant(low),
            significant(high)
        ),
    };
    if more > 0 {
        put!(text, " In {more} of them Ringbolt needs more.");
    }
    Some(text)
}

fn figures(out: &mut String, cases: &[CaseSummary], verdicts: &[crate::budget::Verdict]) {
    let ratios: Vec<f64> = cases.iter().filter_map(CaseSummary::cpu_ratio).collect();
    let worse = cases.iter().flat_map(compare).filter(Comparison::is_worse).count();
    let compared = cases.iter().map(|case| compare(case).len()).sum::<usize>();
    let met = verdicts.iter().filter(|verdict| verdict.met == Some(true)).count();
    let missed = verdicts.iter().filter(|verdict| verdict.met == Some(false)).count();
    out.push_str("<div class=\"figures\">");
    let mut figure = |value: String, text: String| {
        put!(out, "<div><b>{value}</b><span>{text}</span></div>");
    };
    let of = ratios.len();
    if let Some(ratio) = median(ratios) {
        let cases = if of == 1 { "of one case".to_owned() } else { format!("the median of {of} cases") };
        figure(format!("{}×", significant(ratio)), format!("less CPU a request, {cases}"));
    }
    let unmeasured = verdicts.len() - met - missed;
    let rest = if unmeasured > 0 { format!(", {unmeasured} not measured") } else { String::new() };
    figure(format!("{met} of {}", verdicts.len()), format!("budgets met, {missed} missed{rest}"));
    if compared > 0 {
        figure(format!("{worse} of {compared}"), "figures worse than the peer’s".to_owned());
    }
    out.push_str("</div>\n");
}

fn method(out: &mut String, cases: &[CaseSummary], meta: &ReportMeta) {
    let runs = cases.iter().flat_map(|case| case.sides.values()).map(|side: &SideSummary| side.runs);
    if let (Some(least), Some(most)) = (runs.clone().min(), runs.max()) {
        let runs = if least == most { most.to_string() } else { format!("{least} to {most}") };
        put!(
            out,
            "<p>Figures are medians of {runs} run{}, those of both servers taken by turns; a curve is of the run in the \
             middle. CPU is that of all processes of a server, user and system, by the requests they answered.</p>\n",
            if most == 1 { "" } else { "s" }
        );
    }
    if !meta.rules.is_empty() {
        out.push_str("<h3>What makes the work the same</h3>\n");
        list(out, &meta.rules);
    }
    out.push_str("<h3>With what</h3>\n<dl>");
    let mut entry = |name: &str, text: String| {
        put!(
            out,
            "<dt>{name}</dt><dd>{}</dd>",
            if text.is_empty() { "not recorded".to_owned() } else { escape(&text) }
        );
    };
    entry("Date", meta.date.clone());
    entry("Machine", meta.machine.in_words());
    entry("Ringbolt", meta.ringbolt.clone());
    entry("Peer", meta.peer.join(", "));
    entry("Tools", meta.tools.join(", "));
    out.push_str("</dl>\n");
}
