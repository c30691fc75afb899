//! TPC-C's calls: what a terminal would type (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1).
//!
//! Role         one [`Terminal`] per worker; procedures do the rest

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::{Arguments, Invocation};
use rand::rngs::SmallRng;

use super::nurand::{Constants, last_name, last_name_number, nurand};
use super::{DISTRICTS, KINDS, TpccParameters};
use crate::random::{happens, stream, uniform};
use crate::workload::{Generator, Resolve, Share, TransactionKind};

/// Most lines an order has (clause 2.4.1.3).
pub const MAX_LINES: usize = 15;

/// Place of the terminals' random streams.
const TERMINAL: u64 = 100;

pub(super) struct Terminal {
    parameters: TpccParameters,
    procedures: [ProcedureId; 5],
    constants: Constants,
    rng: SmallRng,
    /// warehouses it chooses among, from 1, both ends included
    warehouses: (u32, u32),
    name: Vec<u8>,
}

impl Terminal {
    pub(super) fn new(
        parameters: &TpccParameters,
        worker: Share,
        seed: u64,
        resolve: &Resolve<'_>,
    ) -> Self {
        Self {
            parameters: parameters.clone(),
            procedures: KINDS.map(resolve),
            constants: Constants::of_run(seed),
            rng: stream(seed, TERMINAL, worker.index.into()),
            warehouses: warehouses_of(parameters, worker),
            name: Vec::with_capacity(16),
        }
    }

    fn kind(&mut self) -> usize {
        let draw = uniform(&mut self.rng, 0..=99) as u32;
        let mut below = 0;
        for (kind, percent) in self.parameters.mix.percent().into_iter().enumerate() {
            below += percent;
            if draw < below {
                return kind;
            }
        }
        unreachable!("a mix adds up to 100 percent")
    }

    fn warehouse(&mut self) -> u32 {
        let (first, last) = self.warehouses;
        uniform(&mut self.rng, first.into()..=last.into()) as u32
    }

    fn district(&mut self) -> u32 {
        uniform(&mut self.rng, 1..=DISTRICTS.into()) as u32
    }

    fn customer(&mut self) -> u32 {
        nurand(&mut self.rng, 1_023, self.constants.customer, 1, self.parameters.customers)
    }

    fn item(&mut self) -> u32 {
        nurand(&mut self.rng, 8_191, self.constants.item, 1, self.parameters.items)
    }

    /// Any warehouse but this one; this one where there is no other.
    fn other_warehouse(&mut self, home: u32) -> u32 {
        match self.parameters.warehouses {
            1 => home,
            all => {
                let drawn = uniform(&mut self.rng, 1..=u64::from(all) - 1) as u32;
                if drawn < home { drawn } else { drawn + 1 }
            }
        }
    }

    /// The two arguments that say who the customer is: a number, or NULL and a last name.
    fn push_customer(&mut self, arguments: &mut Arguments) {
        if happens(&mut self.rng, self.parameters.by_name) {
            let customers = self.parameters.customers;
            let number = last_name_number(&mut self.rng, self.constants.last, customers);
            self.name.clear();
            last_name(number, &mut self.name);
            arguments.push_null();
            arguments.push_bytes(&self.name);
        } else {
            arguments.push_int(self.customer().into());
            arguments.push_null();
        }
    }

    fn new_order(&mut self, arguments: &mut Arguments) {
        let home = self.warehouse();
        arguments.push_int(home.into());
        arguments.push_int(self.district().into());
        arguments.push_int(self.customer().into());
        let lines = uniform(&mut self.rng, 5..=MAX_LINES as u64) as usize;
        let rolls_back = happens(&mut self.rng, self.parameters.rollbacks);
        let (mut items, mut supply, mut quantities) =
            ([0; MAX_LINES], [0; MAX_LINES], [0; MAX_LINES]);
        for line in 0..lines {
            items[line] = i64::from(self.item());
            let remote = happens(&mut self.rng, self.parameters.remote_lines);
            supply[line] = i64::from(if remote { self.other_warehouse(home) } else { home });
            quantities[line] = uniform(&mut self.rng, 1..=10) as i64;
        }
        if rolls_back {
            // Clause 2.4.1.5: the last item has an unused number.
            items[lines - 1] = i64::from(self.parameters.items) + 1;
        }
        for array in [items, supply, quantities] {
            arguments.push_int_array(array[..lines].iter().copied());
        }
    }

    fn payment(&mut self, arguments: &mut Arguments) {
        let home = self.warehouse();
        let district = self.district();
        arguments.push_int(home.into());
        arguments.push_int(district.into());
        if happens(&mut self.rng, self.parameters.remote_payments) && self.parameters.warehouses > 1
        {
            arguments.push_int(self.other_warehouse(home).into());
            arguments.push_int(self.district().into());
        } else {
            arguments.push_int(home.into());
            arguments.push_int(district.into());
        }
        self.push_customer(arguments);
        arguments.push_numeric(uniform(&mut self.rng, 100..=500_000).into());
    }

    fn order_status(&mut self, arguments: &mut Arguments) {
        arguments.push_int(self.warehouse().into());
        arguments.push_int(self.district().into());
        self.push_customer(arguments);
    }

    fn delivery(&mut self, arguments: &mut Arguments) {
        arguments.push_int(self.warehouse().into());
        arguments.push_int(uniform(&mut self.rng, 1..=10) as i64);
    }

    fn stock_level(&mut self, arguments: &mut Arguments) {
        arguments.push_int(self.warehouse().into());
        arguments.push_int(self.district().into());
        arguments.push_int(uniform(&mut self.rng, 10..=20) as i64);
    }
}

/// With `home`, a worker's share of the warehouses; workers beyond their number share them.
fn warehouses_of(parameters: &TpccParameters, worker: Share) -> (u32, u32) {
    let all = parameters.warehouses;
    if !parameters.home {
        return (1, all);
    }
    if worker.of >= all {
        let one = worker.index % all + 1;
        return (one, one);
    }
    let range = worker.range(all.into());
    (range.start as u32 + 1, range.end as u32)
}

impl Generator for Terminal {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        let kind = self.kind();
        invocation.procedure = self.procedures[kind];
        let arguments = &mut invocation.arguments;
        arguments.clear();
        match kind {
            0 => self.new_order(arguments),
            1 => self.payment(arguments),
            2 => self.order_status(arguments),
            3 => self.delivery(arguments),
            _ => self.stock_level(arguments),
        }
        TransactionKind(kind as u8)
    }
}
