//! Names: variables by block, the columns of the query being compiled, and what each stands for.
//!
//! Role         [`Compiler`] is the state that every part of the compiler shares
//! Invariants   I1 `slots` begins with FOUND, NOW and ROW_COUNT, then the parameters (program I2)
//!              I2 `levels` is empty between the expressions and queries of a statement
//!              I3 a variable's slot never changes its type

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::interrupt::current;
use hotrow_base::memory::Charge;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Catalog, Object, SearchPath, ViewKind};
use hotrow_transaction::draw::Draw;
use hotrow_transaction::needs::{By, Needs};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    DefaultArgument, ErrorPart, Expr, ExprKind, FOUND, LaterEvents, Place, Procedure, ResultColumn,
    RowLocks, RowSetId, Slot, SlotId,
};

use crate::ambiguity::Ambiguity;
use crate::error::{Advice, Result, error, too_complex, unsupported};
use crate::mention::is_near;
use crate::open_literals::Literals;
use crate::row_fields::{RowApart, composite_type_of, field_named};
use crate::secured::Security;
use crate::state::{
    AskedOfDomains, Calls, CursorVariable, DrawnSlots, Endings, Firing, Keeping, Names, Overriding,
    ProcedureNames, ProcedureReads, Programs, ReadOf, Repeated, Returning, Row, Variable,
    WrittenStar,
};
use crate::subscripts::called;
use crate::typing::spread;

/// Slots a procedure may have.
const SLOTS_MAX: usize = 30_000;

/// How far a compilation had come, to go back there and try another way.
pub(crate) struct Mark {
    slots: usize,
    given: Vec<Option<SqlType>>,
    draws: usize,
    randoms: (u32, bool),
    origins: usize,
    row_sets: u16,
    /// columns that rows are kept in, if they are
    kept: usize,
    result: usize,
    before: usize,
    depth: usize,
    /// calls of the statement, and procedures that are inlined
    calls: (usize, usize),
    ad_hoc: bool,
    is_procedure: bool,
}

