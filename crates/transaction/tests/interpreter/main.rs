//! Lowering and interpreter, over procedures built by hand and the model store.

#[allow(dead_code, reason = "a kit: not every test uses all of it")]
mod build;
mod choices;
mod expressions;
mod plans;
mod statements;
