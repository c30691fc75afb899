//! What leads through a procedure: branches, loops and what leaves them, blocks that catch, calls.

use super::{Kind, Writer};

/// Conditions that a handler may name, and what these procedures may run into.
const CONDITIONS: [&str; 6] = [
    "unique_violation",
    "check_violation OR not_null_violation",
    "raise_exception",
    "SQLSTATE '23505'",
    "integrity_constraint_violation",
    "OTHERS",
];

impl Writer<'_> {
    pub(super) fn branch(&mut self) {
        let condition = self.condition();
        self.depth += 1;
        self.line(&format!("IF {condition} THEN"));
        self.statement();
        if self.one_of(2) == 0 {
            self.line("ELSE");
            self.statement();
        }
        self.line("END IF;");
        self.depth -= 1;
    }

    pub(super) fn repeat(&mut self) {
        self.loops += 1;
        let number = self.loops;
        let (mut before, mut after) = (String::new(), "");
        let head = match self.one_of(10) {
            0 => format!("FOR i{number} IN 1..{} LOOP", self.one_of(4)),
            1 => "FOREACH e IN ARRAY xs LOOP x := e;".to_owned(),
            2 => {
                let (filter, order) = (self.where_t(), self.maybe("ORDER BY t.id"));
                format!("FOR r IN SELECT t.id, t.a FROM t WHERE {filter} {order} LOOP y := r.a;")
            }
            3 => {
                let (filter, order) = (self.where_u(), self.maybe("ORDER BY u.k, u.n"));
                format!("FOR r IN SELECT u.n, u.v FROM u WHERE {filter} {order} LOOP x := r.n;")
            }
            4 => {
                let filter = self.where_h();
                format!("FOR r IN SELECT h.id, h.v FROM h WHERE {filter} LOOP x := r.id;")
            }
            5 => format!("FOR i{number} IN REVERSE 3..coalesce(z, 2) LOOP"),
            6 => {
                let (filter, order) = (self.where_t(), self.maybe("ORDER BY t.id, u.n"));
                format!(
                    "FOR r IN SELECT t.id, u.v FROM t JOIN u ON u.k = t.id WHERE {filter} {order}\n\
                     LOOP y := r.v;"
                )
            }
            // These two count in a variable of their own, which nothing else changes.
            7 | 8 => {
                (before, after) = (format!("DECLARE n{number} bigint := 0; BEGIN\n"), " END;");
                let condition = self.condition();
                format!("LOOP n{number} := n{number} + 1; EXIT WHEN n{number} > 3 OR {condition};")
            }
            _ => {
                (before, after) = (format!("DECLARE n{number} bigint := 0; BEGIN\n"), " END;");
                let condition = self.condition();
                format!("WHILE n{number} < 3 AND ({condition}) LOOP n{number} := n{number} + 1;")
            }
        };
        self.depth += 1;
        self.open.push(number);
        self.line(&format!("{before}<<l{number}>> {head}"));
        self.statement();
        if self.one_of(3) == 0 {
            self.leave();
        }
        self.statement();
        self.line(&format!("END LOOP;{after}"));
        self.open.pop();
        self.depth -= 1;
    }

    /// EXIT or CONTINUE of one of the loops around.
    pub(super) fn leave(&mut self) {
        let Some(inner) = self.open.len().checked_sub(1) else { return };
        let outer = self.one_of(inner as u32 + 1) as usize;
        let label = if outer == inner { String::new() } else { format!(" l{}", self.open[outer]) };
        let how = if self.one_of(3) == 0 { "CONTINUE" } else { "EXIT" };
        let condition = self.condition();
        self.line(&format!("{how}{label} WHEN {condition};"));
    }

    /// A block that catches what fails in it; what it did is undone.
    pub(super) fn caught(&mut self) {
        self.depth += 1;
        self.line("BEGIN");
        (0..=self.one_of(2)).for_each(|_| self.statement());
        if self.one_of(2) == 0 {
            let condition = self.condition();
            self.line(&format!("IF {condition} THEN RAISE EXCEPTION 'back: %', z; END IF;"));
        }
        let named = CONDITIONS[self.one_of(CONDITIONS.len() as u32) as usize];
        self.line(&format!("EXCEPTION WHEN {named} THEN"));
        match self.one_of(3) {
            0 => self.line("GET STACKED DIAGNOSTICS w = RETURNED_SQLSTATE; z := length(w);"),
            1 => self.line("y := CASE SQLSTATE WHEN '23505' THEN 1 ELSE 2 END;"),
            _ => self.statement(),
        }
        if named != "OTHERS" && self.one_of(2) == 0 {
            self.line("WHEN OTHERS THEN");
            self.line("z := 3;");
        }
        self.line("END;");
        self.depth -= 1;
    }

    /// A call of a function that was created before.
    pub(super) fn call(&mut self) {
        let (one, other) = (self.value(), self.value());
        // Loops in loops through several procedures would outrun every step budget.
        let rows = self.kind == Kind::Rows && self.open.is_empty() && self.before > 0;
        let text = match self.one_of(if rows { 8 } else { 4 }) {
            0 => format!("x := one({one});"),
            1 => format!("y := coalesce(one({one}), peek({other}));"),
            2 => format!("PERFORM one({one});"),
            3 => format!("CALL pass({one}, z);"),
            choice => {
                let name = format!("f{}({one}, {other}, xs)", self.one_of(self.before as u32));
                match choice {
                    4 => format!("SELECT g.x, g.z INTO x, z FROM {name} AS g LIMIT 1;"),
                    5 => format!("SELECT count(*), max(g.y) INTO z, y FROM {name} AS g;"),
                    6 => format!("FOR r IN SELECT * FROM {name} LOOP y := r.x; END LOOP;"),
                    _ => format!("RETURN QUERY SELECT * FROM {name};"),
                }
            }
        };
        self.line(&text);
    }
}
