//! Which form a client gets, and documents that are built once for all who wait.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use bumpalo::Bump;
use ringbolt_machinery::{json::decode_untyped, openapi::Contents, schema::Schema};

use super::{
    V2_PROTOBUF, V3_PROTOBUF,
    builder::{Document, Documents, Form, Source, Wanted},
    preferred,
};
use crate::{
    limits::OPENAPI_KEPT_BYTES,
    live::{
        Contributions, GroupVersion, Live, OpenApi, OpenApiSource, Owner, Routes, V2Part,
        facts::VersionFacts, priorities::Priority,
    },
    response::{Outcome, Response},
};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        assert!(Instant::now() < end, "never woken");
        thread::park_timeout(Duration::from_secs(120));
    }
}

fn documents() -> Arc<Documents> {
    Documents::new(Schema::builtin(), true, &live())
}

fn live() -> Live {
    let live = Live::default();
    live.add_built_in(Schema::builtin(), |resource| resource.on_by_default);
    live
}

fn v3(name: &str, form: Form) -> Wanted {
    Wanted::V3 { name: name.into(), form }
}

fn get(documents: &Arc<Documents>, wanted: Wanted) -> Document {
    block_on(documents.built(wanted)).expect("built")
}

#[test]
fn the_form_that_is_liked_best() {
    let v2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let v3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    let cases: [(&str, &str, Option<Form>); 13] = [
        ("", V2_PROTOBUF, Some(Form::Json)),
        ("*/*", V2_PROTOBUF, Some(Form::Json)),
        ("application/json", V2_PROTOBUF, Some(Form::Json)),
        (v2, V2_PROTOBUF, Some(Form::Protobuf)),
        (V2_PROTOBUF, V2_PROTOBUF, Some(Form::Protobuf)),
        (v3, V3_PROTOBUF, Some(Form::Protobuf)),
        (v3, V2_PROTOBUF, None),
        (v2, V3_PROTOBUF, None),
        ("text/html", V3_PROTOBUF, None),
        ("text/html, application/*;q=0.5", V3_PROTOBUF, Some(Form::Json)),
        (
            "application/json;q=0.5, application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            V3_PROTOBUF,
            Some(Form::Protobuf),
        ),
        (
            "*/*, application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            V3_PROTOBUF,
            Some(Form::Protobuf),
        ),
        (
            "application/json, application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            V3_PROTOBUF,
            Some(Form::Json),
        ),
    ];
    for (accept, protobuf, form) in cases {
        assert_eq!(preferred(accept, protobuf), form, "{accept}");
    }
}

#[test]
fn a_document_is_built_once_and_kept() {
    let documents = documents();
    let wanted = v3("apis/apps/v1", Form::Json);
    assert!(documents.kept(&wanted).is_none(), "nothing is built before it is asked for");
    let (first, second) = (documents.built(wanted.clone()), documents.built(wanted.clone()));
    let (first, second) = (block_on(first).expect("built"), block_on(second).expect("built"));
    assert!(std::ptr::eq(first.bytes.as_ptr(), second.bytes.as_ptr()), "the same bytes for all who wait");
    let kept = documents.kept(&wanted).expect("kept");
    assert!(std::ptr::eq(first.bytes.as_ptr(), kept.bytes.as_ptr()));
    let text = std::str::from_utf8(&kept.bytes).expect("JSON");
    assert!(text.contains("\"description\":\"Number of desired pods."), "with prose");
}

#[test]
fn the_index_has_the_hashes_of_the_documents() {
    let documents = documents();
    let index = get(&documents, Wanted::Index);
    let index = std::str::from_utf8(&index.bytes).expect("JSON").to_owned();
    for text in documents.names().iter().step_by(5) {
        let json = get(&documents, v3(text, Form::Json));
        let protobuf = get(&documents, v3(text, Form::Protobuf));
        assert_eq!(json.hash, protobuf.hash);
        assert_ne!(json.bytes, protobuf.bytes);
        assert!(index.contains(&format!("/openapi/v3/{text}?hash={}", json.hash)), "{text}");
    }
}

