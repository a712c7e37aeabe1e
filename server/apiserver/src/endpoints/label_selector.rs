//! `metav1.LabelSelector` of an object as a selector over labels (`LabelSelectorAsSelector`).

use ringbolt_machinery::value::Value;
use ringbolt_protocol::selector::{LabelSelector, LabelSelectorError, Operator, Requirement};

/// Why an object's selector selects nothing that can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorError {
    /// An operator that is none.
    Operator(String),
    /// A requirement that cannot hold.
    Requirement(LabelSelectorError),
}

impl std::fmt::Display for SelectorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SelectorError::Operator(operator) => {
                write!(
                    f,
                    "{} is not a valid label selector operator",
                    ringbolt_machinery::field::quote(operator)
                )
            }
            SelectorError::Requirement(error) => error.fmt(f),
        }
    }
}

/// The selector of a `metav1.LabelSelector`. `None` where there is none: nothing is selected.
///
/// # Errors
/// An operator or a requirement that means nothing.
pub fn selector(tree: Option<&Value<'_>>) -> Result<Option<LabelSelector>, SelectorError> {
    let Some(tree) = tree.filter(|t| !t.is_null()) else { return Ok(None) };
    let mut requirements = labels(tree.path(&["matchLabels"]))?;
    let expressions = tree.path(&["matchExpressions"]).and_then(Value::as_list);
    for expression in expressions.into_iter().flatten() {
        let operator = match expression.str_at(&["operator"]).unwrap_or("") {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => return Err(SelectorError::Operator(other.to_owned())),
        };
        let values = expression.path(&["values"]).and_then(Value::as_list);
        let values = values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        requirements.push(requirement(expression.str_at(&["key"]).unwrap_or(""), operator, values)?);
    }
    Ok(Some(sorted(requirements)))
}

/// The selector of a plain map of labels (a ReplicationController's).
pub(crate) fn selector_of_map(tree: Option<&Value<'_>>) -> Result<LabelSelector, SelectorError> {
    Ok(sorted(labels(tree)?))
}

fn labels(tree: Option<&Value<'_>>) -> Result<Vec<Requirement>, SelectorError> {
    let pairs = tree.and_then(Value::as_map).into_iter().flat_map(|m| m.iter());
    pairs
        .map(|(key, value)| requirement(key, Operator::Equals, vec![value.as_str().unwrap_or("").to_owned()]))
        .collect()
}

fn requirement(key: &str, operator: Operator, values: Vec<String>) -> Result<Requirement, SelectorError> {
    Requirement::new(key, operator, values).map_err(SelectorError::Requirement)
}

fn sorted(mut requirements: Vec<Requirement>) -> LabelSelector {
    requirements.sort_by(|a, b| a.key.cmp(&b.key));
    LabelSelector { requirements }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn selectors_in_their_canonical_text() {
        let check = |text: &str, expect: Result<Option<&str>, &str>| {
            let arena = Bump::new();
            let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            let found = selector(Some(&tree)).map(|s| s.map(|s| s.to_string())).map_err(|e| e.to_string());
            assert_eq!(found, expect.map(|s| s.map(str::to_owned)).map_err(str::to_owned), "{text}");
        };
        check("null", Ok(None));
        check("{}", Ok(Some("")));
        check(r#"{"matchLabels":{"b":"2","a":"1"}}"#, Ok(Some("a=1,b=2")));
        check(
            r#"{"matchLabels":{"z":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["y","x"]},{"key":"b","operator":"DoesNotExist"}]}"#,
            Ok(Some("a in (x,y),!b,z=1")),
        );
        check(
            r#"{"matchExpressions":[{"key":"a","operator":"Near"}]}"#,
            Err(r#""Near" is not a valid label selector operator"#),
        );
        assert!(selector(None).unwrap().is_none());
    }
}
