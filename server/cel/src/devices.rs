//! Expressions that select devices (`resource.k8s.io`): what they may refer to, and what they must come to.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use crate::{
    admission::CompileError,
    checker::Env,
    cost,
    decl::{DeclType, Shape},
    expression::Expression,
    limits::{DEVICE_ATTRIBUTE_SIZE_MAX, DEVICE_DRIVER_MAX, DEVICE_SELECTOR_COST_MAX},
    types::{QUANTITY, Type},
};

/// Most attributes and capacities of a device, and so the most entries of their maps.
const ENTRIES_MAX: i64 = 32;

fn declared(shape: Shape, elements_max: i64, bytes_min: i64) -> Arc<DeclType> {
    Arc::new(DeclType { shape, elements_max, bytes_min })
}

/// `device`: attributes and capacities by domain and name.
static DEVICE: LazyLock<Arc<DeclType>> = LazyLock::new(|| {
    let by_name =
        |of: Arc<DeclType>| declared(Shape::Map(declared(Shape::Map(of), ENTRIES_MAX, 2)), ENTRIES_MAX, 2);
    let attribute = declared(Shape::Scalar(Type::Dyn), DEVICE_ATTRIBUTE_SIZE_MAX, 1);
    let amount = declared(Shape::Scalar(Type::Struct(QUANTITY.into())), -1, 8);
    let fields = BTreeMap::from([
        ("driver".to_owned(), declared(Shape::Scalar(Type::String), DEVICE_DRIVER_MAX, 2)),
        ("allowMultipleAllocations".to_owned(), declared(Shape::Scalar(Type::Bool), -1, 1)),
        ("attributes".to_owned(), by_name(attribute)),
        ("capacity".to_owned(), by_name(amount)),
    ]);
    declared(Shape::Object { name: "kubernetes.DRADevice".into(), fields }, 0, 2)
});

/// What is wrong with an expression that selects devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorError {
    /// It does not compile, or comes to something else.
    Compile(CompileError),
    /// It may cost more than it may.
    TooComplex,
}

/// Compiles an expression that selects devices; `stored` where it was accepted before.
///
/// # Errors
/// What is wrong with it.
pub fn check_selector(text: &str, stored: bool) -> Result<(), SelectorError> {
    // Nothing here runs them: schedulers do.
    let failed = |detail: String| SelectorError::Compile(CompileError { detail, is_internal: false });
    let mut objects = HashMap::new();
    DEVICE.collect(&mut objects);
    let variables = vec![("device", DEVICE.cel_type())];
    let env = Env { variables, objects, stored, patch_types: false };
    let expression =
        Expression::compile(text, &env).map_err(|issues| failed(format!("compilation failed: {issues}")))?;
    let output = expression.output();
    if !matches!(output, Type::Bool | Type::Dyn) {
        let shown = output.go_string();
        return Err(failed(format!("must evaluate to bool or the unknown type, not {shown}")));
    }
    let cost = cost::estimate(&expression.ast, &expression.checked, Some(&DEVICE));
    if cost.max > DEVICE_SELECTOR_COST_MAX { Err(SelectorError::TooComplex) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(text: &str) -> String {
        match check_selector(text, false) {
            Ok(()) => String::new(),
            Err(SelectorError::Compile(error)) => error.detail,
            Err(SelectorError::TooComplex) => "too complex".to_owned(),
        }
    }

    #[test]
    fn what_devices_are_selected_by() {
        for good in [
            "device.driver == \"gpu.example.com\" && device.attributes[\"gpu.example.com\"].model == \"x\"",
            "device.allowMultipleAllocations",
            "device.attributes[\"x\"].y",
            "device.capacity[\"a\"].b.isGreaterThan(quantity(\"1\"))",
            "device.attributes.all(x, device.attributes.all(y, device.attributes.all(z, x==y||y==z)))",
        ] {
            assert_eq!(detail(good), "", "{good}");
        }
        let foo = "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo\n | ......^";
        assert_eq!(detail("device.foo"), foo);
        assert_eq!(detail("device"), "must evaluate to bool or the unknown type, not kubernetes.DRADevice");
        assert_eq!(detail("'text'"), "must evaluate to bool or the unknown type, not string");
        assert_eq!(
            detail("device.attributes[\"a\"].b + 1"),
            "must evaluate to bool or the unknown type, not int"
        );
        let nothing = "compilation failed: ERROR: <input>:1:1: undeclared reference to 'object' (in container '')\n | object.spec.replicas\n | ^";
        assert_eq!(detail("object.spec.replicas"), nothing);
    }
}
