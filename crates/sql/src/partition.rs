//! Partitioned tables: PARTITION BY, PARTITION OF, and bounds that are read and compared.
//!
//! Role         a partition becomes a view with a bound (`hotrow_transaction::catalog::Partition`),
//!              whose rows lie in the table that is partitioned; `partition_rows` moves rows, and
//!              `partition_checks` keeps conditions in step with definitions
//! Source       PostgreSQL 15, "CREATE TABLE", and partbounds.c. We differ: a partition has no
//!              columns, constraints, defaults, indexes or triggers of its own

use std::cmp::Ordering;
use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::compare_values;
use hotrow_transaction::catalog::{
    Column, Generated, Partition, PartitionBound, PartitionKey, PartitionKeyPart,
    PartitionStrategy, RangeEnd, SearchPath, Table, View, ViewCheck, ViewKind, is_hashed, local,
};
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use hotrow_transaction::walk::reads_any;
use sqlparser::ast;

use crate::changes::CatalogChange;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::generated::{Computed, computed};
use crate::scope::Compiler;
use crate::state::Row;
use crate::token::quoted;
use crate::typing::{Coercion, comparable};
use crate::written::{arguments, bare, function_name, ident_name, object_name};

/// Parts of one key.
const KEY_PARTS_MAX: usize = 32;
/// Partitions stand in partitions at most this deep.
const DEPTH_MAX: usize = 16;

/// What is partitioned: a table, or a partition of one.
pub(crate) struct Partitioned<'c> {
    /// the table that has the rows
    pub(crate) table: &'c Table,
    /// the partition, if it is one
    pub(crate) within: Option<&'c Arc<View>>,
    pub(crate) key: &'c PartitionKey,
}

impl Partitioned<'_> {
    pub(crate) fn name(&self) -> &str {
        self.within.map_or(&self.table.name, |view| &view.name)
    }

    pub(crate) fn number(&self) -> Option<u32> {
        self.within.map(|view| view.id)
    }
}

impl<'c> Compiler<'c> {
    /// The partition with a name.
    pub(crate) fn partition_named(&self, name: &str) -> Option<(&'c Arc<View>, &'c Partition)> {
        let view = self.view_named(name)?;
        Some((view, view.partition.as_deref()?))
    }

