//! Admission plugins of the main server, as one static pipeline.
//!
//! All mutating passes run first, then all validating ones, each in the order of [`Plugin::ALL`], which is that of
//! kube-apiserver. A plugin is a module with an `admit` or a `validate`; what is enabled is one bit each.

mod always_pull_images;
mod anti_affinity;
mod certificate_request;
mod certificates;
mod configuration;
mod default_class;
mod event_rate_limit;
mod extended_resources;
mod external_ips;
mod limit_ranger;
mod node_restriction;
mod objects;
mod owner_references;
pub(crate) mod permissions;
mod pod_node_selector;
mod pod_security;
mod pod_tolerations;
mod priority;
mod resource_quota;
mod runtime_class;
mod secret_references;
mod service_account;
mod storage;
mod taints;
mod tolerations;

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_apiserver::{
    admission::{Admission, Attributes, Operation, Survey, dynamic::DynamicPlugins},
    authorization::Authorizers,
    metrics::Metrics,
};
use ringbolt_machinery::{schema::Schema, status::Status, value::Value};
use ringbolt_storage::api::Write;

pub use self::configuration::plugins;
pub(crate) use self::service_account::TOKEN_VOLUMES;
use self::{
    configuration::ConfigurationError,
    event_rate_limit::EventRateLimit,
    objects::Objects,
    owner_references::Owners,
    pod_security::{Configuration as PodSecurityConfiguration, PodSecurity},
};
use crate::{rbac::EscalationCheck, registry::Registry, services::ServiceAddresses};

macro_rules! plugins {
    ($($name:ident $on:literal,)*) => {
        /// An admission plugin of kube-apiserver 1.37. The order is the one they run in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Plugin {
            $(#[doc = stringify!($name)] $name,)*
        }

        impl Plugin {
            /// All of them with their names, and whether they are on by default.
            pub const ALL: &[(Plugin, &str, bool)] = &[$((Plugin::$name, stringify!($name), $on),)*];
        }
    };
}

plugins! {
    AlwaysAdmit false,
    NamespaceAutoProvision false,
    NamespaceLifecycle true,
    NamespaceExists false,
    LimitPodHardAntiAffinityTopology false,
    LimitRanger true,
    ServiceAccount true,
    NodeRestriction false,
    TaintNodesByCondition true,
    AlwaysPullImages false,
    ImagePolicyWebhook false,
    PodSecurity true,
    PodNodeSelector false,
    Priority true,
    DefaultTolerationSeconds true,
    PodTolerationRestriction false,
    EventRateLimit false,
    ExtendedResourceToleration false,
    DefaultStorageClass true,
    StorageObjectInUseProtection true,
    PodGroupProtection true,
    OwnerReferencesPermissionEnforcement false,
    PersistentVolumeClaimResize true,
    RuntimeClass true,
    CertificateApproval true,
    CertificateSigning true,
    ClusterTrustBundleAttest true,
    CertificateSubjectRestriction true,
    DefaultIngressClass true,
    DenyServiceExternalIPs false,
    PodTopologyLabels true,
    NodeDeclaredFeatureValidator true,
    PodResizeValidator true,
    MutatingAdmissionPolicy true,
    MutatingAdmissionWebhook true,
    ValidatingAdmissionPolicy true,
    ValidatingAdmissionWebhook true,
    ResourceQuota true,
    AlwaysDeny false,
}

/// Which plugins run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled(u64);

impl Enabled {
    /// What is on by default, and what `--enable-admission-plugins` and `--disable-admission-plugins` change in it.
    /// Names that no plugin has are not looked at: the flags were checked.
    pub fn new(enable: &[String], disable: &[String]) -> Self {
        let named = |list: &[String], name: &str| list.iter().any(|n| n == name);
        let on = |(_, name, default): &&(Plugin, &str, bool)| {
            named(enable, name) || (*default && !named(disable, name))
        };
        Enabled(Plugin::ALL.iter().filter(on).fold(0, |bits, (plugin, ..)| bits | 1 << *plugin as u64))
    }

    /// Whether a plugin runs.
    pub fn has(self, plugin: Plugin) -> bool {
        self.0 & 1 << plugin as u64 != 0
    }
}

/// What plugins are set up by besides flags: `--admission-control-config-file`.
#[derive(Clone, Debug, Default)]
pub struct Configurations {
    pod_security: PodSecurityConfiguration,
    pod_node_selector: pod_node_selector::Configuration,
    pod_tolerations: pod_tolerations::Configuration,
    event_rate_limit: event_rate_limit::Configuration,
}

