//! What a device of a slice offers: attributes, capacities with what may be asked of them, counters that devices share,
//! and the conditions that binding a pod to it waits for.

use ringbolt_machinery::{
    field::{FieldError, child, index, key},
    quantity::{Format, Quantity},
    validation::names::{c_identifier_errors, dns1123_label_errors, qualified_name_errors},
    value::{Map, Value},
};

use super::{
    super::{Errors, csi_driver_name, each_invalid, maps},
    parts::Found,
};
use crate::{
    quantity,
    tree::{Members, same},
};

/// Limits of the API: of attributes and capacities together, of a text, of a name without its domain, and of a whole
/// name where it is shown.
const OFFERS_MAX: usize = 32;
const TEXT_MAX: usize = 64;
const ID_MAX: usize = 32;
const SHOWN_MAX: usize = LABEL_MAX + 1 + ID_MAX;
/// Values that can be chosen from.
const OPTIONS_MAX: usize = 10;
/// A DNS label.
const LABEL_MAX: usize = 63;
/// Counters of one set.
const COUNTERS_MAX: usize = 32;
/// Conditions of either kind.
const CONDITIONS_MAX: usize = 4;
/// The kinds of values of an attribute, as they are declared. Lists belong to a feature that is off.
const KINDS: [&str; 4] = ["int", "bool", "string", "version"];
const ALL_KINDS: &str = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";

/// Attributes, and capacities where they are new.
pub(super) fn attributes_and_capacities(
    device: &Map<'_>,
    was: Option<&Map<'_>>,
    path: &str,
    found: &mut Found,
) {
    let (attributes, capacity) = (entries(device, "attributes"), entries(device, "capacity"));
    let count = attributes.len() + capacity.len();
    if count > OFFERS_MAX {
        let why = format!("the total number of attributes and capacities must not exceed {OFFERS_MAX}");
        found.errors.push(FieldError::invalid(path, count as i64, why));
    }
    let at = child(path, "attributes");
    for (name, value) in attributes {
        qualified(name, &at, &mut found.errors);
        attribute(value.as_map(), &key(&at, &shortened(name)), found);
    }
    if was.is_some_and(|was| same(was.get("capacity"), device.get("capacity"))) {
        return;
    }
    let at = child(path, "capacity");
    for (name, value) in capacity {
        qualified(name, &at, &mut found.errors);
        let Some(policy) = value.as_map().and_then(|c| c.child("requestPolicy")) else { continue };
        let path = child(&key(&at, &shortened(name)), "requestPolicy");
        if device.flag("allowMultipleAllocations") {
            let most = amount(value.str_at(&["value"]).unwrap_or("0"));
            request_policy(policy, &most, &path, &mut found.errors);
        } else {
            found.errors.push(FieldError::forbidden(path, "allowMultipleAllocations must be true"));
        }
    }
}

/// The members of a map by name.
fn entries<'m, 'a>(holder: &'m Map<'a>, member: &str) -> Vec<(&'a str, &'m Value<'a>)> {
    let mut entries: Vec<_> = holder.child(member).map(|m| m.iter().collect()).unwrap_or_default();
    entries.sort_by_key(|(name, _)| *name);
    entries
}

/// A name that is too long to be shown, without its middle.
fn shortened(name: &str) -> String {
    const GAP: &str = "...";
    if name.len() <= SHOWN_MAX {
        return name.to_owned();
    }
    let left = SHOWN_MAX - GAP.len();
    let (head, tail) = (left.div_ceil(2), left / 2);
    let bytes = name.as_bytes();
    let part = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{GAP}{}", part(&bytes[..head]), part(&bytes[bytes.len() - tail..]))
}

