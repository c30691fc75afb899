//! What is drawn for the parameters of calls.

use std::collections::VecDeque;

use rand::Rng;
use rand::rngs::SmallRng;
use serde::Deserialize;

/// Values of a client that are kept to be drawn again, or that it was told and has not used.
const KEPT_MAX: usize = 64;

/// How a value is drawn; see [`super::file`].
#[derive(Clone, Deserialize, Debug)]
#[serde(try_from = "Written")]
pub(super) enum Draw {
    /// a number between two, both included, with so many decimals
    Between { from: f64, to: f64, places: u8 },
    /// one of these
    Among(Vec<String>),
    /// a text that no other call has, or with this probability one that the client has drawn before
    Fresh { before: String, again: f64 },
    /// what tells clients apart, with this before it
    Client(String),
    /// what a call has told the client in this column
    Told(String),
}

/// The same as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    from: Option<f64>,
    to: Option<f64>,
    places: Option<u8>,
    among: Option<Vec<String>>,
    fresh: Option<String>,
    again: Option<f64>,
    client: Option<String>,
    told: Option<String>,
}

impl TryFrom<Written> for Draw {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { from, to, places, among, fresh, again, client, told } = written;
        let draw = match (from.zip(to), among, fresh, client, told) {
            (Some((from, to)), None, None, None, None) if again.is_none() => {
                Self::Between { from, to, places: places.unwrap_or(0) }
            }
            (None, Some(among), None, None, None) if again.is_none() => Self::Among(among),
            (None, None, Some(before), None, None) => {
                Self::Fresh { before, again: again.unwrap_or(0.0) }
            }
            (None, None, None, Some(before), None) if again.is_none() => Self::Client(before),
            (None, None, None, None, Some(column)) if again.is_none() => Self::Told(column),
            _ => {
                let forms = "write { from = 1, to = 9 } (places = 2 for decimals), { among = \
                             [\"a\", \"b\"] }, { fresh = \"k\" } (again = 0.1), { client = \
                             \"c\" } or { told = \"column\" }";
                return Err(forms.to_owned());
            }
        };
        let is_number = matches!(draw, Self::Between { .. });
        match (from.is_some() == is_number && to.is_some() == is_number, places) {
            (true, None) => {}
            (true, Some(_)) if is_number => {}
            _ => return Err("from, to and places are those of a number alone".to_owned()),
        }
        draw.check()?;
        Ok(draw)
    }
}

/// The most decimals of a number.
const PLACES_MAX: u8 = 9;

impl Draw {
    /// Fails with the reason why nothing can be drawn so.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Between { places, .. } if *places > PLACES_MAX => {
                Err(format!("places = {places}: 0 to {PLACES_MAX}"))
            }
            Self::Between { from, to, places } => {
                let most = 2_f64.powi(53) / 10_f64.powi(i32::from(*places));
                let is_fine = from <= to && from.abs() <= most && to.abs() <= most;
                let why = || format!("from = {from}, to = {to}: from is to be at most to");
                if is_fine { Ok(()) } else { Err(why()) }
            }
            Self::Among(among) if among.is_empty() => Err("among = []: of nothing".to_owned()),
            Self::Fresh { again, .. } if !(0.0..1.0).contains(again) => {
                Err(format!("again = {again}: a part of all, from 0 to below 1"))
            }
            _ => Ok(()),
        }
    }
}

/// What a client draws.
pub(super) struct Drawer<'a> {
    draws: &'a [Draw],
    rng: SmallRng,
    client: usize,
    /// fresh ones so far
    drawn: u64,
    /// of each draw: what was drawn before, or was told and not used yet
    kept: Vec<VecDeque<String>>,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(draws: &'a [Draw], rng: SmallRng, client: usize) -> Self {
        let kept = draws.iter().map(|_| VecDeque::new()).collect();
        Self { draws, rng, client, drawn: 0, kept }
    }

    /// A number below another one.
    pub(super) fn below(&mut self, most: u32) -> u32 {
        self.rng.random_range(0..most)
    }

    /// Whether there is something to be drawn.
    pub(super) fn has(&self, number: usize) -> bool {
        !matches!(self.draws[number], Draw::Told(_)) || !self.kept[number].is_empty()
    }

    /// Draws a value, as text.
    pub(super) fn draw(&mut self, number: usize) -> String {
        let kept = &mut self.kept[number];
        match &self.draws[number] {
            Draw::Between { from, to, places } => {
                let units = 10_f64.powi(i32::from(*places));
                let (low, high) = ((from * units).round() as i64, (to * units).round() as i64);
                let drawn = self.rng.random_range(low..=high);
                match places {
                    0 => drawn.to_string(),
                    places => format!("{:.*}", usize::from(*places), drawn as f64 / units),
                }
            }
            Draw::Among(among) => among[self.rng.random_range(0..among.len())].clone(),
            Draw::Fresh { again, .. } if !kept.is_empty() && self.rng.random_bool(*again) => {
                kept[self.rng.random_range(0..kept.len())].clone()
            }
            Draw::Fresh { before, again } => {
                self.drawn += 1;
                let drawn = format!("{before}{}-{}", self.client, self.drawn);
                if *again > 0.0 {
                    keep(kept, drawn.clone());
                }
                drawn
            }
            Draw::Client(before) => format!("{before}{}", self.client),
            Draw::Told(_) => kept.pop_front().expect("who draws asks whether there is one"),
        }
    }

    /// Takes note of a value that the client was told in a column.
    pub(super) fn note(&mut self, column: &str, value: &str) {
        for (draw, kept) in self.draws.iter().zip(&mut self.kept) {
            if matches!(draw, Draw::Told(told) if told == column) {
                keep(kept, value.to_owned());
            }
        }
    }
}

fn keep(kept: &mut VecDeque<String>, value: String) {
    if kept.len() == KEPT_MAX {
        kept.pop_front();
    }
    kept.push_back(value);
}
