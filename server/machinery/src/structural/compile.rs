//! `JSONSchemaProps` to a [`Structural`]: one walk from the leaves up, where what was met before is not kept twice.

use std::{collections::HashMap, fmt};

use bumpalo::Bump;

use super::{
    Structural, check,
    json::{Float, Json},
    node::{
        Additional, EMBEDDED, INT_OR_STRING, ListType, MapType, NULLABLE, NodeData, NodeId, PRESERVE, Rest,
        Rule, Text, Type,
    },
    pattern::Pattern,
    props::Props,
    value_validation::ValidationData,
};
use crate::{json, value::Value};

/// Why a schema is not structural; the text is Kubernetes'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(pub String);

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CompileError {}

#[derive(Default)]
struct Compiler {
    nodes: HashMap<NodeData, NodeId>,
    texts: HashMap<Box<str>, Text>,
    text: String,
    patterns: Vec<Pattern>,
    pattern_at: HashMap<Box<str>, u32>,
}

impl Structural {
    /// Compiles `JSONSchemaProps`, as a CRD's version has it in `schema.openAPIV3Schema`: decoded by the Schema or
    /// without one. Defaults lose what their nodes do not have.
    pub fn compile(props: &Value<'_>) -> Result<Structural, CompileError> {
        let arena = Bump::new();
        let props = json::expand_raw(&arena, props).map_err(|error| CompileError(error.to_string()))?;
        let structural = Structural::compile_as_is(&props)?;
        match check::pruned_defaults(&arena, &structural, &props) {
            Some(props) => Structural::compile_as_is(&props),
            None => Ok(structural),
        }
    }

    /// The same with defaults as they are written, of properties without opaque text.
    pub(super) fn compile_as_is(props: &Value<'_>) -> Result<Structural, CompileError> {
        let mut compiler = Compiler::default();
        let root = compiler.node(Props::of(props))?;
        let mut nodes: Vec<_> = compiler.nodes.into_iter().collect();
        nodes.sort_unstable_by_key(|(_, id)| *id);
        Ok(Structural {
            nodes: nodes.into_iter().map(|(data, _)| data).collect(),
            root,
            texts: compiler.text.into_boxed_str(),
            patterns: compiler.patterns.into_boxed_slice(),
        })
    }
}

impl Compiler {
    fn text(&mut self, text: &str) -> Text {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let position = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let new = Text { at: position(self.text.len()), len: position(text.len()) };
        self.text.push_str(text);
        self.texts.insert(text.into(), new);
        new
    }

    fn texts<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> Box<[Text]> {
        texts.map(|text| self.text(text)).collect()
    }

    fn pattern(&mut self, text: &str) -> u32 {
        if let Some(known) = self.pattern_at.get(text) {
            return *known;
        }
        let new = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
        self.patterns.push(Pattern::new(text));
        self.pattern_at.insert(text.into(), new);
        new
    }