/// The state of one compilation.
pub(crate) struct Compiler<'c> {
    pub(crate) catalog: &'c Catalog,
    /// where bare names are looked for
    pub(crate) path: SearchPath,
    pub(crate) slots: Vec<Slot>,
    pub(crate) names: Vec<Names>,
    pub(crate) parameters: Vec<SlotId>,
    /// variables whose rows a statement gives by field, until it has
    pub(crate) apart: Vec<RowApart>,
    /// literals that are parameters
    pub(crate) literals: Literals,
    /// of a routine's last parameters
    pub(crate) defaults: Vec<DefaultArgument>,
    /// per parameter of a statement: its type, once it is known
    pub(crate) given: Vec<Option<SqlType>>,
    /// what there is room for, behind the parameters, of all that is drawn
    pub(crate) room: Vec<Draw>,
    pub(crate) drawn_slots: Vec<DrawnSlots>,
    /// what is drawn, as far as it is compiled
    pub(crate) draws: Vec<Draw>,
    /// places of random values so far
    pub(crate) randoms: u32,
    /// some of them are in loops, and count their turns
    pub(crate) counts_turns: bool,
    /// the row of a change that is compiled is one row: what it draws may stand before it
    pub(crate) draws_once: bool,
    /// a column's DEFAULT: random values are those of whatever inserts
    pub(crate) is_default: bool,
    /// a statement of the database's own, which may use the tables of sequences
    pub(crate) is_own: bool,
    /// what is made of values for identity columns
    pub(crate) overriding: Overriding,
    /// a definition of tables: what a text says as a time is settled when it is read, in the zone
    /// of who sends it; in statements and programs, when they run
    pub(crate) settles_times: bool,
    /// slots that columns of tables were loaded into
    pub(crate) origins: Vec<(SlotId, (TableId, ColumnId))>,
    /// the procedures that queries may call
    pub(crate) procedures: Option<&'c dyn ProcedureNames>,
    pub(crate) row_sets: u16,
    /// how a statement of one access holds what it reads
    pub(crate) row_locks: RowLocks,
    /// loops over deleted rows around the current statement
    pub(crate) deleting: Vec<crate::state::Deleting>,
    /// tables with triggers whose rows go with those of the statement around
    pub(crate) cascading: Vec<TableId>,
    /// tables whose keys the statement around changes
    pub(crate) changing: Vec<TableId>,
    /// expressions being compiled right now, one in the other
    pub(crate) depth: usize,
    /// and all that were
    pub(crate) expressions: usize,
    /// statements of bodies that were
    pub(crate) body_statements: usize,
    /// what these take
    pub(crate) charge: Charge,
    /// statement being compiled, for errors without a better place
    pub(crate) place: Place,
    /// whether a routine has met a call of itself that it was not compiled for
    pub(crate) meets_itself: bool,
    /// what a name is that is both a variable's and a column's
    pub(crate) ambiguity: Ambiguity,
    /// loops around the current statement
    pub(crate) loops: usize,
    /// loops and blocks around it that EXIT and CONTINUE may mean, the innermost last
    pub(crate) enclosing: Vec<crate::state::Enclosing>,
    /// slots that take the errors which the handlers around it have caught, the innermost last
    pub(crate) caught: Vec<Vec<(ErrorPart, SlotId)>>,
    /// what it calls
    pub(crate) calls: Calls,
    /// how many labels there are in the program
    pub(crate) labels: u16,
    pub(crate) result: Vec<ResultColumn>,
    pub(crate) returning: Returning,
    /// a query's columns are as many as those of the result, whatever it has: NULL for others
    pub(crate) fits_result: bool,
    /// RETURNS record: the first row that is returned tells the columns
    pub(crate) opens_result: bool,
    /// a statement outside of procedures: whole-table work is nobody's surprise there
    pub(crate) ad_hoc: bool,
    /// RETURN QUERY of a change: what it returns are rows of the function
    pub(crate) returns_rows: bool,
    /// into how many programs the statement may be compiled
    pub(crate) programs: Programs,
    /// what is in scope, the innermost SELECT last
    pub(crate) levels: Vec<crate::relation::level::Level>,
    /// levels around that of a view, which it does not see
    pub(crate) levels_around: usize,
    /// and its reads of one table
    pub(crate) fetches: Vec<Procedure>,
    /// and how many parts it has so far
    pub(crate) parts: usize,
    /// queries of WITH that run once so far
    pub(crate) shared_queries: usize,
    /// set while a query of a procedure is compiled to operators: its reads of one table
    pub(crate) reads: Option<ProcedureReads>,
    /// in a block of PL/pgSQL
    pub(crate) is_procedure: bool,
    /// in a procedure: what is to run right before the current statement
    pub(crate) before: Vec<hotrow_transaction::program::Statement>,
    /// rows that other statements may read
    pub(crate) keeping: Keeping,
    /// what counts the turns of the loop that is compiled next
    pub(crate) counts_next_turns: Option<SlotId>,
    /// cursors, by their numbers
    pub(crate) cursors: Vec<CursorVariable>,
    /// what COMMIT and ROLLBACK do
    pub(crate) endings: Endings,
    /// triggers of the statement, and of the function that is compiled
    pub(crate) firing: Firing,
    /// events that triggers fire for at the end of the call
    pub(crate) later: Option<LaterEvents>,
    /// the statement is one program, and cannot be anything else
    pub(crate) is_whole: bool,
    /// triggers whose functions are compiled, one in the other: their tables and names
    pub(crate) triggers: Vec<(TableId, String)>,
    /// why a query is to give the rows of the change that is compiled: a part of it needs
    /// operators, or is not to be computed row by row. An error where there is none to give them
    pub(crate) needs_query: Option<SqlError>,
    /// what it needs the right to do, as far as it is compiled
    pub(crate) needs: Needs,
    /// whose right to relations that is
    pub(crate) by: By,
    /// whose right to call functions: that of a view's reader, not of its owner
    pub(crate) runs_as: By,
    pub(crate) domains: AskedOfDomains,
    /// what each `*` stands for, where a view is made
    pub(crate) stars: Option<Vec<WrittenStar>>,
    /// the table that FROM names next is the target of the change that is compiled
    pub(crate) binds_target: bool,
    /// which rows are whose
    pub(crate) security: Security,
    /// who sends the statement, where it is a definition; none: the database's maker
    pub(crate) role: Option<std::sync::Arc<str>>,
    /// what the database's maker is called, where it is known
    pub(crate) maker: Option<std::sync::Arc<str>>,
}

