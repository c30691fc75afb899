//! Loops: over integers, arrays and the rows of a query.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::program::{
    Access, ArrayFunction, Elements, Expr, ExprKind, LabelId, Place, RowSetId, SlotId, Statement,
    StatementKind,
};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in};
use crate::operators::OperatorQuery;
use crate::relation::array::assign_to;
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::state::{Enclosing, EnclosingKind, Names, Variable};
use crate::statement::{as_query, refuse_without_returning};
use crate::syntax::{ForRange, LoopBody, StatementSource, Target};
use crate::token::{parse_statement, tokenize};
use crate::typing::{Coercion, array_call, integer, spread};
use crate::written::changed_by;

/// What a loop over rows goes through.
enum LoopOf {
    /// an access, its rows and the slots that they go to; none: one row, which is assigned
    Access(Option<(RowSetId, Box<Access>, Vec<SlotId>)>),
    Operators(Box<OperatorQuery>, Vec<SlotId>),
}

impl Compiler<'_> {
    pub(crate) fn for_range(
        &mut self,
        written: &ForRange,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let bound = |compiler: &mut Self, expr: &ast::Expr, what: &str| {
            compiler.value_for(expr, DataType::Integer, Coercion::Assignment, || {
                format!("{what} of FOR loop")
            })
        };
        let from = bound(self, &written.from, "lower bound")?;
        let to = bound(self, &written.to, "upper bound")?;
        let step = match &written.step {
            Some(step) => bound(self, step, "BY value")?,
            None => integer(1),
        };
        let slot = self.slot(&written.name, SqlType::Scalar(DataType::Integer))?;
        self.names.push(Names { label: written.body.label.clone(), variables: Vec::new() });
        let variable = Variable::Scalar { slot, constant: false, not_null: false };
        self.declare(&written.name, variable, place)?;
        let mut body = Vec::new();
        let exit = self.loop_body(&written.body, EnclosingKind::For, &mut body)?;
        self.names.pop();
        self.place = place;
        let reverse = written.reverse;
        let kind = StatementKind::ForRange { slot, from, to, step, reverse, body };
        self.emit_in_block(out, exit, |this, out| this.emit(out, kind));
        Ok(())
    }

    /// LOOP, or WHILE with its condition.
    pub(crate) fn unbounded_loop(
        &mut self,
        condition: Option<&ast::Expr>,
        body: &LoopBody,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut compiled = Vec::new();
        let mut exit = None;
        if let Some(condition) = condition {
            // It is computed at each turn, and so is what comes before it.
            let condition = self.in_loop(|this| this.condition(condition, "WHILE"))?;
            compiled.append(&mut self.before);
            let label = self.new_label()?;
            let mut otherwise = Vec::new();
            self.emit(&mut otherwise, StatementKind::Leave(label));
            let kind = StatementKind::If { condition, then: Vec::new(), otherwise };
            self.emit(&mut compiled, kind);
            exit = Some(label);
        }
        let exit = self.loop_body(body, EnclosingKind::Loop { exit }, &mut compiled)?;
        self.place = place;
        let kind = StatementKind::Loop { body: compiled };
        self.emit_in_block(out, exit, |this, out| this.emit(out, kind));
        Ok(())
    }

    /// Compiles the body of a loop; what EXIT leaves, if there is one in it.
    pub(crate) fn loop_body(
        &mut self,
        body: &LoopBody,
        kind: EnclosingKind,
        out: &mut Vec<Statement>,
    ) -> Result<Option<LabelId>> {
        self.in_loop(|this| this.turn(body, kind, out))
    }

    /// Compiles what may run several times: what it draws, it draws each time.
    pub(crate) fn in_loop<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        self.loops += 1;
        let compiled = compile(self);
        self.loops -= 1;
        compiled
    }

    /// One turn of a loop.
    fn turn(
        &mut self,
        body: &LoopBody,
        kind: EnclosingKind,
        out: &mut Vec<Statement>,
    ) -> Result<Option<LabelId>> {
        let mut compiled = Vec::new();
        if let Some(slot) = self.counts_next_turns.take() {
            self.emit_next(&mut compiled, slot);
        }
        self.enclosing.push(Enclosing::new(body.label.clone(), kind));
        self.statements(&body.statements, &mut compiled)?;
        let left = self.enclosing.pop();
        let (exit, next) = left.map_or((None, None), |left| (left.exit, left.next));
        self.emit_in_block(out, next, |_, out| out.append(&mut compiled));
        Ok(exit)
    }

    pub(crate) fn for_each(
        &mut self,
        (target, slice): (&Target, i32),
        array: &ast::Expr,
        body: &LoopBody,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut of = spread(self.expr(array)?);
        let SqlType::Array(mut element) = of.sql_type else {
            let message =
                format!("FOREACH expression must yield an array, not type {}", of.sql_type);
            return Err(error(b"42804", place_in(array, place), message));
        };
        if slice != 0 {
            // Its slices are the elements of a list, each in one piece.
            element = element.array();
            let slices = vec![of, integer(slice)];
            of = array_call(ArrayFunction::Slices, slices, SqlType::Array(element));
        }
        let array = match of.kind {
            ExprKind::Slot(slot) => slot,
            _ => {
                let slot = self.slot("$array", of.sql_type)?;
                self.emit_assign(out, slot, of);
                slot
            }
        };
        let mut compiled = Vec::new();
        let slot = if self.fields_of(&target.parts).is_some() {
            let slot = self.temporary("element", element)?;
            let value = self.slot_expr(slot);
            self.take_apart(target, &value, &mut compiled)?;
            slot
        } else {
            self.element_slot(target, (element, slice), &mut compiled)?
        };
        let exit = self.loop_body(body, EnclosingKind::For, &mut compiled)?;
        self.place = place;
        let elements = Elements::Array(array);
        let kind = StatementKind::ForEach { slot, elements, body: compiled };
        self.emit_in_block(out, exit, |this, out| this.emit(out, kind));
        Ok(())
    }

    /// The slot for each element of a loop: that of its variable, or another one, from which the
    /// variable is set at the beginning of the body.
    fn element_slot(
        &mut self,
        target: &Target,
        (element, slice): (DataType, i32),
        body: &mut Vec<Statement>,
    ) -> Result<SlotId> {
        let variable = self.target_slot(target)?;
        let to = self.slot_type(variable);
        check_loop_variable(to, slice, target.place)?;
        if to == SqlType::Scalar(element) {
            return Ok(variable);
        }
        let slot = self.temporary("element", element)?;
        let value = self.slot_expr(slot);
        let value = assign_to(value, to, target.place, || {
            format!("variable \"{}\"", target.parts.join("."))
        })?;
        self.emit_assign(body, variable, value);
        Ok(slot)
    }

    pub(crate) fn for_query(
        &mut self,
        targets: &[Target],
        query: &StatementSource,
        body: &LoopBody,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let known = |this: &mut Self, query: &ast::Statement, out: &mut Vec<Statement>| {
            let of_change = rows_of_change(query, place)?;
            let query = match &of_change {
                Some(query) => query,
                None => as_query(query, place)?,
            };
            this.behind_changes(out, query, |this, out, query| {
                this.loop_over(targets, query, body, place, out)
            })
        };
        self.with_statement(query, out, known, |this, source, out| {
            this.loop_later(targets, source, body, out)
        })
    }

    fn loop_over(
        &mut self,
        targets: &[Target],
        query: &ast::Query,
        body: &LoopBody,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        self.names.push(Names { label: body.label.clone(), variables: Vec::new() });
        let of = match self.rows_in_procedure(query, Wanted::All)? {
            Rows::Access(selected) => {
                let slots = self.slots_of_loop(targets, &selected.columns)?;
                let of = self.loop_query(out, *selected, &slots)?;
                LoopOf::Access(of.map(|(rows, query)| (rows, Box::new(query), slots)))
            }
            Rows::Operators(of) => {
                let slots = self.slots_of_loop(targets, &of.columns)?;
                LoopOf::Operators(Box::new(of), slots)
            }
        };
        // What its WITH changes is done before the first turn.
        self.keeping.changed.clear();
        let mut compiled = Vec::new();
        match of {
            // Exactly one row: the body runs once, on the values just assigned.
            LoopOf::Access(None) => {
                let exit = self.turn(body, EnclosingKind::For, &mut compiled)?;
                self.emit_in_block(out, exit, |_, out| out.append(&mut compiled));
            }
            LoopOf::Access(Some((rows, query, into))) => {
                let exit = self.loop_body(body, EnclosingKind::For, &mut compiled)?;
                self.place = place;
                let kind = StatementKind::ForQuery { rows, query, into, body: compiled };
                self.emit_in_block(out, exit, |this, out| this.emit(out, kind));
            }
            LoopOf::Operators(of, slots) => {
                let pairs = self.fitted(&slots, &of.columns)?;
                self.emit_assigns(&mut compiled, pairs)?;
                let exit = self.loop_body(body, EnclosingKind::For, &mut compiled)?;
                self.place = place;
                self.emit_in_block(out, exit, |this, out| this.emit_operators(out, *of, compiled));
            }
        }
        self.names.pop();
        Ok(())
    }

    fn slots_of_loop(
        &mut self,
        targets: &[Target],
        columns: &[(String, Expr)],
    ) -> Result<Vec<SlotId>> {
        let columns: Vec<_> = columns.iter().map(|(n, e)| (n.clone(), e.sql_type)).collect();
        match targets {
            [target] if target.parts.len() == 1 => self.loop_variable(target, &columns),
            _ => self.slots_of_targets(targets, &columns),
        }
    }

    /// The slots of a loop's variable. A record that has another shape already is shadowed in the
    /// loop's body.
    pub(crate) fn loop_variable(
        &mut self,
        target: &Target,
        columns: &[(String, SqlType)],
    ) -> Result<Vec<SlotId>> {
        let name = &target.parts[0];
        match self.variable(name).cloned() {
            Some(Variable::Record { fields, open: false, .. }) => {
                let same = fields.len() == columns.len()
                    && fields.iter().zip(columns).all(|((field, slot), (column, sql_type))| {
                        field == column && self.slot_expr(*slot).sql_type == *sql_type
                    });
                if same {
                    return Ok(fields.into_iter().map(|(_, slot)| slot).collect());
                }
                let fields = self.record_fields(name, columns)?;
                let slots = fields.iter().map(|(_, slot)| *slot).collect();
                let of = None;
                self.declare(name, Variable::Record { fields, open: false, of }, target.place)?;
                Ok(slots)
            }
            Some(_) => self.slots_of_targets(std::slice::from_ref(target), columns),
            None => Err(error(
                b"42601",
                target.place,
                "loop variable of loop over rows must be a record variable or list of scalar \
                 variables",
            )
            .hint(format!("declare it: {name} RECORD;"))),
        }
    }
}

