//! Macros: calls that become folds, presence tests and bindings while an expression is parsed.

use crate::{
    ast::{
        ACCUMULATOR, Call, Comprehension, Element, Entry, Expr, Kind, Literal, OLD_ACCUMULATOR, Select,
        Struct, StructField,
    },
    parser::Parser,
};

/// What a macro refuses: the place and the words.
struct Refused(u32, String);

type Expanded = Result<Expr, Refused>;

impl Parser<'_> {
    /// `function(args)`, expanded where it is a macro.
    pub(crate) fn global(&mut self, id: usize, function: &str, mut args: Vec<Expr>) -> Expr {
        if function == "has" && args.len() == 1 {
            let offset = self.offset(id);
            let arg = args.remove(0);
            return match arg.kind {
                Kind::Select(select) => {
                    self.node(offset, Kind::Select(Box::new(Select { test_only: true, ..*select })))
                }
                _ => self.report(self.offset(arg.id), "invalid argument to has() macro"),
            };
        }
        let call = Call { target: None, function: function.to_owned(), args };
        Expr { id, kind: Kind::Call(Box::new(call)) }
    }

    /// `target.function(args)`, expanded where it is a macro.
    pub(crate) fn member_call(&mut self, id: usize, function: String, target: Expr, args: Vec<Expr>) -> Expr {
        let mut b = Builder { offset: self.offset(id), parser: self };
        let expanded = match (function.as_str(), args.len()) {
            ("all" | "exists" | "exists_one" | "existsOne", 2) => b.quantifier(&function, target, args),
            ("all" | "exists" | "exists_one" | "existsOne", 3) => b.quantifier2(&function, target, args),
            ("map", 2 | 3) => b.map(target, args),
            ("filter", 2) => b.filter(target, args),
            ("optMap", 2) => b.opt_map(target, args, true),
            ("optFlatMap", 2) => b.opt_map(target, args, false),
            ("sortBy", 2) => b.sort_by(target, args),
            ("transformList", 3 | 4) => b.transform(Transform::List, target, args),
            ("transformMap", 3 | 4) => b.transform(Transform::Map, target, args),
            ("transformMapEntry", 3 | 4) => b.transform(Transform::Entry, target, args),
            _ => {
                let call = Call { target: Some(target), function, args };
                return Expr { id, kind: Kind::Call(Box::new(call)) };
            }
        };
        expanded.unwrap_or_else(|Refused(offset, message)| self.report(offset, message))
    }
}

#[derive(Clone, Copy)]
enum Transform {
    List,
    Map,
    Entry,
}

/// Makes nodes that all stand where the macro was called.
struct Builder<'p, 't> {
    parser: &'p mut Parser<'t>,
    offset: u32,
}

