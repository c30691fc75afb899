//! Actions: a call cut into pieces that work in one granule each, with what each waits for.
//!
//! Role         for engines that run the parts of one transaction on several threads: flow graphs
//!              with phases and rendezvous points (DORA), record actions with a dependency graph
//!              (LADS), fragments (H-Store). [`ActionProgram::new`] cuts a procedure once,
//!              [`ActionPlanner::add`] puts the actions of a call into a [`Batch`] of one or many
//!              calls, a [`CallRun`] runs them one by one, and [`execute()`] one after another, as
//!              an example and for tests. Knows no thread.
//! Invariants   I1 the actions of a call, run in any order that respects their dependencies, have
//!              the outcome of the procedure run from start to end: the same records, the same
//!              rows, the same error
//!              I2 an action touches nothing but its granules, and tables and columns that nobody
//!              writes
//! Source       DESIGN section 1; dora.txt 4.1 (actions, phases, rendezvous points); lads.txt 3
//!              and 4.1 (record actions, logical dependencies, disable messages). We differ: the
//!              dependencies are not written by hand but follow from slots, each assignment of
//!              which makes a value of its own.
//!
//! How a procedure is cut: an access is a leaf (or two, where one of them can read columns that
//! nobody writes and the other one does the rest), and so is a statement that works on values
//! alone.
//! What parameters decide (assignments, conditions, loops) is executed while planning. A condition
//! on rows is a leaf of its own that guards the leaves in its branches; a disabled leaf passes the
//! old values of its outputs on, as LADS's disable messages do. A loop over rows is one leaf with
//! all granules that reconnaissance finds for it, and so is a loop that rows end. A procedure that
//! cannot be cut is one action, and [`ActionProgram::uncut`] says why.

mod batch;
mod conditions;
mod cut;
mod execute;
mod explain;
mod flat;
mod flow;
mod flow_graph;
mod form;
mod leaf;
mod planner;
mod program;
mod record;
mod returns;
mod run;
mod shape;
mod split;

pub use batch::{Action, Batch, BatchCall, Wanted, WhyWhole};
pub use execute::{Failure, Order, execute};
pub use explain::{explain_batch, explain_call, explain_in_batch, explain_leaves};
pub use flat::{Captured, FlatAction, FlatLeaf, FlatOutcomes, FlatProgram, FlatSink, Simple};
pub use flow_graph::{draw_flow, explain_flow};
pub use leaf::{Guard, Input, Leaf};
pub use planner::ActionPlanner;
pub use program::ActionProgram;
pub use run::{CallRun, Values};