    /// The table with a name, or the one that has the rows of the partition with it.
    pub(crate) fn table_of_rows(&self, name: &str) -> Option<&'c Table> {
        let of_partition = || Some(self.catalog.table(self.partition_named(name)?.1.table));
        self.table_named(name).or_else(of_partition)
    }

    /// What has partitions under a name.
    pub(crate) fn partitioned(&self, name: &str, place: Place) -> Result<Partitioned<'c>> {
        let own = match self.partition_named(name) {
            Some((view, partition)) => {
                let table = self.catalog.table(partition.table);
                partition.key.as_ref().map(|key| Partitioned { table, within: Some(view), key })
            }
            None => {
                let table = self.table(name, place)?;
                let key = table.partitioning.as_ref().map(|of| &of.key);
                key.map(|key| Partitioned { table, within: None, key })
            }
        };
        own.ok_or_else(|| {
            error(b"42P17", place, format!("\"{}\" is not partitioned", local(name)))
                .hint("partitions are of tables that are made with PARTITION BY")
        })
    }

    /// The partitions that something has itself, by name.
    pub(crate) fn parts_of(
        &self,
        of: &Partitioned<'c>,
    ) -> impl Iterator<Item = (&'c Arc<View>, &'c Partition)> + use<'c> {
        let number = of.number();
        self.catalog.partitions_of(of.table.id).filter(move |(_, part)| part.parent == number)
    }

    /// CREATE TABLE ... PARTITION OF.
    pub(crate) fn create_partition(
        &mut self,
        written: &ast::CreateTable,
        (schema, name): (String, String),
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let Some(of) = &written.partition_of else { return Ok(Vec::new()) };
        let at = place_in(of, place);
        let of = self.partitioned(&object_name(of, at)?, at)?;
        if !written.columns.is_empty() || !written.constraints.is_empty() {
            let hint = "write them of the table that is partitioned: they hold for all partitions";
            return Err(unsupported(place, "columns or constraints of one partition", hint));
        }
        let bound = self.bound(&of, (&name, written.for_values.as_ref()), place)?;
        let key = match &written.partition_by {
            None => None,
            Some(by) => {
                if self.depth_of(&of) >= DEPTH_MAX {
                    let message = format!("partitions nest at most {DEPTH_MAX} deep");
                    return Err(error(b"54001", place, message));
                }
                let rows = (of.table.shown(), of.table.generated.as_slice());
                Some(self.partition_key(&name, rows, by, place)?)
            }
        };
        let left = self.leaves_default(&of, &bound)?;
        let require = |(rows, refused)| {
            let (table, refused) = (of.table.id, Box::new(refused));
            CatalogChange::RequireRows { table, rows, refused }
        };
        let mut changes: Vec<_> = left.into_iter().map(require).collect();
        changes.push(CatalogChange::SetView(partition_view((schema, name), &of, bound, key)));
        Ok(changes)
    }

    /// How many partitions something stands in.
    fn depth_of(&self, of: &Partitioned<'c>) -> usize {
        let (mut depth, mut next) = (0, of.number());
        while let Some(number) = next {
            let mut all = self.catalog.partitions_of(of.table.id);
            next = all.find(|(view, _)| view.id == number).and_then(|(_, part)| part.parent);
            depth += 1;
        }
        depth
    }

    /// PARTITION BY strategy (column or expression, ...).
    pub(crate) fn partition_key(
        &mut self,
        name: &str,
        (columns, generated): (&[Column], &[Generated]),
        written: &ast::Expr,
        place: Place,
    ) -> Result<PartitionKey> {
        let at = place_in(written, place);
        let ast::Expr::Function(function) = written else {
            return Err(error(
                b"42601",
                at,
                "PARTITION BY needs RANGE (...), LIST (...) or HASH (...)",
            ));
        };
        let strategy = match function_name(function).as_str() {
            "range" => PartitionStrategy::Range,
            "list" => PartitionStrategy::List,
            "hash" => PartitionStrategy::Hash,
            other => {
                let message = format!("unrecognized partitioning strategy \"{other}\"");
                return Err(error(b"22023", at, message).hint("write RANGE, LIST or HASH"));
            }
        };
        let (_, all) = arguments(function, at)?;
        if strategy == PartitionStrategy::List && all.len() > 1 {
            let message = "cannot use \"list\" partition strategy with more than one column";
            return Err(error(b"42P17", at, message));
        }
        if all.is_empty() {
            return Err(error(b"42601", at, "a partition key has at least one column"));
        }
        if all.len() > KEY_PARTS_MAX {
            let message = format!("cannot partition using more than {KEY_PARTS_MAX} columns");
            return Err(error(b"54011", at, message));
        }
        let mut key = PartitionKey { strategy, parts: Vec::new(), columns: Vec::new() };
        for part in all {
            let at = place_in(part, at);
            let row = Row::of(name, columns);
            let part = match part {
                ast::Expr::Identifier(column) => {
                    let column = ident_name(column);
                    let Some(known) = columns.iter().find(|known| known.name == column) else {
                        let message =
                            format!("column \"{column}\" named in partition key does not exist");
                        return Err(error(b"42703", at, message));
                    };
                    key.columns.push(column.clone());
                    let (text, data_type) = (quoted(&column), known.data_type);
                    PartitionKeyPart { column: Some(column), text, data_type }
                }
                written => {
                    let (value, row) = self.with_row(row, |this| this.expr(bare(written)))?;
                    let SqlType::Scalar(data_type) = value.sql_type else {
                        return Err(unsupported(
                            at,
                            "an array in a partition key",
                            "take an element",
                        ));
                    };
                    let of = computed(self, value, &row, (Computed::PartitionKey, at))?;
                    if of.columns.is_empty() {
                        let message = "cannot use constant expression as partition key";
                        return Err(error(b"42P17", at, message));
                    }
                    let named = of.columns.iter().map(|of| columns[of.index()].name.clone());
                    key.columns.extend(named);
                    let text = match bare(written) {
                        call @ ast::Expr::Function(_) => call.to_string(),
                        other => format!("({other})"),
                    };
                    PartitionKeyPart { column: None, text, data_type }
                }
            };
            let is_generated = |name: &String| {
                let mut all = generated.iter().filter_map(|of| columns.get(of.column.index()));
                all.any(|column| column.name == *name)
            };
            if key.columns.iter().any(is_generated) {
                return Err(error(b"42P17", at, "cannot use generated column in partition key"));
            }
            refuse_without_class(strategy, part.data_type, at)?;
            key.parts.push(part);
        }
        key.columns.sort();
        key.columns.dedup();
        Ok(key)
    }

    /// FOR VALUES, or DEFAULT, of a partition that is to be one of something.
    pub(crate) fn bound(
        &mut self,
        of: &Partitioned<'c>,
        (name, written): (&str, Option<&ast::ForValues>),
        place: Place,
    ) -> Result<PartitionBound> {
        let invalid = |text: String| Err(error(b"42P16", place, text));
        let parts = &of.key.parts;
        let bound = match (of.key.strategy, written) {
            (_, None) => {
                let hint = "write FOR VALUES ..., or DEFAULT, behind the table's name";
                return Err(error(b"42601", place, "a partition needs a bound").hint(hint));
            }
            (PartitionStrategy::Hash, Some(ast::ForValues::Default)) => {
                return invalid("a hash-partitioned table may not have a default partition".into());
            }
            (_, Some(ast::ForValues::Default)) => PartitionBound::Default,
            (PartitionStrategy::Range, Some(ast::ForValues::From { from, to })) => {
                for (what, given) in [("FROM", from), ("TO", to)] {
                    if given.len() != parts.len() {
                        let text = "must specify exactly one value per partitioning column";
                        return invalid(format!("{what} {text}"));
                    }
                }
                let from = self.range_ends(from, parts, place)?;
                PartitionBound::Range { from, to: self.range_ends(to, parts, place)? }
            }
            (PartitionStrategy::List, Some(ast::ForValues::In(written))) => {
                let mut values = Vec::new();
                for written in written {
                    let value = self.bound_value(written, &parts[0], place)?;
                    if !values.iter().any(|known| is_same(known, &value)) {
                        values.push(value);
                    }
                }
                PartitionBound::List(values)
            }
            (PartitionStrategy::Hash, Some(ast::ForValues::With { modulus, remainder })) => {
                let number = |given: u64| u32::try_from(given).unwrap_or(u32::MAX);
                let (modulus, remainder) = (number(*modulus), number(*remainder));
                if modulus == 0 {
                    let text = "modulus for hash partition must be an integer value greater than";
                    return invalid(format!("{text} zero"));
                }
                if remainder >= modulus {
                    let text = "remainder for hash partition must be less than modulus";
                    return invalid(text.to_owned());
                }
                PartitionBound::Hash { modulus, remainder }
            }
            (strategy, Some(_)) => {
                let strategy = strategy.name().to_lowercase();
                return invalid(format!("invalid bound specification for a {strategy} partition"));
            }
        };
        self.refuse_overlap(of, (name, &bound), place)?;
        Ok(bound)
    }

    fn range_ends(
        &mut self,
        written: &[ast::PartitionBoundValue],
        parts: &[PartitionKeyPart],
        place: Place,
    ) -> Result<Vec<RangeEnd>> {
        let mut ends: Vec<RangeEnd> = Vec::new();
        for (written, part) in written.iter().zip(parts) {
            let (end, word) = match written {
                ast::PartitionBoundValue::MinValue => (RangeEnd::Least, "MINVALUE"),
                ast::PartitionBoundValue::MaxValue => (RangeEnd::Greatest, "MAXVALUE"),
                ast::PartitionBoundValue::Expr(written) => {
                    let value = self.bound_value(written, part, place)?;
                    if value.is_null() {
                        return Err(error(b"42P17", place, "cannot specify NULL in range bound"));
                    }
                    (RangeEnd::At(value), "")
                }
            };
            let before = match ends.last() {
                Some(RangeEnd::Least) => "MINVALUE",
                Some(RangeEnd::Greatest) => "MAXVALUE",
                _ => word,
            };
            if before != word {
                let message = format!("every bound following {before} must also be {before}");
                return Err(error(b"42804", place, message));
            }
            ends.push(end);
        }
        Ok(ends)
    }

    fn bound_value(
        &mut self,
        written: &ast::Expr,
        part: &PartitionKeyPart,
        place: Place,
    ) -> Result<Value> {
        let at = place_in(written, place);
        if matches!(bare(written), ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)) {
            let message = "cannot use column reference in partition bound expression";
            return Err(error(b"0A000", at, message).hint("write a value"));
        }
        let of = part.column.as_ref().unwrap_or(&part.text);
        let what = || format!("column \"{of}\"");
        let value = self.value_for(written, part.data_type, Coercion::Assignment, what);
        let value = value.map_err(|refused| match &refused.sqlstate {
            b"42804" => {
                let to = part.data_type;
                let message = format!("specified value cannot be cast to type {to} for {}", what());
                error(b"42804", at, message)
            }
            _ => refused,
        })?;
        if self.needs_query.take().is_some() || reads_any(&value, |_| true) {
            let hint = "write a value that is the same at all times";
            return Err(unsupported(at, "this expression as a bound", hint));
        }
        evaluate(&value, 0).map_err(|failed| failed.or_at(at))
    }

    /// Fails with 42P17 where rows of a new partition would be in another one, too.
    fn refuse_overlap(
        &self,
        of: &Partitioned<'c>,
        (name, bound): (&str, &PartitionBound),
        place: Place,
    ) -> Result<()> {
        let refused = |message: String| error(b"42P17", place, message);
        if let PartitionBound::Range { from, to } = bound
            && compare_ends(from, to).is_ge()
        {
            let message = format!("empty range bound specified for partition \"{name}\"");
            return Err(refused(message).detail(
                "Specified lower bound is greater than or equal to the specified upper bound.",
            ));
        }
        let mut others: Vec<_> = self.parts_of(of).collect();
        others.sort_by(|(_, a), (_, b)| in_order(&a.bound, &b.bound));
        if let PartitionBound::Hash { modulus, .. } = bound {
            for (view, part) in &others {
                let PartitionBound::Hash { modulus: other, .. } = part.bound else { continue };
                let (less, more) = (other.min(*modulus), other.max(*modulus));
                if more % less != 0 {
                    let text = "every hash partition modulus must be a factor of the next larger";
                    let of = &view.name;
                    let how = if less == other { "divisible by" } else { "a factor of" };
                    let detail = format!(
                        "The new modulus {modulus} is not {how} {other}, the modulus of existing \
                         partition \"{of}\"."
                    );
                    return Err(refused(format!("{text} modulus")).detail(detail));
                }
            }
        }
        for (view, part) in others {
            let other = &view.name;
            if (bound, &part.bound) == (&PartitionBound::Default, &PartitionBound::Default) {
                let text = "conflicts with existing default partition";
                return Err(refused(format!("partition \"{name}\" {text} \"{other}\"")));
            }
            if overlaps(bound, &part.bound) {
                let message = format!("partition \"{name}\" would overlap partition \"{other}\"");
                return Err(refused(message));
            }
        }
        Ok(())
    }
}

