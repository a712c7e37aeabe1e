//! What was sent in an overload and what became of it, by the clients' count and by the server's.

use super::TenantWork;
use crate::load::{self, LoadError, LoadOutcome, ServerArgs};
use serde::{Deserialize, Serialize};

/// Requests of all parts of an overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sent by the three loads.
    pub sent: u64,
    /// Answered as they should be.
    pub served: u64,
    /// Turned away with 429.
    pub refused: u64,
    /// Neither.
    pub unexpected: u64,
    /// Those of the same kind that the server says it answered, whatever it answered.
    pub counted: u64,
}

/// What a server has counted.
#[derive(Debug)]
pub(super) struct Served(Vec<(String, u64)>);

impl Counts {
    /// Of these loads. The server counted `counted`, of which `probes` belong to no load.
    pub(super) fn new<const N: usize>(loads: [&LoadOutcome; N], counted: u64, probes: u64) -> Counts {
        let of = |what: &dyn Fn(&LoadOutcome) -> u64| loads.iter().map(|load| what(load)).sum();
        let status = |load: &LoadOutcome, is: &dyn Fn(u16) -> bool| -> u64 {
            load.answered.iter().filter(|(status, _)| is(**status)).map(|(_, count)| count).sum()
        };
        Counts {
            sent: of(&|load| load.sent),
            served: of(&|load| status(load, &|status| matches!(status, 200 | 201))),
            refused: of(&|load| status(load, &|status| status == 429)),
            unexpected: of(&|load| status(load, &|status| !matches!(status, 200 | 201 | 429))),
            counted: counted.saturating_sub(probes),
        }
    }

    /// Whether all that was sent was served or turned away, and the server counted no less.
    ///
    /// # Errors
    /// What does not add up, in words.
    pub fn check(&self) -> Result<(), String> {
        let Counts { sent, served, refused, unexpected, counted } = *self;
        if unexpected > 0 || sent != served + refused {
            return Err(format!(
                "{sent} requests were sent: {served} served, {refused} refused, {unexpected} answered otherwise"
            ));
        }
        // More is no fault: others may ask for the same, as the server itself does.
        if counted < sent {
            return Err(format!("{sent} requests were sent, and the server counted {counted}"));
        }
        Ok(())
    }
}

impl Served {
    /// Asks a server.
    pub(super) fn of(server: &ServerArgs) -> Result<Served, LoadError> {
        let text = load::metrics(server)?;
        Ok(Served(text.lines().filter_map(parse).collect()))
    }

    /// Requests of the kind that the loads of this work send, since then.
    pub(super) fn since(&self, before: &Served, work: TenantWork) -> u64 {
        let is_ours = |labels: &str| {
            let tenants = match work {
                TenantWork::Updates => r#"verb="PUT""#,
                TenantWork::Lists => r#"verb="LIST""#,
            };
            (labels.contains(r#"resource="configmaps""#) && labels.contains(tenants))
                || (labels.contains(r#"resource="nodes""#) && labels.contains(r#"verb="LIST""#))
        };
        let sum = |served: &Served| -> u64 {
            served.0.iter().filter(|(labels, _)| is_ours(labels)).map(|(_, count)| count).sum()
        };
        sum(self).saturating_sub(sum(before))
    }
}

/// The labels and the value of a series of requests.
fn parse(line: &str) -> Option<(String, u64)> {
    let rest = line.strip_prefix("apiserver_request_total{")?;
    let (labels, value) = rest.rsplit_once("} ")?;
    let value: f64 = value.trim().parse().ok()?;
    Some((labels.to_owned(), value as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(sent: u64, answered: &[(u16, u64)]) -> LoadOutcome {
        LoadOutcome { sent, answered: answered.iter().copied().collect(), ..LoadOutcome::default() }
    }

    #[test]
    fn what_was_sent_was_served_or_refused_and_counted() {
        let (light, heavy) = (outcome(10, &[(200, 10)]), outcome(100, &[(200, 90), (429, 10)]));
        let counts = Counts::new([&light, &heavy], 112, 2);
        assert_eq!(counts, Counts { sent: 110, served: 100, refused: 10, unexpected: 0, counted: 110 });
        counts.check().unwrap();
        let lost = Counts::new([&light, &outcome(100, &[(200, 99)])], 112, 2);
        assert!(lost.check().unwrap_err().contains("110 requests were sent: 109 served"));
        let cut = Counts::new([&light, &outcome(100, &[(200, 99), (0, 1)])], 112, 2);
        assert!(cut.check().unwrap_err().contains("1 answered otherwise"));
        assert!(Counts::new([&light, &heavy], 111, 2).check().unwrap_err().contains("counted 109"));
    }

    #[test]
    fn the_server_counts_by_verb_and_resource() {
        let text = |count: u64| {
            format!(
                "# TYPE apiserver_request_total counter\n\
                 apiserver_request_total{{code=\"200\",resource=\"configmaps\",verb=\"PUT\"}} {count}\n\
                 apiserver_request_total{{code=\"429\",resource=\"configmaps\",verb=\"PUT\"}} 1e+00\n\
                 apiserver_request_total{{code=\"200\",resource=\"configmaps\",verb=\"LIST\"}} 40\n\
                 apiserver_request_total{{code=\"200\",resource=\"nodes\",verb=\"LIST\"}} {count}\n\
                 apiserver_request_total{{code=\"200\",resource=\"nodes\",verb=\"GET\"}} 9\n"
            )
        };
        let served = |count| Served(text(count).lines().filter_map(parse).collect());
        assert_eq!(served(9).since(&served(5), TenantWork::Updates), 8);
        assert_eq!(served(9).since(&served(5), TenantWork::Lists), 4);
    }
}
