//! What all writers of one transaction share: prices looked up once, and the sums that are rolled up at its end.

use std::collections::HashMap;

use agenthub_core::{
    Model,
    price::{Book, Price},
};
use foldhash::fast::RandomState;
use rusqlite::Connection;

use crate::{
    costs::{self, Repricing},
    models,
    rollup::Rollup,
    sums::{Delta, Place},
};

/// One transaction. Whoever made it calls [`Writing::finish`] before it is committed.
pub(crate) struct Writing<'a> {
    pub(crate) conn: &'a Connection,
    names: Names<'a>,
    /// `None` until the sums are rolled up for the first time.
    rollup: Option<Rollup>,
    repricing: Option<&'a Repricing>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(
        conn: &'a Connection,
        book: &'a Book,
        rolled_up: bool,
        repricing: Option<&'a Repricing>,
    ) -> Writing<'a> {
        let names = Names { book, known: HashMap::default() };
        Writing { conn, names, rollup: rolled_up.then(Rollup::default), repricing }
    }

    /// A model's row number and its prices.
    pub(crate) fn named(&mut self, model: &Model) -> rusqlite::Result<Named<'a>> {
        self.names.named(self.conn, model)
    }

    /// A sum of a session changed by `delta`.
    pub(crate) fn rolled_up(&mut self, place: &Place, delta: &Delta) -> rusqlite::Result<()> {
        match &mut self.rollup {
            Some(rollup) => rollup.count(self.conn, place, delta),
            None => Ok(()),
        }
    }

    /// A session is new.
    pub(crate) fn began(&mut self, sid: i64) -> rusqlite::Result<()> {
        match &mut self.rollup {
            Some(rollup) => rollup.began(self.conn, sid),
            None => Ok(()),
        }
    }

    /// Before the folder, the parent or the visibility of these sessions changes; [`Writing::moved`] comes afterwards.
    pub(crate) fn moving(&mut self, sids: &[i64]) -> rusqlite::Result<()> {
        match &mut self.rollup {
            Some(rollup) => rollup.moving(self.conn, sids),
            None => Ok(()),
        }
    }

    pub(crate) fn moved(&mut self, sids: &[i64]) -> rusqlite::Result<()> {
        match &mut self.rollup {
            Some(rollup) => rollup.moved(self.conn, sids),
            None => Ok(()),
        }
    }

    pub(crate) fn repricing(&self) -> Option<&'a Repricing> {
        self.repricing
    }

    /// Has the costs of these sessions be by today's prices, if they are still to be made anew.
    pub(crate) fn have_priced(&mut self, sids: &[i64]) -> rusqlite::Result<()> {
        let Some(repricing) = self.repricing else { return Ok(()) };
        for sid in sids.iter().filter(|sid| **sid >= repricing.next) {
            costs::reprice(self, *sid, sid.saturating_add(1), &repricing.models)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> rusqlite::Result<()> {
        match self.rollup {
            Some(rollup) => rollup.write(self.conn),
            None => Ok(()),
        }
    }
}

/// A model's row number, and its prices.
#[derive(Clone, Copy)]
pub(crate) struct Named<'b> {
    pub(crate) mid: i64,
    pub(crate) prices: &'b [Price],
}

/// Row numbers and prices of models, looked up once each in a transaction.
struct Names<'b> {
    book: &'b Book,
    known: HashMap<Model, Named<'b>, RandomState>,
}

impl<'b> Names<'b> {
    fn named(&mut self, conn: &Connection, model: &Model) -> rusqlite::Result<Named<'b>> {
        if let Some(named) = self.known.get(model) {
            return Ok(*named);
        }
        let prices = self.book.find(model).map_or(&[][..], |f| f.prices);
        let named = Named { mid: models::intern(conn, model, prices)?, prices };
        self.known.insert(model.clone(), named);
        Ok(named)
    }
}
