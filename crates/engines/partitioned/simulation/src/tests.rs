//! What the experiments say, held against the model and against each other.

mod choice;
mod model;