#[test]
fn forms_of_v2_have_one_hash() {
    let documents = documents();
    let packed = get(&documents, Wanted::V2 { form: Form::Protobuf, gzip: true });
    let protobuf = get(&documents, Wanted::V2 { form: Form::Protobuf, gzip: false });
    let json = get(&documents, Wanted::V2 { form: Form::Json, gzip: false });
    assert_eq!((&packed.hash, &protobuf.hash), (&json.hash, &json.hash));
    assert!(packed.bytes.starts_with(&[0x1F, 0x8B]) && packed.bytes.len() < protobuf.bytes.len() / 3);
}

#[test]
fn what_is_kept_is_bounded() {
    let documents = documents();
    let all: Vec<_> = [Form::Json, Form::Protobuf]
        .into_iter()
        .flat_map(|form| {
            let v3 = documents.names().into_iter().map(move |name| Wanted::V3 { name, form });
            [Wanted::V2 { form, gzip: false }].into_iter().chain(v3)
        })
        .collect();
    let built: usize = all.iter().map(|wanted| get(&documents, wanted.clone()).bytes.len()).sum();
    assert!(built > OPENAPI_KEPT_BYTES, "the test is about more than is kept: {built}");
    let kept: Vec<_> = all.iter().filter_map(|wanted| documents.kept(wanted)).collect();
    let bytes: usize = kept.iter().map(|document| document.bytes.len()).sum();
    assert!(bytes <= OPENAPI_KEPT_BYTES, "{bytes}");
    assert!(documents.kept(&all[0]).is_none(), "the first one went");
    assert!(documents.kept(&all[all.len() - 1]).is_some(), "the last one is there");
}

