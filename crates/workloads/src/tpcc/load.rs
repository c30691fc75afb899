//! TPC-C's initial population (clause 4.3.3.1), row by row.
//!
//! Role         every row is a function of the seed and of its own number, so that parts can be cut
//!              anywhere; orders and their lines are made apart but agree, because both ask
//!              [`OrderHead`]
//! Invariants   I1 scaled down, the sums that the consistency conditions compare still hold:
//!              year-to-date amounts follow the number of customers

use std::ops::ControlFlow;

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::nurand::{C_LOAD_LAST, LAST_NAMES, last_name, last_name_number};
use super::{DISTRICTS, TpccParameters};
use crate::random::{alphanumeric, digits, happens, stream, string};
use crate::row::{RowBuffer, RowSink};
use crate::workload::Share;

/// The population's date, 2026-01-01 00:00 UTC, in microseconds since 2000-01-01.
pub(super) const LOADED_US: i64 = 9_497 * 86_400 * 1_000_000;

const CAPITALS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// every customer's one payment so far, in cents
const FIRST_PAYMENT: u32 = 1_000;

/// Streams of random numbers, one per kind of row.
#[derive(Clone, Copy)]
enum Place {
    Item = 1,
    Warehouse,
    Stock,
    District,
    Customer,
    History,
    Order,
    OrderLine,
    Permutation,
}

struct Loader<'a, 'b> {
    parameters: &'a TpccParameters,
    seed: u64,
    row: RowBuffer,
    sink: &'a mut RowSink<'b>,
}

pub(super) fn load(
    parameters: &TpccParameters,
    part: Share,
    seed: u64,
    sink: &mut RowSink<'_>,
) -> ControlFlow<()> {
    let p = parameters;
    let warehouses = u64::from(p.warehouses);
    let districts = warehouses * u64::from(DISTRICTS);
    let customers = districts * u64::from(p.customers);
    let mut loader = Loader { parameters, seed, row: RowBuffer::new(), sink };
    part.range(p.items.into()).try_for_each(|i| loader.item(i))?;
    part.range(warehouses).try_for_each(|i| loader.warehouse(i))?;
    part.range(districts).try_for_each(|i| loader.district(i))?;
    part.range(warehouses * u64::from(p.items)).try_for_each(|i| loader.stock(i))?;
    part.range(customers).try_for_each(|i| loader.customer(i))?;
    part.range(customers).try_for_each(|i| loader.history(i))?;
    let mut customers_of_orders = Permutation::default();
    for i in part.range(customers) {
        loader.order(i, &mut customers_of_orders)?;
    }
    part.range(customers).try_for_each(|i| loader.new_order(i))?;
    part.range(customers).try_for_each(|i| loader.order_lines(i))
}

/// Ten lines to an order on average.
pub(super) fn rows_expected(p: &TpccParameters) -> u64 {
    let district = u64::from(p.customers) * (1 + 1 + 1 + 10) + u64::from(p.undelivered()) + 1;
    let warehouse = 1 + u64::from(p.items) + u64::from(DISTRICTS) * district;
    u64::from(p.items) + u64::from(p.warehouses) * warehouse
}

/// Which customer, or order, of which district: all numbers from 1.
#[derive(Clone, Copy)]
struct Member {
    warehouse: u32,
    district: u32,
    number: u32,
}

/// What an order and its lines must agree on.
struct OrderHead {
    lines: u32,
    carrier: u32,
    delivered: bool,
}

/// The customers of one district in random order; order `n` belongs to the `n`-th of them.
#[derive(Default)]
struct Permutation {
    district: Option<u64>,
    customers: Vec<u32>,
}

impl Permutation {
    fn customer(&mut self, seed: u64, district: u64, order: u32, customers: u32) -> u32 {
        if self.district != Some(district) {
            self.district = Some(district);
            self.customers.clear();
            self.customers.extend(1..=customers);
            self.customers.shuffle(&mut stream(seed, Place::Permutation as u64, district));
        }
        self.customers[order as usize - 1]
    }
}

impl Loader<'_, '_> {
    fn stream(&self, place: Place, index: u64) -> SmallRng {
        stream(self.seed, place as u64, index)
    }

    fn member(&self, index: u64) -> Member {
        let customers = u64::from(self.parameters.customers);
        let district = index / customers;
        Member {
            warehouse: (district / u64::from(DISTRICTS)) as u32 + 1,
            district: (district % u64::from(DISTRICTS)) as u32 + 1,
            number: (index % customers) as u32 + 1,
        }
    }

    fn order_head(&self, index: u64, number: u32) -> OrderHead {
        let mut rng = self.stream(Place::Order, index);
        OrderHead {
            lines: rng.random_range(5..=15),
            carrier: rng.random_range(1..=10),
            delivered: number <= self.parameters.customers - self.parameters.undelivered(),
        }
    }

    fn finish(&mut self, table: &'static str) -> ControlFlow<()> {
        self.row.finish(table, self.sink)
    }