/// The rows that a change gives by RETURNING, as a query behind it, which has them all before the
/// first turn of a loop; none: it is no change.
fn rows_of_change(statement: &ast::Statement, place: Place) -> Result<Option<ast::Query>> {
    use ast::{SetExpr, Statement as S};
    let (change, with) = match statement {
        S::Insert(_) => (SetExpr::Insert(statement.clone()), None),
        S::Update(_) => (SetExpr::Update(statement.clone()), None),
        S::Delete(_) => (SetExpr::Delete(statement.clone()), None),
        S::Query(query) if changed_by(query).is_some() => {
            ((*query.body).clone(), query.with.clone())
        }
        _ => return Ok(None),
    };
    let written = match statement {
        S::Query(query) => changed_by(query).map_or(statement, |(_, change)| change),
        _ => statement,
    };
    refuse_without_returning(written, place)?;
    // No name of a user's begins so.
    let text = "WITH \"\u{6}changed\" AS (SELECT 1) SELECT * FROM \"\u{6}changed\"";
    let tokens = tokenize(text, place)?;
    let S::Query(mut query) = parse_statement(&tokens, place)? else { return Ok(None) };
    if let Some(own) = &mut query.with {
        own.cte_tables.iter_mut().for_each(|cte| *cte.query.body = change.clone());
        let before = with.into_iter().flat_map(|with| with.cte_tables);
        own.cte_tables.splice(0..0, before);
    }
    Ok(Some(*query))
}

/// Refuses a variable of FOREACH that does not take what it is set to.
pub(crate) fn check_loop_variable(of: SqlType, slice: i32, place: Place) -> Result<()> {
    let message = match of.spread() {
        SqlType::Scalar(_) if slice != 0 => {
            "FOREACH ... SLICE loop variable must be of an array type"
        }
        SqlType::Array(_) if slice == 0 => "FOREACH loop variable must not be of an array type",
        _ => return Ok(()),
    };
    Err(error(b"42804", place, message))
}
