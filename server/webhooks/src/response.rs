//! What a webhook answers: read as Kubernetes' clients read it, then looked at whether it answers the question.

use bumpalo::Bump;
use http::header::CONTENT_TYPE;
use ringbolt_machinery::{
    field::quote,
    json,
    status::{Cause, Details, Reason, Status},
    value::{Map, Value},
    yaml,
};
use ringbolt_outgoing::Answer;

use crate::failure::Failure;
use crate::limits::QUOTED_BYTES_MAX;

/// Group of the review.
const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";

/// `response.status`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Result {
    pub(crate) status: Status,
}

/// `AdmissionResponse`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Response {
    uid: String,
    pub(crate) allowed: bool,
    pub(crate) result: Option<Result>,
    pub(crate) patch: Vec<u8>,
    patch_type: Option<String>,
    pub(crate) audit_annotations: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
}

/// An answer as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Review {
    api_version: String,
    kind: String,
    response: Option<Response>,
}

/// The answer to the question `uid` in a version of the review. The patch of an answer is one that can be applied.
pub(crate) fn read(
    answer: &Answer,
    version: &str,
    uid: &str,
    mutating: bool,
) -> std::result::Result<Response, Failure> {
    let review = review(answer, version)?;
    verify(review, version, uid, mutating)
        .map_err(|why| Failure::calling(format!("received invalid webhook response: {why}"), 503))
}

/// What `rest.Result.Into` makes of an answer.
fn review(answer: &Answer, version: &str) -> std::result::Result<Review, Failure> {
    let failed = |why: String, code| Failure::calling(format!("failed to call webhook: {why}"), code);
    let content_type = answer.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    if !(200..=206).contains(&answer.status) {
        let status = said(&answer.body).unwrap_or_else(|| unstructured(answer, content_type));
        return Err(failed(status.message, status.code));
    }
    if answer.body.is_empty() {
        let content_type = if content_type.is_empty() { "application/json" } else { content_type };
        let why =
            format!("0-length response with status code: {} and content type: {content_type}", answer.status);
        return Err(failed(why, 503));
    }
    decode(&answer.body, version).map_err(|why| failed(why, 503))
}

/// The Status of an error that has one.
fn said(body: &[u8]) -> Option<Status> {
    let arena = Bump::new();
    let meta = json::interpret(body).ok()?;
    let kind = if meta.kind.is_empty() { "Status" } else { &meta.kind };
    let version = if meta.api_version.is_empty() { "v1" } else { &meta.api_version };
    if (kind, version) != ("Status", "v1") {
        return None;
    }
    let tree = json::decode_untyped(&arena, body).ok()?;
    let is_failure = tree.str_at(&["status"]) == Some("Failure");
    is_failure.then(|| status(tree.as_map()?).ok()).flatten().map(|result| result.status)
}

/// What its code says of an error that has none.
fn unstructured(answer: &Answer, content_type: &str) -> Status {
    let is_text = content_type.is_empty() || content_type.starts_with("text/");
    let quoted = &answer.body[..answer.body.len().min(QUOTED_BYTES_MAX)];
    let message = match is_text {
        true => String::from_utf8_lossy(quoted).trim().to_owned(),
        false => "unknown".to_owned(),
    };
    Status::generic_server_response(answer.status, "POST", ("", "", ""), &message, 0, true)
}

fn decode(body: &[u8], version: &str) -> std::result::Result<Review, String> {
    // What does not look like JSON is taken for YAML.
    let loaded = match body.trim_ascii_start().first() {
        Some(b'{') => None,
        _ => yaml::to_json(body).ok(),
    };
    let body = loaded.as_ref().map_or(body, |loaded| &loaded.json);
    let meta = json::interpret(body).map_err(|why| why.to_string())?;
    let wanted = format!("{GROUP}/{version}");
    let kind = if meta.kind.is_empty() { KIND } else { &meta.kind };
    let api_version = if meta.api_version.is_empty() { &wanted } else { &meta.api_version };
    let short = api_version.rsplit('/').next().unwrap_or("");
    match (kind, &**api_version) {
        (KIND, "admission.k8s.io/v1" | "admission.k8s.io/v1beta1") => {}
        ("Status", "v1") => {}
        _ => {
            return Err(format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                quote(kind),
                quote(api_version)
            ));
        }
    }
    if kind != KIND || *api_version != wanted {
        return Err(format!("converting ({short}.{kind}) to ({version}.{KIND}): unknown conversion"));
    }
    let arena = Bump::new();
    let tree = json::decode_untyped(&arena, body).map_err(|why| why.to_string())?;
    let response = match tree.path(&["response"]) {
        None | Some(Value::Null) => None,
        Some(Value::Map(map)) => Some(response(map)?),
        Some(other) => return Err(mismatch(other, "AdmissionReview.response", "v1.AdmissionResponse")),
    };
    Ok(Review { api_version: meta.api_version, kind: meta.kind, response })
}

fn mismatch(found: &Value<'_>, field: &str, wanted: &str) -> String {
    let found = found.json_kind();
    format!("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")
}

/// Reads members of a struct.
struct Fields<'v, 'a> {
    map: &'v Map<'a>,
    /// The struct, and the way to it.
    name: &'static str,
}

impl<'v, 'a> Fields<'v, 'a> {
    fn get(&self, member: &str) -> Option<&'v Value<'a>> {
        self.map.get(member).filter(|value| !value.is_null())
    }

    fn wrong<T>(&self, found: &Value<'_>, member: &str, wanted: &str) -> std::result::Result<T, String> {
        Err(mismatch(found, &format!("{}.{member}", self.name), wanted))
    }

