//! What server-side apply takes for granted of the built-in Schema.

use crate::{
    apply::shape::Shape,
    schema::{Composite, ListType, Schema, Type},
};

/// A list's patch strategy says how its items are told apart where no list type does. None of the built-in lists
/// relies on that, so nothing here does.
#[test]
fn lists_to_merge_have_a_list_type() {
    let schema = Schema::builtin();
    for of in &schema.structs {
        for field in of.fields.iter().filter(|f| f.patch_strategy.contains("merge") && !f.list_type_given) {
            let list =
                matches!(field.ty, Type::Composite(id) if matches!(schema.composite(id), Composite::List(_)));
            assert!(!list, "{}.{}", of.openapi_name, field.name);
        }
        for field in of.fields.iter().filter(|f| f.list_type == ListType::Map) {
            assert!(!field.list_map_keys.is_empty(), "{}.{}", of.openapi_name, field.name);
        }
    }
}

/// The walks pass over this field wherever it stands.
#[test]
fn only_object_metadata_has_managed_fields() {
    for of in &Schema::builtin().structs {
        let has = of.field("managedFields").is_some();
        assert_eq!(has, of.name == "ObjectMeta", "{}", of.openapi_name);
    }
}

/// Walks hand shapes on by value: those of structural schemas must not make those of built-in types larger.
#[test]
fn shapes_are_small() {
    assert_eq!(size_of::<Shape<'_>>(), 32);
}
