//! Lists of keys: `column IN (...)`, `column = ANY (...)` and the like, as values for a key.
//!
//! Role         finds them among the conjuncts of WHERE; [`crate::path`] then decides whether an
//!              index leads further with them than without. A statement that goes through a list
//!              looks its keys up one by one: it is planned, and holds those rows and no others
//! Invariants   I1 a column that the statement itself changes is in no list that is gone through:
//!              a row that was changed would be met again under its new key

use hotrow_base::ids::ColumnId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Catalog, Generated, Hidden};
use hotrow_transaction::program::{
    Access, CompareOp, Consume, Elements, Expr, ExprKind, FOUND, Function, ListOf, Path, ROW_COUNT,
    SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in};
use crate::path::{
    Bound, Chosen, ColumnOrder, Listed, bound, choose_with, column_in, in_row, key_value,
    parts_of_condition,
};
use crate::scope::Compiler;
use crate::state::{Row, Variable};
use crate::typing::{cast, compared_type, null, scalar};
use crate::written::{bare, dotted};

impl Compiler<'_> {
    /// Chooses the path for rows that satisfy all `conjuncts`, through lists of keys where they
    /// help. `changed`: the columns that the statement sets.
    pub(crate) fn choose(
        &mut self,
        row: &Row,
        conjuncts: Vec<Expr>,
        order: &[ColumnOrder],
        changed: &[(ColumnId, Expr)],
    ) -> Result<Chosen> {
        self.note_indexed(row, &conjuncts);
        let mut lists = Vec::new();
        for (number, conjunct) in conjuncts.iter().enumerate() {
            let Some((column, of, data_type)) = listed(self.catalog, row, conjunct) else {
                continue;
            };
            if changed.iter().any(|(set, _)| *set == column) {
                continue; // I1
            }
            let name = format!("a value of the list for {}", row.columns[column.index()].name);
            let slot = self.slot(&name, SqlType::Scalar(data_type))?;
            let value = self.slot_expr(slot);
            lists.push(Listed { conjunct: number, column, slot, value, of });
        }
        Ok(choose_with(self.catalog, row, conjuncts, order, &lists))
    }

    /// Notes the conditions of a statement: no parameters are made of its literals where with their
    /// values it may have what is indexed, an expression or the condition of an index.
    pub(crate) fn note_indexed(&mut self, row: &Row, conjuncts: &[Expr]) {
        let table = self.catalog.table(row.table);
        if self.literals.open.is_none() || table.hidden.is_empty() {
            return;
        }
        let is_open = |slot| self.parameters.contains(&slot);
        let all: Vec<Expr> = conjuncts.iter().map(|of| without_values(of, &is_open)).collect();
        let may_be = |of: &Generated| {
            let Some(value) = in_row(row, of) else { return false };
            if table.hidden(of.column) == Some(Hidden::Condition) {
                let parts = parts_of_condition(&value);
                let is_met = |part: &Expr| all.contains(&without_values(part, &is_open));
                return parts.iter().all(is_met) && !parts.iter().all(|p| conjuncts.contains(p));
            }
            let shape = without_values(&value, &is_open);
            shape != value && all.iter().any(|of| has(of, &shape))
        };
        self.literals.is_refused |= table.generated.iter().any(may_be);
    }

    /// Whether what stands behind ANY or ALL is an array that programs have: a variable of a
    /// procedure, or a list of values in one.
    pub(crate) fn is_array_of_program(&self, written: &ast::Expr) -> bool {
        match bare(written) {
            ast::Expr::Array(list) => {
                // One of arrays is taken apart as any other value is.
                let is_array =
                    |it: &ast::Expr| matches!(it, ast::Expr::Array(_)) || self.is_array_name(it);
                !self.ad_hoc && !list.elem.is_empty() && !list.elem.iter().any(is_array)
            }
            name => self.is_array_name(name),
        }
    }

    /// Whether this names a variable that is an array.
    fn is_array_name(&self, written: &ast::Expr) -> bool {
        let names = match bare(written) {
            ast::Expr::Identifier(name) => dotted(std::slice::from_ref(name)),
            ast::Expr::CompoundIdentifier(names) => dotted(names),
            _ => return false,
        };
        matches!(self.qualified_variable(&names), Some(Variable::Scalar { slot, .. })
            if matches!(self.slots[slot.index()].sql_type, SqlType::Array(_)))
    }

    /// `value = ANY (array)`, of an array that programs have.
    pub(crate) fn any_element(&mut self, left: &ast::Expr, array: &ast::Expr) -> Result<Expr> {
        if let ast::Expr::Array(list) = bare(array)
            && !list.elem.is_empty()
        {
            return self.in_list(left, &list.elem, false);
        }
        let place = place_in(left, self.place);
        let operand = self.operand(left)?;
        let (slot, element) = self.array(bare(array))?;
        let value = self.settle(operand, element, place)?;
        let own = self.scalar_type(&value, place)?;
        let Some(value) = comparable_with_elements(value, element) else {
            let message = format!("operator does not exist: {own} = ANY ({element}[])");
            let hint = format!("declare the array as {own}[]");
            return Err(error(b"42883", place, message).hint(hint));
        };
        let arguments = vec![value, self.slot_expr(slot)];
        Ok(scalar(ExprKind::Call(Function::ElementOf, arguments), DataType::Boolean))
    }

    /// A change that goes through lists, as a loop over their keys with an access to one key in it:
    /// each has a plan of its own then, and may run beside the others. False: it must be one
    /// access, since something in it would see what the turn before has done.
    pub(crate) fn emit_by_turns(
        &mut self,
        out: &mut Vec<Statement>,
        access: &Access,
    ) -> Result<bool> {
        let Path::Lists { lists, path } = &access.path else { return Ok(false) };
        let mut sees = false;
        walk::access_uses(access, &mut |slot| sees |= slot == FOUND || slot == ROW_COUNT);
        if sees || !matches!(access.effect.consume(), Consume::Discard) {
            return Ok(false);
        }
        let changed = self.begin_count(out)?;
        let mut body = Vec::new();
        let turn = Access { path: (**path).clone(), ..access.clone() };
        self.emit(&mut body, StatementKind::Access(Box::new(turn)));
        let sum = self.row_sum(changed);
        self.emit_assign(&mut body, changed, sum);
        for list in lists.iter().rev() {
            let elements = Elements::Keys(list.keys.clone());
            let turns = StatementKind::ForEach { slot: list.slot, elements, body };
            body = Vec::new();
            self.emit(&mut body, turns);
        }
        out.append(&mut body);
        self.end_count(out, changed);
        Ok(true)
    }
}

