//! What a machine costs: cores, sockets, and picoseconds.
//!
//! Role         the only thing that differs between one virtual machine and another. Whoever reads
//!              machines from files fills this in

/// A machine. Times are in picoseconds, so that a cycle of any clock is a whole number.
#[derive(Clone, PartialEq, Debug)]
pub struct Costs {
    /// sockets, each with a cache that its cores share
    pub sockets: u16,
    /// cores of a socket; all together at most [`CORES_MAX`]
    pub cores_per_socket: u16,
    /// what an instruction takes on average that finds its data in the first cache
    pub instruction_ps: u64,
    /// one turn of a loop over words, whose turns a core has under way side by side
    pub word_ps: u64,
    /// a read-modify-write, or a store that orders all memory, on a line that the core owns
    pub atomic_ps: u64,
    /// one pause of a spin loop
    pub pause_ps: u64,
    /// lines of a core's own cache, a power of two
    pub own_lines: u32,
    /// lines of a socket's cache, a power of two
    pub shared_lines: u32,
    /// a line from the socket's cache
    pub shared_ps: u64,
    /// a line from memory of the own socket
    pub memory_ps: u64,
    /// a line from memory of another socket
    pub memory_far_ps: u64,
    /// a line that another core of the socket has changed
    pub dirty_ps: u64,
    /// a line that a core of another socket has changed
    pub dirty_far_ps: u64,
    /// of a line that lies behind the one before, the share that is not hidden by fetching ahead,
    /// in percent
    pub stream_percent: u64,
    /// a call of the system that neither sleeps nor wakes
    pub call_ps: u64,
    /// waking a thread, for the one that wakes
    pub wake_ps: u64,
    /// from there until it runs, where its core has nothing else to do
    pub wake_latency_ps: u64,
    /// from one thread of a core to another
    pub switch_ps: u64,
    /// how long a thread runs while others of its core wait
    pub slice_ps: u64,
    /// what is added to each sleep
    pub timer_slack_ps: u64,
}

/// Cores that a machine may have: sharers of a line are bits of a word.
pub const CORES_MAX: u16 = 128;

impl Costs {
    /// How many cores there are.
    pub fn cores(&self) -> usize {
        usize::from(self.sockets) * usize::from(self.cores_per_socket)
    }

    /// What is wrong with them, if anything is.
    ///
    /// # Errors
    ///
    /// A sentence that names the field.
    pub fn check(&self) -> Result<(), String> {
        let cores = self.cores();
        if cores == 0 || cores > usize::from(CORES_MAX) {
            return Err(format!("{cores} cores: from 1 to {CORES_MAX} can be simulated"));
        }
        for (name, lines) in [("own_lines", self.own_lines), ("shared_lines", self.shared_lines)] {
            if !lines.is_power_of_two() {
                return Err(format!("{name} is {lines}: it has to be a power of two"));
            }
        }
        if self.instruction_ps == 0 || self.slice_ps == 0 || self.pause_ps == 0 {
            return Err("instruction_ps, pause_ps and slice_ps have to be more than 0".to_owned());
        }
        Ok(())
    }
}
