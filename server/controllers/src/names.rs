//! The names that `--embedded-controllers` takes.

macro_rules! controllers {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// A controller of kube-controller-manager that the server can run itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Controller {
            $($(#[$doc])* $name,)*
        }

        impl Controller {
            /// All of them with their names.
            pub const ALL: &[(Controller, &str)] = &[$((Controller::$name, $text),)*];
        }
    };
}

controllers! {
    /// Empties namespaces that are being deleted, and lets them go.
    Namespace "namespace",
    /// Gives every namespace its `default` ServiceAccount and the authority of the server's certificate.
    ServiceAccount "serviceaccount",
    /// Deletes what belonged to objects that are gone.
    GarbageCollector "garbagecollector",
    /// Fills the rules of aggregated ClusterRoles.
    ClusterRoleAggregation "clusterroleaggregation",
    /// Counts what quotas limit.
    ResourceQuota "resourcequota",
}

/// Which controllers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controllers(u8);

impl Controllers {
    /// None of them.
    pub const NONE: Controllers = Controllers(0);

    /// All of them.
    pub fn all() -> Self {
        Controller::ALL.iter().fold(Controllers::NONE, |set, (one, _)| set.with(*one))
    }

    /// Those that are named.
    ///
    /// # Errors
    /// What to tell of a name that none has.
    pub fn named(names: &[String]) -> Result<Self, String> {
        let mut set = Controllers::NONE;
        for name in names {
            let Some((one, _)) = Controller::ALL.iter().find(|(_, text)| text == name) else {
                let known: Vec<&str> = Controller::ALL.iter().map(|(_, text)| *text).collect();
                return Err(format!(
                    "--embedded-controllers: there is no controller {name:?}; there are {}",
                    known.join(", ")
                ));
            };
            set = set.with(*one);
        }
        Ok(set)
    }

    /// These and one more.
    pub fn with(self, one: Controller) -> Self {
        Controllers(self.0 | 1 << one as u8)
    }

    /// Whether one is among them.
    pub fn has(self, one: Controller) -> bool {
        self.0 & 1 << one as u8 != 0
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        let named = |list: &str| {
            Controllers::named(&list.split_terminator(',').map(str::to_owned).collect::<Vec<_>>())
        };
        let all = "namespace,serviceaccount,garbagecollector,clusterroleaggregation,resourcequota";
        assert_eq!(named(all), Ok(Controllers::all()));
        assert_eq!(named(""), Ok(Controllers::NONE));
        let two = named("namespace,resourcequota").unwrap();
        assert!(two.has(Controller::Namespace) && two.has(Controller::ResourceQuota));
        assert!(!two.has(Controller::GarbageCollector) && !two.is_empty());
        assert!(named("gc").unwrap_err().contains("\"gc\""));
    }
}
