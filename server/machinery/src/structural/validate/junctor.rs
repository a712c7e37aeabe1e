//! `anyOf`, `oneOf`, `allOf` and `not`.

use super::{Fault, Faults, Outcome, Place, Validator};
use crate::{structural::Node, value::Value};

impl Validator {
    /// `anyOf`, `oneOf`, `allOf` and `not`.
    pub(super) fn junctors(
        &self,
        node: Node<'_>,
        value: &Value<'_>,
        place: &Place<'_>,
        faults: &mut Faults,
    ) -> Outcome {
        let mut outcome = Outcome { matches: 1, valid: true };
        let Some(validation) = node.validation() else { return outcome };
        if validation.any_of().len() > 0 {
            self.any_of(validation.any_of(), value, place, &mut outcome, faults);
        }
        if validation.one_of().len() > 0 {
            self.one_of(validation.one_of(), value, place, &mut outcome, faults);
        }
        if validation.all_of().len() > 0 {
            let mut validated = 0;
            for schema in validation.all_of() {
                let result = self.value(schema, value, None, place, faults);
                validated += usize::from(result.valid);
                outcome.merge(result);
            }
            if validated != validation.all_of().len() {
                let none = if validated == 0 { ". None validated" } else { "" };
                outcome.fail(
                    faults,
                    Fault::composite(place, &format!("must validate all the schemas (allOf){none}")),
                );
            }
        }
        if let Some(not) = validation.not()
            && self.value(not, value, None, place, &mut Faults::default()).valid
        {
            outcome.fail(faults, Fault::composite(place, "must not validate the schema (not)"));
        }
        outcome
    }

    fn any_of<'s>(
        &self,
        schemas: impl Iterator<Item = Node<'s>>,
        value: &Value<'_>,
        place: &Place<'_>,
        outcome: &mut Outcome,
        faults: &mut Faults,
    ) {
        let mut best: Option<(usize, Faults)> = None;
        for schema in schemas {
            let mut found = Faults::default();
            let result = self.value(schema, value, None, place, &mut found);
            if result.valid {
                outcome.matches += result.matches;
                return;
            }
            if best.as_ref().is_none_or(|(matches, _)| result.matches > *matches) {
                best = Some((result.matches, found));
            }
        }
        outcome.fail(faults, Fault::composite(place, "must validate at least one schema (anyOf)"));
        self.keep(best, outcome, faults);
    }

    fn one_of<'s>(
        &self,
        schemas: impl Iterator<Item = Node<'s>>,
        value: &Value<'_>,
        place: &Place<'_>,
        outcome: &mut Outcome,
        faults: &mut Faults,
    ) {
        let mut best: Option<(usize, Faults)> = None;
        let mut first = None;
        let mut validated = 0;
        for schema in schemas {
            let mut found = Faults::default();
            let result = self.value(schema, value, None, place, &mut found);
            if result.valid {
                validated += 1;
                best = None;
                first.get_or_insert(result.matches);
            } else if validated == 0 && best.as_ref().is_none_or(|(matches, _)| result.matches > *matches) {
                best = Some((result.matches, found));
            }
        }
        let how_many = match validated {
            1 => {
                outcome.matches += first.unwrap_or(0);
                return;
            }
            0 => "Found none valid".to_owned(),
            n => format!("Found {n} valid alternatives"),
        };
        let text = format!("must validate one and only one schema (oneOf). {how_many}");
        outcome.fail(faults, Fault::composite(place, &text));
        self.keep(best, outcome, faults);
    }

    /// The failure with the most matches is the one that is told.
    fn keep(&self, best: Option<(usize, Faults)>, outcome: &mut Outcome, faults: &mut Faults) {
        let Some((matches, found)) = best else { return };
        outcome.matches += matches;
        for fault in found.into_list() {
            outcome.fail(faults, fault);
        }
    }
}
