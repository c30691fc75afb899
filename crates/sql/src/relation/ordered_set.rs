//! Aggregates WITHIN GROUP.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Aggregation, GroupAggregate, OrderedSet, SortKey};
use hotrow_transaction::program::{Expr, Place, SlotId};
use sqlparser::ast;

use crate::error::{Result, error, place_in, syntax};
use crate::functions::{is_aggregate, no_function};
use crate::operand::Operand;
use crate::scope::Compiler;
use crate::typing::{cast, common_type, order_of};

use super::order::sort_key;

/// Values that are computed before an aggregate, with their slots.
type Computed = Vec<(Expr, SlotId)>;

/// The aggregate that this name is WITHIN GROUP.
pub(super) fn ordered_set(name: &str) -> Option<OrderedSet> {
    Some(match name {
        "percentile_cont" => OrderedSet::Continuous,
        "percentile_disc" => OrderedSet::Discrete,
        "mode" => OrderedSet::Mode,
        "rank" => OrderedSet::Rank,
        "dense_rank" => OrderedSet::DenseRank,
        "percent_rank" => OrderedSet::PercentRank,
        "cume_dist" => OrderedSet::CumeDist,
        _ => return None,
    })
}

impl Compiler<'_> {
    /// `name(direct arguments) WITHIN GROUP (ORDER BY ...)`.
    pub(super) fn ordered_aggregate(
        &mut self,
        (name, written): (&str, &ast::Function),
        list: &ast::FunctionArgumentList,
        filter: Option<SlotId>,
        computed: &mut Computed,
        place: Place,
    ) -> Result<GroupAggregate> {
        if !list.clauses.is_empty() {
            return Err(syntax(place, "cannot use multiple ORDER BY clauses with WITHIN GROUP"));
        }
        if list.duplicate_treatment.is_some() {
            return Err(syntax(place, "cannot use DISTINCT with WITHIN GROUP"));
        }
        if written.within_group.is_empty() {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
            return Err(error(b"42809", place, message));
        }
        let mut direct = Vec::new();
        for argument in &list.args {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) = argument else {
                return Err(no_function(name, &vec![None; list.args.len()], place));
            };
            direct.push((self.operand(value)?, place_in(value, place)));
        }
        let mut values = Vec::new();
        for key in &written.within_group {
            values.push(self.row_expr(&key.expr)?);
        }
        let types = direct.iter().map(|(operand, _)| match operand {
            Operand::Typed(value) => Some(value.sql_type),
            _ => None,
        });
        let mut given: Vec<Option<SqlType>> = types.collect();
        given.extend(values.iter().map(|value| Some(value.sql_type)));
        let Some(function) = ordered_set(name) else {
            if is_aggregate(name) {
                let message = format!(
                    "{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
                );
                return Err(error(b"42809", place, message));
            }
            return Err(no_function(name, &given, place));
        };
        let fits = match function {
            OrderedSet::Continuous | OrderedSet::Discrete => direct.len() == 1 && values.len() == 1,
            OrderedSet::Mode => direct.is_empty() && values.len() == 1,
            _ => direct.len() == values.len() && !direct.is_empty(),
        };
        if !fits {
            return Err(no_function(name, &given, place));
        }
        let mut settled = Vec::new();
        for ((operand, place), value) in direct.into_iter().zip(&mut values) {
            let fit = match function.is_hypothetical() {
                true => self.like_key(operand, value, place)?,
                false => self.share(operand, place)?,
            };
            settled.push(fit.ok_or_else(|| no_function(name, &given, place))?);
        }
        if function == OrderedSet::Continuous {
            let value = values.remove(0);
            let of = self.scalar_type(&value, place)?;
            values.push(match of {
                DataType::Interval => value,
                of if of.is_number() => cast(value, DataType::Double),
                _ => return Err(no_function(name, &given, place)),
            });
        }
        let of = values[0].sql_type;
        let gives = match function {
            OrderedSet::Rank | OrderedSet::DenseRank => SqlType::Scalar(DataType::BigInt),
            OrderedSet::PercentRank | OrderedSet::CumeDist => SqlType::Scalar(DataType::Double),
            _ if settled.iter().any(|share| share.sql_type.packed() != DataType::Double) => {
                SqlType::Array(self.scalar_type(&values[0], place)?)
            }
            _ => of,
        };
        let mut order: Vec<SortKey> = Vec::new();
        let mut argument = None;
        for (value, key) in values.into_iter().zip(&written.within_group) {
            let slot = self.slot_of(value.clone(), computed)?;
            argument = argument.or(Some(slot));
            let (sorted, of) = (order_of(value.clone()), value.sql_type);
            let slot = if sorted == value { slot } else { self.slot_of(sorted, computed)? };
            order.push(sort_key(slot, of, key, place)?);
        }
        let direct = settled.into_iter().map(|value| self.slot_of(order_of(value), computed));
        let direct = direct.collect::<Result<Vec<_>>>()?;
        let output = self.slot(&format!("${name}"), gives)?;
        Ok(GroupAggregate {
            function: Aggregation::Ordered(function),
            argument,
            of,
            distinct: false,
            filter,
            order,
            direct,
            output,
            data_type: gives.packed(),
        })
    }

    /// FILTER
    pub(super) fn aggregate_filter(
        &mut self,
        written: &ast::Function,
        computed: &mut Computed,
    ) -> Result<Option<SlotId>> {
        let Some(filter) = &written.filter else { return Ok(None) };
        let windows = self.level().windows.take(); // none may stand here
        let condition = self.condition(filter, "FILTER")?;
        self.level().windows = windows;
        self.slot_of(condition, computed).map(Some)
    }

    /// A part of a row that may be there, and the key that orders by it, of one type.
    fn like_key(&mut self, operand: Operand, key: &mut Expr, place: Place) -> Result<Option<Expr>> {
        let of = self.scalar_type(key, place)?;
        let value = self.settle(operand, of, place)?;
        let Some(common) = common_type(of, self.scalar_type(&value, place)?) else {
            return Ok(None);
        };
        *key = cast(key.clone(), common);
        Ok(Some(cast(value, common)))
    }

    /// The share of rows that a percentile is asked for, or several as an array.
    fn share(&mut self, operand: Operand, place: Place) -> Result<Option<Expr>> {
        let value = self.settle(operand, DataType::Double, place)?;
        Ok(match value.sql_type.spread() {
            SqlType::Scalar(of) if of.is_number() => Some(cast(value, DataType::Double)),
            SqlType::Array(of) if of.is_number() => Some(cast(value, DataType::Double.array())),
            _ => None,
        })
    }
}
