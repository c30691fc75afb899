//! Settings as flags of the command line.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::{Form, Otherwise, SETTINGS, Setting};

/// What flags say.
#[derive(Default, Debug)]
pub(crate) struct Flags(Vec<(&'static Setting, String)>);

impl Flags {
    /// What a setting's flag says.
    pub(super) fn of(&self, setting: &Setting) -> Option<&str> {
        let found = self.0.iter().find(|(flag, _)| flag.name == setting.name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |setting: &Setting| matches.get_one::<String>(setting.name).cloned();
        let said = SETTINGS.iter().filter_map(|setting| Some((setting, value(setting)?)));
        Ok(Self(said.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let help = match setting.otherwise {
        // That nothing is on is what everybody expects of a switch.
        Otherwise::Value(_) if matches!(setting.form, Form::Switch(_)) => setting.about.to_owned(),
        Otherwise::Value(text) | Otherwise::Nothing(text) => {
            format!("{} [default: {text}]", setting.about)
        }
    };
    let checked = |text: &str| setting.check(text).map(|()| text.to_owned());
    let arg = Arg::new(setting.name)
        .long(setting.name)
        .value_name(setting.value_name)
        .help(help)
        .help_heading(setting.heading)
        .value_parser(checked);
    match setting.form {
        // `--memory`, or `--memory=false` where a file says otherwise.
        Form::Switch(_) => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => arg,
    }
}
