//! Where a decoder stands: a chain of steps on the stack, spelled out only for errors.

use std::borrow::Cow;

use crate::schema::{Composite, Field, Schema, Type};

/// One step down.
#[derive(Clone, Copy)]
pub(crate) enum Step<'p> {
    Root,
    /// A struct's field; the name of the struct beside it.
    Field(&'p Field, &'static str),
    /// A field that no Schema knows.
    Plain(&'static str),
    /// A map key.
    Key(&'p str),
    /// A list index.
    Index(usize),
    /// Into a value that decodes itself: for errors all that is below belongs to the field that leads there.
    Itself,
}

/// A chain of steps.
pub(crate) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

impl Path<'static> {
    pub(crate) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };
}

impl<'p> Path<'p> {
    pub(crate) fn then<'q>(&'q self, step: Step<'q>) -> Path<'q>
    where
        'p: 'q,
    {
        Path { parent: Some(self), step }
    }

    fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            steps.push(path.step);
            at = path.parent;
        }
        steps.reverse();
        steps
    }

    /// The path of `field` here, as strict errors give it.
    pub(crate) fn field(&self, field: &str) -> String {
        let mut out = String::new();
        let dotted = |out: &mut String, name: &str| {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(name);
        };
        for step in self.steps() {
            match step {
                Step::Root => {}
                Step::Field(field, _) => dotted(&mut out, field.name),
                Step::Plain(name) | Step::Key(name) => dotted(&mut out, name),
                Step::Index(i) => out.push_str(&format!("[{i}]")),
                Step::Itself => {}
            }
        }
        dotted(&mut out, field);
        out
    }

    /// Go's text for a value of the wrong type, with the struct and fields that lead here.
    pub(crate) fn mismatch(&self, what: &str, go_type: &str) -> String {
        let mut fields = Vec::new();
        let mut of = "";
        let mut inside = false;
        for step in self.steps() {
            match step {
                Step::Field(field, structure) => {
                    fields.extend(embedded(structure, field));
                    fields.push(field.name);
                    if !inside {
                        of = structure;
                    }
                }
                Step::Itself => inside = true,
                Step::Plain(name) => fields.push(name),
                _ => {}
            }
        }
        if fields.is_empty() {
            return format!("json: cannot unmarshal {what} into Go value of type {go_type}");
        }
        format!(
            "json: cannot unmarshal {what} into Go struct field {of}.{} of type {go_type}",
            fields.join(".")
        )
    }

    /// The Go type of what stands here, as the innermost field names it.
    pub(crate) fn go_type(&self, schema: &Schema, ty: Type) -> String {
        let steps = self.steps();
        let Some(last) = steps.iter().rposition(|step| matches!(step, Step::Field(..))) else {
            return schema.go_type_of(ty).into_owned();
        };
        let Step::Field(field, _) = steps[last] else {
            return schema.go_type_of(ty).into_owned();
        };
        let mut of = field.ty;
        let mut name: String = schema.go_type(field).into_owned();
        for _ in &steps[last + 1..] {
            let Type::Composite(id) = of else { break };
            let (Composite::List(element) | Composite::Map(element)) = schema.composite(id);
            name = match schema.go_element_type(&name, element) {
                Cow::Borrowed(text) => text.to_owned(),
                Cow::Owned(text) => text,
            };
            of = element.ty;
        }
        name
    }
}

/// Names of the embedded Go structs that a field stands in, outermost first: Go's errors have them in the path,
/// though JSON does not.
fn embedded(of: &str, field: &Field) -> impl Iterator<Item = &'static str> {
    let names: &'static [&'static str] = match of {
        "Volume" => &["VolumeSource"],
        "PersistentVolumeSpec" => &["PersistentVolumeSource"],
        "Probe" => &["ProbeHandler"],
        "EphemeralContainer" => &["EphemeralContainerCommon"],
        "NamedRuleWithOperations" => &["RuleWithOperations", "Rule"],
        "RuleWithOperations" => &["Rule"],
        "IngressRule" => &["IngressRuleValue"],
        "DeviceAllocationConfiguration" | "DeviceClaimConfiguration" | "DeviceClassConfiguration" => {
            &["DeviceConfiguration"]
        }
        "ConfigMapEnvSource"
        | "ConfigMapKeySelector"
        | "ConfigMapProjection"
        | "ConfigMapVolumeSource"
        | "SecretEnvSource"
        | "SecretKeySelector"
        | "SecretProjection" => &["LocalObjectReference"],
        _ => &[],
    };
    let type_meta = matches!(field.name, "kind" | "apiVersion") && field.proto == 0;
    // A message of its own in protobuf for each.
    type_meta.then_some("TypeMeta").into_iter().chain(names.iter().copied().take(field.proto_path.len()))
}
