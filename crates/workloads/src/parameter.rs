//! Parameters of a workload: typed fields with defaults and descriptions.
//!
//! Role         command lines set them by name and text, tests set the fields; one list per
//!              workload (the macro [`parameters!`](crate::parameters)) makes the struct, its
//!              defaults, `--help` and the parser

use std::fmt;

/// How one parameter is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterInfo {
    /// its name on the command line, words joined by `-`
    pub name: String,
    /// one sentence
    pub about: &'static str,
    /// what values it takes, e.g. `integer` or `full|np`
    pub values: String,
    /// its value now (the default, unless it was set), as text
    pub value: String,
}

/// Why a parameter was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParameterError {
    /// the workload has no such parameter; the names it has
    Unknown(String, Vec<String>),
    /// the text is no value of the parameter: name, text, what it takes
    Value(String, String, String),
    /// values that do not go together, or lie outside their bounds
    Combination(String),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name, known) => {
                write!(f, "no parameter \"{name}\"; there are: {}", known.join(", "))
            }
            Self::Value(name, text, values) => {
                write!(f, "parameter \"{name}\": \"{text}\" is not one of: {values}")
            }
            Self::Combination(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ParameterError {}

/// A workload's parameters, by name.
pub trait Parameters {
    /// All of them, in the order of their declaration.
    fn list(&self) -> Vec<ParameterInfo>;

    /// Sets one; `-` and `_` in names are the same.
    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError>;

    /// Whether the values lie in their bounds and go together. To be asked after the last `set`;
    /// a workload with refused parameters must not be used.
    fn validate(&self) -> Result<(), ParameterError>;
}

/// A type that parameters can have.
pub trait ParameterValue: Sized {
    /// Reads a value.
    fn parse(text: &str) -> Option<Self>;
    /// Writes a value so that `parse` reads it.
    fn show(&self) -> String;
    /// What values there are.
    fn values() -> String;
}

macro_rules! integer_values {
    ($($int:ty),+) => {$(
        impl ParameterValue for $int {
            fn parse(text: &str) -> Option<Self> {
                text.replace('_', "").parse().ok()
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn values() -> String {
                "integer".to_owned()
            }
        }
    )+};
}

integer_values!(u32, u64);

impl ParameterValue for f64 {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|v: &f64| v.is_finite())
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn values() -> String {
        "number".to_owned()
    }
}

impl ParameterValue for bool {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "true" | "on" | "yes" | "1" => Some(true),
            "false" | "off" | "no" | "0" => Some(false),
            _ => None,
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn values() -> String {
        "true|false".to_owned()
    }
}

/// Declares a closed set of named values that a parameter can have.
#[macro_export]
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident => $text:literal),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $crate::parameter::ParameterValue for $name {
            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }
            fn show(&self) -> String {
                match self { $(Self::$variant => $text),+ }.to_owned()
            }
            fn values() -> String {
                [$($text),+].join("|")
            }
        }
    };
}

/// Declares a struct of parameters: fields with types, defaults and one sentence each.
///
/// Makes `Default` and the inherent functions that [`Parameters`] is implemented with.
#[macro_export]
macro_rules! parameters {
    ($(#[$doc:meta])* $name:ident {
        $($field:ident: $kind:ty = $default:expr, $about:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $(#[doc = $about] pub $field: $kind),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        impl $name {
            fn list_all(&self) -> Vec<$crate::ParameterInfo> {
                use $crate::parameter::ParameterValue;
                vec![$($crate::ParameterInfo {
                    name: stringify!($field).replace('_', "-"),
                    about: $about,
                    values: <$kind as ParameterValue>::values(),
                    value: self.$field.show(),
                }),+]
            }

            fn set_one(&mut self, name: &str, text: &str) -> Result<(), $crate::ParameterError> {
                use $crate::parameter::ParameterValue;
                let refused = |values: String| {
                    $crate::ParameterError::Value(name.to_owned(), text.to_owned(), values)
                };
                match name.replace('-', "_").as_str() {
                    $(stringify!($field) => {
                        self.$field = <$kind as ParameterValue>::parse(text)
                            .ok_or_else(|| refused(<$kind as ParameterValue>::values()))?;
                        Ok(())
                    })+
                    _ => Err($crate::ParameterError::Unknown(
                        name.to_owned(),
                        self.list_all().into_iter().map(|p| p.name).collect(),
                    )),
                }
            }
        }
    };
}

/// Refuses a combination of parameters unless `holds`.
pub fn require(holds: bool, message: &str) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::Combination(message.to_owned())) }
}
