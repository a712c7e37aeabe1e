//! CEL as Kubernetes speaks it: parsed, checked against the types of a schema, weighed, and run.
#![forbid(unsafe_code)]
