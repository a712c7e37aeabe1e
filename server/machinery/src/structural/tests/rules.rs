//! When rules have their turn, and what definitions of old are let off.

use bumpalo::Bump;

use super::tree;
use crate::{
    field::FieldError,
    structural::{
        Node,
        check::{self, CheckOptions, RuleChecks, RuleSite, Step},
    },
    value::Value,
};

/// Notes what it is asked.
#[derive(Default)]
struct Notes(Vec<String>);

impl RuleChecks for Notes {
    fn default_errors(
        &mut self,
        node: Node<'_>,
        _: &Value<'_>,
        is_resource: bool,
        path: &str,
    ) -> Vec<FieldError> {
        if !node.rules().is_empty() {
            self.0.push(format!("default {path} {is_resource}"));
        }
        Vec::new()
    }

    fn rule_errors(&mut self, site: &RuleSite<'_, '_, '_>) -> Vec<FieldError> {
        let step = |(_, step): &(&Value<'_>, Step<'_>)| match step {
            Step::Property(name) => format!(".{name}"),
            Step::Items => "[]".to_owned(),
            Step::AdditionalProperties => "{}".to_owned(),
        };
        let steps: String = site.ancestors.iter().map(step).collect();
        assert!(site.schema.path(&["x-kubernetes-validations"]).is_some());
        self.0.push(format!("{} at {steps} old {}", site.path, site.uncorrelatable.unwrap_or("-")));
        vec![FieldError::invalid(site.path, "r", "of the rule")]
    }

    fn total_errors(&mut self, path: &str) -> Vec<FieldError> {
        self.0.push(format!("total {path}"));
        Vec::new()
    }
}

fn asked(schema: &str) -> (Vec<String>, Vec<String>) {
    let arena = Bump::new();
    let mut notes = Notes::default();
    let errors = check::check(&tree(&arena, schema), "s", &CheckOptions::new(false), &mut notes);
    (notes.0, errors.iter().map(ToString::to_string).collect())
}

const RULES: &str = r#""x-kubernetes-validations":[{"rule":"true"}]"#;

#[test]
fn rules_have_their_turn() {
    let (notes, errors) = asked(&format!(
        r#"{{"type":"object",{RULES},"properties":{{
            "l":{{"type":"array","items":{{"type":"object",{RULES},"properties":{{"d":{{"type":"string","default":"x",{RULES}}}}}}}}},
            "m":{{"type":"object","additionalProperties":{{"type":"string",{RULES}}}}},
            "k":{{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],
                "items":{{"type":"object","required":["n"],"properties":{{"n":{{"type":"string",{RULES}}}}}}}}}}}}}"#
    ));
    // Those within come first; lists whose items have no keys are not found again.
    let l = "s.properties[l]";
    assert_eq!(
        notes,
        [
            format!("default {l}.items.properties[d].default false"),
            "s.properties[k].items.properties[n] at .k[].n old -".to_owned(),
            format!("{l}.items.properties[d] at .l[].d old {l}"),
            format!("{l}.items at .l[] old {l}"),
            "s.properties[m].additionalProperties at .m{} old -".to_owned(),
            "s at  old -".to_owned(),
            "total s".to_owned(),
        ]
    );
    assert_eq!(errors.len(), 5);
}

#[test]
fn rules_wait_for_schemas() {
    // What is wrong below keeps the rules above waiting, but not those beside.
    let (notes, errors) = asked(&format!(
        r#"{{"type":"object","properties":{{
            "a":{{"type":"object",{RULES},"properties":{{"b":{{"type":"array","items":{{"type":"string"}},"uniqueItems":true}}}}}},
            "c":{{"type":"string",{RULES}}}}}}}"#
    ));
    assert_eq!(notes, ["s.properties[c] at .c old -", "total s"]);
    let quadratic = "s.properties[a].properties[b].uniqueItems: Forbidden: uniqueItems cannot be set to true since the \
                     runtime complexity becomes quadratic";
    assert_eq!(errors, [quadratic, "s.properties[c]: Invalid value: \"r\": of the rule"]);
    // Without a structural schema there are no types to compile them by.
    let (notes, errors) = asked(&format!(r#"{{"type":"object",{RULES},"properties":{{"a":{{}}}}}}"#));
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(
        errors,
        ["s.properties[a].type: Required value: must not be empty for specified object fields"]
    );
}

#[test]
fn what_is_let_off() {
    let arena = Bump::new();
    let of =
        |property: &str| tree(&arena, &format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#));
    let set = r#"{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}}"#;
    assert!(check::has_non_atomic_sets(&of(set)));
    assert!(!check::has_non_atomic_sets(&of(&set.replace(r#""object"}"#, r#""string"}"#))));
    let map = r#"{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}}"#;
    assert!(check::has_loose_list_keys(&of(map)));
    assert!(!check::has_loose_list_keys(&of(
        &map.replace(r#""properties""#, r#""required":["k"],"properties""#)
    )));
    let default = r#"{"type":"object","default":{"b":1,"c":2},"properties":{"b":{"type":"integer"}}}"#;
    assert!(check::has_unpruned_defaults(&of(default)));
    assert!(!check::has_unpruned_defaults(&of(&default.replace(r#","c":2"#, ""))));
    assert!(check::is_structural(&of(r#"{"type":"string"}"#)));
    assert!(!check::is_structural(&of("{}")));
    // Each rule is let off by itself.
    let mut options = CheckOptions::new(false);
    let errors = |schema: &Value<'_>, options: &CheckOptions| {
        check::check(schema, "s", options, &mut check::Unchecked).len()
    };
    for (schema, off) in [
        (of(set), (|o| o.atomic_sets = false) as fn(&mut CheckOptions)),
        (of(map), |o| o.list_keys = false),
        (of(default), |o| o.pruned_defaults = false),
        (of(r#"{"type":"foo"}"#), |o| o.valid_types = false),
        (of("{}"), |o| o.structural = false),
    ] {
        assert_eq!(errors(&schema, &options), 1);
        off(&mut options);
        assert_eq!(errors(&schema, &options), 0);
        options = CheckOptions::new(false);
    }
}

#[test]
fn errors_are_bounded() {
    let arena = Bump::new();
    let of = super::schema(
        r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","additionalProperties":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"enum":[{}]}}}}"#,
    );
    let many = format!(r#"{{"l":[{}"x"]}}"#, "\"x\",".repeat(50_000));
    assert_eq!(of.validate(&tree(&arena, &many)).len(), crate::limits::VALIDATION_ERRORS_MAX);
    let large = "x".repeat(1 << 20);
    let members: Vec<String> = (0..40).map(|n| format!(r#""k{n}":{{"v":"{large}"}}"#)).collect();
    let large = format!(r#"{{"o":{{{}}}}}"#, members.join(","));
    assert_eq!(of.validate(&tree(&arena, &large)).len(), 16);
}
