//! The command line: kube-apiserver's flags under their own names, read as kube-apiserver reads them.

mod help;
mod table;
mod value;

use std::{collections::HashMap, time::Duration};

use clap::{Arg, ArgAction, Command, error::ContextKind, error::ErrorKind};

pub use self::help::help;
use self::table::{FLAGS, Flag, Kind, Section};

/// What was asked for on the command line.
#[derive(Debug)]
pub enum Request {
    /// `--help`
    Help,
    /// `--version`
    Version,
    /// Run the server.
    Serve(Flags),
    /// `ringbolt storage …`
    Storage {
        /// `verify`, `compact`, `backup` or `restore`.
        action: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
}

/// The flags that were given, each checked against its type, and the defaults of the others.
#[derive(Debug, Default)]
pub struct Flags(HashMap<&'static str, Vec<String>>);

/// Reads a command line without the program's name. Errors are what kube-apiserver says after `Error: `.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter().map(normalize).peekable();
    if arguments.next_if(|first| first == "storage").is_some() {
        let action = arguments.next().unwrap_or_default();
        return Ok(Request::Storage { action, arguments: arguments.collect() });
    }
    let matches = command().try_get_matches_from(arguments).map_err(|error| explain(&error))?;
    if let Some(extra) = matches.get_many::<String>("") {
        let extra: Vec<String> = extra.map(|e| ringbolt_machinery::field::quote(e)).collect();
        return Err(format!("\"ringbolt\" does not take any arguments, got [{}]", extra.join(" ")));
    }
    let mut given = HashMap::new();
    for flag in FLAGS {
        let Some(values) = matches.get_many::<String>(flag.name) else { continue };
        let values: Vec<String> = values.cloned().collect();
        for value in &values {
            value::check(flag, value).map_err(|why| {
                let value = ringbolt_machinery::field::quote(value);
                format!("invalid argument {value} for \"{}\" flag: {why}", shown(flag))
            })?;
        }
        given.insert(flag.name, values);
    }
    let flags = Flags(given);
    if flags.bool("help") {
        return Ok(Request::Help);
    }
    match flags.last("version") {
        Some("false") | None => Ok(Request::Serve(flags)),
        Some(_) => Ok(Request::Version),
    }
}

/// `_` stands for `-` in the names of flags, as everywhere in Kubernetes.
fn normalize(argument: String) -> String {
    let Some(flag) = argument.strip_prefix("--") else { return argument };
    let name_end = flag.find('=').unwrap_or(flag.len());
    format!("--{}{}", flag[..name_end].replace('_', "-"), &flag[name_end..])
}

fn shown(flag: &Flag) -> String {
    if flag.name == "v" { "-v, --v".to_owned() } else { format!("--{}", flag.name) }
}

fn command() -> Command {
    let mut command = Command::new("ringbolt")
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(Arg::new("").action(ArgAction::Append).num_args(0..));
    for flag in FLAGS {
        let mut arg = Arg::new(flag.name).long(flag.name).action(ArgAction::Append);
        arg = if flag.kind == Kind::Bool || flag.name == "version" {
            arg.num_args(0..=1).require_equals(true).default_missing_value("true")
        } else {
            arg.num_args(1).allow_hyphen_values(true)
        };
        match flag.name {
            "v" => arg = arg.short('v'),
            "help" => arg = arg.short('h'),
            _ => {}
        }
        command = command.arg(arg);
    }
    command
}

/// clap's errors in pflag's words.
fn explain(error: &clap::Error) -> String {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    // clap shows `--name <name>` where it knows the flag.
    let argument = argument.split([' ', '=', '[']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => match argument.strip_prefix('-') {
            Some(short) if !short.starts_with('-') => {
                let letter = short.chars().next().unwrap_or('-');
                format!("unknown shorthand flag: '{letter}' in {argument}")
            }
            _ => format!("unknown flag: {argument}"),
        },
        ErrorKind::InvalidValue | ErrorKind::NoEquals | ErrorKind::WrongNumberOfValues => {
            format!("flag needs an argument: {argument}")
        }
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

impl Flags {
    /// Whether a flag was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether a flag of such a name was given.
    pub fn given_with_prefix(&self, prefix: &str) -> bool {
        self.0.keys().any(|name| name.starts_with(prefix))
    }

    /// The last value given.
    fn last(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(|values| values.last()).map(String::as_str)
    }

    /// The value given, else the default.
    pub fn text(&self, name: &str) -> &str {
        self.last(name).unwrap_or_else(|| default(name))
    }

    /// A path, where the flag is given and not empty.
    pub fn path(&self, name: &str) -> Option<std::path::PathBuf> {
        Some(self.text(name)).filter(|path| !path.is_empty()).map(Into::into)
    }

    /// A boolean flag.
    pub fn bool(&self, name: &str) -> bool {
        value::bool(self.text(name)).unwrap_or_default()
    }

    /// An integer flag.
    pub fn int(&self, name: &str) -> i64 {
        value::int(self.text(name)).unwrap_or_default()
    }

    /// A number.
    pub fn float(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_default()
    }

    /// A duration; negative ones count as zero.
    pub fn duration(&self, name: &str) -> Duration {
        let nanoseconds = ringbolt_apiserver::duration::parse(self.text(name)).unwrap_or_default();
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default())
    }

    /// Whether a duration is one below zero.
    pub fn is_negative(&self, name: &str) -> bool {
        ringbolt_apiserver::duration::parse(self.text(name)).is_ok_and(|nanoseconds| nanoseconds < 0)
    }

    /// A byte count written as a quantity.
    pub fn bytes(&self, name: &str) -> u64 {
        value::quantity(self.text(name)).unwrap_or_default()
    }

    /// Every value given of a flag that may be repeated.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// First and last port of a range.
    pub fn port_range(&self, name: &str) -> (u16, u16) {
        value::port_range(self.text(name).trim()).unwrap_or_default()
    }

    /// All values of a list, in order.
    pub fn list(&self, name: &str) -> Vec<String> {
        let split = |text: &str| -> Vec<String> {
            if text.is_empty() { Vec::new() } else { text.split(',').map(str::to_owned).collect() }
        };
        match self.0.get(name) {
            Some(values) => values.iter().flat_map(|value| split(value)).collect(),
            None => split(default(name)),
        }
    }

    /// Every flag and its value as Kubernetes shows it, sorted by name.
    pub fn shown(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = FLAGS
            .iter()
            .map(|flag| {
                (flag.name.to_owned(), value::shown(flag, self.text(flag.name), &self.shown_list(flag)))
            })
            .collect();
        all.sort();
        all
    }

    fn shown_list(&self, flag: &Flag) -> Vec<String> {
        if flag.kind == Kind::Texts { self.texts(flag.name) } else { self.list(flag.name) }
    }

    /// Flags that were given and change nothing yet, in the order of the table.
    pub fn without_effect(&self) -> Vec<&'static str> {
        FLAGS.iter().filter(|f| f.help.is_none() && self.is_given(f.name)).map(|f| f.name).collect()
    }
}

fn default(name: &str) -> &'static str {
    FLAGS.iter().find(|flag| flag.name == name).map_or("", |flag| flag.default)
}

#[cfg(test)]
mod tests;