    fn node(&mut self, props: Props<'_, '_>) -> Result<NodeId, CompileError> {
        if let Some(field) = props.unsupported() {
            return Err(CompileError(format!("OpenAPIV3Schema '{field}' is not supported")));
        }
        let mut flags = 0;
        let flagged = [
            ("nullable", NULLABLE),
            ("x-kubernetes-embedded-resource", EMBEDDED),
            ("x-kubernetes-int-or-string", INT_OR_STRING),
        ];
        for (name, flag) in flagged {
            if props.flag(name) {
                flags |= flag;
            }
        }
        match props.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) {
            Some(true) => flags |= PRESERVE,
            Some(false) => {
                let field = "'x-kubernetes-preserve-unknown-fields' must be true or undefined";
                return Err(CompileError(format!("internal error: {field}")));
            }
            None => {}
        }
        let items = match props.items() {
            Some(Value::List(list)) if !list.is_empty() => {
                return Err(CompileError("OpenAPIV3Schema 'items' must be a schema, but is an array".into()));
            }
            Some(items @ Value::Map(_)) => Some(self.node(Props::of(items))?),
            _ => None,
        };
        let additional = match props.get("additionalProperties") {
            Some(schema @ Value::Map(_)) => Additional::Node(self.node(Props::of(schema))?),
            Some(Value::Bool(any)) => Additional::Bool(*any),
            _ => Additional::None,
        };
        let mut properties = Vec::with_capacity(props.properties().count());
        for (name, of) in props.properties() {
            let id = self.node(of)?;
            properties.push((name, self.text(name), id));
        }
        properties.sort_unstable_by_key(|(name, ..)| *name);
        let rest = self.rest(props)?;
        let data = NodeData {
            ty: Type::of(props.text("type")),
            flags,
            list_type: match props.text("x-kubernetes-list-type") {
                "set" => Some(ListType::Set),
                "map" => Some(ListType::Map),
                "atomic" => Some(ListType::Atomic),
                _ => None,
            },
            map_type: match props.text("x-kubernetes-map-type") {
                "atomic" => Some(MapType::Atomic),
                "granular" => Some(MapType::Granular),
                _ => None,
            },
            items,
            additional,
            properties: properties.into_iter().map(|(_, text, id)| (text, id)).collect(),
            rest: (rest != Rest::default()).then(|| Box::new(rest)),
        };
        let next = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        Ok(*self.nodes.entry(data).or_insert(next))
    }

    fn rest(&mut self, props: Props<'_, '_>) -> Result<Rest, CompileError> {
        let float = |name| props.number(name).map(Float::new);
        let pattern = props.text("pattern");
        let validation = ValidationData {
            format: if props.text("format").is_empty() {
                Text::default()
            } else {
                self.text(props.text("format"))
            },
            maximum: float("maximum"),
            minimum: float("minimum"),
            multiple_of: float("multipleOf"),
            exclusive_maximum: props.flag("exclusiveMaximum"),
            exclusive_minimum: props.flag("exclusiveMinimum"),
            unique_items: props.flag("uniqueItems"),
            max_length: props.int("maxLength"),
            min_length: props.int("minLength"),
            max_items: props.int("maxItems"),
            min_items: props.int("minItems"),
            max_properties: props.int("maxProperties"),
            min_properties: props.int("minProperties"),
            pattern: (!pattern.is_empty()).then(|| self.pattern(pattern)),
            enumeration: props.list("enum").map(|values| values.iter().map(Json::of).collect()),
            required: self.texts(props.strings("required")),
            all_of: self.nodes(props, "allOf")?,
            any_of: self.nodes(props, "anyOf")?,
            one_of: self.nodes(props, "oneOf")?,
            not: props.schema("not").map(|not| self.node(not)).transpose()?,
        };
        let ty = props.text("type");
        Ok(Rest {
            type_name: if Type::of(ty) == Type::Unknown { self.text(ty) } else { Text::default() },
            default: props.get("default").filter(|value| !value.is_null()).map(Json::of),
            list_map_keys: self.texts(props.strings("x-kubernetes-list-map-keys")),
            rules: props.list("x-kubernetes-validations").map_or_else(Box::default, |rules| {
                rules.iter().map(|rule| rule_of(Props::of(rule))).collect()
            }),
            validation,
        })
    }

    fn nodes(&mut self, props: Props<'_, '_>, name: &str) -> Result<Box<[NodeId]>, CompileError> {
        props.schemas(name).map(|schema| self.node(schema)).collect()
    }
}

fn rule_of(rule: Props<'_, '_>) -> Rule {
    Rule {
        rule: rule.text("rule").into(),
        message: rule.text("message").into(),
        message_expression: rule.text("messageExpression").into(),
        reason: rule.get("reason").and_then(Value::as_str).map(Into::into),
        field_path: rule.text("fieldPath").into(),
        optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
    }
}
