//! The value that changes from write to write: a number of fixed width behind a mark, found without parsing.

use memchr::memmem;

/// What stands before the number. Nothing else in an object says this.
pub(crate) const MARK: &[u8] = b"bench-sequence-";

/// What stands before the number in a status.
pub(crate) const STATUS_MARK: &[u8] = b"bench-status-sequence-";

/// Digits of the number.
pub(crate) const DIGITS: usize = 16;

/// The value of a new object.
pub(super) fn first() -> String {
    value(MARK)
}

/// The value of a new status.
pub(super) fn first_status() -> String {
    value(STATUS_MARK)
}

fn value(mark: &[u8]) -> String {
    format!("{}{:0width$}", String::from_utf8_lossy(mark), 0, width = DIGITS)
}

/// Puts a number in the place of the one behind `mark`. False: there is none.
pub(crate) fn set(object: &mut [u8], mark: &[u8], number: u64) -> bool {
    let Some(at) = memmem::find(object, mark) else { return false };
    let from = at + mark.len();
    let Some(place) = object.get_mut(from..from + DIGITS) else { return false };
    let mut rest = number;
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_the_place_of_the_last() {
        let mut object = format!(r#"{{"data":{{"sequence":"{}"}}}}"#, first()).into_bytes();
        assert!(set(&mut object, MARK, 1_234));
        assert_eq!(object, br#"{"data":{"sequence":"bench-sequence-0000000000001234"}}"#);
        assert!(set(&mut object, MARK, 9));
        assert_eq!(object, br#"{"data":{"sequence":"bench-sequence-0000000000000009"}}"#);
    }

    #[test]
    fn a_status_has_a_number_of_its_own() {
        let mut object = format!("{} {}", first(), first_status()).into_bytes();
        assert!(set(&mut object, STATUS_MARK, 7));
        assert_eq!(object, b"bench-sequence-0000000000000000 bench-status-sequence-0000000000000007");
    }

    #[test]
    fn what_has_no_number_is_said() {
        assert!(!set(&mut b"{}".to_vec(), MARK, 1));
        assert!(!set(&mut b"bench-sequence-12".to_vec(), MARK, 1));
    }
}