    fn text(&self, member: &str, wanted: &str) -> std::result::Result<Option<String>, String> {
        match self.get(member) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some((*text).to_owned())),
            Some(other) => self.wrong(other, member, wanted),
        }
    }

    fn string(&self, member: &str) -> std::result::Result<String, String> {
        Ok(self.text(member, "string")?.unwrap_or_default())
    }

    fn int(&self, member: &str) -> std::result::Result<i64, String> {
        match self.get(member) {
            None => Ok(0),
            Some(Value::Int(n)) if i32::try_from(*n).is_ok() => Ok(*n),
            Some(other) => self.wrong(other, member, "int32"),
        }
    }

    fn map(&self, member: &str, wanted: &str) -> std::result::Result<Option<&'v Map<'a>>, String> {
        match self.get(member) {
            None => Ok(None),
            Some(Value::Map(map)) => Ok(Some(map)),
            Some(other) => self.wrong(other, member, wanted),
        }
    }

    fn list(&self, member: &str, wanted: &str) -> std::result::Result<&'v [Value<'a>], String> {
        match self.get(member) {
            None => Ok(&[]),
            Some(Value::List(list)) => Ok(list),
            Some(other) => self.wrong(other, member, wanted),
        }
    }
}

fn response(map: &Map<'_>) -> std::result::Result<Response, String> {
    let fields = Fields { map, name: "AdmissionResponse.response" };
    let mut annotations = Vec::new();
    for (key, value) in fields.map("auditAnnotations", "map[string]string")?.into_iter().flat_map(Map::iter) {
        match value {
            Value::String(text) => annotations.push((key.to_owned(), (*text).to_owned())),
            Value::Null => annotations.push((key.to_owned(), String::new())),
            other => return fields.wrong(other, "auditAnnotations", "string"),
        }
    }
    let mut warnings = Vec::new();
    for warning in fields.list("warnings", "[]string")? {
        match warning {
            Value::String(text) => warnings.push((*text).to_owned()),
            Value::Null => warnings.push(String::new()),
            other => return fields.wrong(other, "warnings", "string"),
        }
    }
    let patch = match fields.text("patch", "[]uint8")? {
        None => Vec::new(),
        Some(text) => crate::base64::decode(&text)?,
    };
    Ok(Response {
        uid: fields.text("uid", "types.UID")?.unwrap_or_default(),
        allowed: match fields.get("allowed") {
            None => false,
            Some(Value::Bool(allowed)) => *allowed,
            Some(other) => return fields.wrong(other, "allowed", "bool"),
        },
        result: fields.map("status", "v1.Status")?.map(status).transpose()?,
        patch,
        patch_type: fields.text("patchType", "v1.PatchType")?,
        audit_annotations: annotations,
        warnings,
    })
}

fn status(map: &Map<'_>) -> std::result::Result<Result, String> {
    let fields = Fields { map, name: "Status.response.status" };
    let code = fields.int("code")?;
    let details = match fields.map("details", "v1.StatusDetails")? {
        None => None,
        Some(map) => {
            let fields = Fields { map, name: "StatusDetails.response.status.details" };
            let mut causes = Vec::new();
            for cause in fields.list("causes", "[]v1.StatusCause")? {
                let Some(map) = cause.as_map() else {
                    return fields.wrong(cause, "causes", "v1.StatusCause");
                };
                let fields = Fields { map, name: "StatusCause.response.status.details.causes" };
                let (reason, message) = (fields.string("reason")?, fields.string("message")?);
                causes.push(Cause::given(&reason, message, fields.string("field")?));
            }
            Some(Box::new(Details {
                name: fields.string("name")?,
                group: fields.string("group")?,
                kind: fields.string("kind")?,
                uid: fields.string("uid")?,
                causes,
                retry_after_seconds: u32::try_from(fields.int("retryAfterSeconds")?).unwrap_or(0),
            }))
        }
    };
    let status = Status {
        // No code of HTTP is larger.
        code: u16::try_from(code.clamp(0, 999)).unwrap_or(0),
        reason: Reason::of(&fields.string("reason")?),
        message: fields.string("message")?,
        details,
        ..Status::failure(0, Reason::Unknown, "")
    };
    Ok(Result { status })
}

/// What is wrong with an answer that was read (`VerifyAdmissionResponse`). The older version was never looked at closely.
fn verify(review: Review, version: &str, uid: &str, mutating: bool) -> std::result::Result<Response, String> {
    let Some(mut response) = review.response else {
        return Err("webhook response was absent".to_owned());
    };
    if version == "v1beta1" {
        if !mutating {
            response.patch = Vec::new();
        }
        return Ok(response);
    }
    if response.uid != uid {
        return Err(format!("expected response.uid={}, got {}", quote(uid), quote(&response.uid)));
    }
    let (group, v) = review.api_version.split_once('/').unwrap_or(("", &review.api_version));
    if (group, v, &*review.kind) != (GROUP, version, KIND) {
        return Err(format!(
            "expected webhook response of {GROUP}/{version}, Kind={KIND}, got {group}/{v}, Kind={}",
            review.kind
        ));
    }
    match (mutating, response.patch.is_empty(), &response.patch_type) {
        (true, false, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (true, true, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (true, false, Some(kind)) if kind.is_empty() => {
            Err("webhook returned invalid response.patchType of \"\"".to_owned())
        }
        (false, false, _) => Err("validating webhook may not return response.patch".to_owned()),
        (false, _, Some(_)) => Err("validating webhook may not return response.patchType".to_owned()),
        _ => Ok(response),
    }
}

impl Response {
    /// The type of its patch, where that is none that there is.
    pub(crate) fn unknown_patch_type(&self) -> Option<&str> {
        self.patch_type.as_deref().filter(|kind| *kind != "JSONPatch")
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