impl Builder<'_, '_> {
    fn node(&mut self, kind: Kind) -> Expr {
        self.parser.node(self.offset, kind)
    }
    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(Kind::Literal(literal))
    }
    fn ident(&mut self, name: &str) -> Expr {
        self.node(Kind::Ident(name.to_owned()))
    }
    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }
    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.node(Kind::Call(Box::new(Call { target: None, function: function.to_owned(), args })))
    }
    fn member(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let call = Call { target: Some(target), function: function.to_owned(), args };
        self.node(Kind::Call(Box::new(call)))
    }
    fn list(&mut self, values: Vec<Expr>) -> Expr {
        self.node(Kind::List(values.into_iter().map(|value| Element { value, optional: false }).collect()))
    }
    fn fold(&mut self, fold: Comprehension) -> Expr {
        self.node(Kind::Comprehension(Box::new(fold)))
    }
    fn refused(&self, about: &Expr, message: impl Into<String>) -> Refused {
        Refused(self.parser.offset(about.id), message.into())
    }

    fn variable(&self, arg: &Expr, no_ident: &str) -> Result<String, Refused> {
        let name = arg.ident().ok_or_else(|| self.refused(arg, no_ident))?;
        if name == ACCUMULATOR || name == OLD_ACCUMULATOR {
            return Err(self.refused(arg, "iteration variable overwrites accumulator variable"));
        }
        Ok(name.to_owned())
    }

    /// Both variables of a two-variable macro: their kinds are looked at before their names.
    fn variables(&self, first: &Expr, second: &Expr) -> Result<(String, String), Refused> {
        const NO_IDENT: &str = "argument must be a simple name";
        let (Some(a), Some(b)) = (first.ident(), second.ident()) else {
            let about = if first.ident().is_none() { first } else { second };
            return Err(self.refused(about, NO_IDENT));
        };
        if a == b {
            return Err(self.refused(second, format!("duplicate variable name: {a}")));
        }
        Ok((self.variable(first, NO_IDENT)?, self.variable(second, NO_IDENT)?))
    }

    fn quantifier(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Expanded {
        let var = self.variable(&args[0], "argument must be a simple name")?;
        let predicate = args.into_iter().nth(1);
        Ok(self.quantified(function, range, var, None, predicate))
    }

    fn quantifier2(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Expanded {
        let (var, var2) = self.variables(&args[0], &args[1])?;
        let predicate = args.into_iter().nth(2);
        Ok(self.quantified(function, range, var, Some(var2), predicate))
    }

    fn quantified(
        &mut self,
        function: &str,
        range: Expr,
        var: String,
        var2: Option<String>,
        predicate: Option<Expr>,
    ) -> Expr {
        let predicate = predicate.unwrap_or(Expr { id: 0, kind: Kind::Unspecified });
        let init;
        let condition;
        let step;
        let result;
        match function {
            "all" => {
                init = self.literal(Literal::Bool(true));
                let accu = self.accumulator();
                condition = self.call("@not_strictly_false", vec![accu]);
                let accu = self.accumulator();
                step = self.call("_&&_", vec![accu, predicate]);
                result = self.accumulator();
            }
            "exists" => {
                init = self.literal(Literal::Bool(false));
                let accu = self.accumulator();
                let not = self.call("!_", vec![accu]);
                condition = self.call("@not_strictly_false", vec![not]);
                let accu = self.accumulator();
                step = self.call("_||_", vec![accu, predicate]);
                result = self.accumulator();
            }
            _ => {
                init = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (accu, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let more = self.call("_+_", vec![accu, one]);
                let accu = self.accumulator();
                step = self.call("_?_:_", vec![predicate, more, accu]);
                let (accu, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call("_==_", vec![accu, one]);
            }
        }
        self.fold(Comprehension {
            range,
            var,
            var2,
            accu_var: ACCUMULATOR.to_owned(),
            init,
            condition,
            step,
            result,
        })
    }

    /// A fold over all elements whose result is what it gathered; a step that `filter` lets through.
    fn gathered(
        &mut self,
        range: Expr,
        (var, var2): (String, Option<String>),
        init: Expr,
        mut step: Expr,
        filter: Option<Expr>,
    ) -> Expr {
        if let Some(filter) = filter {
            let accu = self.accumulator();
            step = self.call("_?_:_", vec![filter, step, accu]);
        }
        let condition = self.literal(Literal::Bool(true));
        let result = self.accumulator();
        let accu_var = ACCUMULATOR.to_owned();
        self.fold(Comprehension { range, var, var2, accu_var, init, condition, step, result })
    }

    fn appended(&mut self, value: Expr) -> Expr {
        let (accu, one) = (self.accumulator(), self.list(vec![value]));
        self.call("_+_", vec![accu, one])
    }

    fn map(&mut self, range: Expr, mut args: Vec<Expr>) -> Expanded {
        let var = self.variable(&args[0], "argument is not an identifier")?;
        let filter = (args.len() == 3).then(|| args.remove(1));
        let init = self.list(Vec::new());
        let step = self.appended(args.swap_remove(1));
        Ok(self.gathered(range, (var, None), init, step, filter))
    }

    fn filter(&mut self, range: Expr, mut args: Vec<Expr>) -> Expanded {
        let var = self.variable(&args[0], "argument is not an identifier")?;
        let filter = args.pop();
        let init = self.list(Vec::new());
        let step = self.appended(args.swap_remove(0));
        Ok(self.gathered(range, (var, None), init, step, filter))
    }

    fn transform(&mut self, kind: Transform, range: Expr, mut args: Vec<Expr>) -> Expanded {
        let (var, var2) = self.variables(&args[0], &args[1])?;
        let filter = (args.len() == 4).then(|| args.remove(2));
        let transformed = args.swap_remove(2);
        let (init, step) = match kind {
            Transform::List => (self.list(Vec::new()), self.appended(transformed)),
            Transform::Map => {
                let init = self.node(Kind::Map(Vec::new()));
                let (accu, key) = (self.accumulator(), self.ident(&var));
                (init, self.call("cel.@mapInsert", vec![accu, key, transformed]))
            }
            Transform::Entry => {
                let init = self.node(Kind::Map(Vec::new()));
                let accu = self.accumulator();
                (init, self.call("cel.@mapInsert", vec![accu, transformed]))
            }
        };
        Ok(self.gathered(range, (var, Some(var2)), init, step, filter))
    }

    /// A binding: a fold over nothing, whose result sees the value.
    fn bound(&mut self, name: String, value: Expr, result: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(&name);
        self.fold(Comprehension {
            range,
            var: "#unused".to_owned(),
            var2: None,
            accu_var: name,
            init: value,
            condition,
            step,
            result,
        })
    }

    fn opt_map(&mut self, target: Expr, args: Vec<Expr>, wrap: bool) -> Expanded {
        let name = args[0].ident().map(str::to_owned).ok_or_else(|| {
            let macro_name = if wrap { "optMap" } else { "optFlatMap" };
            self.refused(&args[0], format!("{macro_name}() variable name must be a simple identifier"))
        })?;
        let Some(mapped) = args.into_iter().nth(1) else { return Ok(target) };
        let copy = self.copy(&target);
        let has = self.member("hasValue", target, Vec::new());
        let value = self.member("value", copy, Vec::new());
        let mut result = self.bound(name, value, mapped);
        if wrap {
            result = self.call("optional.of", vec![result]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![has, result, none]))
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Expanded {
        const INPUT: &str = "@__sortBy_input__";
        if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Struct(_) | Kind::Unspecified) {
            return Err(self.refused(
                &target,
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
            ));
        }
        let input = self.ident(INPUT);
        let keys = self.map(input, args)?;
        let input = self.ident(INPUT);
        let sorted = self.member("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bound(INPUT.to_owned(), target, sorted))
    }

    /// A tree again, with numbers of its own.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let id = self.parser.id_at(self.parser.offset(expr.id));
        let kind = match &expr.kind {
            Kind::Select(select) => Kind::Select(Box::new(Select {
                operand: self.copy(&select.operand),
                field: select.field.clone(),
                test_only: select.test_only,
            })),
            Kind::Call(call) => Kind::Call(Box::new(Call {
                target: call.target.as_ref().map(|target| self.copy(target)),
                function: call.function.clone(),
                args: call.args.iter().map(|arg| self.copy(arg)).collect(),
            })),
            Kind::List(elements) => Kind::List(
                elements
                    .iter()
                    .map(|element| Element { value: self.copy(&element.value), optional: element.optional })
                    .collect(),
            ),
            Kind::Map(entries) => Kind::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: self.copy(&entry.key),
                        value: self.copy(&entry.value),
                        optional: entry.optional,
                    })
                    .collect(),
            ),
            Kind::Comprehension(fold) => Kind::Comprehension(Box::new(Comprehension {
                range: self.copy(&fold.range),
                var: fold.var.clone(),
                var2: fold.var2.clone(),
                accu_var: fold.accu_var.clone(),
                init: self.copy(&fold.init),
                condition: self.copy(&fold.condition),
                step: self.copy(&fold.step),
                result: self.copy(&fold.result),
            })),
            Kind::Struct(object) => Kind::Struct(Box::new(Struct {
                name: object.name.clone(),
                fields: object
                    .fields
                    .iter()
                    .map(|field| StructField {
                        id: self.parser.id_at(self.parser.offset(field.id)),
                        name: field.name.clone(),
                        value: self.copy(&field.value),
                        optional: field.optional,
                    })
                    .collect(),
            })),
            other => other.clone(),
        };
        Expr { id, kind }
    }
}
