//! Questions to authorizers.

use ringbolt_machinery::validation::names::{dns1123_label_errors, dns1123_subdomain_errors};

use crate::{
    authorizer::{Asked, Question, ResourceCheck, Subject, Target},
    eval::Context,
    regex_syntax::Regex,
    value::Val,
};

fn question<'a>(cx: &Context<'a>, question: Question<'a>) -> Val<'a> {
    Val::Question(cx.owned(question))
}

pub(super) fn path<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Question(Question::Authorizer(asked)), Val::String(path)] = args else {
        return cx.no_overload("path", args);
    };
    if path.trim().is_empty() {
        return Val::Error("path must not be empty");
    }
    question(cx, Question::Path(*asked, path))
}

pub(super) fn group<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Question(Question::Authorizer(asked)), Val::String(group)] = args else {
        return cx.no_overload("group", args);
    };
    question(cx, Question::Group(*asked, group))
}

pub(super) fn service_account<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Question(Question::Authorizer(asked)), Val::String(namespace), Val::String(name)] = args else {
        return cx.no_overload("serviceAccount", args);
    };
    if !dns1123_subdomain_errors(name).is_empty() {
        return Val::Error("Invalid service account name");
    }
    if !dns1123_label_errors(namespace).is_empty() {
        return Val::Error("Invalid service account namespace");
    }
    let who = Subject::ServiceAccount { namespace, name };
    question(cx, Question::Authorizer(Asked { authorizer: asked.authorizer, who }))
}

pub(super) fn resource<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Question(Question::Group(asked, group)), Val::String(resource)] = args else {
        return cx.no_overload("resource", args);
    };
    if resource.trim().is_empty() {
        return Val::Error("resource must not be empty");
    }
    question(cx, Question::Resource(*asked, ResourceCheck { group, resource, ..ResourceCheck::default() }))
}

/// A question about less of the resource.
pub(super) fn refine<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let [Val::Question(Question::Resource(asked, check)), Val::String(value)] = args else {
        return cx.no_overload(name, args);
    };
    let mut check = *check;
    *match name {
        "subresource" => &mut check.subresource,
        "namespace" => &mut check.namespace,
        "name" => &mut check.name,
        "fieldSelector" => &mut check.field_selector,
        _ => &mut check.label_selector,
    } = value;
    question(cx, Question::Resource(*asked, check))
}

pub(super) fn check<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (asked, target, verb) = match args {
        [Val::Question(Question::Path(asked, path)), Val::String(verb)] => (asked, Target::Path(path), verb),
        [Val::Question(Question::Resource(asked, check)), Val::String(verb)] => {
            (asked, Target::Resource(*check), verb)
        }
        _ => return cx.no_overload("check", args),
    };
    let decision = asked.authorizer.authorize(asked.who, target, verb);
    let reason = cx.arena.alloc_str(&decision.reason);
    let error = decision.error.map(|error| &*cx.arena.alloc_str(&error));
    question(cx, Question::Decision { allowed: decision.allowed, reason, error })
}

/// What the authorizers said.
pub(super) fn told<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let [Val::Question(Question::Decision { allowed, reason, error })] = args else {
        return cx.no_overload(name, args);
    };
    match name {
        "errored" => Val::Bool(error.is_some()),
        "error" => Val::String(error.unwrap_or("")),
        "allowed" => Val::Bool(*allowed),
        _ => Val::String(reason),
    }
}