/// The name of an attribute or capacity; without a domain it is the driver's.
fn qualified(name: &str, path: &str, errors: &mut Errors) {
    let parts: Vec<&str> = name.split('/').collect();
    let id = match parts.as_slice() {
        [id] => *id,
        [domain, id] => {
            if domain.is_empty() {
                errors.push(FieldError::invalid(path, "", "the domain must not be empty"));
            } else {
                csi_driver_name(domain, path, errors);
            }
            if id.is_empty() {
                errors.push(FieldError::invalid(path, "", "the name must not be empty"));
                return;
            }
            *id
        }
        // What has more slashes is not looked at.
        _ => return,
    };
    if id.len() > ID_MAX {
        errors.push(FieldError::too_long(path, ID_MAX));
    }
    each_invalid(c_identifier_errors(id), path, id, errors);
}

/// An attribute: one value of one kind.
fn attribute(attribute: Option<&Map<'_>>, path: &str, found: &mut Found) {
    let has = |kind: &str| attribute.is_some_and(|a| a.has(kind));
    let text = |kind: &str| attribute.map_or("", |a| a.text(kind));
    if has("string") && text("string").len() > TEXT_MAX {
        found.errors.push(FieldError::too_long(child(path, "string"), TEXT_MAX));
    }
    if has("version") {
        let (version, path) = (text("version"), child(path, "version"));
        if !is_semantic_version(version) {
            let why = "must be a string compatible with semver.org spec 2.0.0";
            found.errors.push(FieldError::invalid(path.clone(), version, why));
        }
        if version.len() > TEXT_MAX {
            found.errors.push(FieldError::too_long(path, TEXT_MAX));
        }
    }
    let set: Vec<&str> = KINDS.into_iter().filter(|kind| has(kind)).collect();
    match set.as_slice() {
        [] => {
            let why = format!("must specify one of: {ALL_KINDS}");
            found.declared.push(FieldError::invalid(path, "", why));
        }
        [_] => {}
        several => {
            let why = format!("must specify exactly one of: {ALL_KINDS}");
            found.declared.push(FieldError::invalid(path, format!("{{{}}}", several.join(", ")), why));
        }
    }
}

/// Three numbers, and what may follow a hyphen and a plus sign.
fn is_semantic_version(text: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let number = |part: &str| digits(part) && (part == "0" || !part.starts_with('0'));
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, before) = text.split_once('-').map_or((text, None), |(core, before)| (core, Some(before)));
    core.split('.').count() == 3
        && core.split('.').all(number)
        && before.is_none_or(|b| b.split('.').all(|part| plain(part) && (!digits(part) || number(part))))
        && build.is_none_or(|b| b.split('.').all(plain))
}

fn amount(text: &str) -> Quantity {
    quantity::parse(text).unwrap_or_else(|| Quantity::new(0, Format::DecimalSi))
}

/// What may be asked of a capacity of `most`: one of some values, or what lies in a range.
fn request_policy(policy: &Map<'_>, most: &Quantity, path: &str, errors: &mut Errors) {
    let default = policy.has("default").then(|| amount(policy.text("default")));
    let options: Vec<Quantity> =
        policy.items("validValues").iter().map(|v| amount(v.as_str().unwrap_or(""))).collect();
    let range = policy.child("validRange");
    let required =
        |by: &str| FieldError::required(child(path, "default"), format!("required when {by} is defined"));
    match (options.is_empty(), range, default) {
        (false, Some(_), _) => {
            let why = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the \
                       same time";
            errors.push(FieldError::forbidden(path, why));
        }
        (false, None, None) => errors.push(required("validValues")),
        (true, Some(_), None) => errors.push(required("validRange")),
        (false, None, Some(default)) => {
            self::options(&options, &default, most, &child(path, "validValues"), errors)
        }
        (true, Some(range), Some(default)) => {
            self::range(range, &default, most, &child(path, "validRange"), errors);
        }
        (true, None, _) => {}
    }
}

