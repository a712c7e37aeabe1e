//! Files of one volume that cover each other.

use ringbolt_machinery::{field::quote, value::Map};

use crate::{tree::Members, validation::maps};

/// A file of a volume, and where it comes from.
struct File<'a> {
    path: &'a str,
    source: Source<'a>,
}

/// What a file comes from: nothing to be named, a kind, or something of a kind.
#[derive(Clone, Copy)]
struct Source<'a> {
    kind: &'static str,
    name: Option<&'a str>,
}

impl<'a> Source<'a> {
    fn of(kind: &'static str) -> Self {
        Source { kind, name: None }
    }

    fn named(kind: &'static str, name: &'a str) -> Self {
        Source { kind, name: Some(name) }
    }

    fn shown(self) -> String {
        let Source { kind, name } = self;
        name.map_or_else(|| kind.to_owned(), |name| format!("{kind} {}", quote(name)))
    }
}

impl File<'_> {
    fn shown(&self) -> String {
        match self.source.kind {
            "" => quote(self.path),
            _ => format!("{} ({})", quote(self.path), self.source.shown()),
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
fn items<'a>(holder: &Map<'a>, source: Source<'a>) -> Vec<File<'a>> {
    maps(holder.items("items")).map(|(_, item)| File { path: item.text("path"), source }).collect()
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
        let name = || quote(volume.text("name"));
        let single = [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ];
        for (member, kind, named) in single {
            let Some(source) = volume.child(member) else { continue };
            let of =
                if named.is_empty() { Source::of(kind) } else { Source::named(kind, source.text(named)) };
            collide(&mut Vec::new(), items(source, Source::of("")), |what| {
                warnings.push(format!("volume {} ({}): overlapping paths: {what}", name(), of.shown()));
            });
        }
        let Some(projected) = volume.child("projected") else { continue };
        let mut all = Vec::new();
        for (_, source) in maps(projected.items("sources")) {
            if source.iter().all(|(_, value)| value.is_null()) {
                warnings.push(format!("volume {} (Projected) has no sources provided", name()));
                continue;
            }
            collide(&mut all, projected_files(source), |what| {
                warnings.push(format!("volume {} (Projected): overlapping paths: {what}", name()));
            });
        }
    }
}

/// The files of one source of a projected volume.
fn projected_files<'a>(source: &Map<'a>) -> Vec<File<'a>> {
    let listed = |member: &str| source.child(member).filter(|s| s.has("items"));
    if let Some(map) = listed("configMap") {
        return items(map, Source::named("ConfigMap", map.text("name")));
    }
    if let Some(secret) = listed("secret") {
        return items(secret, Source::named("Secret", secret.text("name")));
    }
    if let Some(downward) = listed("downwardAPI") {
        return items(downward, Source::of("DownwardAPI"));
    }
    if let Some(token) = source.child("serviceAccountToken") {
        return vec![File { path: token.text("path"), source: Source::of("ServiceAccountToken") }];
    }
    if let Some(bundle) = source.child("clusterTrustBundle") {
        let name = if bundle.has("name") { bundle.text("name") } else { bundle.text("signerName") };
        return vec![File { path: bundle.text("path"), source: Source::named("ClusterTrustBundle", name) }];
    }
    let Some(certificate) = source.child("podCertificate") else { return Vec::new() };
    [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ]
    .into_iter()
    .filter(|(member, _)| !certificate.lacks(member))
    .map(|(member, source)| File { path: certificate.text(member), source: Source::of(source) })
    .collect()
}
