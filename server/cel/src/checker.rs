//! Types of all nodes of an expression, and which overloads its calls may mean.

use std::collections::HashMap;

use crate::{
    ast::{Ast, Call, Comprehension, Expr, Kind, Literal, Select, Struct},
    decl::DeclType,
    functions::{Overload, overloads},
    source::Issues,
    types::{CIDR, IP, JSON_PATCH, Mapping, OBJECT, Type, most_general},
};

/// What an expression may refer to.
pub(crate) struct Env<'e> {
    /// Variables of the expression's surroundings.
    pub(crate) variables: Vec<(&'static str, Type)>,
    /// Object types of the schema, by name.
    pub(crate) objects: HashMap<&'e str, &'e DeclType>,
    /// Whether the expression was accepted before.
    pub(crate) stored: bool,
    /// Whether it may make objects and patches.
    pub(crate) patch_types: bool,
}

/// What checking found out.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Each node's type.
    pub(crate) types: Vec<Type>,
    /// Each call's overloads; none for other nodes.
    pub(crate) overloads: Vec<Vec<&'static str>>,
    /// Nodes that name a type.
    pub(crate) type_names: HashMap<usize, Type>,
    /// Surrounding variables that are referred to.
    pub(crate) used: Vec<String>,
}

impl Checked {
    pub(crate) fn type_of(&self, id: usize) -> &Type {
        self.types.get(id).unwrap_or(&Type::Dyn)
    }
    pub(crate) fn overloads_of(&self, id: usize) -> &[&'static str] {
        self.overloads.get(id).map_or(&[], Vec::as_slice)
    }
}

/// Checks a tree. Calls whose target turns out to be part of a function's name (`sets.contains`) are rewritten.
pub(crate) fn check(ast: &mut Ast, env: &Env<'_>) -> Result<Checked, Issues> {
    let nodes = ast.offsets.len();
    let mut checker = Checker {
        env,
        offsets: &ast.offsets,
        scopes: Vec::new(),
        issues: Issues::default(),
        mapping: Mapping::default(),
        vars: 0,
        out: Checked {
            types: vec![Type::Dyn; nodes],
            overloads: vec![Vec::new(); nodes],
            type_names: HashMap::new(),
            used: Vec::new(),
        },
    };
    checker.check(&mut ast.root);
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    let Checker { mapping, mut out, .. } = checker;
    for t in &mut out.types {
        *t = mapping.substitute(t, true);
    }
    Ok(out)
}

struct Checker<'c> {
    env: &'c Env<'c>,
    offsets: &'c [u32],
    scopes: Vec<(String, Type)>,
    issues: Issues,
    mapping: Mapping,
    vars: u32,
    out: Checked,
}

