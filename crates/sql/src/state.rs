//! What a compilation keeps in mind: names, rows, and what stands around a statement.

use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::composite::CompositeType;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Column, Domain, Object, TriggerEvent};
use hotrow_transaction::draw::Draw;
use hotrow_transaction::dynamic::Definitions;
use hotrow_transaction::program::{
    Expr, LabelId, OperatorRead, Place, Procedure, RowSetId, SlotId, Statement, routine_name,
};
use hotrow_transaction::walk::reads_any;
use sqlparser::ast;
use sqlparser::tokenizer::Location;

use crate::around::Circle;

/// What a variable's name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    Scalar {
        slot: SlotId,
        constant: bool,
        not_null: bool,
    },
    /// a record: fields by name; `open` until the first query gives it a shape; `of` a composite
    /// type, if it was declared of one
    Record {
        fields: Vec<(String, SlotId)>,
        open: bool,
        of: Option<CompositeType>,
    },
    /// by its number
    Cursor(usize),
}

/// Whether the variable is a scalar; used by statements that need one.
pub(crate) fn scalar_slot(variable: &Variable) -> Option<SlotId> {
    match variable {
        Variable::Scalar { slot, .. } => Some(*slot),
        Variable::Record { .. } | Variable::Cursor(_) => None,
    }
}

/// A cursor: where it stands, and what keeps its rows.
#[derive(Clone)]
pub(crate) struct CursorVariable {
    pub(crate) name: String,
    /// its own query; none: OPEN says which
    pub(crate) of: Option<Arc<ast::Statement>>,
    /// it may go back
    pub(crate) scrolls: bool,
    /// what its query knows: so many blocks, and names of the last one
    pub(crate) scope: (usize, usize),
    pub(crate) parameters: Vec<(String, SlotId)>,
    /// NULL before the first OPEN
    pub(crate) is_open: SlotId,
    /// at which of its rows, from 1
    pub(crate) at: SlotId,
    /// none: it was not opened so far in the text
    pub(crate) columns: Option<Vec<KeptColumn>>,
    /// the table whose keys are the last of them, where WHERE CURRENT OF may ask for them
    pub(crate) key_of: Option<TableId>,
}

/// The names of one block.
#[derive(Clone, Default, Debug)]
pub(crate) struct Names {
    /// a label that may qualify them: that of the block or loop, the procedure's name for its
    /// parameters
    pub(crate) label: Option<String>,
    pub(crate) variables: Vec<(String, Variable)>,
}

/// A column as queries see it.
#[derive(Clone, Debug)]
pub(crate) struct RowColumn {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) nullable: bool,
}

/// The table of the query being compiled.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) table: TableId,
    /// its alias, or its name
    pub(crate) name: String,
    pub(crate) columns: Vec<RowColumn>,
    /// how many of them can be named; those behind are keys of indexes
    pub(crate) shown: usize,
    /// those that `*` stands for, in their order, where these are not all that can be named
    pub(crate) star: Option<Star>,
    /// whose right it takes to read them; none: nobody's
    pub(crate) read_of: Option<ReadOf>,
    /// columns loaded so far
    pub(crate) bound: Vec<(ColumnId, SlotId)>,
}

/// What has the rights of the columns of rows, where a statement names them.
#[derive(Clone, Debug)]
pub(crate) struct ReadOf {
    pub(crate) object: Object,
    /// by column of the rows: the column of that (none: it cannot be named), where they are not in
    /// one order
    pub(crate) columns: Option<Rc<[Option<ColumnId>]>>,
    /// it is a view that is written through, whose query has not been compiled for these rows
    pub(crate) is_through: bool,
}

impl ReadOf {
    /// That of something's own columns.
    pub(crate) fn own(object: Object) -> Self {
        Self { object, columns: None, is_through: false }
    }

    /// That of some of the rows' columns, in this order.
    pub(crate) fn of_columns(&self, numbers: &[usize]) -> Self {
        let columns = numbers.iter().map(|number| self.column(*number)).collect();
        Self { columns: Some(columns), ..self.clone() }
    }

    /// The column that has the rights of a column of the rows.
    pub(crate) fn column(&self, at: usize) -> Option<ColumnId> {
        match &self.columns {
            None => Some(ColumnId(at as u16)),
            Some(columns) => columns.get(at).copied().flatten(),
        }
    }
}

/// The columns of a view, as columns of its table.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    /// in their order
    pub(crate) shown: Vec<usize>,
    /// the names of those that it computes
    pub(crate) computed: Vec<String>,
}