impl<'c> Compiler<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> Self {
        let slot = |name: &str, data_type| Slot {
            name: name.to_owned(),
            sql_type: SqlType::Scalar(data_type),
        };
        Self {
            catalog,
            path: SearchPath::default(),
            slots: vec![
                slot("found", DataType::Boolean),
                slot("$now", DataType::TIMESTAMPTZ),
                slot("$row_count", DataType::BigInt),
            ],
            names: vec![Names::default()],
            parameters: Vec::new(),
            literals: Literals::default(),
            defaults: Vec::new(),
            given: Vec::new(),
            room: Vec::new(),
            drawn_slots: Vec::new(),
            draws: Vec::new(),
            randoms: 0,
            counts_turns: false,
            draws_once: false,
            is_default: false,
            is_own: false,
            overriding: Overriding::Neither,
            settles_times: false,
            origins: Vec::new(),
            procedures: None,
            row_sets: 0,
            row_locks: RowLocks::default(),
            deleting: Vec::new(),
            cascading: Vec::new(),
            changing: Vec::new(),
            depth: 0,
            expressions: 0,
            body_statements: 0,
            charge: current::charge(),
            place: Place::default(),
            meets_itself: false,
            ambiguity: Ambiguity::default(),
            loops: 0,
            enclosing: Vec::new(),
            caught: Vec::new(),
            calls: Calls::default(),
            apart: Vec::new(),
            labels: 0,
            result: Vec::new(),
            returning: Returning::Nothing,
            fits_result: false,
            opens_result: false,
            ad_hoc: false,
            returns_rows: false,
            programs: Programs::default(),
            levels: Vec::new(),
            levels_around: 0,
            fetches: Vec::new(),
            parts: 0,
            shared_queries: 0,
            reads: None,
            is_procedure: false,
            before: Vec::new(),
            keeping: Keeping::default(),
            counts_next_turns: None,
            cursors: Vec::new(),
            endings: Endings::default(),
            firing: Firing::default(),
            later: None,
            is_whole: false,
            triggers: Vec::new(),
            needs_query: None,
            needs: Needs::default(),
            by: By::default(),
            runs_as: By::default(),
            domains: AskedOfDomains::default(),
            stars: None,
            binds_target: false,
            security: Security::default(),
            role: None,
            maker: None,
        }
    }

    /// How far it has come; between statements, or before the first.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            slots: self.slots.len(),
            given: self.given.clone(),
            draws: self.draws.len(),
            randoms: (self.randoms, self.counts_turns),
            origins: self.origins.len(),
            row_sets: self.row_sets,
            kept: self.keeping.open.as_ref().map_or(0, Vec::len),
            result: self.result.len(),
            before: self.before.len(),
            depth: self.depth,
            calls: (self.calls.made.len(), self.calls.inlined.len()),
            ad_hoc: self.ad_hoc,
            is_procedure: self.is_procedure,
        }
    }

    /// Forgets what was compiled since, and which types parameters got meanwhile.
    pub(crate) fn back_to(&mut self, mark: &Mark) {
        self.slots.truncate(mark.slots);
        for (slot, known) in self.parameters.iter().zip(&mark.given) {
            let open = SqlType::Scalar(DataType::Text);
            self.slots[slot.index()].sql_type = known.unwrap_or(open);
        }
        self.given.clone_from(&mark.given);
        self.draws.truncate(mark.draws);
        (self.randoms, self.counts_turns) = mark.randoms;
        self.origins.truncate(mark.origins);
        self.before.truncate(mark.before);
        if let Some(open) = &mut self.keeping.open {
            open.truncate(mark.kept);
        }
        self.calls.made.truncate(mark.calls.0);
        self.calls.inlined.truncate(mark.calls.1);
        let is_gone = |of: &Repeated| of.results.iter().any(|(slot, _)| slot.index() >= mark.slots);
        self.calls.repeated.take_if(|of| is_gone(of));
        self.forget_later_from(mark.slots);
        self.result.truncate(mark.result);
        (self.ad_hoc, self.is_procedure) = (mark.ad_hoc, mark.is_procedure);
        (self.row_sets, self.depth) = (mark.row_sets, mark.depth);
        (self.reads, self.needs_query) = (None, None);
        self.levels.clear();
        self.fetches.clear();
        (self.parts, self.expressions) = (0, 0);
    }

    /// The procedure around a compiled body. There is one in a compilation.
    pub(crate) fn take_procedure(
        &mut self,
        name: &str,
        body: Vec<hotrow_transaction::program::Statement>,
        returns_set: bool,
    ) -> Procedure {
        let body = self.counting(body);
        Procedure {
            name: name.to_owned(),
            parameters: (self.parameters.len() + self.drawn_slots.len()) as u16,
            defaults: std::mem::take(&mut self.defaults),
            draws: std::mem::take(&mut self.draws),
            slots: std::mem::take(&mut self.slots),
            body,
            result: std::mem::take(&mut self.result),
            returns_set,
            row_sets: self.row_sets,
            row_locks: self.row_locks,
            inlined: self.calls.take_inlined(),
            ends_transaction: self.endings.are_any,
            is_variadic: false,
            outs: Vec::new(),
            lacks: None,
            interpreted: None,
            source: None,
            trigger: None,
            later: self.later.take().map(Box::new),
            needs: Default::default(),
        }
    }

    /// Adds a slot.
    pub(crate) fn slot(&mut self, name: &str, sql_type: SqlType) -> Result<SlotId> {
        if self.slots.len() >= SLOTS_MAX {
            return Err(too_complex(self.place, "the procedure has too many variables")
                .hint("split it into several procedures"));
        }
        self.slots.push(Slot { name: name.to_owned(), sql_type });
        Ok(SlotId((self.slots.len() - 1) as u16))
    }

    /// Adds a temporary.
    pub(crate) fn temporary(&mut self, name: &str, data_type: DataType) -> Result<SlotId> {
        self.slot(&format!("${name}"), SqlType::Scalar(data_type))
    }

    pub(crate) fn row_set(&mut self) -> RowSetId {
        self.row_sets += 1;
        RowSetId(self.row_sets - 1)
    }

    pub(crate) fn slot_expr(&self, slot: SlotId) -> Expr {
        Expr { kind: ExprKind::Slot(slot), sql_type: self.slots[slot.index()].sql_type }
    }

    /// Declares a variable in the innermost block.
    pub(crate) fn declare(&mut self, name: &str, variable: Variable, place: Place) -> Result<()> {
        let names = self.names.last_mut().expect("the outermost block is never left");
        if names.variables.iter().any(|(other, _)| other == name) {
            return Err(error(b"42601", place, format!("duplicate declaration of \"{name}\"")));
        }
        names.variables.push((name.to_owned(), variable));
        Ok(())
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.names
            .iter()
            .rev()
            .flat_map(|names| names.variables.iter().rev())
            .find(|(other, _)| other == name)
            .map(|(_, variable)| variable)
    }

    /// A variable by `label.name` or `name`.
    pub(crate) fn qualified_variable(&self, parts: &[String]) -> Option<&Variable> {
        match parts {
            [name] => self.variable(name),
            [label, name] => self
                .names
                .iter()
                .rev()
                .filter(|names| names.label.as_ref() == Some(label))
                .flat_map(|names| names.variables.iter())
                .find(|(other, _)| other == name)
                .map(|(_, variable)| variable),
            _ => None,
        }
    }

    /// Replaces what a name stands for where it was declared.
    pub(crate) fn redefine(&mut self, name: &str, variable: Variable) {
        let found = self
            .names
            .iter_mut()
            .rev()
            .flat_map(|names| names.variables.iter_mut().rev())
            .find(|(other, _)| other == name);
        if let Some((_, old)) = found {
            *old = variable;
        }
    }

    /// The slot of a column of a row, which is loaded from now on.
    pub(crate) fn bind_in(&mut self, row: &mut Row, column: ColumnId) -> Result<Expr> {
        if let Some((_, slot)) = row.bound.iter().find(|(c, _)| *c == column) {
            return Ok(self.slot_expr(*slot));
        }
        let described = &row.columns[column.index()];
        let slot =
            self.temporary(&format!("{}.{}", row.name, described.name), described.data_type)?;
        row.bound.push((column, slot));
        self.origins.push((slot, (row.table, column)));
        Ok(self.slot_expr(slot))
    }

    pub(crate) fn slot_type(&self, slot: SlotId) -> SqlType {
        self.slots[slot.index()].sql_type
    }

    /// The column of a table that an expression is.
    pub(crate) fn origin_of(&self, expr: &Expr) -> Option<(TableId, ColumnId)> {
        let ExprKind::Slot(slot) = expr.kind else { return None };
        let known = self.origins.iter().find(|(of, _)| *of == slot);
        known.map(|(_, origin)| *origin)
    }

    /// What a bare name stands for.
    pub(crate) fn name(&mut self, name: &str, place: Place) -> Result<Expr> {
        let column = self.relation_column(name, place)?;
        if column.is_none()
            && self.variable(name).is_none()
            && let Some(row) = self.row_of_relation(name)?
        {
            return Ok(row);
        }
        let variable = self.variable(name);
        match (column, variable) {
            (Some(column), Some(_)) if self.ambiguity == Ambiguity::Column => Ok(column),
            (Some(_), Some(_)) if self.ambiguity == Ambiguity::Error => {
                Err(is_ambiguous(name, self.relation_with(name), place))
            }
            (Some(column), None) => Ok(column),
            (_, Some(Variable::Scalar { slot, .. })) => Ok(spread(self.slot_expr(*slot))),
            (_, Some(Variable::Cursor(_))) => {
                let what = format!("cursor \"{name}\" as a value");
                Err(unsupported(place, what, "FETCH its rows, or loop over them: FOR r IN cursor"))
            }
            (_, Some(Variable::Record { .. })) => self.value_of_record(name).ok_or_else(|| {
                let advice = "put a row into it before: SELECT ... INTO, or an assignment";
                unsupported(place, format!("record \"{name}\" as a value"), advice)
            }),
            (None, None) if name == "current_role" => self.current_role(place),
            (None, None) if name == "current_schema" => self.expr(&called(name, Vec::new())),
            (None, None) if name == "found" && self.is_procedure && !self.ad_hoc => {
                Ok(self.slot_expr(FOUND))
            }
            (None, None) => Err(self.unknown_column(name, place)),
        }
    }

    fn unknown_column(&self, name: &str, place: Place) -> SqlError {
        if name.strip_prefix('$').is_some_and(|number| number.parse::<usize>().is_ok()) {
            return error(b"42P02", place, format!("there is no parameter {name}"));
        }
        if self.is_of_changed_view(name) {
            let what = format!("column \"{name}\", which the view computes, in a change of it");
            return unsupported(place, what, "write its expression, or change the table");
        }
        let problem = error(b"42703", place, format!("column \"{name}\" does not exist"));
        let relations = self.levels.iter().rev().flat_map(|level| &level.relations);
        let columns = relations.flat_map(|relation| relation.shown().iter().map(|c| &c.name));
        let variables =
            self.names.iter().flat_map(|names| names.variables.iter().map(|(name, _)| name));
        let known = columns.chain(variables).filter(|known| !known.starts_with('\0'));
        match known.into_iter().find(|known| is_near(known, name)) {
            Some(near) => problem.hint(format!("Perhaps you meant \"{near}\".")),
            None => problem,
        }
    }

    /// What `a.b` stands for: a column, a record's field or a parameter.
    pub(crate) fn qualified(&mut self, parts: &[String], place: Place) -> Result<Expr> {
        if let Some(column) = self.qualified_relation_column(parts, place)? {
            return Ok(column);
        }
        let [qualifier, name] = parts else {
            if let [_, table, _] = parts {
                let message = format!("missing FROM-clause entry for table \"{table}\"");
                return Err(error(b"42P01", place, message));
            }
            let message = format!("improper qualified name: {}", parts.join("."));
            return Err(error(b"42601", place, message));
        };
        if let Some(Variable::Record { fields, open, .. }) = self.variable(qualifier) {
            if let Some((_, slot)) = fields.iter().find(|(field, _)| field == name) {
                return Ok(spread(self.slot_expr(*slot)));
            }
            return Err(if *open {
                error(b"55000", place, format!("record \"{qualifier}\" is not assigned yet"))
                    .hint("SELECT ... INTO it, or loop over a query with it, before this statement")
            } else {
                error(b"42703", place, format!("record \"{qualifier}\" has no field \"{name}\""))
            });
        }
        if let Some(Variable::Scalar { slot, .. }) = self.variable(qualifier)
            && let row = self.slot_expr(*slot)
            && let Some(of) = composite_type_of(&row)
        {
            return field_named(row, of, name, place);
        }
        if let Some(Variable::Scalar { slot, .. }) = self.qualified_variable(parts) {
            return Ok(spread(self.slot_expr(*slot)));
        }
        Err(error(b"42P01", place, format!("missing FROM-clause entry for table \"{qualifier}\"")))
    }

    /// The table with this name.
    pub(crate) fn table(
        &self,
        name: &str,
        place: Place,
    ) -> Result<&'c hotrow_transaction::catalog::Table> {
        self.refuse_hidden(name, place)?;
        let found = self.table_named(name);
        if found.is_some_and(|table| table.sequence.is_some() && !self.is_own) {
            return Err(error(b"42809", place, format!("\"{name}\" is a sequence"))
                .hint("ask nextval, currval or the view pg_sequences"));
        }
        if let Some(view) = self.view_named(name) {
            if view.kind == ViewKind::Partition {
                let what = format!("the partition \"{name}\" here");
                return Err(unsupported(place, what, "name the table that it is a partition of"));
            }
            if view.kind != ViewKind::Plain {
                return Err(error(b"42809", place, format!("\"{name}\" is not a table")));
            }
            return Err(is_view(name, place));
        }
        found.ok_or_else(|| {
            let problem = error(b"42P01", place, format!("relation \"{name}\" does not exist"));
            match self.catalog.tables().iter().find(|t| is_near(&t.name, name)) {
                Some(near) => problem.hint(format!("Perhaps you meant \"{}\".", near.name)),
                None => problem,
            }
        })
    }

    /// The row of a table under a name.
    pub(crate) fn row_of(&self, table: TableId, name: &str) -> Row {
        let known = self.catalog.table(table);
        let read_of = Some(ReadOf::own(Object::Table(table)));
        Row { table, shown: known.shown().len(), read_of, ..Row::of(name, &known.columns) }
    }
}

fn is_ambiguous(name: &str, table: &str, place: Place) -> SqlError {
    error(b"42702", place, format!("column reference \"{name}\" is ambiguous"))
        .detail("It could refer to either a PL/pgSQL variable or a table column.")
        .hint(format!("write {table}.{name} for the column, or rename the variable"))
}

/// That a name is a view's, where a table's is wanted.
pub(crate) fn is_view(name: &str, place: Place) -> SqlError {
    // Whoever asks may be able to compile it as a query, which this code lets it try.
    unsupported(place, format!("the view \"{name}\" here"), "name the tables that it reads")
}
