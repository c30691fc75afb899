//! docs/functions.md, as it is written from the table.

use std::fmt::{self, Write};

use super::FUNCTIONS;
use super::row::{FunctionGroup, FunctionRow, Volatility};

/// What stands above the tables.
const HEAD: &str = "\
# Functions

Written by `hotrow functions --document docs/functions.md` from the table in
`crates/sql/src/functions`. A test compares the two, and runs every example in a session and in a
procedure. `hotrow functions NAME` describes one. What SQL has besides (arithmetic, comparisons,
CASE, casts) is in [sql.md](sql.md#expressions).

Arguments in brackets may be left out, `...` may be repeated. `number` is each of the types of
numbers, `any` each type, `regclass` the name or the number of a relation. Of several functions of
one name a call means the one that PostgreSQL's rules choose: the one of exactly the types that are
given, else of those that they become by themselves. Where nothing fits so, a `bigint` is taken for
an `integer`, and the call fails if it is too large (22003).

| mark | |
|---|---|
| s | stable: gives the same within a statement |
| v | volatile: may give another value each time |
| q | of sessions only: in procedures 0A000, since a replay of the log has to do the same |
";

/// What examples look at.
pub const EXAMPLE_TABLES: &str = "\
CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL, price numeric(8,2) NOT NULL);
CREATE INDEX item_name_idx ON item (name);
INSERT INTO item (name, price) VALUES ('screw', 0.10), ('nut', 0.05), ('bolt', 0.50);
CREATE VIEW cheap AS SELECT name FROM item WHERE price < 0.20;
CREATE SEQUENCE numbers;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 2 * n; END $$;
";

/// The page.
pub fn function_document() -> String {
    let mut page = HEAD.to_owned();
    page += &format!("\nExamples look at these:\n\n```sql\n{EXAMPLE_TABLES}```\n");
    for group in FUNCTIONS {
        write_group(&mut page, group).expect("a text can be written to");
    }
    page
}

fn write_group(page: &mut String, group: &FunctionGroup) -> fmt::Result {
    writeln!(page, "\n## {}\n", group.title)?;
    writeln!(page, "| function | gives | | | example |")?;
    writeln!(page, "|---|---|---|---|---|")?;
    for row in group.rows {
        let also = match row.aliases {
            [] => String::new(),
            all => format!("; also {}", all.join(", ")),
        };
        writeln!(
            page,
            "| `{}`{also} | {} | {} | {} | {} |",
            row.signature().replace('|', "\\|"),
            row.result_name(),
            marks(row),
            row.description.replace('|', "\\|"),
            example(row).replace('|', "\\|")
        )?;
    }
    Ok(())
}

fn marks(row: &FunctionRow) -> String {
    let volatility = match row.volatility {
        Volatility::Immutable => "",
        Volatility::Stable => "s",
        Volatility::Volatile => "v",
    };
    let place = if row.is_in_procedures() || row.is_refused() { "" } else { "q" };
    format!("{volatility}{place}")
}

/// The example and what it gives.
fn example(row: &FunctionRow) -> String {
    match (row.is_refused(), row.value) {
        (true, _) => format!("`{}`: 0A000", row.example),
        (false, "") => format!("`{}`", row.example),
        (false, value) => format!("`{}` → `{value}`", row.example),
    }
}