fn options(options: &[Quantity], default: &Quantity, most: &Quantity, path: &str, errors: &mut Errors) {
    for (at, pair) in options.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let why = "values must be sorted in ascending order";
            errors.push(FieldError::invalid(index(path, at + 1), pair[1].to_string(), why));
        }
    }
    if options.len() > OPTIONS_MAX {
        errors.push(FieldError::too_many(path, options.len(), OPTIONS_MAX));
    } else {
        for (at, option) in options.iter().enumerate().filter(|(_, option)| *option > most) {
            let why = format!("option is larger than capacity value: {most}");
            errors.push(FieldError::invalid(index(path, at), option.to_string(), why));
        }
        // Fractions count as the whole number above them.
        let whole: Vec<i64> = options.iter().map(Quantity::value).collect();
        for (at, value) in whole.iter().enumerate().filter(|(at, value)| whole[..*at].contains(value)) {
            errors.push(FieldError::duplicate(index(path, at), value.to_string()));
        }
        if options.iter().any(|option| option == default) {
            return;
        }
    }
    let why = "default value is not valid according to the requestPolicy";
    errors.push(FieldError::invalid(path, default.to_string(), why));
}

fn range(range: &Map<'_>, default: &Quantity, most: &Quantity, path: &str, errors: &mut Errors) {
    let bound = |member: &str| range.has(member).then(|| amount(range.text(member)));
    let (max, step) = (bound("max"), bound("step"));
    let Some(min) = bound("min") else {
        errors.push(FieldError::required(child(path, "min"), "required when validRange is defined"));
        return;
    };
    let mut wrong = |member: &str, shown: &Quantity, why: String| {
        errors.push(FieldError::invalid(child(path, member), shown.to_string(), why));
    };
    if min > *most {
        wrong("min", &min, format!("min is larger than capacity value: {most}"));
    }
    if *default < min {
        wrong("default", default, format!("default is less than min: {min}"));
    }
    if let Some(max) = &max {
        if min > *max {
            wrong("max", &min, format!("min is larger than max: {max}"));
        }
        if max > most {
            wrong("max", max, format!("max is larger than capacity value: {most}"));
        }
        if default > max {
            wrong("default", default, format!("default is more than max: {max}"));
        }
    }
    let Some(step) = step else { return };
    let (zero, countable) = (Quantity::new(0, Format::DecimalSi), Quantity::new(i64::MAX, Format::DecimalSi));
    if step <= zero {
        wrong("step", &step, "must be greater than zero".to_owned());
        return;
    }
    let mut stepped = min.clone();
    stepped.add(&step);
    if stepped > *most {
        wrong("step", &step, format!("one step {stepped} is larger than capacity value: {most}"));
    }
    let all = [("default", Some(default)), ("min", Some(&min)), ("max", max.as_ref()), ("step", Some(&step))];
    let mut counts = true;
    for (member, value) in all.into_iter().filter_map(|(member, value)| Some((member, value?))) {
        if *value < zero {
            wrong(member, value, "must be greater than or equal to 0".to_owned());
            counts = false;
        } else if *value > countable {
            wrong(member, value, format!("must not be larger than {}", i64::MAX));
            counts = false;
        }
    }
    for value in [Some(default), max.as_ref()].into_iter().flatten().filter(|_| counts) {
        // Both are no less than 0 here, so that their difference can be told.
        if (value.value() - min.value()) % step.value() != 0 {
            wrong("step", value, format!("value is not a multiple of a given step ({step}) from ({min})"));
        }
    }
}

/// A DNS label as it is declared: its length is told in bytes, and nothing else then.
pub(in crate::validation) fn declared_label(name: &str, path: &str, declared: &mut Errors) {
    if name.len() > LABEL_MAX {
        declared.push(FieldError::invalid(path, name, format!("must be no more than {LABEL_MAX} bytes")));
    } else {
        each_invalid(dns1123_label_errors(name), path, name, declared);
    }
}

