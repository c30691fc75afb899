//! What [`crate::postponing`] keeps of a session.

/// Definitions of a session that wait for others.
#[derive(Default)]
pub(crate) struct Postponed {
    pub(crate) definitions: Vec<Definition>,
}

/// One of them.
pub(crate) struct Definition {
    pub(crate) text: String,
    /// the name that it lacks, in lower case
    pub(crate) lacks: String,
}

impl Drop for Postponed {
    fn drop(&mut self) {
        for Definition { text, lacks } in &self.definitions {
            let begins: String = text.chars().take(80).collect();
            tracing::warn!(%lacks, "never made, since what it names did not come: {begins}");
        }
    }
}
