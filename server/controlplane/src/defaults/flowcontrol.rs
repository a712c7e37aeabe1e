//! The flowcontrol group.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

const MATCHING_PRECEDENCE: i64 = 1000;
const HAND_SIZE: i64 = 8;
const QUEUES: i64 = 64;
const QUEUE_LENGTH_LIMIT: i64 = 50;
const NOMINAL_CONCURRENCY_SHARES: i64 = 30;

pub(super) fn flow_schema<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.map_mut("spec").default_zero("matchingPrecedence", Value::Int(MATCHING_PRECEDENCE));
}

pub(super) fn priority_level<'a>(_: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    if let Some(limited) = spec.child_mut("limited") {
        limited.default_nil("nominalConcurrencyShares", Value::Int(NOMINAL_CONCURRENCY_SHARES));
        limited.default_nil("lendablePercent", Value::Int(0));
        if let Some(queuing) = limited.child_mut("limitResponse").and_then(|r| r.child_mut("queuing")) {
            queuing.default_zero("handSize", Value::Int(HAND_SIZE));
            queuing.default_zero("queues", Value::Int(QUEUES));
            queuing.default_zero("queueLengthLimit", Value::Int(QUEUE_LENGTH_LIMIT));
        }
    }
    if let Some(exempt) = spec.child_mut("exempt") {
        exempt.default_nil("nominalConcurrencyShares", Value::Int(0));
        exempt.default_nil("lendablePercent", Value::Int(0));
    }
}
