//! Leases, as kubelets keep them alive.

use jiff::{Timestamp, fmt::temporal::DateTimePrinter};
use memchr::memmem;

const RENEW_TIME: &[u8] = b"\"renewTime\":\"";

/// Bytes of a MicroTime: `2026-01-02T03:04:05.678901Z`.
const MICRO_TIME_BYTES: usize = 27;

/// A Lease of the node of the same name.
pub(super) fn lease(name: &str, namespace: &str) -> String {
    format!(
        concat!(
            r#"{{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"{name}","#,
            r#""namespace":"{namespace}"}},"spec":{{"holderIdentity":"{name}","leaseDurationSeconds":40,"#,
            r#""renewTime":"2026-01-01T00:00:00.000001Z"}}}}"#
        ),
        name = name,
        namespace = namespace
    )
}

/// Renews a Lease as of now, in place. False: it has no time.
pub(crate) fn renew(object: &mut [u8]) -> bool {
    let Some(at) = memmem::find(object, RENEW_TIME) else { return false };
    let from = at + RENEW_TIME.len();
    let mut text = String::with_capacity(MICRO_TIME_BYTES);
    let printer = DateTimePrinter::new().precision(Some(6));
    if printer.print_timestamp(&Timestamp::now(), &mut text).is_err() || text.len() != MICRO_TIME_BYTES {
        return false;
    }
    match object.get_mut(from..from + MICRO_TIME_BYTES) {
        Some(place) if place.last() == Some(&b'Z') => {
            place.copy_from_slice(text.as_bytes());
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_lease_has_the_time_of_now() {
        let mut object = lease("n", "s").into_bytes();
        assert!(renew(&mut object));
        let value: serde_json::Value = serde_json::from_slice(&object).unwrap();
        let time: Timestamp = value["spec"]["renewTime"].as_str().unwrap().parse().unwrap();
        assert!(Timestamp::now().duration_since(time).as_secs() < 60);
    }

    #[test]
    fn a_time_of_another_width_is_left_alone() {
        let mut object = br#"{"spec":{"renewTime":"2026-01-01T00:00:00Z","x":"123456789"}}"#.to_vec();
        let before = object.clone();
        assert!(!renew(&mut object));
        assert_eq!(object, before);
    }
}