/// A document that says which one it is.
struct Says(&'static str);

impl OpenApiSource for Says {
    fn v3(&self, _: &Contents<'_>) -> Option<Vec<u8>> {
        Some(format!("{{\"openapi\":\"{}\"}}", self.0).into_bytes())
    }

    fn v2(&self, _: &Contents<'_>) -> V2Part {
        V2Part { paths: vec![(format!("/{}", self.0), b"{}".to_vec())], ..V2Part::default() }
    }
}

fn version(group: &'static str, openapi: OpenApi) -> Arc<GroupVersion> {
    let facts = VersionFacts { group: group.into(), version: "v1".into(), ..VersionFacts::default() };
    let routes = Routes::Resources(Vec::new());
    Arc::new(GroupVersion::new(facts, Priority::CUSTOM, routes, Some(openapi)))
}

fn says(group: &'static str, text: &'static str) -> Arc<GroupVersion> {
    version(group, OpenApi::Source(Arc::new(Says(text))))
}

#[test]
fn documents_come_and_go() {
    let live = live();
    let documents = Documents::new(Schema::builtin(), true, &live);
    let publish = |versions| live.replace(Owner::Extensions, Contributions { versions, services: None });
    let text = |wanted| String::from_utf8(get(&documents, wanted).bytes.to_vec()).expect("JSON");
    let has = |name: &str| documents.source(name).is_some();
    let before = (text(Wanted::Index), text(Wanted::V2 { form: Form::Json, gzip: false }));

    let kept = says("b.io", "same");
    publish(vec![says("a.io", "first"), kept.clone(), says("apps", "hidden")]);
    assert!(has("apis/a.io/v1") && !has("apis/a.io") && !has("apis/a.io/v2"));
    assert_eq!(text(v3("apis/a.io/v1", Form::Json)), "{\"openapi\":\"first\"}");
    assert_eq!(text(v3("apis/b.io/v1", Form::Json)), "{\"openapi\":\"same\"}");
    assert!(text(v3("apis/apps/v1", Form::Json)).len() > 100_000, "what is built in stays");
    assert_eq!(&get(&documents, v3("apis/a.io/v1", Form::Protobuf)).bytes[..], b"\x0a\x05first");
    let hash = get(&documents, v3("apis/a.io/v1", Form::Json)).hash;
    let index = text(Wanted::Index);
    assert!(index.contains(&format!(
        "\"apis/a.io/v1\":{{\"serverRelativeURL\":\"/openapi/v3/apis/a.io/v1?hash={hash}\"}}"
    )));
    let v2 = text(Wanted::V2 { form: Form::Json, gzip: false });
    assert!(v2.contains("\"/first\":{}") && v2.contains("\"/same\":{}") && !v2.contains("\"/hidden\""));

    publish(vec![says("a.io", "second"), kept]);
    assert!(documents.kept(&v3("apis/b.io/v1", Form::Json)).is_some(), "what stays is kept");
    for gone in [v3("apis/a.io/v1", Form::Json), Wanted::Index, Wanted::V2 { form: Form::Json, gzip: false }]
    {
        assert!(documents.kept(&gone).is_none(), "{gone:?}");
    }
    assert_eq!(text(v3("apis/a.io/v1", Form::Json)), "{\"openapi\":\"second\"}");
    assert!(!text(Wanted::Index).contains(&*hash));

    publish(Vec::new());
    assert!(!has("apis/a.io/v1"));
    assert_eq!(before, (text(Wanted::Index), text(Wanted::V2 { form: Form::Json, gzip: false })));
}

#[test]
fn documents_of_other_servers() {
    let live = live();
    let documents = Documents::new(Schema::builtin(), true, &live);
    let remote = OpenApi::Remote {
        url: "/openapi/v3/apis/r.io/v1?hash=FF".to_owned(),
        v3: Arc::new(|_| Outcome::Ready(Response::default())),
        v2: Arc::new(V2Part { paths: vec![("/remote".to_owned(), b"{}".to_vec())], ..V2Part::default() }),
    };
    let versions = vec![version("r.io", remote)];
    live.replace(Owner::Aggregator, Contributions { versions, services: None });
    assert!(matches!(documents.source("apis/r.io/v1"), Some(Source::Remote(_))));
    let index = get(&documents, Wanted::Index);
    let index = std::str::from_utf8(&index.bytes).expect("JSON");
    assert!(index.contains("\"apis/r.io/v1\":{\"serverRelativeURL\":\"/openapi/v3/apis/r.io/v1?hash=FF\"}"));
    let v2 = get(&documents, Wanted::V2 { form: Form::Json, gzip: false });
    assert!(std::str::from_utf8(&v2.bytes).expect("JSON").contains("\"/remote\":{}"));
}

/// What a release brings must not go undescribed unnoticed: what has no description is here by name.
#[test]
fn all_but_these_are_described() {
    let v2 = get(&documents(), Wanted::V2 { form: Form::Json, gzip: false });
    let arena = Bump::new();
    let document = decode_untyped(&arena, &v2.bytes).expect("JSON");
    let definitions = document.path(&["definitions"]).and_then(|d| d.as_map()).expect("definitions");
    let mut silent = Vec::new();
    let mut described = 0;
    for (name, schema) in definitions.iter() {
        let properties = schema.path(&["properties"]).and_then(|p| p.as_map());
        let properties = properties.into_iter().flat_map(|p| p.iter());
        let all = properties.map(|(property, schema)| (format!("{name}.{property}"), schema));
        for (at, schema) in all.chain([((*name).to_owned(), schema)]) {
            match schema.str_at(&["description"]) {
                Some(text) if !text.is_empty() => described += 1,
                _ => silent.push(at),
            }
        }
    }
    // Of the answer of /version, which is no part of what k8s-openapi describes, and of JSON schemas, which nobody
    // describes.
    let undescribed = [
        "io.k8s.apimachinery.pkg.version.Info",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation.",
    ];
    silent.retain(|at| !undescribed.iter().any(|name| at.starts_with(name)));
    silent.sort();
    assert_eq!(
        silent,
        [
            "io.k8s.api.certificates.v1.CertificateSigningRequest.metadata",
            "io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource.group",
            "io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource.resource",
            "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent.object",
            "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent.type",
        ]
    );
    assert!(described > 2500, "{described}");
}