/// The view that a partition is; its text is made with its siblings' (`partition_checks`).
pub(crate) fn partition_view(
    (schema, name): (String, String),
    of: &Partitioned<'_>,
    bound: PartitionBound,
    key: Option<PartitionKey>,
) -> View {
    let (table, parent) = (of.table.id, of.number());
    let columns = of.table.shown().iter();
    let columns: Vec<_> =
        columns.map(|of| (of.name.clone(), SqlType::Scalar(of.data_type))).collect();
    View {
        id: 0,
        name,
        schema,
        given: columns.iter().map(|(name, _)| name.clone()).collect(),
        columns,
        path: SearchPath::default(),
        text: String::new(),
        conventions: Conventions::DEFAULT,
        check: ViewCheck::Local,
        kind: ViewKind::Partition,
        triggers: Vec::new(),
        partition: Some(Arc::new(Partition { table, parent, bound, key })),
    }
}

/// Fails with 42704 where values of a type cannot tell a partition.
fn refuse_without_class(
    strategy: PartitionStrategy,
    data_type: DataType,
    place: Place,
) -> Result<()> {
    let (is_known, method) = match strategy {
        PartitionStrategy::Hash => (is_hashed(data_type), "hash"),
        _ => (comparable(data_type, "<", place).is_ok(), "btree"),
    };
    if is_known {
        return Ok(());
    }
    let message = format!(
        "data type {data_type} has no default operator class for access method \"{method}\""
    );
    Err(error(b"42704", place, message).hint("partition by another column, or by an expression"))
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one.is_null(), other.is_null()) {
        (false, false) => compare_values(one, other).is_eq(),
        (one, other) => one == other,
    }
}