impl Row {
    /// That of a table with these columns, of which nothing is loaded yet.
    pub(crate) fn of(table: &str, columns: &[Column]) -> Self {
        let column = |column: &Column| {
            let Column { name, data_type, nullable, .. } = column;
            RowColumn { name: name.clone(), data_type: *data_type, nullable: *nullable }
        };
        let columns: Vec<_> = columns.iter().map(column).collect();
        let (name, shown) = (table.to_owned(), columns.len());
        let (table, star, read_of) = (TableId(0), None, None);
        Self { table, name, columns, shown, star, read_of, bound: Vec::new() }
    }

    /// Whether an expression reads one of its columns, and so may differ from row to row.
    pub(crate) fn is_read_by(&self, expr: &Expr) -> bool {
        reads_any(expr, |slot| self.column_of(slot).is_some())
    }

    /// The column a slot was loaded from.
    pub(crate) fn column_of(&self, slot: SlotId) -> Option<ColumnId> {
        self.bound.iter().find(|(_, s)| *s == slot).map(|(c, _)| *c)
    }
}

/// What RETURN may give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Returning {
    /// a procedure, or RETURNS void
    Nothing,
    /// RETURN expression
    Value(DataType),
    /// RETURN of a row
    Row,
    /// OUT parameters, in these slots
    Outs(Vec<SlotId>),
    /// RETURN NEXT expression
    SetOfValues(DataType),
    /// RETURNS TABLE (slots), or SETOF table (none)
    SetOfRows(Vec<SlotId>),
    /// a function of a trigger
    Trigger(TriggerReturn),
}

/// What RETURN does in a function of a trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TriggerReturn {
    /// goes on behind this
    pub(crate) exit: LabelId,
    /// of a BEFORE trigger for rows: becomes true where the row is left out
    pub(crate) skip: Option<SlotId>,
    /// and these get the fields of what is returned
    pub(crate) row: Vec<SlotId>,
    /// OLD or NEW, where there is none
    pub(crate) nothing: Vec<String>,
}

/// What is known of triggers while a statement is compiled.
#[derive(Clone, Default)]
pub(crate) struct Firing {
    /// the function that is compiled has these values in these slots
    pub(crate) known: Vec<(SlotId, Expr)>,
    /// its TG_ARGV, whose first element has the number 0
    pub(crate) arguments: Option<(SlotId, Vec<String>)>,
    /// nothing fires, whatever is changed
    pub(crate) is_silent: bool,
    /// rows that the statement has changed so far; none: nothing fires behind it
    pub(crate) changed: Option<ChangedRows>,
}

/// Rows of one statement, for what fires behind it.
#[derive(Clone, Default)]
pub(crate) struct ChangedRows {
    /// there is one at most, so that what fires for it stands right behind its change
    pub(crate) is_one: bool,
    /// triggers take numbers of sequences in the order in which they fire; else each has its own,
    /// as it fires once
    pub(crate) draws_by_turns: bool,
    pub(crate) events: Vec<EventRows>,
}

/// Rows that were changed in one way, kept in arrays.
#[derive(Clone)]
pub(crate) struct EventRows {
    pub(crate) event: TriggerEvent,
    /// how many there are
    pub(crate) count: SlotId,
    /// the columns that somebody reads
    pub(crate) columns: Vec<ChangedColumn>,
    /// what fires for each row
    pub(crate) body: Vec<Statement>,
}

/// A column of changed rows, as it was before or is then.
#[derive(Clone)]
pub(crate) struct ChangedColumn {
    pub(crate) is_new: bool,
    pub(crate) column: ColumnId,
    /// has the value of the row that a trigger fires for
    pub(crate) slot: SlotId,
    /// has those of all rows
    pub(crate) array: SlotId,
}

/// A loop over deleted rows, which more may join.
pub(crate) struct Deleting {
    pub(crate) table: TableId,
    pub(crate) rows: RowSetId,
    pub(crate) into: SlotId,
}

/// A loop or a labelled block around the statement that is compiled.
pub(crate) struct Enclosing {
    pub(crate) label: Option<String>,
    pub(crate) kind: EnclosingKind,
    /// what EXIT leaves, once there is one
    pub(crate) exit: Option<LabelId>,
    /// what CONTINUE leaves, once there is one
    pub(crate) next: Option<LabelId>,
}

