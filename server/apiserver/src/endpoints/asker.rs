//! Who creates something that is not stored, through admission: bindings, evictions, tokens.

use std::cell::RefCell;

use bumpalo::Bump;
use ringbolt_machinery::{status::Status, value::Value};
use ringbolt_protocol::query::CreateOptions;

use super::resource::ResourceStore;
use crate::{
    admission::{
        Attributes, Operation,
        dynamic::{Call, Dynamic, OperationOptions},
    },
    authentication::UserInfo,
    core::CoreContext,
    request::Request,
};

/// Whose create it is, and what of.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'r> {
    pub(crate) core: &'r CoreContext,
    pub(crate) user: &'r UserInfo,
    pub(crate) namespace: &'r str,
    /// The name in the path.
    pub(crate) name: &'r str,
    /// The subresource in the path.
    pub(crate) subresource: &'static str,
    pub(crate) warnings: &'r RefCell<Vec<String>>,
    pub(crate) dry_run: bool,
    /// What is configured of dynamic admission.
    dynamic: Option<&'r Dynamic>,
}

/// The same, kept while something is waited for.
pub(crate) struct KeptAsker {
    core: CoreContext,
    user: UserInfo,
    namespace: String,
    name: String,
    subresource: &'static str,
    warnings: RefCell<Vec<String>>,
    dry_run: bool,
    dynamic: Box<Dynamic>,
}

impl<'r> Asker<'r> {
    /// Of a request, where nothing dynamic is configured.
    pub(crate) fn of(request: &Request<'r>, subresource: &'static str, dry_run: bool) -> Self {
        Asker {
            core: request.core,
            user: request.user,
            namespace: request.info.namespace,
            name: request.info.name,
            subresource,
            warnings: request.warnings,
            dry_run,
            dynamic: None,
        }
    }

    /// What plugins of admission know of it: a subresource of `of`.
    pub(crate) fn attributes(self, of: &'r ResourceStore) -> Attributes<'r> {
        Attributes {
            operation: Operation::Create,
            served: &of.served,
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            user: self.user,
            dry_run: self.dry_run,
            storage: &*self.core.storage,
            warnings: self.warnings,
        }
    }

    /// The mutating phase of admission; the chain is that of `of`.
    pub(crate) async fn admit<'a>(
        self,
        attributes: &Attributes<'_>,
        of: &ResourceStore,
        kind: &ResourceStore,
        arena: &'a Bump,
        object: &mut Value<'a>,
    ) -> Result<(), Status> {
        match self.dynamic {
            None => of.admission.admit(attributes, arena, object, None),
            Some(dynamic) => {
                let (core, name) = (self.core, attributes.name);
                let call = Call { attributes, core, store: of, kind, name, built_in: true };
                dynamic.admit(call, arena, Some(object), None).await
            }
        }
    }

    /// The validating phase.
    pub(crate) async fn validate(
        self,
        attributes: &Attributes<'_>,
        of: &ResourceStore,
        kind: &ResourceStore,
        arena: &Bump,
        object: &Value<'_>,
    ) -> Result<(), Status> {
        match self.dynamic {
            None => of.admission.validate(attributes, arena, Some(object), None),
            Some(dynamic) => {
                let (core, name) = (self.core, attributes.name);
                let call = Call { attributes, core, store: of, kind, name, built_in: true };
                dynamic.validate(call, arena, Some(object), None).await
            }
        }
    }
}

impl KeptAsker {
    /// Of a request to `of`, where anything dynamic is configured.
    pub(crate) fn of(
        request: &Request<'_>,
        of: &ResourceStore,
        subresource: &'static str,
        dry_run: bool,
    ) -> Option<Self> {
        let options = || OperationOptions::of_write(&CreateOptions::parse(request.head.query()));
        Some(KeptAsker {
            dynamic: Dynamic::of(of, request, options)?,
            core: request.core.clone(),
            user: request.user.clone(),
            namespace: request.info.namespace.to_owned(),
            name: request.info.name.to_owned(),
            subresource,
            warnings: RefCell::default(),
            dry_run,
        })
    }

    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker {
            core: &self.core,
            user: &self.user,
            namespace: &self.namespace,
            name: &self.name,
            subresource: self.subresource,
            warnings: &self.warnings,
            dry_run: self.dry_run,
            dynamic: Some(&self.dynamic),
        }
    }

    /// What the client is warned of.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}