    fn item(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::Item, index);
        self.row
            .int(index as i64 + 1)
            .int(rng.random_range(1..=10_000))
            .text_with(|heap| alphanumeric(&mut rng, 14, 24, heap))
            .numeric(rng.random_range(100..=10_000))
            .text_with(|heap| data(&mut rng, heap));
        self.finish("item")
    }

    fn warehouse(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::Warehouse, index);
        self.row.int(index as i64 + 1).text_with(|heap| alphanumeric(&mut rng, 6, 10, heap));
        address(&mut rng, &mut self.row);
        self.row
            .numeric(rng.random_range(0..=2_000))
            .numeric(DISTRICTS * self.parameters.customers * FIRST_PAYMENT);
        self.finish("warehouse")
    }

    fn district(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::District, index);
        let districts = u64::from(DISTRICTS);
        self.row
            .int((index / districts) as i64 + 1)
            .int((index % districts) as i64 + 1)
            .text_with(|heap| alphanumeric(&mut rng, 6, 10, heap));
        address(&mut rng, &mut self.row);
        self.row
            .numeric(rng.random_range(0..=2_000))
            .numeric(self.parameters.customers * FIRST_PAYMENT)
            .int(self.parameters.customers + 1);
        self.finish("district")
    }

    fn stock(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::Stock, index);
        let items = u64::from(self.parameters.items);
        self.row
            .int((index / items) as i64 + 1)
            .int((index % items) as i64 + 1)
            .int(rng.random_range(10..=100));
        for _ in 0..DISTRICTS {
            self.row.text_with(|heap| alphanumeric(&mut rng, 24, 24, heap));
        }
        self.row.int(0).int(0).int(0).text_with(|heap| data(&mut rng, heap));
        self.finish("stock")
    }

    fn customer(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::Customer, index);
        let at = self.member(index);
        let name = if at.number <= LAST_NAMES {
            at.number - 1
        } else {
            last_name_number(&mut rng, C_LOAD_LAST, self.parameters.customers)
        };
        self.row
            .int(at.warehouse)
            .int(at.district)
            .int(at.number)
            .text_with(|heap| alphanumeric(&mut rng, 8, 16, heap))
            .text("OE")
            .text_with(|heap| last_name(name, heap));
        address(&mut rng, &mut self.row);
        let credit = if happens(&mut rng, 10.0) { "BC" } else { "GC" };
        self.row
            .text_with(|heap| digits(&mut rng, 16, heap))
            .int(LOADED_US)
            .text(credit)
            .numeric(5_000_000)
            .numeric(rng.random_range(0..=5_000))
            .numeric(-i64::from(FIRST_PAYMENT))
            .numeric(FIRST_PAYMENT)
            .int(1)
            .int(0)
            .text_with(|heap| alphanumeric(&mut rng, 300, 500, heap));
        self.finish("customer")
    }

    fn history(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::History, index);
        let at = self.member(index);
        self.row
            .int(at.number)
            .int(at.district)
            .int(at.warehouse)
            .int(at.district)
            .int(at.warehouse)
            .int(LOADED_US)
            .numeric(FIRST_PAYMENT)
            .text_with(|heap| alphanumeric(&mut rng, 12, 24, heap));
        self.finish("history")
    }

    fn order(&mut self, index: u64, permutation: &mut Permutation) -> ControlFlow<()> {
        let at = self.member(index);
        let head = self.order_head(index, at.number);
        let customers = self.parameters.customers;
        let district = index / u64::from(customers);
        let customer = permutation.customer(self.seed, district, at.number, customers);
        self.row.int(at.warehouse).int(at.district).int(at.number).int(customer).int(LOADED_US);
        if head.delivered {
            self.row.int(head.carrier);
        } else {
            self.row.null();
        }
        self.row.int(head.lines).int(1);
        self.finish("orders")
    }

    fn new_order(&mut self, index: u64) -> ControlFlow<()> {
        let at = self.member(index);
        if self.order_head(index, at.number).delivered {
            return ControlFlow::Continue(());
        }
        self.row.int(at.warehouse).int(at.district).int(at.number);
        self.finish("new_order")
    }

    fn order_lines(&mut self, index: u64) -> ControlFlow<()> {
        let mut rng = self.stream(Place::OrderLine, index);
        let at = self.member(index);
        let head = self.order_head(index, at.number);
        for line in 1..=head.lines {
            self.row
                .int(at.warehouse)
                .int(at.district)
                .int(at.number)
                .int(line)
                .int(rng.random_range(1..=self.parameters.items))
                .int(at.warehouse);
            if head.delivered {
                self.row.int(LOADED_US).int(5).numeric(0);
            } else {
                self.row.null().int(5).numeric(rng.random_range(1..=999_999));
            }
            self.row.text_with(|heap| alphanumeric(&mut rng, 24, 24, heap));
            self.finish("order_line")?;
        }
        ControlFlow::Continue(())
    }
}

/// Street, street, city, state, zip (clause 4.3.2.7: four digits and 11111).
fn address(rng: &mut SmallRng, row: &mut RowBuffer) {
    for _ in 0..3 {
        row.text_with(|heap| alphanumeric(rng, 10, 20, heap));
    }
    row.text_with(|heap| string(rng, CAPITALS, 2, heap)).text_with(|heap| {
        digits(rng, 4, heap);
        heap.extend_from_slice(b"11111");
    });
}

/// I_DATA and S_DATA: 26 to 50 characters, in one of ten rows with ORIGINAL somewhere in them.
fn data(rng: &mut SmallRng, heap: &mut Vec<u8>) {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let start = heap.len();
    alphanumeric(rng, 26, 50, heap);
    if happens(rng, 10.0) {
        let at = rng.random_range(start..=heap.len() - ORIGINAL.len());
        heap[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}
