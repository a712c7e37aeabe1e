//! Files of one volume that cover each other.

use ringbolt_machinery::{field::quote, value::Map};

use crate::{tree::Members, validation::maps};

/// A file of a volume, and where it comes from.
#[derive(Clone, PartialEq, Eq)]
struct File<'a> {
    path: &'a str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        match self.source.as_str() {
            "" => quote(self.path),
            source => format!("{} ({source})", quote(self.path)),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let within = |long: &str, short: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !other.path.is_empty() && (within(other.path, self.path) || within(self.path, other.path))
    }
}

/// Files that a volume's list of items makes.
fn items<'a>(holder: &Map<'a>, source: &str) -> Vec<File<'a>> {
    let files = maps(holder.items("items"));
    files.map(|(_, item)| File { path: item.text("path"), source: source.to_owned() }).collect()
}

/// Says which of `files` lie on one of `before`, and adds them to it.
fn collide<'a>(before: &mut Vec<File<'a>>, files: Vec<File<'a>>, mut say: impl FnMut(String)) {
    for mut file in files {
        file.path = file.path.trim_end_matches('/');
        if !file.path.is_empty() {
            for other in before.iter().filter(|other| file.covers(other)) {
                say(format!("{} with {}", file.shown(), other.shown()));
            }
        }
        before.push(file);
    }
}

/// Volumes whose files cover each other.
pub(super) fn overlaps(spec: &Map<'_>, warnings: &mut Vec<String>) {
    for (_, volume) in maps(spec.items("volumes")) {
        let name = quote(volume.text("name"));
        let single = [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ];
        for (member, kind, named) in single {
            let Some(source) = volume.child(member) else { continue };
            let kind = if named.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind} {}", quote(source.text(named)))
            };
            collide(&mut Vec::new(), items(source, ""), |what| {
                warnings.push(format!("volume {name} ({kind}): overlapping paths: {what}"));
            });
        }
        let Some(projected) = volume.child("projected") else { continue };
        let mut all = Vec::new();
        for (_, source) in maps(projected.items("sources")) {
            if source.iter().all(|(_, value)| value.is_null()) {
                warnings.push(format!("volume {name} (Projected) has no sources provided"));
                continue;
            }
            collide(&mut all, projected_files(source), |what| {
                warnings.push(format!("volume {name} (Projected): overlapping paths: {what}"));
            });
        }
    }
}

/// The files of one source of a projected volume.
fn projected_files<'a>(source: &Map<'a>) -> Vec<File<'a>> {
    let listed = |member: &str| source.child(member).filter(|s| s.has("items"));
    if let Some(map) = listed("configMap") {
        return items(map, &format!("ConfigMap {}", quote(map.text("name"))));
    }
    if let Some(secret) = listed("secret") {
        return items(secret, &format!("Secret {}", quote(secret.text("name"))));
    }
    if let Some(downward) = listed("downwardAPI") {
        return items(downward, "DownwardAPI");
    }
    if let Some(token) = source.child("serviceAccountToken") {
        return vec![File { path: token.text("path"), source: "ServiceAccountToken".to_owned() }];
    }
    if let Some(bundle) = source.child("clusterTrustBundle") {
        let name = if bundle.has("name") { bundle.text("name") } else { bundle.text("signerName") };
        return vec![File {
            path: bundle.text("path"),
            source: format!("ClusterTrustBundle {}", quote(name)),
        }];
    }
    let Some(certificate) = source.child("podCertificate") else { return Vec::new() };
    [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ]
    .into_iter()
    .filter(|(member, _)| !certificate.lacks(member))
    .map(|(member, source)| File { path: certificate.text(member), source: source.to_owned() })
    .collect()
}