/// What stands around a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnclosingKind {
    /// DECLARE ... BEGIN ... END
    Block,
    /// LOOP, or WHILE, which has something to leave already
    Loop {
        /// what its condition leaves
        exit: Option<LabelId>,
    },
    /// FOR and FOREACH: FOUND tells, however they end, whether there was a turn
    For,
}

impl Enclosing {
    pub(crate) fn new(label: Option<String>, kind: EnclosingKind) -> Self {
        let exit = match kind {
            EnclosingKind::Loop { exit } => exit,
            EnclosingKind::Block | EnclosingKind::For => None,
        };
        Self { label, kind, exit, next: None }
    }
}

/// Reads of a query that is being compiled for a procedure.
pub(crate) struct ProcedureReads {
    /// slots of the procedure come before this one
    pub(crate) outer: usize,
    pub(crate) reads: Vec<OperatorRead>,
}

impl ProcedureReads {
    /// None so far, of a query behind these slots.
    pub(crate) const fn behind(outer: usize) -> Self {
        Self { outer, reads: Vec::new() }
    }
}

/// Into how many programs a statement may be compiled. Several are held together by a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Programs {
    /// a change is one; a query may be operators and their reads
    #[default]
    OneChange,
    /// one, whatever its shape
    One,
    /// see [`ScriptStatement::in_parts_if_need_be`]
    IfNeedBe,
    /// see [`ScriptStatement::in_parts`]
    Several,
}

/// The procedures that exist, by name.
pub trait ProcedureNames {
    /// The procedure with this key.
    fn procedure(&self, key: &str) -> Option<&Procedure>;

    /// All procedures of this name, which differ in the types of their parameters.
    fn overloads(&self, name: &str) -> Vec<&Procedure>;

    /// The keys of all that there are.
    fn all_names(&self) -> Vec<String>;

    /// The key of the one that is compiled again, for another definition's sake.
    fn compiled_again(&self) -> Option<&str> {
        None
    }
}

impl<T: ProcedureNames + ?Sized> ProcedureNames for &T {
    fn procedure(&self, key: &str) -> Option<&Procedure> {
        (**self).procedure(key)
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        (**self).overloads(name)
    }

    fn all_names(&self) -> Vec<String> {
        (**self).all_names()
    }

    fn compiled_again(&self) -> Option<&str> {
        (**self).compiled_again()
    }
}

impl ProcedureNames for () {
    fn procedure(&self, _: &str) -> Option<&Procedure> {
        None
    }

    fn overloads(&self, _: &str) -> Vec<&Procedure> {
        Vec::new()
    }

    fn all_names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl ProcedureNames for std::collections::BTreeMap<String, Procedure> {
    fn procedure(&self, key: &str) -> Option<&Procedure> {
        self.get(key)
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        self.values().filter(|of| routine_name(&of.name) == name).collect()
    }

    fn all_names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

impl ProcedureNames for std::collections::HashMap<String, Procedure> {
    fn procedure(&self, key: &str) -> Option<&Procedure> {
        self.get(key)
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        self.values().filter(|of| routine_name(&of.name) == name).collect()
    }

    fn all_names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

/// The procedures that are registered, by the definitions in force.
pub struct Registered<'a>(pub &'a dyn Definitions);

impl ProcedureNames for Registered<'_> {
    fn procedure(&self, key: &str) -> Option<&Procedure> {
        self.0.procedure(key)
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        self.0.overloads(name)
    }

    fn all_names(&self) -> Vec<String> {
        self.0.procedure_names()
    }
}

/// Where a program has what it draws.
#[derive(Clone, Debug)]
pub(crate) struct DrawnSlots {
    pub(crate) draw: Draw,
    pub(crate) parameter: SlotId,
    /// how many of them were taken so far
    pub(crate) counter: SlotId,
}

/// What a call gives: names and values of its columns.
pub(crate) type Given = Vec<(String, Expr)>;

/// The block of a routine that calls itself.
#[derive(Clone)]
pub(crate) struct Repeated {
    pub(crate) label: LabelId,
    /// slots of what it returns
    pub(crate) results: Vec<(SlotId, DataType)>,
}

/// What is known of a statement's calls while it is compiled.
#[derive(Clone, Default)]
pub(crate) struct Calls {
    /// the routine that is compiled
    pub(crate) routine: Option<String>,
    /// what callers see of it, once that is known
    pub(crate) own: Option<Arc<Procedure>>,
    /// whether it calls itself, and then the block that runs in itself
    pub(crate) is_recursive: bool,
    pub(crate) repeated: Option<Repeated>,
    /// whether its text names FOUND, and ROW_COUNT
    pub(crate) mentions: [bool; 2],
    /// and whether it changes rows at which cursors stand
    pub(crate) mentions_current: bool,
    /// what stands in the program so far
    pub(crate) inlined: Vec<String>,
    /// and how many statements that is
    pub(crate) statements: usize,
    /// calls of the current statement, by their places: an operand may be compiled several times
    pub(crate) made: Vec<(Place, Given)>,
    /// the routines around the one that is compiled, which it may call
    pub(crate) circle: Circle,
    /// whether one of them is run statement by statement, and is no part of a program
    pub(crate) needs_turn: bool,
    /// what its maker is to be told of it
    pub(crate) told: std::collections::BTreeSet<&'static str>,
}

impl Calls {
    /// For a routine, or another statement, with this text.
    pub(crate) fn of(routine: Option<&str>, text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let mentions = ["found", "row_count"].map(|word| text.contains(word));
        let words: Vec<&str> = text.split_whitespace().collect();
        let mentions_current = words.windows(2).any(|two| two == ["current", "of"]);
        let routine = routine.map(str::to_owned);
        Self { routine, mentions, mentions_current, ..Self::default() }
    }

