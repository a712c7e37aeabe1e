//! What is looked at in a checked expression besides types: literals that cannot be what they stand for.

use crate::{
    ast::{Ast, Call, Expr, Kind, Literal},
    checker::Checked,
    format::{self, Clause},
    regex_syntax,
    source::Issues,
    time,
    types::Type,
};

/// Looks at all literals; in the order in which the server's validators run.
pub(crate) fn validate(ast: &Ast, checked: &Checked) -> Result<(), Issues> {
    let mut issues = Issues::default();
    let mut report = |id: usize, message: String| issues.report(ast.offset(id), message);
    let is_duration = |text: &str| time::parse_duration(text).is_ok();
    let is_timestamp = |text: &str| time::Timestamp::parse(text).is_some();
    literals(&ast.root, "duration", &is_duration, &mut report);
    literals(&ast.root, "timestamp", &is_timestamp, &mut report);
    literals(&ast.root, "matches", &|pattern| regex_syntax::compile(pattern).is_ok(), &mut report);
    homogeneous(&ast.root, checked, false, &mut report);
    formats(&ast.root, checked, &mut report);
    if issues.is_empty() { Ok(()) } else { Err(issues) }
}

fn literals(
    root: &Expr,
    function: &str,
    valid: &dyn Fn(&str) -> bool,
    report: &mut impl FnMut(usize, String),
) {
    root.walk(&mut |e| {
        if let Kind::Call(call) = &e.kind
            && call.function == function
            && let Some(arg) = call.args.first()
            && let Kind::Literal(literal) = &arg.kind
        {
            let fine = match literal {
                Literal::String(text) => valid(text),
                // Seconds are a time unless they are beyond the years that there are.
                Literal::Int(seconds) => function != "timestamp" || time::in_range(*seconds),
                _ => true,
            };
            if !fine {
                report(arg.id, format!("invalid {function} argument"));
            }
        }
    });
}

/// Elements of a list, keys and values of a map are of one type; but for arguments of `format`.
fn homogeneous(e: &Expr, checked: &Checked, exempt: bool, report: &mut impl FnMut(usize, String)) {
    let mut lists = Vec::new();
    let mut maps = Vec::new();
    collect(e, exempt, &mut lists, &mut maps);
    let type_of = |id: usize, optional: bool| match checked.type_of(id) {
        Type::Optional(of) if optional => (**of).clone(),
        t => t.clone(),
    };
    let mut mismatch = |id: usize, expected: &Type, found: &Type| {
        report(id, format!("expected type '{expected}' but found '{found}'"));
    };
    for list in lists {
        let Kind::List(elements) = &list.kind else { continue };
        let mut first = None;
        for element in elements {
            let t = type_of(element.value.id, element.optional);
            let first: &Type = first.get_or_insert_with(|| t.clone());
            if *first != t {
                mismatch(element.value.id, first, &t);
                break;
            }
        }
    }
    for map in maps {
        let Kind::Map(entries) = &map.kind else { continue };
        let mut first: Option<(Type, Type)> = None;
        for entry in entries {
            let key = type_of(entry.key.id, false);
            let value = type_of(entry.value.id, entry.optional);
            let (first_key, first_value) = first.get_or_insert_with(|| (key.clone(), value.clone()));
            if *first_key != key {
                mismatch(entry.key.id, first_key, &key);
            }
            if *first_value != value {
                mismatch(entry.value.id, first_value, &value);
            }
        }
    }
}

fn collect<'e>(e: &'e Expr, exempt: bool, lists: &mut Vec<&'e Expr>, maps: &mut Vec<&'e Expr>) {
    let mut below = exempt;
    match &e.kind {
        Kind::List(_) if !exempt => lists.push(e),
        Kind::Map(_) if !exempt => maps.push(e),
        Kind::Call(call) if call.function == "format" => below = true,
        _ => {}
    }
    e.children(&mut |child| collect(child, below, lists, maps));
}

/// Format strings that stand in the text fit their arguments where those do, too.
fn formats(root: &Expr, checked: &Checked, report: &mut impl FnMut(usize, String)) {
    root.walk(&mut |e| {
        let Kind::Call(call) = &e.kind else { return };
        let Call { target: Some(target), function, args } = &**call else { return };
        let (Kind::Literal(Literal::String(text)), [args]) = (&target.kind, args.as_slice()) else { return };
        let Kind::List(elements) = &args.kind else { return };
        if function != "format" {
            return;
        }
        let mut asked = 0;
        let mut about = e.id;
        let outcome = format::clauses(text, elements.len(), &mut String::new(), &mut |clause, at, _| {
            asked += 1;
            fits(clause, &elements[at].value, checked).map_err(|(id, t)| {
                about = id;
                format::unfit(clause, &t)
            })
        });
        match outcome {
            Err(message) => report(about, message),
            Ok(()) if elements.len() > asked => report(
                e.id,
                format!(
                    "too many arguments supplied to string.format (expected {asked}, got {})",
                    elements.len()
                ),
            ),
            Ok(()) => {}
        }
    });
}

/// Whether a clause can write a node; else the node that it cannot, and its type.
fn fits(clause: Clause, e: &Expr, checked: &Checked) -> Result<(), (usize, String)> {
    let t = checked.type_of(e.id);
    let fine = t.is_dyn()
        || match clause {
            Clause::Text => matches!(
                t,
                Type::List(_)
                    | Type::Map(_)
                    | Type::Int
                    | Type::Uint
                    | Type::Double
                    | Type::Bool
                    | Type::String
                    | Type::Timestamp
                    | Type::Bytes
                    | Type::Duration
                    | Type::Meta(_)
                    | Type::Null
            ),
            Clause::Decimal | Clause::Octal => matches!(t, Type::Int | Type::Uint),
            Clause::Fixed(_) | Clause::Scientific(_) => matches!(t, Type::Double | Type::String),
            Clause::Binary => matches!(t, Type::Int | Type::Uint | Type::Bool),
            Clause::Hex { .. } => matches!(t, Type::Int | Type::Uint | Type::String | Type::Bytes),
        };
    if !fine {
        return Err((e.id, t.name().to_owned()));
    }
    if matches!(clause, Clause::Text) {
        match &e.kind {
            Kind::List(elements) => {
                elements.iter().try_for_each(|element| fits(clause, &element.value, checked))?;
            }
            Kind::Map(entries) => {
                for entry in entries {
                    fits(clause, &entry.key, checked)?;
                    fits(clause, &entry.value, checked)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
