//! Invariants of the built-in table.

use super::*;

fn named(name: &str) -> &'static Struct {
    Schema::builtin().by_openapi_name(name).expect(name).1
}

#[test]
fn counts() {
    let schema = Schema::builtin();
    assert_eq!((schema.structs.len(), schema.kinds.len(), schema.resources.len()), (1240, 798, 100));
    assert_eq!(schema.structs.iter().map(|s| s.fields.len()).sum::<usize>(), 4967);
    let on: Vec<_> = schema.resources.iter().filter(|r| r.on_by_default).collect();
    assert_eq!(on.len(), 72);
    assert_eq!(on.iter().map(|r| r.subresources.len()).sum::<usize>(), 49);
}

#[test]
fn lists_have_no_room_that_nothing_is_in() {
    let schema = Schema::builtin();
    let spare = |s: &Struct| s.fields.capacity() - s.fields.len();
    assert_eq!(schema.structs.iter().map(spare).sum::<usize>(), 0);
    assert_eq!(schema.structs.capacity(), schema.structs.len());
    assert_eq!(schema.resources.capacity(), schema.resources.len());
}

#[test]
fn groups_stand_in_discovery_order() {
    let schema = Schema::builtin();
    let names: Vec<_> = schema.groups.iter().map(|g| g.name).collect();
    assert_eq!(names[..4], ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]);
    assert_eq!(names.len(), 22);
    let autoscaling = schema.groups.iter().find(|g| g.name == "autoscaling").unwrap();
    assert_eq!(autoscaling.versions, ["v2", "v1"]);
    let resource = schema.all_groups.iter().find(|g| g.name == "resource.k8s.io").unwrap();
    assert_eq!(resource.versions, ["v1", "v1beta2", "v1beta1", "v1alpha3"]);
    assert_eq!(schema.all_groups.len(), 24);
}

#[test]
fn everything_is_sorted_and_refers_to_what_exists() {
    let schema = Schema::builtin();
    assert!(schema.structs.is_sorted_by(|a, b| a.openapi_name < b.openapi_name));
    assert!(schema.kinds.is_sorted_by(|a, b| (a.group, a.version, a.kind) < (b.group, b.version, b.kind)));
    let known = |ty| match ty {
        Type::Struct(id) => (id.0 as usize) < schema.structs.len(),
        Type::Composite(id) => (id.0 as usize) < schema.composites.len(),
        _ => true,
    };
    for composite in &schema.composites {
        let (Composite::List(element) | Composite::Map(element)) = composite;
        assert!(known(element.ty));
    }
    for s in &schema.structs {
        assert!(s.by_name.is_sorted_by(|&a, &b| s.fields[a as usize].name < s.fields[b as usize].name));
        for (index, field) in s.fields.iter().enumerate() {
            assert!(known(field.ty), "{}.{}", s.openapi_name, field.name);
            assert_eq!(s.field(field.name).map(|(i, _)| i), Some(index));
            if field.proto != 0 {
                assert_eq!(s.field_by_proto(field.proto_path, field.proto).map(|(i, _)| i), Some(index));
            }
            assert_eq!(
                field.list_map_keys.is_empty(),
                field.list_type != ListType::Map,
                "{}",
                s.openapi_name
            );
        }
    }
}

#[test]
fn resources_are_whole() {
    let schema = Schema::builtin();
    for r in &schema.resources {
        let kind = schema.kind(r.group, r.version, r.kind).expect(r.resource);
        assert_eq!(kind.ty, r.ty);
        assert!(schema.get(kind.ty).fields.len() >= 2, "{} has kind and apiVersion", r.kind);
        assert_eq!(schema.list_kind(r).is_some(), r.verbs.contains(&"list"), "{}", r.resource);
        assert!(r.verbs.is_sorted());
        assert_eq!(
            r.storage_version_hash.is_empty(),
            !r.verbs.contains(&"list") || r.kind == "ComponentStatus"
        );
        assert!(r.columns.len() >= 2, "{}", r.resource);
        assert!(std::ptr::eq(schema.resource(r.group, r.version, r.resource).unwrap(), r));
        assert!(r.subresources.is_sorted_by(|a, b| a.name < b.name));
        for sub in &r.subresources {
            let kind = schema.subresource_kind(sub);
            assert!(kind.is_some(), "{}/{}", r.resource, sub.name);
            assert_eq!(
                sub.foreign,
                (sub.kind.0, sub.kind.1) != (r.group, r.version),
                "{}/{}",
                r.resource,
                sub.name
            );
        }
    }
}

#[test]
fn deletes_answer_an_object_or_a_status() {
    let answers = |resource| Schema::builtin().resource("", "v1", resource).unwrap().delete_returns_object;
    assert!(answers("pods") && answers("services"));
    assert!(!answers("configmaps") && !answers("namespaces"));
}

#[test]
fn kinds_start_with_their_type_meta() {
    let schema = Schema::builtin();
    for kind in &schema.kinds {
        let names: Vec<_> = schema.get(kind.ty).fields.iter().take(2).map(|f| f.name).collect();
        match kind.kind {
            // The envelope of a watch event is the only kind without.
            "WatchEvent" => assert_eq!(names, ["type", "object"]),
            _ => assert_eq!(names, ["kind", "apiVersion"], "{}", kind.kind),
        }
    }
}

