//! Levels and versions of the Pod Security Standards, and the policy that a namespace's labels come to.

use std::fmt;

use ringbolt_machinery::field::{self, FieldError};

/// What all labels of PodSecurity begin with.
pub(super) const PREFIX: &str = "pod-security.kubernetes.io/";

/// How much is asked of pods, from nothing to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Nothing.
    Privileged,
    /// What keeps a pod from known ways up.
    Baseline,
    /// What hardens it besides.
    Restricted,
}

impl Level {
    /// All of them, from the mildest.
    pub(super) const ALL: [Level; 3] = [Level::Privileged, Level::Baseline, Level::Restricted];

    /// Its name in labels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }

    /// The level of a name.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let found = Self::ALL.into_iter().find(|level| level.name() == text);
        found.ok_or("must be one of privileged, baseline, restricted")
    }
}

/// The release whose standards are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// `v1.N`.
    Minor(u64),
    /// `latest`.
    Latest,
}

impl Version {
    /// The version of a text, `latest` or `v1.N` without leading zeros.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        const WRONG: &str = r#"must be "latest" or "v1.x""#;
        if text == "latest" {
            return Ok(Version::Latest);
        }
        let digits = text.strip_prefix("v1.").ok_or(WRONG)?;
        let plain =
            digits.bytes().all(|b| b.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
        // Go reads it as an `int`.
        let minor = digits.parse::<i64>().ok().filter(|_| plain).and_then(|minor| u64::try_from(minor).ok());
        minor.map(Version::Minor).ok_or(WRONG)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Minor(minor) => write!(f, "v1.{minor}"),
            Version::Latest => f.write_str("latest"),
        }
    }
}

/// A level in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelVersion {
    /// The level.
    pub(super) level: Level,
    /// The version.
    pub(super) version: Version,
}

impl LevelVersion {
    /// The level that asks nothing of anybody.
    pub(super) const PRIVILEGED: LevelVersion =
        LevelVersion { level: Level::Privileged, version: Version::Latest };

    /// Whether both ask the same.
    fn is_equivalent(self, other: Self) -> bool {
        self == other || (self.level == Level::Privileged && other.level == Level::Privileged)
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level.name(), self.version)
    }
}

/// What comes of a pod that violates a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is refused.
    Enforce,
    /// It is noted in the audit log.
    Audit,
    /// Its writer is warned.
    Warn,
}

impl Mode {
    /// All of them, in the order of their labels' errors.
    pub(super) const ALL: [Mode; 3] = [Mode::Enforce, Mode::Audit, Mode::Warn];

    /// Its name in labels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::Audit => "audit",
            Mode::Warn => "warn",
        }
    }
}

/// What a namespace asks of its pods, by mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    /// What pods are refused for.
    pub(super) enforce: LevelVersion,
    /// What is noted.
    pub(super) audit: LevelVersion,
    /// What is warned about.
    pub(super) warn: LevelVersion,
}

impl Policy {
    /// The policy that asks nothing.
    pub(super) const PRIVILEGED: Policy = Policy {
        enforce: LevelVersion::PRIVILEGED,
        audit: LevelVersion::PRIVILEGED,
        warn: LevelVersion::PRIVILEGED,
    };

    /// What one mode asks.
    pub(super) fn of(&self, mode: Mode) -> LevelVersion {
        match mode {
            Mode::Enforce => self.enforce,
            Mode::Audit => self.audit,
            Mode::Warn => self.warn,
        }
    }

    /// What one mode asks, to set.
    pub(super) fn of_mut(&mut self, mode: Mode) -> &mut LevelVersion {
        match mode {
            Mode::Enforce => &mut self.enforce,
            Mode::Audit => &mut self.audit,
            Mode::Warn => &mut self.warn,
        }
    }

    /// Whether no mode asks anything.
    pub(super) fn is_fully_privileged(&self) -> bool {
        Mode::ALL.into_iter().all(|mode| self.of(mode).level == Level::Privileged)
    }

    /// Whether both ask the same in every mode.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        Mode::ALL.into_iter().all(|mode| self.of(mode).is_equivalent(other.of(mode)))
    }
}

