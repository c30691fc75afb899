//! TRUNCATE, at a quiet point or in a transaction.

use hotrow_sql::{CompileStep, Truncation, compile_emptied, parse_script, split_path};
use hotrow_transaction::catalog::TriggerTiming;
use hotrow_transaction::outcome::{Notice, SqlError};

use crate::defining::define;
use crate::error::Error;
use crate::prepared::Prepared;
use crate::result::StatementResult;
use crate::rows::Rows;
use crate::run::Runner;

impl Runner<'_> {
    /// Empties tables at a quiet point; inside a transaction by deleting their rows, which it can
    /// take back, between what fires before and behind that.
    pub(crate) fn truncate(
        &mut self,
        prepared: &Prepared,
        truncation: &Truncation,
        notices: &mut Vec<Notice>,
    ) -> Result<Rows, Error> {
        let context = self.context;
        let core = &context.core;
        self.transaction.join_batch(context)?;
        if !self.transaction.is_open() {
            return define(context, prepared.statement());
        }
        let schema = core.schema.current();
        let fires = truncation.fires(&schema.catalog);
        if fires {
            self.fire_truncation(truncation, TriggerTiming::Before, notices)?;
        }
        let tables = truncation.tables.iter();
        let tables = tables.map(|table| schema.catalog.table(*table).qualified_name());
        let partitions = truncation.partitions.iter().map(|partition| partition.name.clone());
        for name in tables.chain(partitions) {
            self.run_step(
                &mut |catalog, procedures, path| {
                    compile_emptied(&name, (catalog, procedures, path))
                },
                &[],
            )?;
        }
        if fires {
            self.fire_truncation(truncation, TriggerTiming::After, notices)?;
        }
        Ok(Rows::default())
    }

    fn fire_truncation(
        &mut self,
        truncation: &Truncation,
        timing: TriggerTiming,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        let compile: &mut CompileStep<'_> = &mut |catalog, procedures, path| {
            truncation.compile_fired(timing, (catalog, procedures, path))
        };
        let mut answer = self.run_step(compile, &[])?;
        notices.append(&mut answer.notices);
        Ok(())
    }

    /// TRUNCATE, for which something fires, in a transaction of its own.
    pub(crate) fn truncate_as_block(
        &mut self,
        prepared: &Prepared,
    ) -> Result<StatementResult, Error> {
        let statement = prepared.statement();
        let text = split_path(&statement.text).1;
        let mut tag = String::from("truncate");
        while text.contains(&format!("${tag}$")) {
            tag.push('_');
        }
        let block = parse_script(&format!("DO ${tag}$ BEGIN {text}; END ${tag}$"))?.pop();
        let gone = || SqlError::new(b"XX000", "a block is no statement");
        let (notices, _) = self.interpret_block(&block.ok_or_else(gone)?)?;
        let place = statement.place;
        Ok(StatementResult { place, notices, ..StatementResult::of_tag("TRUNCATE TABLE") })
    }
}