impl Checker<'_> {
    fn report(&mut self, id: usize, message: String) {
        self.issues.report(self.offsets.get(id).copied(), message);
    }
    fn mismatch(&mut self, id: usize, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }
    fn undeclared(&mut self, id: usize, name: &str) -> Type {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }
    fn fresh(&mut self) -> Type {
        self.vars += 1;
        Type::Var(self.vars - 1)
    }

    fn check(&mut self, e: &mut Expr) -> Type {
        let id = e.id;
        let t = match &mut e.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => match self.resolve(name) {
                Some((t, type_name)) => self.found(id, t, type_name),
                None => self.undeclared(id, &name.clone()),
            },
            Kind::Select(_) => self.select_node(e),
            Kind::Call(_) => self.call_node(e),
            Kind::List(elements) => {
                let mut joined = None;
                for element in elements {
                    let mut t = self.check(&mut element.value);
                    if element.optional {
                        t = self.unwrapped(element.value.id, t);
                    }
                    joined = Some(self.join(joined, t));
                }
                Type::list(joined.unwrap_or_else(|| self.fresh()))
            }
            Kind::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for entry in entries {
                    let t = self.check(&mut entry.key);
                    keys = Some(self.join(keys, t));
                    let mut t = self.check(&mut entry.value);
                    if entry.optional {
                        t = self.unwrapped(entry.value.id, t);
                    }
                    values = Some(self.join(values, t));
                }
                let key = keys.unwrap_or_else(|| self.fresh());
                Type::map(key, values.unwrap_or_else(|| self.fresh()))
            }
            Kind::Struct(object) => self.structure(id, object),
            Kind::Comprehension(fold) => self.fold(fold),
            Kind::Unspecified => Type::Error,
        };
        self.out.types[id] = t.clone();
        t
    }

    fn found(&mut self, id: usize, t: Type, type_name: Option<Type>) -> Type {
        if let Some(name) = type_name {
            self.out.type_names.insert(id, name);
        }
        t
    }

    /// What an element that may be missing is when it is there.
    fn unwrapped(&mut self, id: usize, t: Type) -> Type {
        match t {
            Type::Optional(of) => (*of).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                self.mismatch(id, &Type::optional(other.clone()), &other);
                other
            }
        }
    }

    /// The type of a name, and the type that it names where it names one.
    fn resolve(&mut self, name: &str) -> Option<(Type, Option<Type>)> {
        let bare = name.strip_prefix('.');
        if bare.is_none()
            && let Some((_, t)) = self.scopes.iter().rev().find(|(n, _)| n == name)
        {
            return Some((t.clone(), None));
        }
        let name = bare.unwrap_or(name);
        if let Some((n, t)) = self.env.variables.iter().find(|(n, _)| *n == name) {
            self.out.used.push((*n).to_owned());
            return Some((t.clone(), None));
        }
        let named = self.type_of_name(name)?;
        Some((Type::Meta(Some(named.clone().into())), Some(named)))
    }

    /// The type that a name means here.
    fn type_of_name(&self, name: &str) -> Option<Type> {
        let made = self.env.patch_types && is_patch_type(name);
        let declared = name.starts_with("kubernetes.") && self.env.objects.contains_key(name);
        type_named(name).or_else(|| (made || declared).then(|| Type::Struct(name.into())))
    }

    fn select_node(&mut self, e: &mut Expr) -> Type {
        if let Some(name) = qualified(e)
            && let Some(root) = name.split('.').find(|part| !part.is_empty())
            && (name.starts_with('.') || !self.scopes.iter().any(|(n, _)| n == root))
            && let Some((t, type_name)) = self.resolve_qualified(&name)
        {
            let t = self.found(e.id, t, type_name);
            e.kind = Kind::Ident(name);
            return t;
        }
        let Kind::Select(select) = &mut e.kind else { return Type::Error };
        let Select { operand, field, test_only } = &mut **select;
        let t = self.select(e.id, operand, field, false);
        if *test_only { Type::Bool } else { self.mapping.substitute(&t, false) }
    }

    /// As [`Checker::resolve`] of a name with dots.
    fn resolve_qualified(&mut self, name: &str) -> Option<(Type, Option<Type>)> {
        let bare = name.strip_prefix('.').unwrap_or(name);
        if let Some((n, t)) = self.env.variables.iter().find(|(n, _)| *n == bare) {
            self.out.used.push((*n).to_owned());
            return Some((t.clone(), None));
        }
        let named = self.type_of_name(bare)?;
        Some((Type::Meta(Some(named.clone().into())), Some(named)))
    }

    fn select(&mut self, id: usize, operand: &mut Expr, field: &str, optional: bool) -> Type {
        let t = self.check(operand);
        let t = self.mapping.substitute(&t, false);
        let (target, was_optional) = match &t {
            Type::Optional(of) => ((**of).clone(), true),
            _ => (t, false),
        };
        let result = match &target {
            Type::Map(of) => of.1.clone(),
            Type::Struct(name) => self.field(id, name, field),
            Type::Var(_) => {
                self.mapping.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.report(id, format!("type '{other}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(result) } else { result }
    }

    fn structure(&mut self, id: usize, object: &mut Struct) -> Type {
        let name = object.name.strip_prefix('.').unwrap_or(&object.name).to_owned();
        let Some(t) = self.type_of_name(&name) else {
            return self.undeclared(id, &name);
        };
        let mut result = t.clone();
        if !matches!(t, Type::Struct(_)) {
            self.report(id, format!("'{}' is not a message type", t.name()));
            result = Type::Error;
        }
        object.name = name;
        for field in &mut object.fields {
            let mut given = self.check(&mut field.value);
            let wanted = match &result {
                Type::Struct(_) => self.field(field.id, &object.name, &field.name),
                _ => {
                    self.report(field.id, format!("unexpected failed resolution of '{}'", object.name));
                    Type::Error
                }
            };
            if field.optional {
                given = self.unwrapped(field.value.id, given);
            }
            let unknown = object.name == JSON_PATCH
                && !matches!(&*field.name, "op" | "path" | "from" | "value")
                && !given.is_dyn_or_error();
            if unknown {
                // A field of no type at all.
                let message =
                    format!("expected type of field '{}' is '' but provided type is '{given}'", field.name);
                self.report(field.id, message);
            } else if !self.mapping.assign(&wanted, &given) {
                let message = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{given}'",
                    field.name
                );
                self.report(field.id, message);
            }
        }
        result
    }

    fn field(&mut self, id: usize, object: &str, field: &str) -> Type {
        if self.env.patch_types && is_patch_type(object) {
            return match field {
                "op" | "path" | "from" if object == JSON_PATCH => Type::String,
                // What objects are made of is known when they are merged.
                _ => Type::Dyn,
            };
        }
        let Some(decl) = self.env.objects.get(object).copied() else {
            self.report(id, format!("unexpected failed resolution of '{object}'"));
            return Type::Error;
        };
        match decl.selectable(field) {
            Some(t) => t.cel_type(),
            None => {
                self.report(id, format!("undefined field '{field}'"));
                Type::Error
            }
        }
    }

    fn call_node(&mut self, e: &mut Expr) -> Type {
        let id = e.id;
        let Kind::Call(call) = &mut e.kind else { return Type::Error };
        if call.function == "_?._" && call.target.is_none() {
            return self.optional_select(id, call);
        }
        for arg in &mut call.args {
            self.check(arg);
        }
        let Some(target) = &mut call.target else {
            let Some(found) = overloads(&call.function) else {
                return self.undeclared(id, &call.function.clone());
            };
            return self.overload(id, call, found);
        };
        if let Some(prefix) = qualified(target) {
            let whole = format!("{prefix}.{}", call.function);
            if let Some(found) = self.visible(&whole) {
                call.target = None;
                call.function = whole.trim_start_matches('.').to_owned();
                return self.overload(id, call, found);
            }
        }
        self.check(target);
        match self.visible(&call.function) {
            Some(found) => self.overload(id, call, found),
            None => self.undeclared(id, &call.function.clone()),
        }
    }

    /// Overloads of a function, unless expressions like this one may not call it at all.
    fn visible(&self, name: &str) -> Option<&'static [Overload]> {
        let may =
            |o: &Overload| (self.env.stored || !o.stored_only) && (self.env.patch_types || !o.patches_only);
        overloads(name).filter(|list| list.iter().any(may))
    }

    fn optional_select(&mut self, id: usize, call: &mut Call) -> Type {
        let [operand, field] = call.args.as_mut_slice() else { return Type::Error };
        let Kind::Literal(Literal::String(name)) = &field.kind else { return Type::Error };
        let name = name.clone();
        self.out.types[field.id] = Type::String;
        let t = self.select(id, operand, &name, true);
        self.out.overloads[id] = vec!["select_optional_field"];
        self.mapping.substitute(&t, false)
    }

    fn overload(&mut self, id: usize, call: &Call, candidates: &'static [Overload]) -> Type {
        let nodes: Vec<usize> = call.target.iter().chain(&call.args).map(|arg| arg.id).collect();
        let mut args: Vec<Type> = nodes.iter().map(|id| self.out.types[*id].clone()).collect();
        let mut result: Option<Type> = None;
        let mut ids = Vec::new();
        for overload in candidates {
            if overload.member != call.target.is_some() || overload.stored_only && !self.env.stored {
                continue;
            }
            if matches!(overload.id, "logical_and" | "logical_or") {
                return self.logical(id, overload.id, &nodes, &args);
            }
            let (wanted, gives) = overload.instantiate(self.vars);
            self.vars += overload.params;
            if !self.mapping.assign_all(&args, &wanted) {
                continue;
            }
            ids.push(overload.id);
            let gives = self.mapping.substitute(&gives, false);
            result = Some(match result {
                None => gives,
                Some(before) if before.is_dyn() || before == gives => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            for t in &mut args {
                *t = self.mapping.substitute(t, true);
            }
            let message = format!(
                "found no matching overload for '{}' applied to '{}'",
                call.function.trim_start_matches('.'),
                signature(&args, call.target.is_some())
            );
            self.report(id, message);
            return Type::Error;
        };
        self.out.overloads[id] = ids;
        result
    }

    fn logical(&mut self, id: usize, overload: &'static str, nodes: &[usize], args: &[Type]) -> Type {
        let mut all = true;
        for (node, t) in nodes.iter().zip(args) {
            if !self.mapping.assign(t, &Type::Bool) {
                self.mismatch(*node, &Type::Bool, t);
                all = false;
            }
        }
        if !all {
            return Type::Error;
        }
        self.out.overloads[id] = vec![overload];
        Type::Bool
    }

    fn fold(&mut self, fold: &mut Comprehension) -> Type {
        let range = self.check(&mut fold.range);
        let accu = self.check(&mut fold.init);
        let range = self.mapping.substitute(&range, false);
        self.scopes.push((fold.accu_var.clone(), accu.clone()));
        let two = fold.var2.is_some();
        let (var, var2) = match &range {
            Type::List(of) if two => (Type::Int, (**of).clone()),
            Type::List(of) => ((**of).clone(), Type::Dyn),
            Type::Map(of) => (of.0.clone(), of.1.clone()),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.mapping.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(fold.range.id, message);
                (Type::Error, Type::Error)
            }
        };
        let outer = self.scopes.len();
        self.scopes.push((fold.var.clone(), var));
        if let Some(name) = &fold.var2 {
            self.scopes.push((name.clone(), var2));
        }
        let condition = self.check(&mut fold.condition);
        self.assert(fold.condition.id, &Type::Bool, &condition);
        let step = self.check(&mut fold.step);
        self.assert(fold.step.id, &accu, &step);
        self.scopes.truncate(outer);
        let result = self.check(&mut fold.result);
        self.scopes.truncate(outer - 1);
        self.mapping.substitute(&result, false)
    }

    fn assert(&mut self, id: usize, expected: &Type, found: &Type) {
        if !self.mapping.assign(expected, found) {
            self.mismatch(id, expected, found);
        }
    }

    fn join(&mut self, before: Option<Type>, now: Type) -> Type {
        let Some(before) = before else { return now };
        if self.mapping.assign(&before, &now) {
            return most_general(&before, &now).clone();
        }
        // Validators have their say on it later.
        Type::Dyn
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// `(int, string)`, `string.(int)`
fn signature(args: &[Type], member: bool) -> String {
    let mut out = String::new();
    let mut args = args.iter();
    if member && let Some(target) = args.next() {
        out.push_str(&format!("{target}."));
    }
    out.push('(');
    for (at, t) in args.enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        out.push_str(&t.to_string());
    }
    out.push(')');
    out
}

/// `a.b.c`, where a node is names with dots between.
fn qualified(e: &Expr) -> Option<String> {
    match &e.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select(select) if !select.test_only => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}

/// Whether objects and patches that expressions make may have a type of this name.
fn is_patch_type(name: &str) -> bool {
    name == JSON_PATCH
        || name.strip_prefix(OBJECT).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The type that a name means.
fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "string" => Type::String,
        "null_type" => Type::Null,
        "type" => Type::Meta(None),
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "optional_type" => Type::optional(Type::Dyn),
        IP => Type::Opaque(IP),
        CIDR => Type::Opaque(CIDR),
        _ => return None,
    })
}
