//! TPC-C, standard specification revision 5.11: a wholesale supplier's order entry.
//!
//! Role         the workload `tpcc`; clause by clause compliance is in `docs/workloads.md`
//! Source       clause numbers in comments are the specification's. We differ, as the papers that
//!              use TPC-C do: no terminals, no keying and think times, no response-time bounds
//!              (clauses 5.2.5 and 6); results are no tpmC and must not be called so.

mod check;
mod generate;
mod load;
mod nurand;

use std::borrow::Cow;
use std::ops::ControlFlow;

pub use generate::MAX_LINES;
pub use nurand::{C_LOAD_LAST, Constants, last_name};

use crate::check::Check;
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::row::RowSink;
use crate::workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};
use crate::{choices, parameters};

/// Districts of each warehouse (clause 1.2.1).
pub const DISTRICTS: u32 = 10;

choices! {
    /// Which transactions are called.
    Mix {
        /// all five, 45/43/4/4/4 (clause 5.2.3)
        Full => "full",
        /// New-Order and Payment, half and half (orthrus.txt 4.4)
        NewOrderPayment => "np",
        /// New-Order alone
        NewOrder => "new-order",
        /// Payment alone
        Payment => "payment",
        /// Order-Status alone
        OrderStatus => "order-status",
        /// Delivery alone
        Delivery => "delivery",
        /// Stock-Level alone
        StockLevel => "stock-level",
    }
}

impl Mix {
    /// Percent of each kind, in the order of [`KINDS`].
    pub const fn percent(self) -> [u32; 5] {
        match self {
            Self::Full => [45, 43, 4, 4, 4],
            Self::NewOrderPayment => [50, 50, 0, 0, 0],
            Self::NewOrder => [100, 0, 0, 0, 0],
            Self::Payment => [0, 100, 0, 0, 0],
            Self::OrderStatus => [0, 0, 100, 0, 0],
            Self::Delivery => [0, 0, 0, 100, 0],
            Self::StockLevel => [0, 0, 0, 0, 100],
        }
    }
}

/// New-Order.
pub const NEW_ORDER: TransactionKind = TransactionKind(0);
/// Payment.
pub const PAYMENT: TransactionKind = TransactionKind(1);
/// Order-Status.
pub const ORDER_STATUS: TransactionKind = TransactionKind(2);
/// Delivery.
pub const DELIVERY: TransactionKind = TransactionKind(3);
/// Stock-Level.
pub const STOCK_LEVEL: TransactionKind = TransactionKind(4);

/// Procedure of each kind; also the kinds' names.
pub const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

parameters! {
    /// What TPC-C can be asked to be.
    TpccParameters {
        warehouses: u32 = 1, "number of warehouses, the scale of everything but items";
        items: u32 = 100_000, "number of items; fewer only for tests";
        customers: u32 = 3_000, "customers, and orders, per district; fewer only for tests";
        mix: Mix = Mix::Full, "which transactions: np is New-Order and Payment half and half";
        remote_lines: f64 = 1.0, "percent of order lines supplied by another warehouse";
        remote_payments: f64 = 15.0, "percent of payments by customers of another warehouse";
        by_name: f64 = 60.0, "percent of Payment and Order-Status by customer's last name";
        rollbacks: f64 = 1.0, "percent of New-Order that name an unused item and roll back";
        home: bool = false, "each worker keeps to its own warehouses instead of choosing among all";
    }
}

impl Parameters for TpccParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        require((1..=30_000).contains(&self.warehouses), "warehouses: 1 to 30000")?;
        require((20..=100_000).contains(&self.items), "items: 20 to 100000")?;
        require((10..=3_000).contains(&self.customers), "customers: 10 to 3000")?;
        for percent in [self.remote_lines, self.remote_payments, self.by_name, self.rollbacks] {
            require((0.0..=100.0).contains(&percent), "percentages: 0 to 100")?;
        }
        Ok(())
    }
}

impl TpccParameters {
    /// A database so small that loading and checking take milliseconds.
    pub fn tiny(warehouses: u32) -> Self {
        Self { warehouses, items: 100, customers: 30, ..Self::default() }
    }

    /// Orders of a district that the population leaves undelivered: 900 of 3,000.
    pub fn undelivered(&self) -> u32 {
        self.customers * 3 / 10
    }
}

/// The workload `tpcc`.
#[derive(Clone, Default, Debug)]
pub struct Tpcc {
    /// its parameters
    pub parameters: TpccParameters,
}

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn about(&self) -> &'static str {
        "TPC-C 5.11: order entry over nine tables; contention at warehouses and districts"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn population_parameters(&self) -> Option<&'static [&'static str]> {
        Some(&["warehouses", "items", "customers"])
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("tpcc/schema.sql"))
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("tpcc/procedures.sql"))
    }

    fn procedures(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn load(&self, part: Share, seed: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        load::load(&self.parameters, part, seed, sink)
    }

    fn rows_expected(&self) -> u64 {
        load::rows_expected(&self.parameters)
    }

    fn kinds(&self) -> Vec<KindInfo> {
        let percent = self.parameters.mix.percent();
        let kind = |i: usize| KindInfo {
            name: KINDS[i],
            share: f64::from(percent[i]) / 100.0,
            aborts: if i == 0 { self.parameters.rollbacks / 100.0 } else { 0.0 },
        };
        (0..KINDS.len()).map(kind).collect()
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        Box::new(generate::Terminal::new(&self.parameters, worker, seed, resolve))
    }

    fn checks(&self) -> Vec<Check> {
        check::CHECKS.to_vec()
    }
}

#[cfg(test)]
mod generate_tests;
#[cfg(test)]
mod load_tests;