/// The labels of a namespace that say something here: level and version of each mode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Labels<'l> {
    levels: [Option<&'l str>; 3],
    versions: [Option<&'l str>; 3],
}

impl<'l> Labels<'l> {
    /// Those of all labels of a namespace. Allocates nothing.
    pub(super) fn of(labels: impl Iterator<Item = (&'l str, &'l str)>) -> Self {
        let mut found = Labels::default();
        for (name, value) in labels.filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value))) {
            for mode in Mode::ALL {
                match name.strip_prefix(mode.name()) {
                    Some("") => found.levels[mode as usize] = Some(value),
                    Some("-version") => found.versions[mode as usize] = Some(value),
                    _ => {}
                }
            }
        }
        found
    }

    /// Whether level or version of a mode is given.
    pub(super) fn name(&self, mode: Mode) -> bool {
        self.levels[mode as usize].is_some() || self.versions[mode as usize].is_some()
    }

    /// The policy they come to, and what is wrong with them. What cannot be read asks for most where pods are refused,
    /// and for nothing elsewhere.
    pub(super) fn policy(&self, defaults: &Policy) -> (Policy, Vec<FieldError>) {
        let (mut policy, mut errors) = (*defaults, Vec::new());
        let mut enforces = false;
        for mode in Mode::ALL {
            let asked = policy.of_mut(mode);
            if let Some(text) = self.levels[mode as usize] {
                asked.level = Level::parse(text).unwrap_or_else(|why| {
                    errors.push(invalid(mode, "", text, why));
                    if mode == Mode::Enforce { Level::Restricted } else { Level::Privileged }
                });
                enforces |= mode == Mode::Enforce && errors.is_empty();
            }
            if let Some(text) = self.versions[mode as usize] {
                asked.version = Version::parse(text).unwrap_or_else(|why| {
                    errors.push(invalid(mode, "-version", text, why));
                    Version::Latest
                });
            }
        }
        // Who is to be refused by a level that the namespace chose is warned by it too, by templates for one.
        if enforces && self.levels[Mode::Warn as usize].is_none() && policy.enforce.level > policy.warn.level
        {
            policy.warn.level = policy.enforce.level;
            if self.versions[Mode::Warn as usize].is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }
}

fn invalid(mode: Mode, suffix: &str, value: &str, why: &str) -> FieldError {
    let label = format!("{PREFIX}{}{suffix}", mode.name());
    FieldError::invalid(field::key("metadata.labels", &label), value, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let check =
            |text: &str, expect: Option<Version>| assert_eq!(Version::parse(text).ok(), expect, "{text}");
        check("latest", Some(Version::Latest));
        check("v1.0", Some(Version::Minor(0)));
        check("v1.37", Some(Version::Minor(37)));
        check("v1.9223372036854775807", Some(Version::Minor(i64::MAX as u64)));
        for wrong in ["v1.9223372036854775808", "v1.", "v1.01", "v1.-1", "v1.+1", "v2.1", "1.2", "", "v1.1 "]
        {
            check(wrong, None);
        }
    }

    #[test]
    fn labels_come_to_a_policy() {
        fn check(labels: &[(&str, &str)], expect: &str, errors: &[&str]) {
            let labels: Vec<_> = labels.iter().map(|(k, v)| (format!("{PREFIX}{k}"), *v)).collect();
            let labels = labels.iter().map(|(k, v)| (k.as_str(), *v)).chain([("enforce", "baseline")]);
            let (policy, found) = Labels::of(labels).policy(&Policy::PRIVILEGED);
            let text = Mode::ALL.map(|mode| policy.of(mode).to_string()).join(" ");
            assert_eq!(text, expect);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), errors);
        }
        let none = "privileged:latest privileged:latest privileged:latest";
        check(&[], none, &[]);
        check(&[("enforce2", "baseline"), ("warning", "baseline")], none, &[]);
        check(&[("audit", "baseline")], "privileged:latest baseline:latest privileged:latest", &[]);
        // Warnings follow what is enforced.
        let (enforce, version) = (("enforce", "baseline"), ("enforce-version", "v1.2"));
        check(&[enforce, version], "baseline:v1.2 privileged:latest baseline:v1.2", &[]);
        check(
            &[enforce, version, ("warn", "privileged")],
            "baseline:v1.2 privileged:latest privileged:latest",
            &[],
        );
        check(
            &[enforce, version, ("warn-version", "v1.3")],
            "baseline:v1.2 privileged:latest baseline:v1.3",
            &[],
        );
        check(&[version], "privileged:v1.2 privileged:latest privileged:latest", &[]);
        let level = "must be one of privileged, baseline, restricted";
        check(
            &[("enforce", "x"), ("warn", "y"), ("audit", "z"), ("audit-version", "v1")],
            "restricted:latest privileged:latest privileged:latest",
            &[
                &format!(r#"metadata.labels[{PREFIX}enforce]: Invalid value: "x": {level}"#),
                &format!(r#"metadata.labels[{PREFIX}audit]: Invalid value: "z": {level}"#),
                &format!(
                    r#"metadata.labels[{PREFIX}audit-version]: Invalid value: "v1": must be "latest" or "v1.x""#
                ),
                &format!(r#"metadata.labels[{PREFIX}warn]: Invalid value: "y": {level}"#),
            ],
        );
        // A version that cannot be read does not keep warnings from following the level.
        check(
            &[enforce, ("enforce-version", "1")],
            "baseline:latest privileged:latest baseline:latest",
            &[&format!(
                r#"metadata.labels[{PREFIX}enforce-version]: Invalid value: "1": must be "latest" or "v1.x""#
            )],
        );
    }
}
