//! Lowering: from the procedure tree to bytecode, once per procedure.
//!
//! Role         called when a procedure is registered, and by the planner for slices and parts;
//!              needs the catalog, so that running needs it no more. Refuses nothing legal but what
//!              exceeds an instruction's fields (54000).
//! Invariants   I1 sites are numbered as in [`crate::program`]: in preorder, a FOR loop's query
//!                 before its body; over several parts, one after another
//!              I2 a slot of the procedure is written only where the tree writes it, and after
//!                 everything that reads its old value
//!              I3 slots: the procedure's, then constants, then temporaries in a stack
//!
//! Code is emitted into segments: one per entry, one per piece of code that runs rarely (a missing
//! row) or per row; [`segments`] joins them. Jumps name labels until then.

mod access;
mod case;
mod condition;
mod constraint;
mod expr;
mod insert;
mod protected;
mod query;
mod segments;
mod signature;
mod statement;

use std::collections::HashMap;

use hotrow_base::datum::Datum;
use hotrow_base::ids::TableId;
use hotrow_base::stack::with_room;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use segments::{Label, Segments};

use crate::bytecode::{Failure, Op, Program, TableCode};
use crate::catalog::Catalog;
use crate::frame::SLOTS_MAX;
use crate::outcome::SqlError;
use crate::program::{FOUND, LabelId, NOW, Procedure, ROW_COUNT, SlotId, Statement};

pub(crate) use access::{key_code, packed_bits};

/// Lowers a procedure; its one entry is number 0.
pub fn lower(catalog: &Catalog, procedure: &Procedure) -> Result<Program, SqlError> {
    let ends_without_return = !procedure.result.is_empty() && !procedure.returns_set;
    lower_with(catalog, procedure, &[&procedure.body], ends_without_return)
}

/// Lowers several bodies over one procedure's slots: entry `i` runs `parts[i]`.
pub fn lower_parts(
    catalog: &Catalog,
    procedure: &Procedure,
    parts: &[&[Statement]],
) -> Result<Program, SqlError> {
    lower_with(catalog, procedure, parts, false)
}

fn lower_with(
    catalog: &Catalog,
    procedure: &Procedure,
    parts: &[&[Statement]],
    ends_without_return: bool,
) -> Result<Program, SqlError> {
    // Statements and expressions are as deep as the compiler lets them be.
    with_room(|| lower_here(catalog, procedure, parts, ends_without_return))
}

fn lower_here(
    catalog: &Catalog,
    procedure: &Procedure,
    parts: &[&[Statement]],
    ends_without_return: bool,
) -> Result<Program, SqlError> {
    // Twice: constants lie before temporaries, and the first pass tells how many there are.
    let mut constants = 0;
    loop {
        let mut lowerer = Lowerer::new(catalog, procedure, constants);
        lowerer.parts = parts.len();
        for part in parts {
            lowerer.entry(part, ends_without_return);
        }
        if lowerer.constants.len() <= constants {
            return lowerer.finish();
        }
        constants = lowerer.constants.len();
    }
}

struct Lowerer<'a> {
    catalog: &'a Catalog,
    procedure: &'a Procedure,
    program: Program,
    segments: Segments,
    /// types and debug forms of constants; their numbers
    constants: HashMap<(DataType, String), usize>,
    constant_datums: Vec<Datum>,
    first_constant: usize,
    constant_room: usize,
    next_temporary: usize,
    most_temporaries: usize,
    /// slots known not to be NULL: bound to columns that are NOT NULL
    not_null: Vec<bool>,
    /// what stands for slot `i` while a CHECK's condition is lowered
    check_slots: Option<Vec<u16>>,
    /// bound slots that are loaded where they are read, with their loads' numbers, and the site
    deferred: (u16, Vec<SlotId>),
    /// blocks around the statement that is lowered, where their ends are, and how many protected
    /// blocks are around them
    blocks: Vec<(LabelId, Label, u16)>,
    /// routines around it that call themselves, where they begin, and their numbers
    routines: Vec<(LabelId, Label, u16)>,
    routines_known: u16,
    /// protected blocks around it, and handlers
    protected: (u16, u16),
    /// bodies that are entries of their own
    parts: usize,
    /// segments of operators' reads, which are the entries behind these
    reads: Vec<usize>,
    failed: Option<SqlError>,
}

impl<'a> Lowerer<'a> {
    fn new(catalog: &'a Catalog, procedure: &'a Procedure, constant_room: usize) -> Self {
        let is_range = |sql_type: &SqlType| match sql_type {
            SqlType::Array(_) => true,
            SqlType::Scalar(data_type) => data_type.is_bytes(),
        };
        let parameters: Vec<_> = procedure.parameters().iter().map(|slot| slot.sql_type).collect();
        let first_constant = procedure.slots.len();
        let mut not_null = vec![false; first_constant];
        for known in [FOUND, NOW, ROW_COUNT] {
            if let Some(slot) = not_null.get_mut(known.index()) {
                *slot = true;
            }
        }
        Self {
            catalog,
            procedure,
            program: Program {
                name: procedure.name.clone(),
                has_range_parameters: parameters.iter().any(is_range),
                parameters,
                result: procedure.result.clone(),
                row_sets: procedure.row_sets,
                row_locks: procedure.row_locks,
                ..Program::default()
            },
            segments: Segments::default(),
            constants: HashMap::new(),
            constant_datums: Vec::new(),
            first_constant,
            constant_room,
            next_temporary: first_constant + constant_room,
            most_temporaries: 0,
            not_null,
            check_slots: None,
            deferred: (0, Vec::new()),
            blocks: Vec::new(),
            routines: Vec::new(),
            routines_known: 0,
            protected: (0, 0),
            parts: 1,
            reads: Vec::new(),
            failed: None,
        }
    }

