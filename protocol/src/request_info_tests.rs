//! Tests of [`super::RequestInfo`], the table of cases that apiserver's own factory answers the same way.

use super::*;

/// `input` is `METHOD path[?query]`; `expect` is `verb prefix/group/version ns:resource/name/subresource [parts]`,
/// or `verb -` for a path that is no resource.
fn check(input: &str, expect: &str) {
    let (method, target) = input.split_once(' ').expect("method and target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut scratch = Vec::new();
    let info = RequestInfo::with_scratch(method, path, query, &mut scratch);
    let shown = match &info {
        Err(error) => error.to_string(),
        Ok(info) if !info.is_resource_request => format!("{} -", info.verb),
        Ok(info) => format!(
            "{} {}/{}/{} {}:{}/{}/{} [{}]",
            info.verb,
            info.api_prefix,
            info.api_group,
            info.api_version,
            info.namespace,
            info.resource,
            info.name,
            info.subresource,
            info.parts.as_slice().join(" ")
        ),
    };
    assert_eq!(shown, expect, "{input}");
    if let Ok(info) = info {
        assert_eq!(info.path, path);
    }
}

#[test]
fn paths_that_are_no_resource() {
    check("GET /", "get -");
    check("GET ", "get -");
    check("GET /api", "get -");
    check("GET /api/", "get -");
    check("GET /api/v1", "get -");
    check("GET /api/v1/", "get -");
    check("GET /apis", "get -");
    check("GET /apis/apps", "get -");
    check("GET /apis/apps/v1", "get -");
    check("GET /apis/apps/v1/", "get -");
    check("GET /healthz/ping/deep/down", "get -");
    check("POST /healthz", "post -");
    check("DELETE /metrics", "delete -");
    check("HEAD /version", "head -");
    check("OPTIONS /", "options -");
    check("FOO /openapi/v3/api/v1", "other -");
    check("GET /foo/v1/pods", "get -");
}

#[test]
fn verbs_of_resources() {
    check("GET /api/v1/nodes/n", "get api//v1 :nodes/n/ [nodes n]");
    check("HEAD /api/v1/nodes/n", "get api//v1 :nodes/n/ [nodes n]");
    check("GET /api/v1/nodes", "list api//v1 :nodes// [nodes]");
    check("HEAD /api/v1/nodes", "list api//v1 :nodes// [nodes]");
    check("GET /api/v1/nodes?watch=true", "watch api//v1 :nodes// [nodes]");
    check("POST /api/v1/nodes", "create api//v1 :nodes// [nodes]");
    check("PUT /api/v1/nodes/n", "update api//v1 :nodes/n/ [nodes n]");
    check("PATCH /api/v1/nodes/n", "patch api//v1 :nodes/n/ [nodes n]");
    check("DELETE /api/v1/nodes/n", "delete api//v1 :nodes/n/ [nodes n]");
    check("DELETE /api/v1/nodes", "deletecollection api//v1 :nodes// [nodes]");
    check("OPTIONS /api/v1/nodes", " api//v1 :nodes// [nodes]");
    check("FOO /api/v1/nodes", " api//v1 :nodes// [nodes]");
    check("GET /api/v1/watch/pods", "watch api//v1 :pods// [pods]");
    check("GET /api/v1/watch/namespaces/a/pods/p", "watch api//v1 a:pods/p/ [pods p]");
    check("POST /api/v1/watch/pods", "watch api//v1 :pods// [pods]");
    check("GET /api/v1/proxy/namespaces/a/pods/p/x", "proxy api//v1 a:pods/p/ [pods p x]");
    check("GET /api/v1/watch?x=y", "unable to determine kind and namespace from url, /api/v1/watch?x=y");
    check(
        "GET /apis/apps/v1/proxy/",
        "unable to determine kind and namespace from url, /apis/apps/v1/proxy/",
    );
}

#[test]
fn namespaces_and_subresources() {
    check("GET /api/v1/namespaces", "list api//v1 :namespaces// [namespaces]");
    check("GET /api/v1/namespaces/a", "get api//v1 a:namespaces/a/ [namespaces a]");
    check("GET /api/v1/namespaces/a/status", "get api//v1 a:namespaces/a/status [namespaces a status]");
    check(
        "PUT /api/v1/namespaces/a/finalize",
        "update api//v1 a:namespaces/a/finalize [namespaces a finalize]",
    );
    check("GET /api/v1/namespaces/a/pods", "list api//v1 a:pods// [pods]");
    check("GET /api/v1/namespaces/a/pods/p", "get api//v1 a:pods/p/ [pods p]");
    check("GET /api/v1/namespaces/a/pods/p/log", "get api//v1 a:pods/p/log [pods p log]");
    check(
        "GET /apis/apps/v1/namespaces/a/deployments/d/scale",
        "get apis/apps/v1 a:deployments/d/scale [deployments d scale]",
    );
    check("GET /apis/apps/v1/deployments", "list apis/apps/v1 :deployments// [deployments]");
    check(
        "GET /api/v1/namespaces/a/services/s/proxy/x/y",
        "get api//v1 a:services/s/proxy [services s proxy x y]",
    );
}

#[test]
fn slashes() {
    check("GET //api/v1/pods", "list api//v1 :pods// [pods]");
    check("GET /api/v1/pods/", "list api//v1 :pods// [pods]");
    check("GET /api/v1/namespaces//configmaps", "list api//v1 :configmaps// [configmaps]");
    check("GET /api//pods/x", "get api// :pods/x/ [pods x]");
    check("GET /api/v1//pods", "get api//v1 :/pods/ [ pods]");
    check(
        "GET /api/v1/namespaces/a/configmaps/%2e%2e",
        "get api//v1 a:configmaps/%2e%2e/ [configmaps %2e%2e]",
    );
    check(
        "GET /api/v1/nodes/n/proxy/1/2/3/4/5/6/7/8",
        "get api//v1 :nodes/n/proxy [nodes n proxy 1 2 3 4 5]",
    );
}

#[test]
fn watch_parameter() {
    for (query, verb) in [
        ("watch", "watch"),
        ("watch=", "watch"),
        ("watch=maybe", "watch"),
        ("watch=1", "watch"),
        ("watch=0", "list"),
        ("watch=False", "list"),
        ("watch=0&watch=1", "list"),
        ("watch=true&limit=abc", "watch"),
        ("allowWatchBookmarks=true", "list"),
        ("w%61tch=true", "watch"),
        ("watch=%zz", "list"),
        ("watch;=1", "list"),
    ] {
        check(&format!("GET /api/v1/pods?{query}"), &format!("{verb} api//v1 :pods// [pods]"));
    }
    check("GET /api/v1/pods/p?watch=true", "get api//v1 :pods/p/ [pods p]");
}

#[test]
fn name_of_a_field_selector() {
    let list = |query: &str, name: &str| {
        check(&format!("GET /api/v1/pods?{query}"), &format!("list api//v1 :pods/{name}/ [pods]"));
    };
    list("fieldSelector=metadata.name=p", "p");
    list("fieldSelector=metadata.name%3Dp", "p");
    list("fieldSelector=metadata.name%3D%3Dp", "p");
    list("fieldSelector=metadata.name%3Dsystem%3Anode", "system:node");
    list("fieldSelector=spec.nodeName%3Dn%2Cmetadata.name%3Dp", "p");
    list("fieldSelector=metadata.name%3Db,metadata.name%3Da", "a");
    list("field%53elector=metadata.name%3Da&fieldSelector=metadata.name%3Db", "a");
    list("fieldSelector=%zz&fieldSelector=metadata.name%3Db", "b");
    list("fieldSelector=metadata.name!=p", "");
    list("fieldSelector=metadata.name=..", "");
    list("fieldSelector=metadata.name=a/b", "");
    list("fieldSelector=metadata.name=a%2525", "");
    list("fieldSelector=metadata.name", "");
    list("fieldSelector=metadata.name=a=b", "");
    list("fieldSelector=metadata.name=a,bogus", "");
    list("limit=x&fieldSelector=metadata.name=p", "");
    list("labelSelector=!!&fieldSelector=metadata.name=p", "");
    list("labelSelector=a%3Db&fieldSelector=metadata.name=p", "p");
    check("GET /api/v1/pods/q?fieldSelector=metadata.name=p", "get api//v1 :pods/q/ [pods q]");
    check("DELETE /api/v1/pods?fieldSelector=metadata.name=p", "deletecollection api//v1 :pods// [pods]");
}

#[test]
fn borrows_the_name_without_scratch() {
    let name = |query: &'static str| RequestInfo::new("GET", "/api/v1/pods", query).expect("a resource").name;
    assert_eq!(name("fieldSelector=metadata.name%3Dp1"), "p1");
    assert_eq!(name("fieldSelector=metadata.name=p1"), "p1");
    // Written with escapes, it cannot be borrowed.
    assert_eq!(name("fieldSelector=metadata.name%3Dsystem%3Anode"), "");
}

#[test]
fn default_is_empty() {
    let info = RequestInfo::default();
    assert!(!info.is_resource_request);
    assert_eq!((info.path, info.verb, info.parts.len()), ("", Verb::Get, 0));
}

#[test]
fn fields_that_are_selected_by() {
    let check = |input: &str, expect: bool| {
        let (method, target) = input.split_once(' ').expect("method and target");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let info = RequestInfo::new(method, path, query).expect("a well-formed path");
        assert_eq!(info.fields.require("spec.nodeName", "n"), expect, "{input}");
    };
    check("GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn", true);
    check("GET /api/v1/pods?fieldSelector=spec.nodeName%3D%3Dn,metadata.name%3Da", true);
    check("GET /api/v1/pods?watch=1&fieldSelector=spec.nodeName=n", true);
    check("DELETE /api/v1/namespaces/d/pods?fieldSelector=spec.nodeName=n", true);
    check("GET /api/v1/pods?limit=x&fieldSelector=spec.nodeName=n", true);
    check("GET /api/v1/pods?fieldSelector=spec.nodeName!%3Dn", false);
    check("GET /api/v1/pods?fieldSelector=spec.nodeName=m", false);
    check("GET /api/v1/pods?fieldSelector=spec.nodeName=n,x", false);
    check("GET /api/v1/pods?fieldSelector=&fieldSelector=spec.nodeName=n", false);
    check("GET /api/v1/pods", false);
    check("GET /api/v1/watch/pods?fieldSelector=spec.nodeName=n", false);
    check("GET /api/v1/namespaces/d/pods/a?fieldSelector=spec.nodeName=n", false);
    check("POST /api/v1/namespaces/d/pods?fieldSelector=spec.nodeName=n", false);

    let term = |equals| FieldRequirement { field: "f".to_owned(), value: "v".to_owned(), equals };
    assert!(SelectedFields::Terms(&[term(false), term(true)]).require("f", "v"));
    assert!(!SelectedFields::Terms(&[term(false)]).require("f", "v"));
}
