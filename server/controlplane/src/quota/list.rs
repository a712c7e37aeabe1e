//! Amounts by the name of their resource, and what quotas do with them (`quota.Add`, `Mask`, …).

use std::collections::BTreeMap;

use bumpalo::Bump;
use ringbolt_machinery::{
    quantity::{Format, Quantity},
    value::{Map, Value},
};

use crate::quantity;

/// Amounts by name, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourceList(BTreeMap<String, Quantity>);

impl ResourceList {
    /// The list below a map of an object.
    pub(crate) fn read(list: Option<&Map<'_>>) -> Self {
        let entries = list.into_iter().flat_map(Map::iter);
        let entry =
            |(name, value): (&str, &Value<'_>)| Some((name.to_owned(), quantity::parse(value.as_str()?)?));
        ResourceList(entries.filter_map(entry).collect())
    }

    /// The list as part of an object.
    pub(crate) fn write<'a>(&self, arena: &'a Bump) -> Value<'a> {
        let mut map = Map::new_in(arena);
        for (name, amount) in &self.0 {
            map.insert(arena.alloc_str(name), Value::String(arena.alloc_str(&amount.to_string())));
        }
        Value::Map(map)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn set(&mut self, name: impl Into<String>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    /// Sets a whole number.
    pub(crate) fn count(&mut self, name: impl Into<String>, number: i64) {
        self.set(name, Quantity::new(number, Format::DecimalSi));
    }

    /// Adds one amount.
    pub(crate) fn add_to(&mut self, name: &str, amount: &Quantity) {
        match self.0.get_mut(name) {
            Some(sum) => sum.add(amount),
            None => {
                self.0.insert(name.to_owned(), amount.clone());
            }
        }
    }

    /// Adds all amounts of another list.
    pub(crate) fn add(&mut self, other: &ResourceList) {
        for (name, amount) in &other.0 {
            self.add_to(name, amount);
        }
    }

    /// What is more than in another list; what is less counts as nothing (`SubtractWithNonNegativeResult`).
    pub(crate) fn more_than(&self, other: &ResourceList) -> ResourceList {
        let more = |(name, amount): (&String, &Quantity)| {
            let mut amount = amount.clone();
            if let Some(other) = other.0.get(name) {
                amount.sub(other);
            }
            (amount.sign() > 0).then(|| (name.clone(), amount))
        };
        ResourceList(self.0.iter().filter_map(more).collect())
    }

    /// Those of these names.
    pub(crate) fn only(&self, keep: impl Fn(&str) -> bool) -> ResourceList {
        ResourceList(self.0.iter().filter(|(n, _)| keep(n)).map(|(n, a)| (n.clone(), a.clone())).collect())
    }

    /// Those that are not zero.
    pub(crate) fn without_zeros(&self) -> ResourceList {
        ResourceList(
            self.0.iter().filter(|(_, a)| !a.is_zero()).map(|(n, a)| (n.clone(), a.clone())).collect(),
        )
    }

    /// Names of which there is more than in another list that has them.
    pub(crate) fn beyond(&self, limits: &ResourceList) -> Vec<&str> {
        let is_beyond =
            |(name, amount): &(&String, &Quantity)| limits.0.get(*name).is_some_and(|l| *amount > l);
        self.0.iter().filter(is_beyond).map(|(name, _)| name.as_str()).collect()
    }

    /// Names of negative amounts.
    pub(crate) fn negative(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, a)| a.sign() < 0).map(|(name, _)| name.as_str()).collect()
    }
}

/// As errors show it.
impl std::fmt::Display for ResourceList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, amount)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={amount}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(&str, &str)]) -> ResourceList {
        ResourceList(entries.iter().map(|(n, a)| ((*n).to_owned(), quantity::parse(a).unwrap())).collect())
    }

    #[test]
    fn arithmetic() {
        let mut sum = list(&[("cpu", "400m"), ("pods", "1")]);
        sum.add(&list(&[("cpu", "200m"), ("memory", "1Gi")]));
        assert_eq!(sum.to_string(), "cpu=600m,memory=1Gi,pods=1");
        let more = sum.more_than(&list(&[("cpu", "1"), ("memory", "512Mi"), ("pods", "1")]));
        assert_eq!(more.to_string(), "memory=512Mi");
        assert_eq!(sum.beyond(&list(&[("cpu", "500m"), ("pods", "1")])), ["cpu"]);
        assert_eq!(sum.only(|name| name == "pods").to_string(), "pods=1");
        assert_eq!(list(&[("a", "0"), ("b", "1")]).without_zeros().to_string(), "b=1");
        assert_eq!(list(&[("a", "-1"), ("b", "1")]).negative(), ["a"]);
    }
}
