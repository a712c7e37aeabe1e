//! ConversionReviews: what a webhook is asked, and what its answer says.

use bumpalo::Bump;
use ringbolt_machinery::{
    json::{self, TypeMeta, quote},
    status::Status,
    value::Value,
    yaml,
};
use ringbolt_outgoing::Answer;

/// The group of reviews.
const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "ConversionReview";
/// How the real server names its table of kinds, in errors.
const SCHEME: &str = "in scheme \"pkg/runtime/scheme.go:111\"";

/// A version of the review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// By its name; `None` for one that there is not.
    pub(super) fn named(name: &str) -> Option<Self> {
        [ReviewVersion::V1, ReviewVersion::V1Beta1].into_iter().find(|version| version.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1Beta1 => "v1beta1",
        }
    }

    /// The question about objects, which are JSON.
    pub(super) fn question(self, uid: &str, objects: &[Vec<u8>], desired: &str) -> Vec<u8> {
        let room = objects.iter().map(|object| object.len() + 1).sum::<usize>() + 256;
        let mut text = Vec::with_capacity(room);
        text.extend_from_slice(b"{\"kind\":\"ConversionReview\",\"apiVersion\":\"");
        text.extend_from_slice(format!("{GROUP}/{}", self.name()).as_bytes());
        text.extend_from_slice(b"\",\"request\":{\"uid\":");
        quote::write_string(&mut text, uid);
        text.extend_from_slice(b",\"desiredAPIVersion\":");
        quote::write_string(&mut text, desired);
        text.extend_from_slice(b",\"objects\":[");
        for (at, object) in objects.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            text.extend_from_slice(object);
        }
        text.extend_from_slice(b"]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{}}}\n");
        text
    }
}

/// The body of an answer as a tree, where it is a review of the version; else what is wrong with it, in the words of the
/// client of the real server.
pub(super) fn read<'a>(
    arena: &'a Bump,
    version: ReviewVersion,
    answer: &Answer,
) -> Result<Value<'a>, String> {
    let content_type = answer.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or("");
    if !(200..=206).contains(&answer.status) {
        return Err(refusal(answer, content_type));
    }
    if answer.body.is_empty() {
        let shown = if content_type.is_empty() { "application/json" } else { content_type };
        return Err(format!(
            "0-length response with status code: {} and content type: {shown}",
            answer.status
        ));
    }
    let text: &'a [u8] = match answer.body.trim_ascii_start().first() {
        Some(b'{' | b'[') => arena.alloc_slice_copy(&answer.body),
        // Whatever it may be, the decoder of the real server reads YAML as well.
        _ => match yaml::to_json(&answer.body) {
            Ok(loaded) => arena.alloc_slice_copy(&loaded.json),
            Err(_) => arena.alloc_slice_copy(&answer.body),
        },
    };
    let meta = json::interpret(text).map_err(|e| e.to_string())?;
    check_kind(version, &meta)?;
    let review = json::decode_untyped(arena, text).map_err(|e| e.to_string())?;
    // A review of the older version may say nothing of itself.
    if version == ReviewVersion::V1 && (meta.kind.is_empty() || meta.api_version.is_empty()) {
        let said = match meta.api_version.split_once('/') {
            Some(_) => meta.api_version.clone(),
            None => format!("/{}", meta.api_version),
        };
        return Err(format!(
            "expected webhook response of {GROUP}/v1, Kind={KIND}, got {said}, Kind={}",
            meta.kind
        ));
    }
    Ok(review)
}

/// Whether a body is what was asked for, as far as it says what it is.
fn check_kind(version: ReviewVersion, meta: &TypeMeta) -> Result<(), String> {
    let TypeMeta { kind, api_version } = meta;
    let own = format!("{GROUP}/{}", version.name());
    let kind = if kind.is_empty() { KIND } else { kind };
    let said = if api_version.is_empty() { &own } else { api_version };
    if kind == KIND && *said == own {
        return Ok(());
    }
    let (group, said_version) = said.split_once('/').unwrap_or(("", said));
    let is_known = match group {
        GROUP => kind == KIND && ReviewVersion::named(said_version).is_some(),
        "" => said_version == "v1" && kind == "Status",
        _ => false,
    };
    Err(match is_known {
        true => {
            format!("converting ({said_version}.{kind}) to ({}.{KIND}): unknown conversion", version.name())
        }
        false => format!("no kind \"{kind}\" is registered for version \"{said}\" {SCHEME}"),
    })
}

/// What an answer says that is none: a Status in it, or what its code means.
fn refusal(answer: &Answer, content_type: &str) -> String {
    const TOLD_MAX: usize = 2048;
    let arena = Bump::new();
    let body = json::decode_untyped(&arena, arena.alloc_slice_copy(&answer.body)).unwrap_or(Value::Null);
    if body.str_at(&["kind"]) == Some("Status") && body.str_at(&["status"]) == Some("Failure") {
        return body.str_at(&["message"]).unwrap_or("").to_owned();
    }
    let told = match content_type.is_empty() || content_type.starts_with("text/") {
        true => {
            let told = &answer.body[..answer.body.len().min(TOLD_MAX)];
            String::from_utf8_lossy(told).trim().to_owned()
        }
        false => "unknown".to_owned(),
    };
    Status::generic_server_response(answer.status, "POST", ("", "", ""), &told, 0, true).message
}

