//! Rows of `pg_type`, and of what tells more of types: `pg_enum` and `pg_range`.

use std::collections::{BTreeSet, HashMap};

use hotrow_base::composite::CompositeType;
use hotrow_base::enumeration::EnumType;
use hotrow_base::types::{DataType, RangeKind};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{NamedType, PUBLIC, Table, View};

use crate::type_table::{KnownType, TYPES, composite_type, enum_type, known_type};

use super::cells::{PG_CATALOG, dependency, schema_number, tables, text, views};
use super::numbers::{COMPOSITES, LABELS, PROCEDURES, TABLES, VIEWS};
use super::{Fields, SystemContext, rights};

/// The number of the schema that an enum or a composite type is in.
pub(super) fn schema_of_type(context: &SystemContext<'_>, wanted: &str) -> i64 {
    let mut all = context.catalog.types();
    let found = all.find(|(_, name, _)| *name == wanted);
    schema_number(context.catalog, found.map_or(PUBLIC, |(schema, ..)| schema))
}

/// The enums that there are.
fn enums(context: &SystemContext<'_>) -> impl Iterator<Item = EnumType> {
    context.catalog.types().filter_map(|(.., named)| match **named {
        NamedType::Enum(of) => Some(of),
        NamedType::Composite(_) | NamedType::Domain(_) => None,
    })
}

/// The composite types that there are.
pub(super) fn composites(context: &SystemContext<'_>) -> impl Iterator<Item = CompositeType> {
    context.catalog.types().filter_map(|(.., named)| match **named {
        NamedType::Composite(of) => Some(of),
        NamedType::Enum(_) | NamedType::Domain(_) => None,
    })
}

/// The relation that a composite type is listed as.
pub(super) fn number_of_composite(of: CompositeType) -> i64 {
    COMPOSITES.of(of.number() as usize)
}

pub(super) fn labels(context: &SystemContext<'_>) -> Vec<Fields> {
    let label = |of: EnumType, (place, label): (u16, &str)| {
        vec![
            ("oid", Value::BigInt(LABELS.of(usize::from(place)))),
            ("enumtypid", Value::BigInt(enum_type(of).oid)),
            ("enumsortorder", Value::Real(f32::from(place) + 1.0)),
            ("enumlabel", text(label)),
        ]
    };
    let of_one = |of: EnumType| {
        let labels = (0..).zip(of.labels().iter().map(|label| &**label));
        labels.map(move |one| label(of, one))
    };
    enums(context).flat_map(of_one).collect()
}

/// The types of ranges, each with that of its elements.
pub(super) fn ranges() -> Vec<Fields> {
    let number = |of: DataType| Value::BigInt(known_type(of).oid);
    let one = |kind: RangeKind| {
        vec![
            ("rngtypid", number(DataType::Range(kind))),
            ("rngsubtype", number(kind.element())),
            ("rngmultitypid", Value::BigInt(0)),
            ("rngcollation", Value::BigInt(0)),
        ]
    };
    RangeKind::ALL.map(one).to_vec()
}

pub(super) fn types(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    let own = enums(context).map(enum_type).chain(composites(context).map(composite_type));
    let of_schema = |known: KnownType| {
        let schema = match known.category {
            "E" | "C" => schema_of_type(context, known.name),
            _ => PG_CATALOG,
        };
        (known, schema, None)
    };
    let of_table = |table: &Table| {
        let schema = schema_number(context.catalog, &table.schema);
        (composite_type(table.row_type()), schema, Some(TABLES.of(table.id.index())))
    };
    let of_view = |view: &View| {
        let schema = schema_number(context.catalog, &view.schema);
        let rows = composite_type(view.row_type()?);
        Some((rows, schema, Some(VIEWS.of(view.id as usize))))
    };
    let own = TYPES.iter().copied().chain(own).map(of_schema);
    let of_relations = tables(context).map(of_table);
    let of_relations = of_relations.chain(views(context).filter_map(|view| of_view(view)));
    for (known, schema, table) in own.chain(of_relations) {
        let common = |oid: i64, name: String, length: i16, category: &str| {
            let typtype = match category {
                "P" => "p",
                "E" => "e",
                "C" => "c",
                "R" => "r",
                _ => "b",
            };
            let whose = (schema, Value::BigInt(rights::MAKER));
            let mut fields = type_fields((oid, name), whose, (typtype, category), length);
            fields.push(("typtypmod", Value::Int(-1)));
            fields
        };
        let mut fields = common(known.oid, known.name.to_owned(), known.length, known.category);
        fields.push(("typarray", Value::BigInt(known.array)));
        if let Some(DataType::Composite(of)) = known.kept {
            let relation = table.unwrap_or_else(|| number_of_composite(of));
            fields.push(("typrelid", Value::BigInt(relation)));
        }
        let input = match known.category {
            "E" => "enum_in".to_owned(),
            "C" => "record_in".to_owned(),
            _ => format!("{}in", known.name),
        };
        fields.push(("typinput", text(input)));
        all.push(fields);
        if known.array == 0 {
            continue; // there are no arrays of it
        }
        let mut array = common(known.array, format!("_{}", known.name), -1, "A");
        array.push(("typelem", Value::BigInt(known.oid)));
        array.push(("typinput", text("array_in")));
        all.push(array);
    }
    all
}

