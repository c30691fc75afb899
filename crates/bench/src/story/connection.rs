//! A client's way to a database: through a session in this process, or over the wire.

use std::error::Error;
use std::fmt::Write as _;

use bytes::BytesMut;
use hotrow::{Prepared, Rows, Session, SqlType, Value};
use postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Row, SimpleQueryMessage, Statement};

use crate::error::told;

/// Rows as text.
pub(super) type TextRows = Vec<Vec<Option<String>>>;

/// Why a call did not commit.
pub(super) enum Failure {
    /// the database says so
    Refused { sqlstate: String, message: String },
    /// nobody knows what became of it
    Lost(String),
}

/// What a client needs of a database, whichever way leads there.
pub(super) trait Connection: Send {
    /// Executes a script; the rows of its last statement.
    fn script(&mut self, script: &str) -> Result<TextRows, String>;

    /// Prepares the next of the calls.
    fn prepare(&mut self, sql: &str) -> Result<(), String>;

    /// The columns of what a call gives.
    fn columns(&self, call: usize) -> Vec<String>;

    /// Makes a call that was prepared; its rows.
    fn call(&mut self, call: usize, values: &[String]) -> Result<TextRows, Failure>;
}

/// A session.
pub(super) struct Embedded {
    session: Session,
    calls: Vec<Prepared>,
}

impl Embedded {
    pub(super) fn new(session: Session) -> Self {
        Self { session, calls: Vec::new() }
    }
}

fn texts_of(rows: &Rows) -> TextRows {
    let text = |value: &Value| if value.is_null() { None } else { Some(value.to_string()) };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

impl Connection for Embedded {
    fn script(&mut self, script: &str) -> Result<TextRows, String> {
        let results = self.session.execute(script).map_err(|error| error.to_string())?;
        Ok(results.last().map_or_else(Vec::new, |last| texts_of(&last.rows)))
    }

    fn prepare(&mut self, sql: &str) -> Result<(), String> {
        let prepared = self.session.prepare(sql, &[]).map_err(|error| error.to_string())?;
        self.calls.push(prepared);
        Ok(())
    }

    fn columns(&self, call: usize) -> Vec<String> {
        self.calls[call].columns().map(|(name, _)| name.to_owned()).collect()
    }

    fn call(&mut self, call: usize, values: &[String]) -> Result<TextRows, Failure> {
        let prepared = &self.calls[call];
        let parse = |(text, sql_type): (&String, &SqlType)| match *sql_type {
            SqlType::Scalar(data_type) => Value::parse(data_type, text),
            SqlType::Array(element) => Value::parse_array(element, text),
        };
        let values: Result<Vec<_>, _> =
            values.iter().zip(prepared.parameters()).map(parse).collect();
        let done = match values {
            Ok(values) => self.session.execute_prepared(prepared, &values),
            Err(error) => Err(hotrow::SqlError::from(error).into()),
        };
        let failure = |error: hotrow::Error| match error.sqlstate() {
            Some(sqlstate) => {
                let sqlstate = sqlstate.to_owned();
                Failure::Refused { sqlstate, message: error.to_string() }
            }
            None => Failure::Lost(error.to_string()),
        };
        done.map(|result| texts_of(&result.rows)).map_err(failure)
    }
}

/// A connection to a server.
pub(super) struct Wire {
    client: Client,
    calls: Vec<Statement>,
}

impl Wire {
    pub(super) fn new(client: Client) -> Self {
        Self { client, calls: Vec::new() }
    }
}

impl Connection for Wire {
    fn script(&mut self, script: &str) -> Result<TextRows, String> {
        let answers = self.client.simple_query(script).map_err(|error| told(&error))?;
        let mut rows = Vec::new();
        for answer in answers {
            match answer {
                SimpleQueryMessage::RowDescription(_) => rows.clear(),
                SimpleQueryMessage::Row(row) => {
                    let cell = |at| row.get(at).map(str::to_owned);
                    rows.push((0..row.len()).map(cell).collect());
                }
                _ => {}
            }
        }
        Ok(rows)
    }

    fn prepare(&mut self, sql: &str) -> Result<(), String> {
        let prepared = self.client.prepare(sql).map_err(|error| told(&error))?;
        self.calls.push(prepared);
        Ok(())
    }

    fn columns(&self, call: usize) -> Vec<String> {
        self.calls[call].columns().iter().map(|column| column.name().to_owned()).collect()
    }

    fn call(&mut self, call: usize, values: &[String]) -> Result<TextRows, Failure> {
        let values: Vec<_> = values.iter().map(|text| AsText(text)).collect();
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&self.calls[call], &values);
        let failure = |error: postgres::Error| {
            let message = told(&error);
            match error.as_db_error().filter(|_| !error.is_closed()) {
                Some(refusal) => {
                    let sqlstate = refusal.code().code().to_owned();
                    Failure::Refused { sqlstate, message }
                }
                None => Failure::Lost(message),
            }
        };
        let texts = |row: &Row| (0..row.len()).map(|at| cell(row, at)).collect();
        rows.map(|rows| rows.iter().map(texts).collect()).map_err(failure)
    }
}

/// A parameter of whatever type, as text.
#[derive(Debug)]
struct AsText<'a>(&'a str);

impl ToSql for AsText<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.write_str(self.0)?;
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A cell of whatever type, which came in its binary form.
struct Cell(String);

fn cell(row: &Row, at: usize) -> Option<String> {
    row.get::<_, Option<Cell>>(at).map(|Cell(text)| text)
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *of {
            Type::BOOL => bool::from_sql(of, raw)?.to_string(),
            Type::INT2 => i16::from_sql(of, raw)?.to_string(),
            Type::INT4 => i32::from_sql(of, raw)?.to_string(),
            Type::INT8 => i64::from_sql(of, raw)?.to_string(),
            Type::FLOAT8 => f64::from_sql(of, raw)?.to_string(),
            // Told as what they are, and compared with nothing.
            Type::UUID | Type::NUMERIC | Type::TIMESTAMPTZ => raw.escape_ascii().to_string(),
            _ => String::from_utf8_lossy(raw).into_owned(),
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
