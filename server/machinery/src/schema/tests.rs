//! Invariants of the built-in table.

use super::*;

#[test]
fn every_line_makes_sense() {
    let schema = Schema::builtin();
    assert_eq!((schema.structs.len(), schema.kinds.len(), schema.resources.len()), (901, 503, 98));
}
