//! Machines that are not there: their costs, and running something on one.
//!
//! Role         reads `machines.toml`; `hotrow_machine` does the rest. A binary can simulate only
//!              if it was built for it, since each access to a shared word then is told to the
//!              machine: plain builds have none of that and say how to build the other one
//! Source       see `hotrow_machine`

use std::collections::BTreeMap;

use hotrow_machine::{Costs, Told};
use serde::Deserialize;

use crate::error::BenchError;
use crate::figure::Figure;

#[cfg(test)]
mod tests;

pub mod calibration;

/// The table of machines.
const MACHINES: &str = include_str!("../machines.toml");
/// What builds a binary that can simulate.
const BUILD: &str = "scripts/machine.sh";

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct VirtualMachine {
    /// its name in the table
    pub name: String,
    /// what it is
    pub what: String,
    /// files of the papers that had it
    pub of: Vec<String>,
    /// what it costs
    pub costs: Costs,
}

/// A machine as the table has it, in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    what: String,
    #[serde(default)]
    of: Vec<String>,
    sockets: u16,
    cores_per_socket: u16,
    instruction: f64,
    word: f64,
    atomic: f64,
    pause: f64,
    own_lines: u32,
    shared_lines: u32,
    shared: f64,
    memory: f64,
    memory_far: f64,
    dirty: f64,
    dirty_far: f64,
    stream_percent: u64,
    call: f64,
    wake: f64,
    wake_latency: f64,
    switch: f64,
    slice: f64,
    timer_slack: f64,
}

impl Written {
    fn costs(&self) -> Costs {
        let ps = |ns: f64| (ns * 1000.0).round() as u64;
        Costs {
            sockets: self.sockets,
            cores_per_socket: self.cores_per_socket,
            instruction_ps: ps(self.instruction),
            word_ps: ps(self.word),
            atomic_ps: ps(self.atomic),
            pause_ps: ps(self.pause),
            own_lines: self.own_lines,
            shared_lines: self.shared_lines,
            shared_ps: ps(self.shared),
            memory_ps: ps(self.memory),
            memory_far_ps: ps(self.memory_far),
            dirty_ps: ps(self.dirty),
            dirty_far_ps: ps(self.dirty_far),
            stream_percent: self.stream_percent,
            call_ps: ps(self.call),
            wake_ps: ps(self.wake),
            wake_latency_ps: ps(self.wake_latency),
            switch_ps: ps(self.switch),
            slice_ps: ps(self.slice),
            timer_slack_ps: ps(self.timer_slack),
        }
    }
}

/// The machine that the program runs on, in tables that [`calibrate`](calibration::calibrate)
/// gives: it is in no other.
pub const HERE: &str = "here";

impl Figure {
    /// Whether what a virtual machine says of it is held against this one.
    pub fn is_held_against_here(&self) -> bool {
        self.at_scale.machine.as_deref() == Some(HERE)
    }
}

/// All machines of the program's table, by name.
pub fn virtual_machines() -> Vec<VirtualMachine> {
    read_virtual_machines(MACHINES).expect("a test reads the table")
}

/// All machines of a table in the form of `machines.toml`, by name.
///
/// # Errors
///
/// [`BenchError::Selection`], with the line, or the machine, and what is wrong there.
pub fn read_virtual_machines(text: &str) -> Result<Vec<VirtualMachine>, BenchError> {
    let written: BTreeMap<String, Written> = toml::from_str(text)
        .map_err(|error| BenchError::Selection(format!("machines: {error}")))?;
    let machine = |(name, of): (String, Written)| {
        let costs = of.costs();
        match costs.check() {
            Ok(()) => Ok(VirtualMachine { name, what: of.what, of: of.of, costs }),
            Err(what) => Err(BenchError::Selection(format!("machine {name}: {what}"))),
        }
    };
    written.into_iter().map(machine).collect()
}

/// The machine with a name.
///
/// # Errors
///
/// [`BenchError::Selection`], with the names that there are.
pub fn virtual_machine_named(
    machines: &[VirtualMachine],
    name: &str,
) -> Result<VirtualMachine, BenchError> {
    machines.iter().find(|machine| machine.name == name).cloned().ok_or_else(|| {
        let names: Vec<_> = machines.iter().map(|machine| machine.name.as_str()).collect();
        let names = names.join(", ");
        let hint = match name {
            HERE => "; `hotrow bench calibrate --out FILE` measures it, for `--machines FILE`",
            _ => "",
        };
        BenchError::Selection(format!("there is no machine `{name}`; there are {names}{hint}"))
    })
}

/// The machine that a figure is run on: the one that it names, or that of its paper.
///
/// # Errors
///
/// [`BenchError::Selection`] where neither is in the table.
pub fn virtual_machine_of(
    machines: &[VirtualMachine],
    figure: &Figure,
) -> Result<VirtualMachine, BenchError> {
    if let Some(name) = &figure.at_scale.machine {
        return virtual_machine_named(machines, name);
    }
    let is_of = |of: &String| figure.source.starts_with(of.as_str());
    let found = machines.iter().find(|machine| machine.of.iter().any(is_of));
    found.cloned().ok_or_else(|| {
        let name = &figure.name;
        BenchError::Selection(format!("figure {name} has no virtual machine: name one"))
    })
}

/// Runs something on a machine; what it returned, and what the machine did. It stands outside of
/// the machine's cores, on which run the threads that it starts.
///
/// # Errors
///
/// [`BenchError::Selection`] where this binary was not built for it.
pub fn on_virtual_machine<T>(
    machine: &VirtualMachine,
    seed: u64,
    body: impl FnOnce() -> T,
) -> Result<(T, Told), BenchError> {
    if !hotrow_machine::can_simulate() {
        let name = &machine.name;
        return Err(BenchError::Selection(format!(
            "this binary cannot simulate `{name}`: it was not built for that; `{BUILD}` builds one \
             that can, and runs it with the same arguments"
        )));
    }
    Ok(hotrow_machine::run(&machine.costs, seed, body))
}
