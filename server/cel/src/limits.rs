//! Every limit of expressions, with its reason.

/// Code points of one expression (cel-go `ExpressionSizeCodePointLimit`).
pub(crate) const EXPRESSION_CODE_POINTS_MAX: usize = 100_000;

/// Levels that one rule of the grammar may contain itself (cel-go `maxRecursionDepth`): bounds the stack of every walk.
pub(crate) const NESTING_MAX: usize = 250;

/// Cost of one evaluation of one rule (`celconfig.PerCallLimit`, about 0.1 s).
pub const PER_CALL_COST_MAX: u64 = 1_000_000;

/// Cost of all rules over one object (`celconfig.RuntimeCELCostBudget`, about 1 s).
pub const OBJECT_COST_MAX: i64 = 10_000_000;

/// Cost of all expressions of a policy over one request and one set of parameters (`RuntimeCELCostBudget`).
pub const POLICY_COST_MAX: u64 = 10_000_000;

/// Cost of all match conditions over one request (`RuntimeCELCostBudgetMatchConditions`, about 0.25 s).
pub const MATCH_CONDITIONS_COST_MAX: u64 = 2_500_000;

/// Estimated cost of one rule of a schema (`StaticEstimatedCostLimit`).
pub const RULE_ESTIMATE_MAX: u64 = 10_000_000;

/// Estimated cost of all rules of a schema (`StaticEstimatedCRDCostLimit`).
pub const SCHEMA_ESTIMATE_MAX: u64 = 100_000_000;

/// Bytes of a request that estimates reckon with (`celconfig.MaxRequestSizeBytes`).
pub(crate) const REQUEST_BYTES_MAX: i64 = 3 * 1024 * 1024;

/// Bytes of a message that an expression makes (`celconfig.MaxEvaluatedMessageExpressionSizeBytes`).
pub const MESSAGE_BYTES_MAX: usize = 5 * 1024;

/// Estimated cost of an expression that selects devices (`resource.CELSelectorExpressionMaxCost`).
pub const DEVICE_SELECTOR_COST_MAX: u64 = 1_000_000;

/// Characters of a driver's name and of an attribute's value (`DriverNameMaxLength`, `DeviceAttributeMaxValueLength`).
pub(crate) const DEVICE_DRIVER_MAX: i64 = 63;
pub(crate) const DEVICE_ATTRIBUTE_SIZE_MAX: i64 = 64;

/// Bytes that evaluation may hold when two lists are added, their sum included. The real server does not copy them, so that
/// its cost is no bound: a list that is added to itself 24 times would take gigabytes here.
pub(crate) const SUMS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of stack in which variables may ask for each other: a quarter of a core's. One expression, nested as deeply as
/// may be, takes a fifth of a megabyte.
pub(crate) const VARIABLES_STACK_BYTES_MAX: usize = 4 * 1024 * 1024;
