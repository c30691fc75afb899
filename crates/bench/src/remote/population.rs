//! A workload's tables, procedures and rows at a server.
//!
//! Invariants   I1 nothing that is there already is touched, unless the caller says that it may be
//!              replaced
//!              I2 rows come in pieces, each a transaction of its own, so that the server keeps
//!              little for taking one back

use std::io::{BufRead, Write};

use hotrow::Datum;
use hotrow_workloads::Workload;
use postgres::Client;

use super::address::ServerAddress;
use super::blueprint::Blueprint;
use super::look::ServerStatus;
use super::wire;
use crate::check::{AtRest, Totals};
use crate::error::BenchError;
use crate::load::{self, RowTaker};
use crate::progress::Progress;

/// Bytes of rows that are sent in one transaction (I2).
const PIECE_BYTES: usize = 1 << 20;

/// What becomes of tables and procedures at the server that have the names of the workload's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Existing {
    /// they stay, and nothing is loaded
    #[default]
    Refuse,
    /// they are dropped, with all that is in them
    Replace,
}

/// A loaded workload at a server, and what was committed on it since.
pub struct RemotePopulation {
    pub(super) address: ServerAddress,
    /// for everything but calls
    pub(super) control: Client,
    pub(super) blueprint: Blueprint,
    pub(super) totals: Totals,
}

impl RemotePopulation {
    pub(super) fn load(
        workload: &dyn Workload,
        address: &ServerAddress,
        existing: Existing,
        seed: u64,
        progress: Progress,
    ) -> Result<Self, BenchError> {
        workload.parameters().validate()?;
        let blueprint = Blueprint::of(workload)?;
        let (address, mut control) = (address.clone(), address.connect()?);
        // Whoever does not tell this is no Hotrow, and takes none of the workload's SQL.
        ServerStatus::take(&mut control)?;
        let mut population = Self { address, control, blueprint, totals: Totals::default() };
        population.make_room(workload.name(), existing)?;
        let made = population.fill(workload, seed, progress);
        if made.is_err() {
            // The reason is worth more than what comes of this, too.
            let _ = population.drop_all();
        }
        made.map(|()| population)
    }

    /// I1
    fn make_room(&mut self, workload: &str, existing: Existing) -> Result<(), BenchError> {
        let (tables, procedures) = self.found()?;
        if existing == Existing::Replace || (tables.is_empty() && procedures.is_empty()) {
            return self.drop_all();
        }
        let list = |what: &str, names: Vec<String>| match names.as_slice() {
            [] => String::new(),
            names => format!(" {what} {};", names.join(", ")),
        };
        Err(BenchError::Occupied {
            workload: workload.to_owned(),
            server: self.address.to_string(),
            names: list("tables", tables) + &list("procedures", procedures),
        })
    }

    /// Tables and procedures at the server that have the names of the workload's.
    fn found(&mut self) -> Result<(Vec<String>, Vec<String>), BenchError> {
        let tables = self.names(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
        )?;
        let procedures = self.names(
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'public'",
        )?;
        let ours = self.blueprint.tables.iter().map(|table| table.name.clone());
        let tables = ours.filter(|name| tables.contains(name)).collect();
        let ours = self.blueprint.procedures.iter().map(|procedure| procedure.name.clone());
        Ok((tables, ours.filter(|name| procedures.contains(name)).collect()))
    }

    fn names(&mut self, query: &str) -> Result<Vec<String>, BenchError> {
        let rows = self.control.query(query, &[]);
        let names = rows.and_then(|rows| rows.iter().map(|row| row.try_get(0)).collect());
        names.map_err(|error| BenchError::server("looking what is there", &error))
    }

    fn fill(
        &mut self,
        workload: &dyn Workload,
        seed: u64,
        progress: Progress,
    ) -> Result<(), BenchError> {
        self.execute(&workload.schema_sql())?;
        // Before there are rows: indexes are split as the procedures ask for it.
        self.execute(&workload.procedures_sql())?;
        let what = format!("loading {} at {}", workload.name(), self.address);
        let bar = progress.bar(what, workload.rows_expected());
        let (blueprint, client) = (&self.blueprint, &mut self.control);
        let part =
            CopyPart { client, blueprint, table: None, rows: Vec::new(), text: String::new() };
        load::give(workload, seed, vec![part], &bar)?;
        bar.finish_and_clear();
        Ok(())
    }

