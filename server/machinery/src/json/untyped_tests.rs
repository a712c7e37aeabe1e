//! What `sigs.k8s.io/json` makes of bytes where there is no type, and what encoding that again gives: each case is the
//! bytes in base64, and the JSON with its strict errors, or the error.

use ::base64::Engine;
use bumpalo::Bump;

use super::*;

#[test]
fn as_go() {
    let mut wrong = Vec::new();
    for line in include_str!("untyped.jsonl").lines() {
        let [bytes, expect]: [String; 2] = serde_json::from_str(line).unwrap();
        let bytes = ::base64::engine::general_purpose::STANDARD.decode(bytes).unwrap();
        let arena = Bump::new();
        let found = match decode_untyped_strict(&arena, &bytes, Mode::Strict) {
            Err(error) => format!("error: {error}"),
            // Go decoded into a map: null makes it nil, and nothing else fits.
            Ok(decoded) => match decoded.value {
                Value::Map(_) => {
                    let mut out = Vec::new();
                    encode_untyped(&decoded.value, &mut out);
                    let strict = decoded.strict_errors.iter().map(|error| format!(" | {error}"));
                    String::from_utf8(out).unwrap() + &strict.collect::<String>()
                }
                Value::Null => "null".to_owned(),
                other => format!(
                    "error: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    other.json_kind()
                ),
            },
        };
        if found != expect {
            wrong.push(format!("{:?}: {found}, expected {expect}", String::from_utf8_lossy(&bytes)));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
