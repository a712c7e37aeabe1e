//! Those who ask.

/// A user and its groups, as authentication would give them.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

impl User {
    /// The headers by which an administrator becomes this user.
    pub(super) fn headers(&self) -> String {
        let groups = self.groups.iter().map(|group| format!("Impersonate-Group: {group}\r\n"));
        format!("Impersonate-User: {}\r\n{}", self.name, groups.collect::<String>())
    }
}

fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().chain(&["system:authenticated"]).map(|g| (*g).to_owned()).collect();
    User { name: name.to_owned(), groups }
}

/// Forty of them: people with and without groups, accounts, parts of the system, and nobody.
pub(crate) fn users() -> Vec<User> {
    let mut all: Vec<User> = (0..12).map(|n| user(&format!("user-{n}"), &[])).collect();
    let teams: [&[&str]; 12] = [
        &["team-0"],
        &["team-1"],
        &["team-2"],
        &["team-3"],
        &["team-0", "team-1"],
        &["team-1", "team-0"],
        &["team-2", "team-3", "nobody"],
        &["team-0", "team-1", "team-2", "team-3"],
        &["user-0"],
        &["nobody"],
        &["team-3", "team-3"],
        &["system:monitoring"],
    ];
    all.extend((0..12).map(|n| user(&format!("member-{n}"), teams[n])));
    for (namespace, name) in [
        ("matrix-a", "bot"),
        ("matrix-b", "bot"),
        ("matrix-c", "bot"),
        ("matrix-a", "reader"),
        ("matrix-b", "reader"),
        ("default", "bot"),
    ] {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        let name = format!("system:serviceaccount:{namespace}:{name}");
        all.push(user(&name, &["system:serviceaccounts", &of_namespace]));
    }
    // By name an account, by nothing else.
    all.push(user("system:serviceaccount:matrix-a:reader", &[]));
    all.push(user("system:serviceaccount:matrix-a", &[]));
    all.push(user("system:kube-scheduler", &[]));
    all.push(user("system:kube-controller-manager", &[]));
    all.push(user("system:kube-proxy", &[]));
    all.push(user("bootstrap", &["system:bootstrappers:kubeadm:default-node-token"]));
    all.push(user("administrator", &["system:masters"]));
    all.push(user("boss", &["kubeadm:cluster-admins", "masters"]));
    all.push(user("o\"<ther>&", &["team-0"]));
    all.push(User { name: "system:anonymous".to_owned(), groups: vec!["system:unauthenticated".to_owned()] });
    all
}