    fn execute(&mut self, script: &str) -> Result<(), BenchError> {
        let what = || script.lines().find(|line| !line.is_empty()).unwrap_or_default().to_owned();
        let done = self.control.batch_execute(script);
        done.map_err(|error| BenchError::server(&what(), &error))
    }

    /// Drops the workload's tables and procedures, as far as they are there.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]
    pub fn drop_all(&mut self) -> Result<(), BenchError> {
        let (tables, procedures) = self.found()?;
        for name in procedures {
            let statement = self.blueprint.procedure(&name).drop_statement();
            self.execute(&statement)?;
        }
        tables.iter().try_for_each(|name| self.execute(&format!("DROP TABLE {name}")))
    }
}

/// Rows on their way to the server's tables.
struct CopyPart<'a> {
    client: &'a mut Client,
    blueprint: &'a Blueprint,
    /// of `rows`
    table: Option<&'static str>,
    /// as COPY reads them
    rows: Vec<u8>,
    text: String,
}

impl CopyPart<'_> {
    /// Sends what there is, and waits until it is committed.
    fn send(&mut self) -> Result<(), BenchError> {
        let Some(table) = self.table.filter(|_| !self.rows.is_empty()) else { return Ok(()) };
        let failed = |error| BenchError::server(&format!("loading {table}"), &error);
        let mut copy = self.client.copy_in(&format!("COPY {table} FROM STDIN")).map_err(failed)?;
        // What fails here is told by the end of the COPY with its reason.
        let written = copy.write_all(&self.rows);
        copy.finish().map_err(failed)?;
        written?;
        self.rows.clear();
        Ok(())
    }
}

impl RowTaker for CopyPart<'_> {
    fn take(&mut self, table: &'static str, row: &[Datum], heap: &[u8]) -> Result<(), BenchError> {
        if self.table != Some(table) || self.rows.len() >= PIECE_BYTES {
            self.send()?;
            self.table = Some(table);
        }
        let types = self.blueprint.table(table).columns.iter().map(|(_, data_type)| *data_type);
        wire::write_row(types, (row, heap), &mut self.text, &mut self.rows);
        Ok(())
    }

    fn finish(mut self) -> Result<(), BenchError> {
        self.send()
    }
}

/// Rows that checks read over the wire.
pub(super) struct RemoteRows<'a> {
    pub(super) control: &'a mut Client,
    pub(super) blueprint: &'a Blueprint,
}

impl AtRest for RemoteRows<'_> {
    fn visit(
        &mut self,
        table: &str,
        columns: &[&str],
        visit: &mut dyn FnMut(&[Datum], &[u8]),
    ) -> Result<(), BenchError> {
        let described = &self.blueprint.table(table).columns;
        let data_type = |name: &&str| {
            let column = described.iter().find(|(column, _)| column == name);
            column.expect("checks name columns of their workload's schema").1
        };
        // Who names no column counts rows: COPY without columns means all of them.
        let asked = if columns.is_empty() { &[described[0].0.as_str()][..] } else { columns };
        let types: Vec<_> = asked.iter().map(data_type).collect();
        let query = format!("COPY {table} ({}) TO STDOUT", asked.join(", "));
        let failed = |error| BenchError::server(&format!("reading {table}"), &error);
        let mut rows = self.control.copy_out(&query).map_err(failed)?;
        let (mut line, mut row, mut heap) = (String::new(), Vec::new(), Vec::new());
        loop {
            line.clear();
            if rows.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let cells = line.trim_end_matches('\n');
            let is_row = wire::read_row(cells, &types, &mut row, &mut heap);
            if !matches!(is_row, Ok(Some(()))) {
                let reason = format!("\"{cells}\" is no row of it");
                return Err(BenchError::Server { what: format!("reading {table}"), reason });
            }
            visit(&row[..columns.len()], &heap);
        }
    }
}
