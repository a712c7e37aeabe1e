//! Names of the admission plugins that the flags may name.

/// All plugins of kube-apiserver 1.37, in the order they run in.
const PLUGINS: [&str; 39] = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
];

/// Refuses names that no plugin has, and plugins both enabled and disabled.
pub fn check(enable: &[String], disable: &[String], errors: &mut Vec<String>) {
    for (flag, names) in [("enable-admission-plugins", enable), ("disable-admission-plugins", disable)] {
        let unknown = names.iter().filter(|name| !PLUGINS.contains(&name.as_str()));
        errors.extend(unknown.map(|name| format!("{flag} plugin {name:?} is unknown")));
    }
    let mut both: Vec<_> = enable.iter().filter(|name| disable.contains(name)).map(String::as_str).collect();
    both.sort_unstable();
    both.dedup();
    if !both.is_empty() {
        let both = both.join(" ");
        errors.push(format!("[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn check() {
        let check = |enable: &str, disable: &str, expect: &[&str]| {
            let names = |list: &str| list.split_terminator(',').map(str::to_owned).collect::<Vec<_>>();
            let mut errors = Vec::new();
            super::check(&names(enable), &names(disable), &mut errors);
            assert_eq!(errors, expect, "{enable} {disable}");
        };
        check("", "", &[]);
        check("NodeRestriction", "ServiceAccount,ServiceAccount", &[]);
        check("noderestriction", "", &[r#"enable-admission-plugins plugin "noderestriction" is unknown"#]);
        check(
            "",
            "X,Y",
            &[
                r#"disable-admission-plugins plugin "X" is unknown"#,
                r#"disable-admission-plugins plugin "Y" is unknown"#,
            ],
        );
        check(
            "RuntimeClass,Priority",
            "Priority,RuntimeClass,Priority",
            &["[Priority RuntimeClass] in enable-admission-plugins and disable-admission-plugins overlapped"],
        );
    }
}
