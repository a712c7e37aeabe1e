//! Limits of the machinery, each with its reason.

/// Levels of nesting a JSON text may have: `encoding/json` refuses more.
pub const JSON_DEPTH_MAX: usize = 10_000;

/// Levels of nesting a decoded tree may have. Trees are walked by recursion, and must fit a 16 MiB stack with what an
/// unoptimized build takes a level, 5 KiB where a definition's schema is decoded; no real object comes near. Opaque text (`RawExtension`, unknown fields) is
/// skipped without recursion and may go to [`JSON_DEPTH_MAX`].
pub const TREE_DEPTH_MAX: usize = 512;

/// Strict errors kept a decode: `sigs.k8s.io/json` stops collecting here.
pub const STRICT_ERRORS_MAX: usize = 100;

/// Operations in one JSON Patch: kube-apiserver answers 413 above.
pub const JSON_PATCH_OPERATIONS_MAX: usize = 10_000;

/// Bytes by which the `copy` operations of one JSON Patch may grow the object: `JSONPatchMaxCopyBytes` of
/// kube-apiserver.
pub const JSON_PATCH_COPY_MAX: i64 = 3 * 1024 * 1024;

/// Nodes that a YAML document may have with its aliases expanded. The library of kube-apiserver bounds only the share
/// of aliased nodes; a body of 3 MiB holds fewer than this without any.
pub const YAML_NODES_MAX: usize = 2_000_000;

/// Entries of updates that `metadata.managedFields` keeps apart: `DefaultMaxUpdateManagers` of kube-apiserver.
pub const UPDATE_MANAGERS_MAX: usize = 10;

/// Bytes of conflicts or problems that the error of an apply tells. A configuration of 3 MiB may have a million of
/// them, each with a path of any length.
pub const APPLY_ERROR_TEXT: usize = 1 << 20;

/// Bytes that all annotations of an object may take together: `TotalAnnotationSizeLimitB` of Kubernetes.
pub const ANNOTATIONS_MAX: usize = 256 * 1024;

/// Times that a repetition in a regular expression may ask for, also with those within it: `regexp/syntax` refuses more.
pub const REGEXP_REPEAT_MAX: u32 = 1000;

/// Levels that a regular expression may have: `maxHeight` of `regexp/syntax`. It is walked by recursion.
pub const REGEXP_HEIGHT_MAX: usize = 1000;

/// Instructions that a regular expression may come to. Go takes forty times as much, which is 40 MB of a pattern that no
/// one writes; a schema keeps its programs as long as it is served.
pub const REGEXP_SIZE_MAX: usize = 80_000;

/// Errors that the validation of one object keeps. A body of 3 MiB can hold a million values that are wrong; no one reads
/// as many messages, and together they must not take more than a few MiB.
pub const VALIDATION_ERRORS_MAX: usize = 10_000;

/// Bytes after which no more errors are kept: each may show its value, and values within each other are shown again.
pub const VALIDATION_ERROR_BYTES_MAX: usize = 16 << 20;

/// From so many entries on a map is first searched as if it were sorted: fewer are looked at sooner than that.
pub const MANY_ENTRIES: usize = 64;

const _: () = assert!(TREE_DEPTH_MAX <= JSON_DEPTH_MAX);