/// What pg_type says of every type: its number and name, its schema and owner, its kind and
/// category.
pub(super) fn type_fields(
    (oid, name): (i64, String),
    (schema, owner): (i64, Value),
    (typtype, category): (&str, &str),
    length: i16,
) -> Fields {
    vec![
        ("oid", Value::BigInt(oid)),
        ("typname", text(name)),
        ("typnamespace", Value::BigInt(schema)),
        ("typowner", owner),
        ("typlen", Value::SmallInt(length)),
        ("typtype", text(typtype)),
        ("typcategory", text(category)),
        ("typisdefined", Value::Bool(true)),
        ("typdelim", text(",")),
        ("typalign", text("i")),
        ("typstorage", text("p")), // as pg_attribute has it
    ]
}

/// What composite types depend on: each stands behind the types of its fields.
pub(super) fn dependencies(context: &SystemContext<'_>) -> Vec<Fields> {
    let one = |of: CompositeType, referred: i64, how: &str| {
        dependency(("pg_class", number_of_composite(of)), ("pg_type", referred), how)
    };
    let mut all = row_dependencies(context);
    for of in composites(context) {
        all.push(one(of, composite_type(of).oid, "i"));
        for field in of.types() {
            match field.element().unwrap_or(field) {
                DataType::Enum(field) => all.push(one(of, enum_type(field).oid, "n")),
                DataType::Composite(field) => all.push(one(of, composite_type(field).oid, "n")),
                _ => {}
            }
        }
    }
    all
}

/// What depends on the row of a table: that comes behind the table in a dump.
fn row_dependencies(context: &SystemContext<'_>) -> Vec<Fields> {
    let of_tables = tables(context).map(|table| (table.row_type(), TABLES.of(table.id.index())));
    let of_view = |view: &View| Some((view.row_type()?, VIEWS.of(view.id as usize)));
    let of_tables: HashMap<CompositeType, i64> =
        of_tables.chain(views(context).filter_map(|view| of_view(view))).collect();
    let mut all = Vec::new();
    let mut needed = BTreeSet::new();
    let mut add = |object: (&str, i64), of: DataType| {
        // An array has no arrays for elements, of however many dimensions it is.
        let DataType::Composite(row) = of.element().unwrap_or(of) else { return };
        if let Some(&table) = of_tables.get(&row).filter(|table| **table != object.1) {
            let number = composite_type(row).oid;
            all.push(dependency(object, ("pg_type", number), "n"));
            needed.insert((number, table));
        }
    };
    for table in tables(context) {
        let object = ("pg_class", TABLES.of(table.id.index()));
        table.shown().iter().for_each(|column| add(object, column.data_type));
    }
    for (id, procedure, _) in &context.procedures {
        let object = ("pg_proc", PROCEDURES.of(*id as usize));
        procedure.given().iter().for_each(|of| add(object, of.sql_type.packed()));
        procedure.result.iter().for_each(|column| add(object, column.data_type));
    }
    let of_row = |(row, table)| dependency(("pg_type", row), ("pg_class", table), "i");
    all.extend(needed.into_iter().map(of_row));
    all
}