/// The objects of a review's response, where it says that it did what it was asked to.
pub(super) fn converted<'v, 'a>(
    version: ReviewVersion,
    review: &'v Value<'a>,
    uid: &str,
) -> Result<&'v [Value<'a>], String> {
    let response = review.path(&["response"]).filter(|response| !response.is_null());
    let response = response.ok_or("no response provided")?;
    let unreadable = |what: &str, value: &Value<'_>, ty: &str| {
        format!("json: cannot unmarshal {} into Go struct field {what} of type {ty}", value.json_kind())
    };
    let name = version.name();
    let Some(members) = response.as_map() else {
        return Err(unreadable("ConversionReview.response", response, &format!("{name}.ConversionResponse")));
    };
    let said = members.get("uid").and_then(Value::as_str).unwrap_or("");
    // The older version has no such rule.
    if version == ReviewVersion::V1 && said != uid {
        return Err(format!("expected response.uid={}, got {}", quote::go_quote(uid), quote::go_quote(said)));
    }
    let text = |name: &str| response.str_at(&["result", name]).unwrap_or("");
    match (text("status"), text("message")) {
        ("Success", _) => {}
        (status, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => return Err(message.to_owned()),
    }
    match members.get("convertedObjects") {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::List(objects)) => Ok(objects),
        Some(other) => {
            Err(unreadable("ConversionResponse.response.convertedObjects", other, "[]runtime.RawExtension"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions() {
        let objects = [b"{\"a\":1}".to_vec(), b"{}".to_vec()];
        let text = ReviewVersion::V1Beta1.question("u", &objects, "ex.io/v2");
        assert_eq!(
            String::from_utf8(text).unwrap(),
            concat!(
                r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","request":{"uid":"u","#,
                r#""desiredAPIVersion":"ex.io/v2","objects":[{"a":1},{}]},"response":{"uid":"","convertedObjects":null,"result":{}}}"#,
                "\n"
            )
        );
        assert_eq!(ReviewVersion::named("v1"), Some(ReviewVersion::V1));
        assert_eq!(ReviewVersion::named("v2"), None);
    }

    /// As kube-apiserver 1.37.2 reads them.
    #[test]
    fn answers() {
        const JSON: &str = "application/json";
        let check = |version, (status, kind, body): (u16, &str, &str), expect: Result<usize, &str>| {
            let arena = Bump::new();
            let mut answer =
                Answer { status, headers: Default::default(), body: body.as_bytes().to_vec().into() };
            if !kind.is_empty() {
                answer.headers.insert("content-type", kind.parse().unwrap());
            }
            let review = read(&arena, version, &answer);
            let found = review.as_ref().map_err(String::clone);
            let found = found.and_then(|review| converted(version, review, "u")).map(<[_]>::len);
            assert_eq!(found.as_ref().map(|len| *len).map_err(String::as_str), expect, "{body}");
        };
        let (v1, old) = (ReviewVersion::V1, ReviewVersion::V1Beta1);
        let review = |version: &str, response: &str| {
            format!(
                r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/{version}","response":{response}}}"#
            )
        };
        let good = r#"{"uid":"u","result":{"status":"Success"},"convertedObjects":[{},{}]}"#;
        check(v1, (200, JSON, &review("v1", good)), Ok(2));
        check(v1, (200, "text/html", &review("v1", good)), Ok(2));
        check(
            v1,
            (
                200,
                "",
                "kind: ConversionReview\napiVersion: apiextensions.k8s.io/v1\nresponse: {uid: u, result: {status: Success}}\n",
            ),
            Ok(0),
        );
        check(
            v1,
            (200, JSON, &review("v1beta1", good)),
            Err("converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"),
        );
        let nameless = good.replace("\"u\"", "\"z\"");
        check(v1, (200, JSON, &review("v1", &nameless)), Err(r#"expected response.uid="u", got "z""#));
        check(old, (200, JSON, &review("v1beta1", &nameless)), Ok(2));
        let unkind = format!(r#"{{"apiVersion":"apiextensions.k8s.io/v1","response":{good}}}"#);
        check(
            v1,
            (200, JSON, &unkind),
            Err(
                "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=",
            ),
        );
        check(old, (200, JSON, &unkind.replace("/v1\"", "/v1beta1\"")), Ok(2));
        check(v1, (200, JSON, &review("v1", "null")), Err("no response provided"));
        check(
            v1,
            (200, JSON, &review("v1", r#"{"uid":"u"}"#)),
            Err("response.result.status was '', not 'Success'"),
        );
        check(
            v1,
            (200, JSON, &review("v1", r#"{"uid":"u","result":{"status":"Failure","message":"no"}}"#)),
            Err("no"),
        );
        check(
            v1,
            (200, JSON, r#"{"kind":"Foo","apiVersion":"apiextensions.k8s.io/v1"}"#),
            Err(
                "no kind \"Foo\" is registered for version \"apiextensions.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
            ),
        );
        check(
            old,
            (200, JSON, r#"{"kind":"Status","apiVersion":"v1","status":"Failure"}"#),
            Err("converting (v1.Status) to (v1beta1.ConversionReview): unknown conversion"),
        );
        check(
            v1,
            (200, JSON, ""),
            Err("0-length response with status code: 200 and content type: application/json"),
        );
        let server = "an error on the server (\"unknown\") has prevented the request from succeeding";
        check(v1, (500, JSON, r#"{"a":1}"#), Err(server));
        check(v1, (500, "text/plain", "boom\n"), Err(&server.replace("unknown", "boom")));
        check(v1, (500, JSON, r#"{"kind":"Status","status":"Failure","message":"why"}"#), Err("why"));
        check(v1, (404, "text/plain", "x"), Err("the server could not find the requested resource"));
        check(
            v1,
            (302, "text/plain", "x"),
            Err("the server responded with the status code 302 but did not return more information"),
        );
    }
}
