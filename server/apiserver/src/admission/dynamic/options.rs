//! The options of a request as dynamic plugins see them.

use ringbolt_machinery::json::quote::write_string;
use ringbolt_protocol::query::CreateOptions;

/// Options of the request, as the members of the JSON object without what it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationOptions(String);

impl OperationOptions {
    /// Those of a create, an update or a patch: `force` is an apply's alone, and not told.
    pub(crate) fn of_write(given: &CreateOptions<'_>) -> Self {
        let mut options = Builder::default();
        options.strings("dryRun", &given.dry_run);
        options.string("fieldManager", &given.field_manager);
        options.string("fieldValidation", &given.field_validation);
        OperationOptions(options.finish())
    }

    /// The options as one of the kinds of `meta.k8s.io/v1`.
    pub(crate) fn as_kind(&self, kind: &str) -> String {
        format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"meta.k8s.io/v1\"{}}}", self.0)
    }

    /// Those that a builder has written.
    pub(crate) fn of(builder: Builder) -> Self {
        OperationOptions(builder.finish())
    }
}

/// Writes members that are not empty, each with a comma before it.
#[derive(Default)]
pub(crate) struct Builder(Vec<u8>);

impl Builder {
    fn name(&mut self, name: &str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    /// A string, unless it is empty.
    pub(crate) fn string(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.name(name);
            write_string(&mut self.0, value);
        }
    }

    /// A list of strings, unless it is empty.
    pub(crate) fn strings<S: AsRef<str>>(&mut self, name: &str, values: &[S]) {
        if values.is_empty() {
            return;
        }
        self.name(name);
        for (i, value) in values.iter().enumerate() {
            self.0.push(if i == 0 { b'[' } else { b',' });
            write_string(&mut self.0, value.as_ref());
        }
        self.0.push(b']');
    }

    /// What is JSON already.
    pub(crate) fn json(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.name(name);
            self.0.extend_from_slice(value.to_string().as_bytes());
        }
    }

    /// An object of members, unless there are none.
    pub(crate) fn object(&mut self, name: &str, members: Builder) {
        if let [b',', rest @ ..] = &*members.0 {
            self.name(name);
            self.0.push(b'{');
            self.0.extend_from_slice(rest);
            self.0.push(b'}');
        }
    }

    fn finish(self) -> String {
        String::from_utf8(self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_members_are_left_out() {
        let check = |options: OperationOptions, expect: &str| {
            assert_eq!(options.as_kind("CreateOptions"), expect);
        };
        check(
            OperationOptions::of_write(&CreateOptions::default()),
            r#"{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}"#,
        );
        check(
            OperationOptions::of_write(&CreateOptions::parse(
                "dryRun=All&fieldManager=a%22b&fieldValidation=Strict",
            )),
            r#"{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"],"fieldManager":"a\"b","fieldValidation":"Strict"}"#,
        );
    }
}
