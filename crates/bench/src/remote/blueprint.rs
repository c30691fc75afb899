//! What a workload is made of, found out by making it in memory here: names and types of its
//! tables and procedures.
//!
//! Role         a remote run gets from it what to create, to refuse and to drop at the server, and
//!              the types of rows and arguments; nothing of it is asked of the server

use hotrow::{Config, DataType, Database, ProcedureDescription, ProcedureId, SqlType};
use hotrow_workloads::Workload;

use crate::error::BenchError;

/// Bytes for the tables' empty selves.
const MEMORY_BYTES: u64 = 64 << 20;

/// A table's name, and names and types of its columns.
#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, DataType)>,
}

/// A procedure, as generators name it, and what calls it over the wire.
#[derive(Clone, Debug)]
pub(crate) struct ProcedurePlan {
    pub(crate) name: String,
    pub(crate) id: ProcedureId,
    pub(crate) parameters: Vec<SqlType>,
    /// CALL is for procedures, SELECT for functions
    pub(crate) is_procedure: bool,
}

impl ProcedurePlan {
    fn of(described: ProcedureDescription) -> Self {
        let mut words = described.source.split_whitespace().map(str::to_ascii_uppercase);
        let is_procedure = words
            .find(|word| word == "FUNCTION" || word == "PROCEDURE")
            .is_some_and(|word| word == "PROCEDURE");
        let parameters = described.parameters.into_iter().map(|(_, of)| of).collect();
        Self { name: described.name, id: described.id, parameters, is_procedure }
    }

    /// A call of it, to be prepared, in a form that goes to the engine as a planned call.
    pub(crate) fn statement(&self) -> String {
        let places: Vec<_> = (1..=self.parameters.len()).map(|at| format!("${at}")).collect();
        let verb = if self.is_procedure { "CALL" } else { "SELECT * FROM" };
        format!("{verb} {}({})", self.name, places.join(", "))
    }

    pub(crate) fn drop_statement(&self) -> String {
        let what = if self.is_procedure { "PROCEDURE" } else { "FUNCTION" };
        format!("DROP {what} {}", self.name)
    }
}

/// Tables and procedures of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    pub(crate) tables: Vec<TablePlan>,
    pub(crate) procedures: Vec<ProcedurePlan>,
}

impl Blueprint {
    pub(crate) fn of(workload: &dyn Workload) -> Result<Self, BenchError> {
        let config = Config::default().threads(1).memory_bytes(MEMORY_BYTES);
        let db = Database::open_in_memory_without_engine(config)?;
        let session = db.session();
        session.execute(&workload.schema_sql())?;
        session.execute(&workload.procedures_sql())?;
        let plan = |name: String| -> Result<TablePlan, BenchError> {
            let columns = db.describe(&name)?.columns.into_iter();
            let columns = columns.map(|column| (column.name, column.data_type)).collect();
            Ok(TablePlan { name, columns })
        };
        let tables = db.tables().into_iter().map(plan).collect::<Result<_, _>>()?;
        let procedures = db.procedures().into_iter().map(ProcedurePlan::of).collect();
        Ok(Self { tables, procedures })
    }

    pub(crate) fn table(&self, name: &str) -> &TablePlan {
        let found = self.tables.iter().find(|table| table.name == name);
        found.expect("loaders and checks name tables of their workload's schema")
    }

    pub(crate) fn procedure(&self, name: &str) -> &ProcedurePlan {
        let found = self.procedures.iter().find(|procedure| procedure.name == name);
        found.expect("generators name procedures that their workload creates")
    }
}
