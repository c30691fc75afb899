//! `hotrow config print`: settings of the server, as a table or as a file.

use std::io::{self, Write};

use toml::Value;

use crate::arguments::PrintArguments;
use crate::failure::Failure;
use crate::settings::{Chosen, Form, Otherwise, Setting, Settings};

const FILE_HEAD: &str = "\
# Settings of `hotrow serve`, as `hotrow config print --toml` writes them.
# What is commented out is the default. A variable of the environment (HOTROW_CONNECTIONS) goes
# before this file, and a flag (--connections) before both. Paths that do not begin with a slash
# begin where the server was started. A password is no setting: it is in HOTROW_PASSWORD, or in the
# file that password_file names.
";

pub(crate) fn print(arguments: &PrintArguments) -> Result<(), Failure> {
    let settings = Settings::choose(&arguments.serve)?;
    let mut out = io::stdout().lock();
    match arguments.toml {
        true => write_file(&settings.chosen, &mut out)?,
        false => write_table(&settings.chosen, &mut out)?,
    }
    settings.check()
}

fn write_table(settings: &[Chosen], out: &mut dyn Write) -> io::Result<()> {
    let heads = ["setting", "value", "origin"].map(str::to_owned);
    let mut rows = vec![heads];
    rows.extend(settings.iter().map(|chosen| {
        let value = match (&chosen.value, &chosen.setting.otherwise) {
            (Some(value), _) => value.clone(),
            (None, Otherwise::Nothing(text) | Otherwise::Value(text)) => format!("({text})"),
        };
        [chosen.setting.key(), value, chosen.origin()]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let (keys, values) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    rows.iter().try_for_each(|[key, value, origin]| {
        writeln!(out, "{key:keys$}  {value:values$}  {origin}")
    })
}

fn write_file(settings: &[Chosen], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(FILE_HEAD.as_bytes())?;
    let mut heading = "";
    for chosen in settings {
        let setting = chosen.setting;
        if setting.heading != heading {
            heading = setting.heading;
            writeln!(out, "\n\n## {heading}")?;
        }
        writeln!(out, "\n# {}\n# ({})", setting.about, setting.form.expected())?;
        if let Otherwise::Nothing(text) = setting.otherwise {
            writeln!(out, "# by default: {text}")?;
        }
        let sign = if chosen.is_default() { "#" } else { "" };
        let value = chosen.value.as_deref().unwrap_or(setting.value_name);
        writeln!(out, "{sign}{} = {}", setting.key(), toml_of(setting, value))?;
    }
    Ok(())
}

/// A value as TOML; the name of one, where there is none, looks alike.
fn toml_of(setting: &Setting, text: &str) -> String {
    match setting.form {
        Form::Switch(_) => text.to_owned(),
        // TOML has no numbers that begin with a zero or a plus, which flags may.
        Form::Whole(..) => text.parse().map_or(text.to_owned(), |number: u64| number.to_string()),
        Form::Text(..) | Form::Size(..) | Form::Span(..) => Value::from(text).to_string(),
    }
}