impl Configurations {
    /// Those of the plugins that are enabled, as [`plugins`] found their texts. What is wrong with them goes to
    /// `errors`, in the words of kube-apiserver.
    pub fn new(enabled: Enabled, texts: &[(String, Vec<u8>)], errors: &mut Vec<String>) -> Self {
        let mut read = Configurations::default();
        for (plugin, name, _) in Plugin::ALL.iter().filter(|(plugin, ..)| enabled.has(*plugin)) {
            let text = texts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_slice());
            if let Err(why) = read.set(*plugin, text) {
                errors.push(why.of(name));
            }
        }
        read
    }

    fn set(&mut self, plugin: Plugin, text: Option<&[u8]>) -> Result<(), ConfigurationError> {
        match (plugin, text) {
            (Plugin::PodSecurity, Some(text)) => self.pod_security = PodSecurityConfiguration::read(text)?,
            (Plugin::PodNodeSelector, Some(text)) => {
                self.pod_node_selector = pod_node_selector::Configuration::read(text);
            }
            (Plugin::PodTolerationRestriction, Some(text)) => {
                self.pod_tolerations = pod_tolerations::Configuration::read(text)?;
            }
            // It is of no use without one, and says so.
            (Plugin::EventRateLimit, text) => {
                self.event_rate_limit = event_rate_limit::Configuration::read(text)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// What the flags say of admission.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which plugins run.
    pub enabled: Enabled,
    /// `--default-not-ready-toleration-seconds`.
    pub not_ready_seconds: i64,
    /// `--default-unreachable-toleration-seconds`.
    pub unreachable_seconds: i64,
    /// `--admission-control-config-file`.
    pub configurations: Configurations,
}

/// What AlwaysDeny says to everybody.
const DENIED: &str = "admission control is denying all modifications";

/// The pipeline.
pub struct Pipeline {
    config: Config,
    objects: Objects,
    addresses: ServiceAddresses,
    authorizers: Arc<Authorizers>,
    escalation: EscalationCheck,
    pod_security: PodSecurity,
    event_rate_limit: EventRateLimit,
    owners: Owners,
    dynamic: Arc<DynamicPlugins>,
}

impl Pipeline {
    /// The plugins of a server with these resources. Some let through what the authorizers do.
    pub fn new(
        schema: &'static Schema,
        registry: &Registry,
        config: Config,
        authorizers: Arc<Authorizers>,
    ) -> Self {
        Pipeline {
            authorizers,
            escalation: EscalationCheck::new(schema, registry),
            pod_security: PodSecurity::new(config.configurations.pod_security.clone()),
            event_rate_limit: EventRateLimit::new(&config.configurations.event_rate_limit),
            owners: Owners::new(registry),
            config,
            objects: Objects::new(schema, registry),
            addresses: ServiceAddresses::new(schema, registry),
            dynamic: Arc::default(),
        }
    }

    /// With policies and webhooks.
    #[must_use]
    pub fn with_dynamic(mut self, dynamic: DynamicPlugins) -> Self {
        self.dynamic = Arc::new(dynamic);
        self
    }

    /// Shows what plugins count.
    pub fn register(&self, metrics: &Metrics) {
        if self.config.enabled.has(Plugin::PodSecurity) {
            self.pod_security.register(metrics);
        }
    }
}

impl Admission for Pipeline {
    fn admit<'a>(
        &self,
        attributes: &Attributes<'_>,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let on = |plugin| self.config.enabled.has(plugin);
        let (objects, set_up) = (&self.objects, &self.config.configurations);
        if on(Plugin::LimitRanger) {
            limit_ranger::admit(objects, attributes, arena, object, old);
        }
        if on(Plugin::ServiceAccount) {
            service_account::admit(objects, attributes, arena, object)?;
        }
        if on(Plugin::NodeRestriction) {
            node_restriction::admit(objects, &self.authorizers, attributes, arena, Some(object), old)?;
        }
        if on(Plugin::TaintNodesByCondition) {
            taints::admit(attributes, arena, object);
        }
        if on(Plugin::AlwaysPullImages) {
            always_pull_images::admit(attributes, arena, object, old);
        }
        if on(Plugin::PodNodeSelector) {
            pod_node_selector::admit(&set_up.pod_node_selector, objects, attributes, arena, object)?;
        }
        if on(Plugin::Priority) {
            priority::admit(objects, attributes, arena, object, old)?;
        }
        if on(Plugin::DefaultTolerationSeconds) {
            tolerations::admit(&self.config, attributes, arena, object);
        }
        if on(Plugin::PodTolerationRestriction) {
            pod_tolerations::admit(&set_up.pod_tolerations, objects, attributes, arena, object)?;
        }
        if on(Plugin::ExtendedResourceToleration) {
            extended_resources::admit(attributes, arena, object);
        }
        if on(Plugin::DefaultStorageClass) {
            default_class::admit_claim(objects, attributes, arena, object);
        }
        if on(Plugin::StorageObjectInUseProtection) {
            storage::protect(attributes, arena, object);
        }
        if on(Plugin::RuntimeClass) {
            runtime_class::admit(objects, attributes, arena, object)?;
        }
        if on(Plugin::DefaultIngressClass) {
            default_class::admit_ingress(objects, attributes, arena, object);
        }
        if on(Plugin::AlwaysDeny) {
            return Err(attributes.forbidden(DENIED));
        }
        Ok(())
    }

    fn confirm_no_escalation(
        &self,
        attributes: &Attributes<'_>,
        requested: &str,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<(&Value<'_>, u64)>,
    ) -> Result<(), Status> {
        self.escalation.confirm(&self.authorizers, attributes, requested, arena, object, old)
    }

    fn confirm_create(&self, attributes: &Attributes<'_>, requested: &str) -> Result<(), Status> {
        permissions::confirm_create(&self.authorizers, attributes, requested)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        arena: &Bump,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let on = |plugin| self.config.enabled.has(plugin);
        let (objects, authorizers) = (&self.objects, &*self.authorizers);
        let set_up = &self.config.configurations;
        // A delete has no mutating half here.
        if on(Plugin::NodeRestriction) && attributes.operation == Operation::Delete {
            node_restriction::admit(objects, authorizers, attributes, arena, None, old)?;
        }
        if on(Plugin::LimitPodHardAntiAffinityTopology) {
            anti_affinity::validate(attributes, object)?;
        }
        if on(Plugin::LimitRanger) {
            limit_ranger::validate(objects, attributes, arena, object, old)?;
        }
        if on(Plugin::ServiceAccount) {
            service_account::validate(objects, attributes, arena, object)?;
        }
        if on(Plugin::AlwaysPullImages) {
            always_pull_images::validate(attributes, object, old)?;
        }
        if on(Plugin::PodSecurity) {
            self.pod_security.validate(objects, attributes, object, old)?;
        }
        if on(Plugin::PodNodeSelector) {
            pod_node_selector::validate(&set_up.pod_node_selector, objects, attributes, object)?;
        }
        if on(Plugin::Priority) {
            priority::validate(objects, attributes, object)?;
        }
        if on(Plugin::PodTolerationRestriction) {
            pod_tolerations::validate(&set_up.pod_tolerations, objects, attributes, arena, object)?;
        }
        if on(Plugin::EventRateLimit) {
            self.event_rate_limit.validate(attributes, object)?;
        }
        if on(Plugin::OwnerReferencesPermissionEnforcement) {
            self.owners.validate(authorizers, attributes, object, old)?;
        }
        if on(Plugin::PersistentVolumeClaimResize) {
            storage::validate_resize(objects, attributes, object, old)?;
        }
        if on(Plugin::RuntimeClass) {
            runtime_class::validate(objects, attributes, arena, object)?;
        }
        if on(Plugin::CertificateApproval) {
            certificates::approve(authorizers, attributes, old)?;
        }
        if on(Plugin::CertificateSigning) {
            certificates::sign(authorizers, attributes, object, old)?;
        }
        if on(Plugin::ClusterTrustBundleAttest) {
            certificates::attest(authorizers, attributes, object, old)?;
        }
        if on(Plugin::CertificateSubjectRestriction) {
            certificates::restrict_subject(attributes, object)?;
        }
        if on(Plugin::DenyServiceExternalIPs) {
            external_ips::validate(attributes, object, old)?;
        }
        Ok(())
    }

    fn charge(
        &self,
        attributes: &Attributes<'_>,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<&Value<'_>>,
    ) -> Result<Vec<Write>, Status> {
        let mut charges = self.addresses.charges(attributes, object, old);
        if self.config.enabled.has(Plugin::ResourceQuota) {
            charges.extend(resource_quota::charge(&self.objects, attributes, arena, object, old)?);
        }
        if self.config.enabled.has(Plugin::AlwaysDeny) {
            return Err(attributes.forbidden(DENIED));
        }
        Ok(charges)
    }

    fn dynamic(&self) -> Option<Arc<DynamicPlugins>> {
        self.dynamic.are_configured().then(|| self.dynamic.clone())
    }

    fn survey(
        &self,
        attributes: &Attributes<'_>,
        object: &Value<'_>,
        old: &Value<'_>,
    ) -> Option<Box<dyn Survey>> {
        let is_on = self.config.enabled.has(Plugin::PodSecurity);
        is_on.then(|| self.pod_security.survey(&self.objects, attributes, object, old)).flatten()
    }

    fn may_pass_soon(&self, refusal: &Status) -> bool {
        self.config.enabled.has(Plugin::ServiceAccount) && service_account::may_pass_soon(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_the_defaults() {
        let names = |list: &str| list.split_terminator(',').map(str::to_owned).collect::<Vec<_>>();
        let check = |enable: &str, disable: &str, plugin: Plugin, expect: bool| {
            assert_eq!(
                Enabled::new(&names(enable), &names(disable)).has(plugin),
                expect,
                "{enable} {disable}"
            );
        };
        check("", "", Plugin::Priority, true);
        check("", "Priority", Plugin::Priority, false);
        check("", "", Plugin::NodeRestriction, false);
        check("NodeRestriction", "", Plugin::NodeRestriction, true);
        check("", "ServiceAccount", Plugin::ResourceQuota, true);
    }
}