/// Which of two ends comes first.
fn compare_ends(one: &[RangeEnd], other: &[RangeEnd]) -> Ordering {
    let rank = |end: &RangeEnd| match end {
        RangeEnd::Least => 0,
        RangeEnd::At(_) => 1,
        RangeEnd::Greatest => 2,
    };
    let pairs = one.iter().zip(other).map(|(one, other)| match (one, other) {
        (RangeEnd::At(one), RangeEnd::At(other)) => compare_values(one, other),
        _ => rank(one).cmp(&rank(other)),
    });
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// In which order bounds of one table are looked at.
fn in_order(one: &PartitionBound, other: &PartitionBound) -> Ordering {
    use PartitionBound as B;
    match (one, other) {
        (B::Range { from: one, .. }, B::Range { from: other, .. }) => compare_ends(one, other),
        (B::Hash { modulus: a, remainder: b }, B::Hash { modulus: c, remainder: d }) => {
            (a, b).cmp(&(c, d))
        }
        _ => Ordering::Equal,
    }
}

/// Whether a row could be in both.
fn overlaps(one: &PartitionBound, other: &PartitionBound) -> bool {
    use PartitionBound as B;
    match (one, other) {
        (B::Range { from: a, to: b }, B::Range { from: c, to: d }) => {
            compare_ends(a, d).is_lt() && compare_ends(c, b).is_lt()
        }
        (B::List(a), B::List(b)) => a.iter().any(|one| b.iter().any(|other| is_same(one, other))),
        (B::Hash { modulus: a, remainder: b }, B::Hash { modulus: c, remainder: d }) => {
            let common = a.min(c);
            b % common == d % common
        }
        _ => false,
    }
}

/// 42P16, of a column that tells the partition.
pub(crate) fn is_of_key(verb: &str, column: &str, relation: &str, place: Place) -> SqlError {
    let what = "because it is part of the partition key of relation";
    error(b"42P16", place, format!("cannot {verb} column \"{column}\" {what} \"{relation}\""))
}
