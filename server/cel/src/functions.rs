//! Declarations of functions: what the checker resolves calls against.

use std::{collections::HashMap, sync::LazyLock};

use crate::types::{
    AUTHORIZER, CIDR, DECISION, GROUP_CHECK, IP, NAMED_FORMAT, PATH_CHECK, QUANTITY, RESOURCE_CHECK, SEMVER,
    Type, URL,
};

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    /// Not for expressions that are new: a server of the release before could not run them.
    pub(crate) stored_only: bool,
    /// For expressions that mutate only.
    pub(crate) patches_only: bool,
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// How many of `A`, `B` it has.
    pub(crate) params: u32,
}

/// Where the numbers of `A`, `B` begin: no variable of an expression has one as high.
const PARAMS: u32 = 1 << 30;

static TABLE: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    for line in include_str!("functions.tbl").lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(id), Some(style), Some(args), Some(result), None) =
            (words.next(), words.next(), words.next(), words.next(), words.next(), words.next())
            && !name.starts_with('#')
        {
            table.entry(name).or_default().push(overload(id, style, args, result));
        }
    }
    table
});

/// The overloads of a function.
pub(crate) fn overloads(name: &str) -> Option<&'static [Overload]> {
    TABLE.get(name.strip_prefix('.').unwrap_or(name)).map(Vec::as_slice)
}

fn overload(id: &'static str, style: &str, args: &'static str, result: &'static str) -> Overload {
    let mut params = 0;
    let mut rest = args;
    let mut types = Vec::new();
    while rest != "-" && !rest.is_empty() {
        types.push(read(&mut rest, &mut params));
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    let result = read(&mut { result }, &mut params);
    Overload {
        id,
        member: style.starts_with('m'),
        stored_only: style.ends_with('+'),
        patches_only: style.ends_with('p'),
        args: types,
        result,
        params,
    }
}

fn read(rest: &mut &'static str, params: &mut u32) -> Type {
    let end = rest.find([',', '<', '>']).unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    *rest = tail;
    let mut inner = |rest: &mut &'static str| {
        *rest = &rest[1..];
        read(rest, params)
    };
    let generic = match name {
        "list" => Type::list(inner(rest)),
        "opt" => Type::optional(inner(rest)),
        "type" => Type::Meta(Some(inner(rest).into())),
        "map" => {
            let key = inner(rest);
            Type::map(key, inner(rest))
        }
        "A" | "B" => {
            let at = u32::from(name == "B");
            *params = (*params).max(at + 1);
            return Type::Var(PARAMS + at);
        }
        _ => return named(name),
    };
    *rest = &rest[1..];
    generic
}

fn named(name: &str) -> Type {
    match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "ip" => Type::Opaque(IP),
        "cidr" => Type::Opaque(CIDR),
        "url" => Type::Struct(URL.into()),
        "quantity" => Type::Struct(QUANTITY.into()),
        "semver" => Type::Struct(SEMVER.into()),
        "namedformat" => Type::Struct(NAMED_FORMAT.into()),
        "authorizer" => Type::Struct(AUTHORIZER.into()),
        "pathcheck" => Type::Struct(PATH_CHECK.into()),
        "groupcheck" => Type::Struct(GROUP_CHECK.into()),
        "resourcecheck" => Type::Struct(RESOURCE_CHECK.into()),
        "decision" => Type::Struct(DECISION.into()),
        _ => Type::Dyn,
    }
}

impl Overload {
    /// Arguments and result with fresh variables, the first of which is `first`.
    pub(crate) fn instantiate(&self, first: u32) -> (Vec<Type>, Type) {
        let args = self.args.iter().map(|t| renumbered(t, first)).collect();
        (args, renumbered(&self.result, first))
    }
}

fn renumbered(t: &Type, first: u32) -> Type {
    match t {
        Type::Var(n) if *n >= PARAMS => Type::Var(n - PARAMS + first),
        Type::List(of) => Type::list(renumbered(of, first)),
        Type::Optional(of) => Type::optional(renumbered(of, first)),
        Type::Map(of) => Type::map(renumbered(&of.0, first), renumbered(&of.1, first)),
        Type::Meta(Some(of)) => Type::Meta(Some(renumbered(of, first).into())),
        _ => t.clone(),
    }
}
