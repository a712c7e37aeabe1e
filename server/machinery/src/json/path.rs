//! Where a decoder stands: a chain of steps on the stack, spelled out only for errors.

/// One step down.
#[derive(Clone, Copy)]
pub(crate) enum Step<'p> {
    Root,
    /// A struct's field; the name of the struct beside it.
    Field(&'static str, &'static str),
    /// A map key.
    Key(&'p str),
    /// A list index.
    Index(usize),
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
                Step::Field(name, _) | Step::Key(name) => dotted(&mut out, name),
                Step::Index(i) => out.push_str(&format!("[{i}]")),
            }
        }
        dotted(&mut out, field);
        out
    }

    /// Go's text for a value of the wrong type, with the struct and fields that lead here.
    pub(crate) fn mismatch(&self, what: &str, go_type: &str) -> String {
        let mut fields = Vec::new();
        let mut of = "";
        for step in self.steps() {
            if let Step::Field(name, structure) = step {
                fields.push(name);
                of = structure;
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
}
