//! Partitions of a table: names of some of its rows, told apart by a key.
//!
//! Role         told by CREATE TABLE ... PARTITION BY and PARTITION OF. The rows of all partitions
//!              lie in the table that is partitioned, and in its indexes: procedures are planned as
//!              for any other table. A partition is a [`View`] with a bound; `sql` has whoever
//!              reads or changes it ask for the bound's condition, and has the table check that new
//!              rows are in some partition ([`Partitioning::checks`])
//! Invariants   I1 bounds of partitions of one table, or of one partition, do not overlap
//!              I2 conditions of bounds are true or false, never NULL
//! Source       PostgreSQL 15, "Table Partitioning"

use std::fmt;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;

use super::{Catalog, Check, Table, View};

/// By what rows are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartitionStrategy {
    /// RANGE: from a value, to another one that is not in it
    Range,
    /// LIST: by values
    List,
    /// HASH: by the remainder of a hash
    Hash,
}

impl PartitionStrategy {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "RANGE",
            Self::List => "LIST",
            Self::Hash => "HASH",
        }
    }
}

/// PARTITION BY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionKey {
    /// how values tell the partition
    pub strategy: PartitionStrategy,
    /// whose values
    pub parts: Vec<PartitionKeyPart>,
    /// names of all columns that they are computed from
    pub columns: Vec<String>,
}

/// A column or an expression of a partition key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionKeyPart {
    /// the column's name; none: it is an expression
    pub column: Option<String>,
    /// the column's name in quotes, or the expression in brackets, as SQL
    pub text: String,
    /// its type
    pub data_type: DataType,
}

impl PartitionKey {
    /// Whether a part of it is no column.
    pub fn has_expressions(&self) -> bool {
        self.parts.iter().any(|part| part.column.is_none())
    }

    /// Whether a value of it is computed from a column.
    pub fn reads(&self, column: &str) -> bool {
        self.columns.iter().any(|own| own == column)
    }

    /// Has a column be called otherwise, which is in no expression.
    pub fn rename_column(&mut self, from: &str, to: &str, quoted: String) {
        for part in self.parts.iter_mut().filter(|part| part.column.as_deref() == Some(from)) {
            (part.column, part.text) = (Some(to.to_owned()), quoted.clone());
        }
        self.columns.iter_mut().filter(|own| *own == from).for_each(|own| to.clone_into(own));
    }
}

/// An end of a range, of one part of the key.
#[derive(Clone, PartialEq, Debug)]
pub enum RangeEnd {
    /// MINVALUE: below all values
    Least,
    /// a value
    At(Value),
    /// MAXVALUE: above all values
    Greatest,
}

/// FOR VALUES: which rows are in a partition.
#[derive(Clone, PartialEq, Debug)]
pub enum PartitionBound {
    /// FROM ... TO
    Range {
        /// one for each part of the key; it is in the partition
        from: Vec<RangeEnd>,
        /// the same; it is not
        to: Vec<RangeEnd>,
    },
    /// IN; a NULL is one of them
    List(Vec<Value>),
    /// WITH (MODULUS, REMAINDER)
    Hash {
        /// by what hashes are divided
        modulus: u32,
        /// what is left of those in the partition
        remainder: u32,
    },
    /// DEFAULT: what is in no other one
    Default,
}

/// A value as a bound shows it.
struct ShownValue<'a>(&'a Value);

impl fmt::Display for ShownValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("NULL"),
            Value::Bool(of) => write!(f, "{of}"),
            Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
                let text = self.0.to_string();
                // A sign would be an operator's.
                if text.starts_with('-') { write!(f, "'{text}'") } else { f.write_str(&text) }
            }
            Value::Numeric(_) | Value::AnyNumeric(_) | Value::Real(_) | Value::Double(_) => {
                write!(f, "'{}'", self.0)
            }
            other => write!(f, "'{}'", other.to_string().replace('\'', "''")),
        }
    }
}

impl fmt::Display for RangeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Least => f.write_str("MINVALUE"),
            Self::At(value) => ShownValue(value).fmt(f),
            Self::Greatest => f.write_str("MAXVALUE"),
        }
    }
}

/// `a, b`
fn list<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for PartitionBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { from, to } => {
                write!(f, "FOR VALUES FROM ({}) TO ({})", list(from), list(to))
            }
            Self::List(values) => {
                write!(f, "FOR VALUES IN ({})", list(values.iter().map(ShownValue)))
            }
            Self::Hash { modulus, remainder } => {
                write!(f, "FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
            }
            Self::Default => f.write_str("DEFAULT"),
        }
    }
}

/// What makes a view a partition.
#[derive(Clone, PartialEq, Debug)]
pub struct Partition {
    /// the table that has its rows
    pub table: TableId,
    /// the number of the partition that it is a part of; none: it is one of the table itself
    pub parent: Option<u32>,
    /// which rows are in it
    pub bound: PartitionBound,
    /// how it is partitioned itself
    pub key: Option<PartitionKey>,
}

/// How a table is partitioned.
#[derive(Clone, Debug)]
pub struct Partitioning {
    /// by what
    pub key: PartitionKey,
    /// what is asked of rows: that of the table, and those of its partitions that are partitioned
    /// themselves
    pub checks: Vec<PartitionCheck>,
}

/// That a row is in some partition of a table, or of a partition.
#[derive(Clone, Debug)]
pub struct PartitionCheck {
    /// the condition; its name is that of the table or the partition
    pub check: Check,
    /// the columns of the key, which errors tell; none where one is an expression
    pub key: Vec<ColumnId>,
}

impl Table {
    /// What rows are asked for when they are written: CHECK constraints, then partitions.
    pub fn all_checks(&self) -> impl Iterator<Item = &Check> {
        let partitions = self.partitioning.iter().flat_map(|of| &of.checks);
        self.checks.iter().chain(partitions.map(|of| &of.check))
    }

    /// The same, to be changed.
    pub(super) fn all_checks_mut(&mut self) -> impl Iterator<Item = &mut Check> {
        let partitions = self.partitioning.iter_mut().flat_map(|of| &mut Arc::make_mut(of).checks);
        self.checks.iter_mut().chain(partitions.map(|of| &mut of.check))
    }
}

impl Catalog {
    /// The partitions that have rows of a table, by name; those of partitions, too.
    pub fn partitions_of(&self, table: TableId) -> impl Iterator<Item = (&Arc<View>, &Partition)> {
        let all = self.views().filter_map(|view| Some((view, view.partition.as_deref()?)));
        all.filter(move |(_, partition)| partition.table == table)
    }

    /// Keys by which a table and its partitions are partitioned, each with a name.
    pub fn partition_keys<'c>(
        &'c self,
        table: &'c Table,
    ) -> impl Iterator<Item = (&'c str, &'c PartitionKey)> {
        let own = table.partitioning.iter().map(|of| (table.name.as_str(), &of.key));
        let partitions = table.partitioning.iter().flat_map(|_| self.partitions_of(table.id));
        own.chain(partitions.filter_map(|(view, of)| Some((view.name.as_str(), of.key.as_ref()?))))
    }
}

/// Whether rows can be told apart by the hash of a type's values.
pub fn is_hashed(data_type: DataType) -> bool {
    use DataType as T;
    matches!(
        data_type,
        T::Boolean
            | T::SmallInt
            | T::Integer
            | T::BigInt
            | T::Oid
            | T::Date
            | T::Time(_)
            | T::Timestamp(_)
            | T::TimestampTz(_)
            | T::Real
            | T::Double
            | T::Uuid
            | T::Bytea
            | T::Text
            | T::Varchar(_)
            | T::Name
            | T::Char(_)
    )
}