    fn entry(&mut self, body: &[Statement], ends_without_return: bool) {
        let segment = self.segments.open();
        self.segments.entries.push(segment);
        self.block(body);
        if ends_without_return {
            self.emit(Op::Fail { failure: Failure::NoReturn });
        }
        self.emit(Op::End);
        self.segments.close();
    }

    fn finish(mut self) -> Result<Program, SqlError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let slots = self.next_temporary.max(self.most_temporaries);
        if slots >= SLOTS_MAX {
            return Err(too_large("local variables and constants"));
        }
        // FOUND, NOW and the row count exist even in a procedure built without them.
        let mut image = vec![Datum::NULL; slots.max(3)];
        let constants = self.first_constant..self.first_constant + self.constant_datums.len();
        image[constants].copy_from_slice(&self.constant_datums);
        self.program.image = image;
        self.segments.entries.append(&mut self.reads);
        self.segments.join(&mut self.program);
        Ok(self.program)
    }

    fn emit(&mut self, op: Op) {
        self.segments.emit(op);
    }

    fn label(&mut self) -> Label {
        self.segments.label()
    }

    fn place(&mut self, label: Label) {
        self.segments.place_label(label);
    }

    /// The first slot that is a temporary.
    fn first_temporary(&self) -> usize {
        self.first_constant + self.constant_room
    }

    /// A temporary, free again when the statement ends.
    fn temporary(&mut self) -> u16 {
        self.temporaries(1)
    }

    /// Consecutive temporaries.
    fn temporaries(&mut self, count: usize) -> u16 {
        let first = self.next_temporary;
        self.next_temporary += count;
        self.most_temporaries = self.most_temporaries.max(self.next_temporary);
        if self.next_temporary >= SLOTS_MAX {
            self.fail(too_large("local variables and constants"));
            self.next_temporary = first;
            return 0;
        }
        if self.not_null.len() < self.next_temporary {
            self.not_null.resize(self.next_temporary, false);
        }
        self.not_null[first..first + count].fill(false);
        first as u16
    }

    /// The slot of a constant.
    fn constant(&mut self, data_type: DataType, value: &Value) -> u16 {
        // Debug forms tell 0.0 from -0.0, and NaN is NaN.
        let key = (data_type, format!("{value:?}"));
        let number = match self.constants.get(&key) {
            Some(&number) => number,
            None => {
                self.constants.insert(key, self.constant_datums.len());
                self.new_constant(data_type, value)
            }
        };
        let slot = self.first_constant + number;
        u16::try_from(slot).unwrap_or_else(|_| {
            self.fail(too_large("local variables and constants"));
            0
        })
    }

    fn new_constant(&mut self, data_type: DataType, value: &Value) -> usize {
        let datum = value.to_datum(data_type, &mut self.program.constants);
        let datum = datum.unwrap_or_else(|error| {
            self.fail(crate::functions::cast::value_error(error).into_error());
            Datum::NULL
        });
        self.constant_datums.push(datum);
        self.constant_datums.len() - 1
    }

    /// Whether a slot holds a constant that is not NULL.
    fn is_known_not_null(&self, slot: u16) -> bool {
        let slot = usize::from(slot);
        match slot.checked_sub(self.first_constant) {
            Some(number) if number < self.constant_room => {
                self.constant_datums.get(number).is_some_and(|datum| !datum.is_null())
            }
            _ => self.not_null.get(slot).copied().unwrap_or(false),
        }
    }

    /// The number of a table in the program.
    fn table_code(&mut self, table: TableId) -> u16 {
        let known = self.program.tables.iter().position(|code| code.table.id == table);
        let number = known.unwrap_or_else(|| {
            let owner = self.catalog.table(table);
            let indexes = owner.indexes().map(|index| self.catalog.index(index).clone()).collect();
            self.program.tables.push(TableCode { table: owner.clone(), indexes });
            self.program.tables.len() - 1
        });
        self.number(number)
    }

    /// A table's number as an instruction's field.
    fn number(&mut self, number: usize) -> u16 {
        u16::try_from(number).unwrap_or_else(|_| {
            self.fail(too_large("statements"));
            0
        })
    }

    fn fail(&mut self, mut error: SqlError) {
        error.place = self.segments.place;
        self.failed.get_or_insert(error);
    }
}

fn too_large(what: &str) -> SqlError {
    let mut error = SqlError::new(b"54000", format!("procedure has too many {what}"));
    error.hint = Some("Split it into smaller procedures.".into());
    error
}
