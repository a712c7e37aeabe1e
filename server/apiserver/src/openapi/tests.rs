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
use ringbolt_machinery::{json::decode_untyped, schema::Schema};

use super::{
    V2_PROTOBUF, V3_PROTOBUF,
    builder::{Document, Documents, Form, Wanted},
    preferred,
};
use crate::limits::OPENAPI_KEPT_BYTES;

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
    Arc::new(Documents::new(Schema::builtin(), true))
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
    let name = documents.names.iter().position(|name| name == "apis/apps/v1").expect("served");
    let wanted = Wanted::V3 { name, form: Form::Json };
    assert!(documents.kept(wanted).is_none(), "nothing is built before it is asked for");
    let (first, second) = (documents.built(wanted), documents.built(wanted));
    let (first, second) = (block_on(first).expect("built"), block_on(second).expect("built"));
    assert!(std::ptr::eq(first.bytes.as_ptr(), second.bytes.as_ptr()), "the same bytes for all who wait");
    let kept = documents.kept(wanted).expect("kept");
    assert!(std::ptr::eq(first.bytes.as_ptr(), kept.bytes.as_ptr()));
    let text = std::str::from_utf8(&kept.bytes).expect("JSON");
    assert!(text.contains("\"description\":\"Number of desired pods."), "with prose");
}

#[test]
fn the_index_has_the_hashes_of_the_documents() {
    let documents = documents();
    let index = get(&documents, Wanted::Index);
    let index = std::str::from_utf8(&index.bytes).expect("JSON").to_owned();
    for (name, text) in documents.names.iter().enumerate().filter(|(at, _)| at % 5 == 0) {
        let json = get(&documents, Wanted::V3 { name, form: Form::Json });
        let protobuf = get(&documents, Wanted::V3 { name, form: Form::Protobuf });
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
            let v3 = (0..documents.names.len()).map(move |name| Wanted::V3 { name, form });
            [Wanted::V2 { form, gzip: false }].into_iter().chain(v3)
        })
        .collect();
    let built: usize = all.iter().map(|wanted| get(&documents, *wanted).bytes.len()).sum();
    assert!(built > OPENAPI_KEPT_BYTES, "the test is about more than is kept: {built}");
    let kept: Vec<_> = all.iter().filter_map(|wanted| documents.kept(*wanted)).collect();
    let bytes: usize = kept.iter().map(|document| document.bytes.len()).sum();
    assert!(bytes <= OPENAPI_KEPT_BYTES, "{bytes}");
    assert!(documents.kept(all[0]).is_none(), "the first one went");
    assert!(documents.kept(all[all.len() - 1]).is_some(), "the last one is there");
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
    // Of the answer of /version, which is no part of what k8s-openapi describes.
    silent.retain(|at| !at.starts_with("io.k8s.apimachinery.pkg.version.Info"));
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