/// Sets of counters, `named` by a member.
pub(super) fn counters(list: &[Value<'_>], named: &str, max: usize, path: &str, found: &mut Found) {
    if !found.fits(list, max, path) {
        return;
    }
    super::parts::duplicates(list, |set| set.text(named).to_owned(), path, &mut found.declared);
    for (at, set) in maps(list) {
        let (name, path) = (set.text(named), index(path, at));
        let declared = &mut found.declared;
        if name.is_empty() {
            declared.push(FieldError::required(child(&path, named), ""));
        } else {
            declared_label(name, &child(&path, named), declared);
        }
        let (counters, at) = (entries(set, "counters"), child(&path, "counters"));
        if counters.is_empty() {
            declared.push(FieldError::required(at, ""));
        } else if counters.len() > COUNTERS_MAX {
            found.errors.push(FieldError::too_many(at, counters.len(), COUNTERS_MAX));
        } else {
            for (name, _) in counters {
                declared_label(name, &at, declared);
            }
        }
    }
}

/// The conditions that binding waits for, and those that end it: both or neither, and none twice.
pub(super) fn binding_conditions(device: &Map<'_>, path: &str, found: &mut Found) {
    const MEMBERS: [&str; 2] = ["bindingConditions", "bindingFailureConditions"];
    let lists = MEMBERS
        .map(|member| device.items(member).iter().map(|v| v.as_str().unwrap_or("")).collect::<Vec<_>>());
    for (member, list) in MEMBERS.into_iter().zip(&lists) {
        let path = child(path, member);
        if found.fits(device.items(member), CONDITIONS_MAX, &path) {
            for (at, name) in list.iter().enumerate() {
                each_invalid(qualified_name_errors(name), &index(&path, at), name, &mut found.errors);
            }
        }
    }
    let errors = &mut found.errors;
    for (member, list) in MEMBERS.into_iter().zip(&lists) {
        for (at, name) in list.iter().enumerate() {
            let path = index(&child(path, member), at);
            if list[..at].contains(name) {
                errors.push(FieldError::duplicate(path.clone(), *name));
            }
            if member == MEMBERS[1] && lists[0].contains(name) {
                let why = "bindingFailureConditions must not overlap with bindingConditions";
                errors.push(FieldError::invalid(path, *name, why));
            }
        }
    }
    for (one, other) in [(0, 1), (1, 0)] {
        if lists[one].is_empty() && !lists[other].is_empty() {
            let why = format!("{} are required to use {}", MEMBERS[one], MEMBERS[other]);
            let shown = device.get(MEMBERS[one]).unwrap_or(&Value::Null);
            errors.push(FieldError::invalid(child(path, MEMBERS[one]), shown, why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantic_versions() {
        for good in ["1.2.3", "0.0.0", "1.2.3-alpha.1", "1.2.3-0a", "1.2.3+build.01", "1.0.0-x-y+z"] {
            assert!(is_semantic_version(good), "{good}");
        }
        for bad in
            ["", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.3-a..b", "1.2.x"]
        {
            assert!(!is_semantic_version(bad), "{bad}");
        }
    }

    fn of_range(members: [(&'static str, &'static str); 3], default: &str, most: &str) -> Vec<String> {
        let arena = bumpalo::Bump::new();
        let mut map = Map::new_in(&arena);
        for (name, text) in members.into_iter().filter(|(_, text)| !text.is_empty()) {
            map.insert(name, Value::String(text));
        }
        let mut errors = Errors::new();
        range(&map, &amount(default), &amount(most), "r", &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges() {
        let ask = |min, max, step, default, most| {
            of_range([("min", min), ("max", max), ("step", step)], default, most)
        };
        assert!(ask("1Gi", "80Gi", "1Gi", "1Gi", "80Gi").is_empty());
        assert_eq!(
            ask("", "1", "", "1", "1"),
            ["r.min: Required value: required when validRange is defined"]
        );
        assert_eq!(ask("1", "", "0", "1", "8"), ["r.step: Invalid value: \"0\": must be greater than zero"]);
        assert_eq!(
            ask("1", "4", "2", "1", "8"),
            ["r.step: Invalid value: \"4\": value is not a multiple of a given step (2) from (1)"]
        );
        assert_eq!(
            ask("-1", "", "2", "1", "8"),
            ["r.min: Invalid value: \"-1\": must be greater than or equal to 0"]
        );
        assert_eq!(
            ask("1", "9", "", "10", "8"),
            [
                "r.max: Invalid value: \"9\": max is larger than capacity value: 8",
                "r.default: Invalid value: \"10\": default is more than max: 9"
            ]
        );
    }
}
