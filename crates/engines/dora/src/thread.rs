//! A thread of the engine: a home, and a hall.
//!
//! Invariants   I1 records are touched inside some home's gate: that of the call for which they are
//!              touched; and under a pin of this thread's own, that lasts for a turn
//!              I2 the schema is looked at when messages have been taken in and before they are
//!              taken: who sent them was inside the gate under the one that is in force. Calls are
//!              fetched only if the home was inside the gate before

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_engine::schema::{KnownSchema, Memory};
use hotrow_engine::source::CallSource;
use hotrow_engine::statistics::{Activity, Stopwatch};
use hotrow_flow::datasets::View;
use hotrow_flow::datasets::balance::{self, Move, ResourceManager, load_of};
use hotrow_flow::exchange::Exchange;
use hotrow_flow::host::Member;
use hotrow_flow::intake::Intake;
use hotrow_flow::node::Address;

use crate::crew::{Crew, Told};
use crate::home::Home;
use crate::protocol::Message;
use crate::protocol::hall::Hall;
use crate::store::Rows;

/// What a hall does in a turn at most, before calls are fetched: those who wait for calls are not
/// to wait for long.
const WORKS_PER_TURN: usize = 16;

/// How often a hall tells what it is asked for, where datasets move, and how often one thread looks
/// at what all have told.
const TELLS_EVERY: Duration = Duration::from_millis(20);
const MOVES_EVERY: Duration = Duration::from_millis(100);
/// The thread that looks.
const MANAGER: u16 = 0;

/// One thread, which serves its own clients and the datasets in its hall.
pub struct Thread {
    crew: Arc<Crew>,
    number: u16,
    id: WorkerId,
    schema: KnownSchema,
    view: View,
    exchange: Exchange<Told>,
    home: Home,
    hall: Hall<Rows>,
    hall_address: Address,
    watch: Stopwatch,
    tells_at: Ticks,
    moves_at: Ticks,
    /// the manager's
    resources: ResourceManager,
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
        let view = View::of(crew.layout(schema.get()));
        let committer = &crew.roster.committers[usize::from(number)];
        let rows = Rows::new(crew, number, &view);
        let hall_address = crew.hall(number);
        let mut hall = Hall::new(hall_address, rows, crew.looks());
        hall.begin_anew(view.number);
        Self {
            number,
            id: committer.worker(),
            home: Home::new(Arc::clone(crew), number, source),
            hall,
            hall_address,
            crew: Arc::clone(crew),
            schema,
            view,
            exchange,
            watch: Stopwatch::default(),
            tells_at: Ticks::now(),
            moves_at: Ticks::now(),
            resources: ResourceManager::default(),
        }
    }

    /// Tells what this hall is asked for, and, if it is the manager's, moves datasets.
    fn balance(&mut self) {
        if !self.tells_at.has_passed() {
            return;
        }
        self.tells_at = Ticks::from_now(TELLS_EVERY);
        self.crew.loads.note(self.number, self.view.number, self.hall.asked());
        if self.number == MANAGER && self.moves_at.has_passed() {
            self.moves_at = Ticks::from_now(MOVES_EVERY);
            self.move_datasets();
        }
    }

    fn move_datasets(&mut self) {
        let Self { crew, view, .. } = self;
        let Some(items) = self.resources.look(view, &crew.loads) else { return };
        let halls = crew.halls();
        let shares = halls.iter().map(|&hall| load_of(hall, &items)).collect();
        let moves = balance::moves(items, &halls);
        crew.note_moves(shares, moves.iter().map(|moved| moved.datasets.len()).sum());
        for Move { datasets, from, to } in moves {
            for dataset in datasets {
                self.exchange.send(from, Message::Yield(view.number, dataset, to));
            }
        }
        self.exchange.publish();
    }

    /// Takes the messages there are; whether there were any.
    fn deliver(&mut self) -> bool {
        let mut some = false;
        while let Some((to, message)) = self.exchange.next() {
            some = true;
            if to == self.hall_address {
                self.hall.take(message, &mut self.exchange.ports(to));
            } else {
                self.home.take(message, &self.view, &mut self.exchange);
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
            self.view = View::of(self.crew.layout(self.schema.get())); // I2
            self.hall.begin_anew(self.view.number).adopt(&self.view);
            self.home.adopt();
        }
        let _pin = memory.epochs().pin(self.id); // I1
        self.watch.switch(Activity::Execute);
        has_moved |= self.deliver();
        while let Some(own) = self.exchange.next_to_wake() {
            self.hall.wake(&mut self.exchange.ports(own));
        }
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
            self.view.look_again();
            has_moved |= self.home.fetch(&self.view, &mut self.exchange);
            self.deliver();
        }
        self.watch.switch(Activity::Wait);
        has_moved
    }

    fn keep_house(&mut self) {
        let books = self.crew.roster.books_of(self.number);
        books.messages.add(self.exchange.take_sent());
        self.crew.tallies.of(self.number.into()).queued.set(self.hall.queued() as u64);
        self.watch.publish(books);
        self.schema.reclaim(self.id);
        if self.crew.settings.rebalances {
            self.balance();
        }
    }
}