#[test]
fn config_map_to_the_letter() {
    let schema = Schema::builtin();
    let s = named("io.k8s.api.core.v1.ConfigMap");
    assert_eq!((s.name, s.package, s.atomic, s.unions), ("ConfigMap", "v1", false, ""));
    let fields: Vec<_> = s
        .fields
        .iter()
        .map(|f| {
            (f.name, schema.go_type(f).into_owned(), f.pointer, f.omit_empty, f.required, f.proto, f.default)
        })
        .collect();
    let text =
        |name, go: &str, pointer, proto, default| (name, go.to_owned(), pointer, true, false, proto, default);
    assert_eq!(
        fields,
        [
            text("kind", "string", false, 0, ""),
            text("apiVersion", "string", false, 0, ""),
            text("metadata", "v1.ObjectMeta", false, 1, "{}"),
            text("immutable", "bool", true, 4, ""),
            text("data", "map[string]string", false, 2, ""),
            text("binaryData", "map[string][]uint8", false, 3, ""),
        ]
    );
}

#[test]
fn lists_merge_by_their_keys() {
    let s = named("io.k8s.api.core.v1.Container");
    let ports = s.field("ports").unwrap().1;
    assert_eq!((ports.list_type, ports.list_map_keys), (ListType::Map, &["containerPort", "protocol"][..]));
    assert_eq!((ports.patch_strategy, ports.patch_merge_key), ("merge", "containerPort"));
    let protocol = named("io.k8s.api.core.v1.ContainerPort").field("protocol").unwrap().1;
    assert_eq!((protocol.default, protocol.enumeration), ("\"TCP\"", &["SCTP", "TCP", "UDP"][..]));
    assert_eq!(Schema::builtin().go_type(protocol), "v1.Protocol");
}

#[test]
fn embedded_structs_are_messages_in_protobuf() {
    let volume = named("io.k8s.api.core.v1.Volume");
    let (index, host_path) = volume.field("hostPath").unwrap();
    assert_eq!((host_path.proto_path, host_path.proto), (&[2][..], 1));
    assert_eq!(volume.field_by_proto(&[2], 1).unwrap().0, index);
    assert_eq!(volume.fields[volume.by_proto[0] as usize].name, "name");
    let rule = named("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations");
    let order: Vec<_> =
        rule.by_proto.iter().map(|&i| &rule.fields[i as usize]).map(|f| (f.proto_path, f.proto)).collect();
    let expect: [(&[u32], u32); 6] =
        [(&[], 1), (&[2], 1), (&[2, 2], 1), (&[2, 2], 2), (&[2, 2], 3), (&[2, 2], 4)];
    assert_eq!(order, expect);
}

#[test]
fn named_slices_are_messages_in_protobuf() {
    let schema = Schema::builtin();
    let extra = named("io.k8s.api.authentication.v1.UserInfo").field("extra").unwrap().1;
    let Type::Composite(id) = extra.ty else { panic!("{:?}", extra.ty) };
    let Composite::Map(value) = schema.composite(id) else { panic!("no map") };
    let Type::Composite(id) = value.ty else { panic!("{:?}", value.ty) };
    let Composite::List(item) = schema.composite(id) else { panic!("no list") };
    assert!(item.wrapped && item.ty == Type::String);
    assert_eq!(schema.go_type(extra), "map[string]v1.ExtraValue");
}

#[test]
fn unions_are_json() {
    let mut unions = 0;
    for s in Schema::builtin().structs.iter().filter(|s| !s.unions.is_empty()) {
        let value: serde_json::Value = serde_json::from_str(s.unions).unwrap();
        assert!(value[0].get("fields-to-discriminateBy").is_some(), "{}", s.openapi_name);
        unions += 1;
    }
    assert!(unions > 10, "{unions}");
    for field in Schema::builtin().structs.iter().flat_map(|s| &s.fields).filter(|f| !f.default.is_empty()) {
        serde_json::from_str::<serde_json::Value>(field.default).unwrap();
    }
}

#[test]
fn columns() {
    let schema = Schema::builtin();
    let pods = schema.resource("", "v1", "pods").unwrap();
    let names: Vec<_> = pods.columns.iter().map(|c| (c.name, c.priority)).collect();
    let expect =
        [("Name", 0), ("Ready", 0), ("Status", 0), ("Restarts", 0), ("Age", 0), ("IP", 1), ("Node", 1)];
    assert_eq!(names[..7], expect);
    let leases = schema.resource("coordination.k8s.io", "v1", "leases").unwrap();
    assert_eq!(leases.columns.iter().map(|c| c.name).collect::<Vec<_>>(), ["Name", "Holder", "Age"]);
    let limits = schema.resource("", "v1", "limitranges").unwrap();
    assert_eq!(limits.columns.iter().map(|c| c.name).collect::<Vec<_>>(), ["Name", "Created At"]);
    assert!(limits.columns[1].description.contains("\n\n"), "line breaks survive the table");
}

#[test]
fn go_types_of_elements() {
    let schema = Schema::builtin();
    let element = Element { ty: Type::String, pointer: false, wrapped: false };
    assert_eq!(schema.go_element_type("[]v1.IPFamily", element), "v1.IPFamily");
    assert_eq!(schema.go_element_type("map[v1.ResourceName]string", element), "string");
    assert_eq!(schema.go_element_type("v1.ExtraValue", element), "string");
    let modes = named("io.k8s.api.core.v1.PersistentVolumeClaimSpec").field("accessModes").unwrap().1;
    assert_eq!(schema.go_type(modes), "[]v1.PersistentVolumeAccessMode");
}

#[test]
fn a_bad_line_is_named() {
    let bad = |table| Schema::parse(table).unwrap_err().line;
    assert_eq!(bad("schema\t1\nL\nL\ta|b\nS\tA\tv1\tx.A\n.name\ts\te\t1\te=2\n"), 5);
    assert_eq!(bad("schema\t1\nwhat\n"), 2);
    assert!(Schema::parse("schema\t1\nL\nL\ta|b\nS\tA\tv1\tx.A\n.name\ts\te\t1\te=1\n").is_ok());
}
