//! Where the rows of a query go: INTO targets, a FOR loop, the procedure's result.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    Access, Consume, Effect, Expr, ExprKind, FOUND, Place, ResultColumn, RowSetId, RowsTo, Slot,
    SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk::{self, can_fail, reads_any};

use crate::comparison::negated;
use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::relation::array::assign_to;
use crate::relation::one_access::{Selected, SelectedKind};
use crate::row_fields::{RowApart, composite_type_of, record_of, row_or_null};
use crate::scope::Compiler;
use crate::state::{RESULT_ROW, Variable};
use crate::syntax::{Into, Target};
use crate::typing::{Coercion, assign, null, scalar};

/// Where the values of a statement go.
pub(crate) enum Sink {
    Discard,
    /// the first row, into these slots
    Slots {
        slots: Vec<SlotId>,
        strict: bool,
    },
    /// the procedure's result
    Result,
    /// rows that other statements read
    Kept,
}

/// A filter that computes those of the columns that can fail, for each row that it lets pass:
/// PERFORM gives nobody its values, and fails where one of them does.
fn with_values_computed(filter: Option<Expr>, columns: &[(String, Expr)]) -> Option<Expr> {
    let is_null = |of: Expr| scalar(ExprKind::IsNull(Box::new(of)), DataType::Boolean);
    let fallible = columns.iter().filter(|(_, value)| can_fail(value));
    // Whether a value is NULL is never NULL.
    let conditions = fallible.map(|(_, value)| negated(is_null(is_null(value.clone()))));
    conditions.fold(filter, |filter, condition| match filter {
        None => Some(condition),
        Some(filter) => {
            let kind = ExprKind::And(Box::new(filter), Box::new(condition));
            Some(scalar(kind, DataType::Boolean))
        }
    })
}

/// The names and types of columns, or of fields.
pub(crate) fn types_of(columns: &[(String, Expr)]) -> Vec<(String, SqlType)> {
    columns.iter().map(|(name, value)| (name.clone(), value.sql_type)).collect()
}