/// Reads a conjunct as a column that equals one of several values: which column, the values, and
/// their type.
fn listed(catalog: &Catalog, row: &Row, conjunct: &Expr) -> Option<(ColumnId, ListOf, DataType)> {
    if let ExprKind::Call(Function::ElementOf, operands) = &conjunct.kind {
        let [value, array] = &operands[..] else { return None };
        let column = column_in(catalog, row, value)?;
        let element = array.data_type();
        is_key(row, column, element).then(|| (column, ListOf::Array(array.clone()), element))
    } else {
        let (column, values) = alternatives(catalog, row, conjunct)?;
        let mut types = values.iter().map(Expr::data_type);
        let first = types.next()?;
        let data_type = types.try_fold(first, common_key_type)?;
        let values = values.into_iter().map(|value| cast(value, data_type)).collect();
        is_key(row, column, data_type).then_some((column, ListOf::Values(values), data_type))
    }
}

/// `column = a OR column = b ...`: the column and the values.
fn alternatives(catalog: &Catalog, row: &Row, conjunct: &Expr) -> Option<(ColumnId, Vec<Expr>)> {
    let mut rest = match &conjunct.kind {
        ExprKind::Or(left, right) => vec![&**right, &**left],
        _ => return None,
    };
    let (mut of, mut values) = (None, Vec::new());
    while let Some(part) = rest.pop() {
        if let ExprKind::Or(left, right) = &part.kind {
            rest.extend([&**right, &**left]);
            continue;
        }
        let Bound { column, op: CompareOp::Equal, value, exact: true, .. } =
            bound(catalog, row, 0, part)?
        else {
            return None;
        };
        if *of.get_or_insert(column) != column {
            return None;
        }
        values.push(value);
    }
    Some((of?, values))
}

/// An expression in which all constants, and parameters that literals are, are alike.
fn without_values(expr: &Expr, is_open: &impl Fn(SlotId) -> bool) -> Expr {
    fn take_out(expr: &mut Expr, is_open: &impl Fn(SlotId) -> bool) {
        walk::operands_mut(expr, &mut |operand| take_out(operand, is_open));
        let is_value = match &expr.kind {
            ExprKind::Constant(_) => true,
            ExprKind::Slot(slot) => is_open(*slot),
            ExprKind::Cast(of) => matches!(of.kind, ExprKind::Constant(_)),
            _ => false,
        };
        if is_value {
            *expr = null(DataType::Text);
        }
    }
    let mut all = expr.clone();
    take_out(&mut all, is_open);
    all
}

/// Whether an expression is another one, or has it in it.
fn has(expr: &Expr, part: &Expr) -> bool {
    let mut found = expr == part;
    walk::operands(expr, &mut |operand| found = found || has(operand, part));
    found
}

/// Whether values of a type are keys of a column as they stand: equal ones are equal keys.
fn is_key(row: &Row, column: ColumnId, data_type: DataType) -> bool {
    let some = Expr { kind: ExprKind::Slot(FOUND), sql_type: SqlType::Scalar(data_type) };
    let key = key_value(&some, row.columns[column.index()].data_type, true);
    key.is_some_and(|(_, exact)| exact)
}

/// The type in which keys of two types are told apart as the column tells them.
fn common_key_type(a: DataType, b: DataType) -> Option<DataType> {
    if a.is_kept_like(b) { compared_type(a, b) } else { None }
}

/// A value in a form in which it compares with an array's elements as they are.
fn comparable_with_elements(value: Expr, element: DataType) -> Option<Expr> {
    let own = value.data_type();
    let is_padded = |data_type| matches!(data_type, DataType::Char(_));
    if own == element {
        return Some(value);
    }
    // A char(n) is kept with its blanks, which count in no comparison.
    if is_padded(own) && element.is_text() && !is_padded(element) {
        return Some(cast(value, DataType::Text));
    }
    if own.is_kept_like(element) && !is_padded(element) {
        return Some(value);
    }
    (compared_type(own, element) == Some(element)).then(|| cast(value, element))
}