    /// The names of what stands in the program, each once.
    pub(crate) fn take_inlined(&mut self) -> Vec<String> {
        let mut inlined = std::mem::take(&mut self.inlined);
        inlined.sort();
        inlined.dedup();
        inlined
    }
}

/// Whether what is compiled may end transactions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MayEnd {
    /// DO
    #[default]
    Not,
    /// a function: whatever tries to fails when it runs
    Never,
    /// a procedure
    AtLast,
}

/// What COMMIT and ROLLBACK are in a routine.
#[derive(Clone, Default)]
pub(crate) struct Endings {
    pub(crate) may: MayEnd,
    /// blocks with handlers around the current statement
    pub(crate) protected: usize,
    /// it ends one
    pub(crate) are_any: bool,
    /// it may take one back
    pub(crate) roll_back: bool,
}

/// Rows that were kept.
#[derive(Clone)]
pub(crate) struct KeptRows {
    pub(crate) name: String,
    /// names that WITH gives to the columns
    pub(crate) renamed: Vec<String>,
    /// none: it gives no rows
    pub(crate) columns: Vec<KeptColumn>,
}

/// A column of them.
#[derive(Clone)]
pub(crate) struct KeptColumn {
    pub(crate) name: String,
    /// an array
    pub(crate) slot: SlotId,
}

/// What is kept while a statement is compiled, and may be read.
#[derive(Clone, Default)]
pub(crate) struct Keeping {
    pub(crate) rows: Vec<KeptRows>,
    /// columns of the rows that the statement being compiled leaves; none: it leaves none
    pub(crate) open: Option<Vec<KeptColumn>>,
    /// tables that WITH has changed
    pub(crate) changed: Vec<TableId>,
    /// it was no WITH, but the statement whose RETURNING is compiled
    pub(crate) changes_return: bool,
}

impl Keeping {
    /// Whether the rows of the statement that is compiled are kept.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.rows.iter().any(|known| known.name == name)
    }

    /// Forgets a temporary table; whether there was one.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        let before = self.rows.len();
        self.rows.retain(|known| known.name != name);
        self.rows.len() < before
    }
}

/// A `*`, by its place, and the columns that it stands for, each perhaps behind its relation.
pub(crate) type WrittenStar = (Location, Vec<ast::Expr>);

/// A domain that asks something of its values.
#[derive(Clone)]
pub(crate) struct AskingDomain {
    pub(crate) name: String,
    pub(crate) domain: Domain,
}

/// What is to be of domains in the routine that is compiled.
#[derive(Clone, Default)]
pub(crate) struct AskedOfDomains {
    /// variables
    pub(crate) of_slots: Vec<(SlotId, AskingDomain)>,
    /// what is returned
    pub(crate) returned: Option<AskingDomain>,
}

/// What OVERRIDING says of values for identity columns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Overriding {
    #[default]
    Neither,
    /// SYSTEM VALUE: those of columns GENERATED ALWAYS are taken
    System,
    /// USER VALUE: none are taken, the column's own numbers are
    User,
}

/// What GET DIAGNOSTICS can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Diagnostic {
    RowCount,
    /// PG_CONTEXT
    Context,
}

/// The variable that has the row which a function in SQL returns.
pub(crate) const RESULT_ROW: &str = "?result?";