impl Compiler<'_> {
    /// The slots that INTO names; a RECORD without a shape takes the query's.
    pub(crate) fn slots_of_targets(
        &mut self,
        targets: &[Target],
        columns: &[(String, SqlType)],
    ) -> Result<Vec<SlotId>> {
        if let [target] = targets
            && let Some(Variable::Record { fields, open, .. }) =
                self.qualified_variable(&target.parts).cloned()
        {
            let name = target.parts.last().cloned().unwrap_or_default();
            return self.record_slots(&name, fields, open, columns, target.place);
        }
        if targets.len() > columns.len() {
            return Err(error(
                b"42601",
                targets.first().map_or(self.place, |t| t.place),
                format!(
                    "the query gives {} columns, but INTO names {} variables",
                    columns.len(),
                    targets.len()
                ),
            ));
        }
        let named = targets.iter().map(|target| self.target_slot(target));
        let mut slots = named.collect::<Result<Vec<_>>>()?;
        // PL/pgSQL lets go of what is not named.
        for (name, of) in &columns[targets.len()..] {
            slots.push(self.slot(&format!("ignored {name}"), *of)?);
        }
        Ok(slots)
    }

    /// As [`Compiler::slots_of_targets`], of a statement whose targets are
    /// [checked](Compiler::emit_checks_of_targets) behind it: a variable that has a row in one
    /// piece is given the fields, too, and put together then.
    pub(crate) fn slots_of_into(
        &mut self,
        targets: &[Target],
        columns: &[(String, SqlType)],
    ) -> Result<Vec<SlotId>> {
        if let [target] = targets
            && let Some(&Variable::Scalar { slot, .. }) = self.qualified_variable(&target.parts)
            && let Some(of) = composite_type_of(&self.slot_expr(slot))
            && of.fields().len() == columns.len()
            && !matches!(columns, [(_, only)] if only.packed() == DataType::Composite(of))
        {
            let fields = self.record_fields("$row", &record_of(of))?;
            let fields: Vec<SlotId> = fields.into_iter().map(|(_, slot)| slot).collect();
            self.apart.push(RowApart { slot, of, fields: fields.clone() });
            return Ok(fields);
        }
        self.slots_of_targets(targets, columns)
    }

    fn record_slots(
        &mut self,
        name: &str,
        fields: Vec<(String, SlotId)>,
        open: bool,
        columns: &[(String, SqlType)],
        place: Place,
    ) -> Result<Vec<SlotId>> {
        if open {
            let fields = self.record_fields(name, columns)?;
            let slots = fields.iter().map(|(_, slot)| *slot).collect();
            self.redefine(name, Variable::Record { fields, open: false, of: None });
            return Ok(slots);
        }
        if fields.len() == columns.len() {
            return Ok(fields.into_iter().map(|(_, slot)| slot).collect());
        }
        if let ([(_, of @ SqlType::Scalar(DataType::Composite(_)))], RESULT_ROW) = (columns, name) {
            // LANGUAGE sql, a query of one column that is the row: which is then returned.
            let slot = self.slot(name, *of)?;
            self.redefine(name, Variable::Scalar { slot, constant: false, not_null: false });
            return Ok(vec![slot]);
        }
        Err(unsupported(
            place,
            format!("a second shape of record \"{name}\""),
            "declare another record for the other query",
        ))
    }

    /// Slots for the fields of a record.
    pub(crate) fn record_fields(
        &mut self,
        name: &str,
        columns: &[(String, SqlType)],
    ) -> Result<Vec<(String, SlotId)>> {
        columns
            .iter()
            .map(|(column, sql_type)| {
                Ok((column.clone(), self.slot(&format!("{name}.{column}"), *sql_type)?))
            })
            .collect()
    }

    /// The slot of a scalar variable, parameter or record field that may be assigned.
    pub(crate) fn target_slot(&self, target: &Target) -> Result<SlotId> {
        let name = target.parts.join(".");
        if let [record, field] = target.parts.as_slice()
            && let Some(Variable::Record { fields, .. }) = self.variable(record)
        {
            return fields
                .iter()
                .find(|(other, _)| other == field)
                .map(|(_, slot)| *slot)
                .ok_or_else(|| {
                    error(
                        b"42703",
                        target.place,
                        format!("record \"{record}\" has no field \"{field}\""),
                    )
                });
        }
        match self.qualified_variable(&target.parts) {
            Some(Variable::Scalar { constant: true, .. }) => Err(error(
                b"22005",
                target.place,
                format!("variable \"{name}\" is declared CONSTANT"),
            )),
            Some(Variable::Scalar { slot, .. }) => Ok(*slot),
            Some(Variable::Cursor(_)) => Err(unsupported(
                target.place,
                format!("cursor \"{name}\" here"),
                "FETCH its rows into variables",
            )),
            Some(Variable::Record { .. }) => Err(unsupported(
                target.place,
                format!("record \"{name}\" here"),
                "assign its fields one by one",
            )),
            None => {
                Err(error(b"42601", target.place, format!("\"{name}\" is not a known variable"))
                    .hint("declare it between DECLARE and BEGIN"))
            }
        }
    }

    /// Raises when a variable declared NOT NULL has just been given NULL.
    pub(crate) fn emit_checks_of_targets(
        &mut self,
        out: &mut Vec<Statement>,
        targets: &[Target],
    ) -> Result<()> {
        for target in targets {
            let variable = self.qualified_variable(&target.parts);
            let Some(&Variable::Scalar { slot, not_null, .. }) = variable else { continue };
            if let Some(at) = self.apart.iter().position(|apart| apart.slot == slot) {
                let RowApart { of, fields, .. } = self.apart.swap_remove(at);
                let fields = fields.into_iter().map(|field| self.slot_expr(field)).collect();
                self.emit_assign(out, slot, row_or_null(of, fields));
            }
            self.emit_domain_check(out, slot)?;
            if not_null {
                let name = target.parts.join(".");
                let mut then = Vec::new();
                let message = format!(
                    "null value cannot be assigned to variable \"{name}\" declared NOT NULL"
                );
                self.emit_raise(&mut then, b"22004", message, None);
                let condition =
                    scalar(ExprKind::IsNull(Box::new(self.slot_expr(slot))), DataType::Boolean);
                self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
            }
        }
        Ok(())
    }

    /// Turns INTO into a sink for these columns.
    pub(crate) fn sink_of(
        &mut self,
        into: Option<&Into>,
        columns: &[(String, Expr)],
    ) -> Result<Sink> {
        let Some(into) = into else {
            return Ok(Sink::Discard);
        };
        let slots = self.slots_of_into(&into.targets, &types_of(columns))?;
        Ok(Sink::Slots { slots, strict: into.strict })
    }

    /// Values converted to the types of their slots.
    pub(crate) fn fitted(
        &self,
        slots: &[SlotId],
        columns: &[(String, Expr)],
    ) -> Result<Vec<(SlotId, Expr)>> {
        let mut fitted = Vec::with_capacity(slots.len());
        for (slot, (_, value)) in slots.iter().zip(columns) {
            let Slot { name, sql_type } = &self.slots[slot.index()];
            let named = || format!("variable \"{name}\"");
            fitted.push((*slot, assign_to(value.clone(), *sql_type, self.place, named)?));
        }
        Ok(fitted)
    }

    /// Assigns several slots at once: values that read one of them are computed first.
    pub(crate) fn emit_assigns(
        &mut self,
        out: &mut Vec<Statement>,
        pairs: Vec<(SlotId, Expr)>,
    ) -> Result<()> {
        let targets: Vec<SlotId> = pairs.iter().map(|(slot, _)| *slot).collect();
        let is_target = |slot| targets.contains(&slot);
        let reads_target = pairs.iter().skip(1).any(|(_, value)| reads_any(value, is_target));
        if !reads_target {
            for (slot, value) in pairs {
                self.emit_assign(out, slot, value);
            }
            return Ok(());
        }
        let mut held = Vec::new();
        for (slot, value) in pairs {
            let temporary = self.slot("$value", value.sql_type)?;
            self.emit_assign(out, temporary, value);
            held.push((slot, temporary));
        }
        for (slot, temporary) in held {
            self.emit_assign(out, slot, self.slot_expr(temporary));
        }
        Ok(())
    }

    /// SELECT ... INTO, PERFORM, RETURN QUERY and ad-hoc SELECT.
    pub(crate) fn emit_selected(
        &mut self,
        out: &mut Vec<Statement>,
        selected: Selected,
        sink: Sink,
    ) -> Result<()> {
        let Selected { columns, kind } = selected;
        match kind {
            SelectedKind::Rows { mut source, distinct, order_by, limit, offset } => {
                let consume = match sink {
                    Sink::Kept => {
                        let rows = self.row_set();
                        let values = columns.iter().map(|(_, value)| value.clone()).collect();
                        let to = RowsTo::Loop(rows);
                        let consume = Consume::Rows {
                            to,
                            columns: values,
                            distinct,
                            order_by,
                            limit,
                            offset,
                            counted: None,
                        };
                        let access = self.access(source, Effect::Read(consume))?;
                        return self.emit_kept_rows(out, (rows, access), &columns);
                    }
                    Sink::Discard => {
                        source.filter = with_values_computed(source.filter, &columns);
                        Consume::Discard
                    }
                    Sink::Result => Consume::Rows {
                        to: RowsTo::Result,
                        columns: self.result_values(&columns)?,
                        distinct,
                        order_by,
                        limit,
                        offset,
                        counted: None,
                    },
                    Sink::Slots { slots, strict } => {
                        let into = self.fitted(&slots, &columns)?;
                        let limited = strict && limit.is_some();
                        let strict = strict && limit.is_none();
                        let consume = Consume::First { into, strict, order_by, offset };
                        let access = self.access(source, Effect::Read(consume))?;
                        self.emit(out, StatementKind::Access(Box::new(access)));
                        if limited {
                            self.emit_no_rows(out);
                        }
                        return Ok(());
                    }
                };
                let access = self.access(source, Effect::Read(consume))?;
                self.emit(out, StatementKind::Access(Box::new(access)));
                Ok(())
            }
            SelectedKind::Aggregated { source, aggregates } => {
                let (mut into, mut results) = (Vec::new(), Vec::new());
                match &sink {
                    // What fails, fails though nobody wants it.
                    Sink::Discard => {
                        for (_, value) in columns.iter().filter(|(_, value)| can_fail(value)) {
                            into.push((self.slot("$unused", value.sql_type)?, value.clone()));
                        }
                    }
                    Sink::Slots { slots, .. } => into = self.fitted(slots, &columns)?,
                    // The aggregates' own slots are of no use once the access has ended.
                    Sink::Result | Sink::Kept => {
                        for (name, value) in columns {
                            let slot = self.temporary("value", value.data_type())?;
                            results.push((name, self.slot_expr(slot)));
                            into.push((slot, value));
                        }
                    }
                }
                let consume = Consume::Aggregate { aggregates, into };
                let access = source.access(Effect::Read(consume));
                self.emit(out, StatementKind::Access(Box::new(access)));
                match sink {
                    Sink::Result => self.emit_result_row(out, &results),
                    Sink::Kept => self.emit_kept_row(out, &results),
                    Sink::Discard | Sink::Slots { .. } => Ok(()),
                }
            }
            SelectedKind::Extreme { source, result, argument } => {
                let into = vec![(result, argument)];
                let consume =
                    Consume::First { into, strict: false, order_by: Vec::new(), offset: None };
                // The path's order decides the value; rows that tie have the same.
                let access = source.access(Effect::Read(consume));
                self.emit(out, StatementKind::Access(Box::new(access)));
                self.emit_one_row(out, &columns, sink)
            }
            SelectedKind::Values => self.emit_one_row(out, &columns, sink),
        }
    }

    /// One row of values computed from slots.
    fn emit_one_row(
        &mut self,
        out: &mut Vec<Statement>,
        columns: &[(String, Expr)],
        sink: Sink,
    ) -> Result<()> {
        match sink {
            Sink::Discard => {
                for (_, value) in columns.iter().filter(|(_, value)| can_fail(value)) {
                    let slot = self.slot("$unused", value.sql_type)?;
                    self.emit_assign(out, slot, value.clone());
                }
            }
            Sink::Result => self.emit_result_row(out, columns)?,
            Sink::Kept => self.emit_kept_row(out, columns)?,
            Sink::Slots { slots, .. } => {
                let pairs = self.fitted(&slots, columns)?;
                self.emit_assigns(out, pairs)?;
            }
        }
        self.emit_touched(out, 1);
        Ok(())
    }

    /// Keeps the rows of the access among these statements that gives them to this set.
    pub(crate) fn keep_changed_rows(
        &mut self,
        statements: &mut [Statement],
        rows: RowSetId,
        columns: &[(String, Expr)],
    ) -> Result<()> {
        let gives = |access: &Access| match access.effect.consume() {
            Consume::Rows { to: RowsTo::Loop(of), .. } => *of == rows,
            _ => false,
        };
        for statement in statements {
            if let StatementKind::Access(access) = &statement.kind
                && gives(access)
            {
                let access = (**access).clone();
                let mut kept = Vec::new();
                self.emit_kept_rows(&mut kept, (rows, access), columns)?;
                statement.kind = kept.remove(0).kind;
                continue;
            }
            for block in walk::blocks_mut(statement) {
                self.keep_changed_rows(block, rows, columns)?;
            }
        }
        Ok(())
    }

    /// Keeps the rows of an access, which go to this set.
    pub(crate) fn emit_kept_rows(
        &mut self,
        out: &mut Vec<Statement>,
        (rows, access): (RowSetId, Access),
        columns: &[(String, Expr)],
    ) -> Result<()> {
        let into = self.slots_of_row(columns)?;
        let names = columns.iter().map(|(name, _)| name.clone());
        let row: Vec<_> = names.zip(into.iter().map(|slot| self.slot_expr(*slot))).collect();
        let mut body = Vec::new();
        self.emit_kept_row(&mut body, &row)?;
        self.emit(out, StatementKind::ForQuery { rows, query: Box::new(access), into, body });
        Ok(())
    }

    pub(crate) fn emit_result_row(
        &mut self,
        out: &mut Vec<Statement>,
        columns: &[(String, Expr)],
    ) -> Result<()> {
        let values = self.result_values(columns)?;
        self.emit(out, StatementKind::ReturnNext(values));
        Ok(())
    }

    /// RAISE of STRICT without a row.
    pub(crate) fn emit_no_rows(&self, out: &mut Vec<Statement>) {
        let mut then = Vec::new();
        self.emit_raise(&mut then, b"P0002", "query returned no rows".to_owned(), None);
        let condition = crate::comparison::negated(self.slot_expr(FOUND));
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }

    /// A query's columns as the procedure's result; an ad-hoc statement takes them as its result.
    pub(crate) fn result_values(&mut self, columns: &[(String, Expr)]) -> Result<Vec<Expr>> {
        if (self.ad_hoc || self.opens_result) && self.result.is_empty() {
            self.result = columns
                .iter()
                .map(|(name, e)| ResultColumn {
                    name: name.clone(),
                    data_type: e.sql_type.packed(),
                    origin: self.origin_of(e),
                })
                .collect();
        }
        let fitted = if self.fits_result { self.fitted_to_result(columns) } else { Vec::new() };
        let columns = if self.fits_result { &fitted[..] } else { columns };
        if columns.len() != self.result.len() {
            return Err(error(
                b"42804",
                self.place,
                "structure of query does not match function result type",
            )
            .detail(format!(
                "The query gives {} columns, the function returns {}.",
                columns.len(),
                self.result.len()
            )));
        }
        let mut values = Vec::with_capacity(columns.len());
        for ((_, value), column) in columns.iter().zip(&self.result) {
            let what = || format!("result column \"{}\"", column.name);
            let to = column.data_type;
            values.push(assign(value.clone(), to, Coercion::Assignment, self.place, what)?);
        }
        Ok(values)
    }

    /// The access of a FOR loop over a query; `None` when the query gives exactly one row, whose
    /// values have been assigned already.
    pub(crate) fn loop_query(
        &mut self,
        out: &mut Vec<Statement>,
        selected: Selected,
        slots: &[SlotId],
    ) -> Result<Option<(hotrow_transaction::program::RowSetId, Access)>> {
        let SelectedKind::Rows { source, distinct, order_by, limit, offset } = selected.kind else {
            let sink = Sink::Slots { slots: slots.to_vec(), strict: false };
            self.emit_selected(out, selected, sink)?;
            return Ok(None);
        };
        let columns = self.fitted(slots, &selected.columns)?;
        let columns = columns.into_iter().map(|(_, value)| value).collect();
        let rows = self.row_set();
        let to = RowsTo::Loop(rows);
        let counted = None;
        let consume = Consume::Rows { to, columns, distinct, order_by, limit, offset, counted };
        Ok(Some((rows, self.access(source, Effect::Read(consume))?)))
    }

    /// NULL for every slot.
    pub(crate) fn emit_nulls(&self, out: &mut Vec<Statement>, slots: &[SlotId]) {
        for slot in slots {
            let sql_type = self.slot_expr(*slot).sql_type;
            let null = Expr { sql_type, ..null(DataType::Text) };
            self.emit_assign(out, *slot, null);
        }
    }
}

/// INTO where the statement has no values.
pub(crate) fn no_values(place: Place) -> SqlError {
    syntax(place, "INTO used with a command that cannot return data").hint("add RETURNING columns")
}
