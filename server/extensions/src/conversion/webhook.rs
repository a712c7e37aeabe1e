//! A webhook that converts objects of one definition.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::{
    conversion::Conversions,
    registry::{Converted, ObjectConvertor},
};
use ringbolt_machinery::json;
use ringbolt_outgoing::{Answer, CallError, Hook};

use super::{
    checks,
    metrics::{Counts, Failure},
    review::{self, ReviewVersion},
};
use crate::limits::{CONVERTED_OBJECT_BYTES_MAX, REVIEW_BYTES_MAX, WEBHOOK_PATIENCE};

/// A conversion webhook.
pub(super) struct Webhook {
    /// Where it is; else why it cannot be called.
    pub(super) hook: Result<Hook, String>,
    /// The version of reviews that it takes; `None` where there is none that this server knows.
    pub(super) review: Option<ReviewVersion>,
    /// Name of the definition.
    pub(super) definition: String,
    /// The kind of the objects.
    pub(super) kind: String,
    pub(super) conversions: Conversions,
    pub(super) counts: Arc<Counts>,
}

/// What the objects of a question became.
type Outcome = Result<Vec<Result<Vec<u8>, String>>, String>;

/// A question that was asked.
struct Asked {
    review: ReviewVersion,
    uid: String,
    objects: Vec<Vec<u8>>,
    /// Group, version and kind of the objects, as errors name them.
    shown: String,
    to: String,
    /// Names for what is counted.
    counted: Counted,
}

/// What a conversion is counted under.
struct Counted {
    counts: Arc<Counts>,
    definition: String,
    from: String,
    to: String,
    since: Instant,
}

impl Counted {
    fn took(&self) -> Duration {
        self.since.elapsed()
    }

    /// Counts an outcome, `None` being a success.
    fn done(&self, failure: Option<Failure>) {
        let took = self.took();
        self.counts.note_request(failure, took);
        self.counts.note((&self.definition, &self.from, &self.to), failure.is_none(), took);
    }
}

/// The version of `GROUP/VERSION`.
fn version(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or(api_version, |(_, version)| version)
}

impl ObjectConvertor for Webhook {
    fn convert(&self, objects: Vec<Vec<u8>>, from: &str, to: &str, done: Converted) {
        let counted = Counted {
            counts: self.counts.clone(),
            definition: self.definition.clone(),
            from: version(from).to_owned(),
            to: version(to).to_owned(),
            since: Instant::now(),
        };
        let Some(review) = self.review else {
            counted.counts.note((&counted.definition, &counted.from, &counted.to), false, counted.took());
            return done(Err("no supported conversion review versions".to_owned()));
        };
        let shown = format!("{from}, Kind={}", self.kind);
        let hook = match &self.hook {
            Ok(hook) => hook,
            Err(why) => {
                counted.done(Some(Failure::Call));
                return done(Err(format!("conversion webhook for {shown} failed: {why}")));
            }
        };
        let uid = self.conversions.uid();
        let question = Bytes::from(review.question(&uid, &objects, to));
        let asked = Asked { review, uid, objects, shown, to: to.to_owned(), counted };
        let most = REVIEW_BYTES_MAX.min((asked.objects.len() + 1) * CONVERTED_OBJECT_BYTES_MAX);
        let conversions = self.conversions.clone();
        let answered = move |answer| conversions.run(move || asked.answered(answer, done));
        hook.post(question, most, WEBHOOK_PATIENCE, answered).detach();
    }
}

impl Asked {
    fn answered(self, answer: Result<Answer, CallError>, done: Converted) {
        let (outcome, failure) = self.outcome(answer);
        self.counted.done(failure);
        done(outcome);
    }

    /// What comes of an answer, and how it is counted.
    fn outcome(&self, answer: Result<Answer, CallError>) -> (Outcome, Option<Failure>) {
        let Asked { review, uid, objects, shown, to, .. } = self;
        let failed = |why: String, failure| {
            (Err(format!("conversion webhook for {shown} failed: {why}")), Some(failure))
        };
        let arena = Bump::new();
        let read =
            answer.map_err(|error| error.text).and_then(|answer| review::read(&arena, *review, &answer));
        let answered = match read {
            Ok(answered) => answered,
            Err(why) => return failed(why, Failure::Call),
        };
        let converted = match review::converted(*review, &answered, uid) {
            Ok(converted) => converted,
            Err(why) => return failed(why, Failure::Malformed),
        };
        if converted.len() != objects.len() {
            let (found, expected) = (converted.len(), objects.len());
            let why = format!("conversion webhook for {shown} returned {found} objects, expected {expected}");
            return (Err(why), Some(Failure::Partial));
        }
        let made: Vec<_> = objects
            .iter()
            .zip(converted)
            .map(|(original, converted)| {
                let arena = Bump::new();
                let original = json::decode_untyped(&arena, original).map_err(|e| e.to_string())?;
                let object = checks::accept(&arena, &original, &converted.copy_into(&arena), (shown, to))?;
                let mut text = Vec::with_capacity(1024);
                json::encode_untyped(&object, &mut text);
                Ok(text)
            })
            .collect();
        let failure = made.iter().any(Result::is_err).then_some(Failure::Object);
        (Ok(made), failure)
    }
}
