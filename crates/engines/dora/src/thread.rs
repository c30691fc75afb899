//! A thread of the engine: a home, and a hall.
//!
//! Invariants   I1 records are touched inside some home's gate: that of the call for which they are
//!              touched; and under a pin of this thread's own, that lasts for a turn
//!              I2 the schema is looked at when messages have been taken in and before they are
//!              taken: who sent them was inside the gate under the one that is in force. Calls are
//!              fetched only if the home was inside the gate before

use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_engine::schema::{KnownSchema, Memory};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_flow::exchange::Exchange;
use hotrow_flow::host::Member;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;

use crate::crew::{Crew, Told};
use crate::home::Home;
use crate::layout::Layout;
use crate::protocol::hall::Hall;
use crate::store::Rows;

/// What a hall does in a turn at most, before calls are fetched: those who wait for calls are not
/// to wait for long.
const WORKS_PER_TURN: usize = 16;

/// See the module.
pub struct Thread {
    crew: Arc<Crew>,
    number: u16,
    id: WorkerId,
    schema: KnownSchema,
    layout: Arc<Layout>,
    exchange: Exchange<Told>,
    home: Home,
    hall: Hall<Rows>,
    hall_address: Address,
    watch: Stopwatch,
}

impl Thread {
    /// Thread number `number` of a crew.
    pub fn new(
        crew: &Arc<Crew>,
        number: u16,
        exchange: Exchange<Told>,
        source: Box<dyn CallSource>,
    ) -> Self {
        let schema = KnownSchema::new(&crew.roster.ground.schema);
        let layout = crew.layout(schema.get());
        let committer = &crew.roster.committers[usize::from(number)];
        let rows = Rows::new(crew, number, &layout);
        let hall_address = crew.hall(number);
        Self {
            number,
            id: committer.worker(),
            home: Home::new(Arc::clone(crew), number, source),
            hall: Hall::new(hall_address, rows),
            hall_address,
            crew: Arc::clone(crew),
            schema,
            layout,
            exchange,
            watch: Stopwatch::default(),
        }
    }

    /// Takes the messages there are; whether there were any.
    fn deliver(&mut self) -> bool {
        let mut some = false;
        while let Some((to, message)) = self.exchange.next() {
            some = true;
            if to == self.hall_address {
                self.hall.take(message, &mut self.exchange.ports(to));
            } else {
                self.home.take(message, &self.layout, &mut self.exchange);
            }
        }
        some
    }
}

impl Member for Thread {
    type Message = Told;

    fn ends(&mut self) -> (&mut Exchange<Told>, &mut Intake) {
        (&mut self.exchange, self.home.intake())
    }

    fn watch(&mut self) -> &mut Stopwatch {
        &mut self.watch
    }

    fn has_all_back(&mut self) -> bool {
        self.home.has_all_back()
    }

    // Out of line, so that instructions can be counted from here on.
    #[inline(never)]
    fn turn(&mut self, memory: &Memory) -> bool {
        let mut has_moved = self.exchange.fetch() > 0;
        if self.schema.look_again(&self.crew.roster.ground.schema) {
            self.layout = self.crew.layout(self.schema.get()); // I2
            self.hall.begin_anew().adopt(&self.layout);
            self.home.adopt();
        }
        let _pin = memory.epochs().pin(self.id); // I1
        self.watch.switch(Activity::Execute);
        has_moved |= self.deliver();
        for _ in 0..WORKS_PER_TURN {
            if !self.hall.work(&mut self.exchange.ports(self.hall_address)) {
                break;
            }
            has_moved = true;
            self.exchange.publish(); // others wait for what it tells
            self.deliver();
        }
        // Not one that has come inside since the schema was looked at (I2).
        if self.home.intake().is_inside() {
            self.watch.switch(Activity::Plan);
            has_moved |= self.home.fetch(&self.layout, &mut self.exchange) > 0;
            self.deliver();
        }
        self.watch.switch(Activity::Wait);
        has_moved
    }

    fn keep_house(&mut self) {
        let books = self.crew.roster.books_of(self.number);
        books.messages.add(self.exchange.take_sent());
        self.watch.publish(books);
        self.schema.reclaim(self.id);
    }
}
