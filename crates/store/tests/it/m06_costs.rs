//! M4 to M6: costs follow prices at once, and a store from before there were costs comes to the same ones.

use std::sync::Arc;

use agenthub_core::{
    Model, Sighting,
    price::{Book, Own, PriceTable, Rate, Rates, Row},
};
use agenthub_store::{By, Filter, Lineage, SessionRecord, SessionRow, Sort};

use crate::world::{World, call, change, id, record};

fn rates(input: &str, output: &str) -> Rates {
    let rate = |t| Rate::parse_per_million(t).ok();
    Rates { input: rate(input), output: rate(output), ..Rates::default() }
}

fn book(own: &[(&str, Own)]) -> Arc<Book> {
    let row = Row::new("gemini-3.1-pro-preview", "vertex_ai", rates("2", "12"), Vec::new()).unwrap();
    Arc::new(Book::new(PriceTable::new([row]), own.iter().map(|(n, o)| ((*n).to_owned(), o.clone()))))
}

fn named(key: &str, input: u64, model: &str) -> Sighting {
    Sighting { model: Model { number: 0, id: Some(model.to_owned()), label: None }, ..call(key, input) }
}

fn usd(s: &SessionRow) -> Option<String> {
    s.sum.usd().map(|u| u.to_string())
}

#[test]
fn m4_a_new_price_is_effective_at_once_and_unknown_is_not_zero() {
    let mut w = World::new();
    let calls = vec![named("a", 1_000_000, "gemini-3.1-pro"), named("b", 500_000, "gemini-new")];
    w.apply(&[change(record(0), calls), change(record(1), vec![named("c", 5, "gemini-new")])]);
    let cost = |w: &World, n| usd(&w.store.session(&id(n)).unwrap().unwrap());
    assert_eq!((cost(&w, 0), cost(&w, 1)), (None, None), "no book, no price");
    assert!(w.price(book(&[])));
    assert_eq!((cost(&w, 0).as_deref(), cost(&w, 1)), (Some("2.00012"), None));
    assert_eq!(w.store.session(&id(0)).unwrap().unwrap().sum.cost.unpriced_tokens, 500_010);
    assert!(!w.price(book(&[])), "nothing to do twice");
    // The person's price, and one that says that it is free; what is read afterwards costs by it too.
    w.price(book(&[("gemini-new", Own::Rates(rates("0", "0")))]));
    assert_eq!((cost(&w, 0).as_deref(), cost(&w, 1).as_deref()), (Some("2.00012"), Some("0")));
    w.price(book(&[("gemini-new", Own::Alias("gemini-3.1-pro".to_owned()))]));
    assert_eq!((cost(&w, 0).as_deref(), cost(&w, 1).as_deref()), (Some("3.00024"), Some("0.00013")));
    w.apply(&[change(record(2), vec![named("d", 1, "gemini-new")])]);
    assert_eq!(cost(&w, 2).as_deref(), Some("0.000122"));
    // Back to what it was before.
    w.price(book(&[]));
    assert_eq!((cost(&w, 0).as_deref(), cost(&w, 1), cost(&w, 2)), (Some("2.00012"), None, None));
    let header = w.store.totals(&Filter::default()).unwrap().sum;
    assert_eq!(header.usd().unwrap().to_string(), "2.00012");
    // By cost: those without one come last, in both directions.
    let order = |ascending| -> Vec<String> {
        let rows = w.store.sessions(&Filter::default(), Sort::Cost, ascending, 0, 9).unwrap();
        rows.iter().map(|s| s.id.to_string()[..8].to_owned()).collect()
    };
    assert_eq!(order(false), ["00000000", "00000001", "00000002"]);
    assert_eq!(order(true), ["00000000", "00000001", "00000002"]);
}

#[test]
fn m6_costs_of_millions_are_exact_to_the_last_digit() {
    let mut w = World::new();
    let dear = Rates {
        input: Rate::parse("0.009999999999999").ok(),
        output: Rate::parse("1e-15").ok(),
        ..Rates::default()
    };
    let calls = |n: usize| (0..40).map(|i| named(&format!("{n}-{i}"), 999_999_999, "dear")).collect();
    w.price(book(&[("dear", Own::Rates(dear))]));
    w.apply(&(0..5).map(|n| change(record(n), calls(n))).collect::<Vec<_>>());
    // 200 calls of 999,999,999 tokens in and 10 out.
    let header = w.store.totals(&Filter::default()).unwrap().sum;
    assert_eq!(header.usd().unwrap().to_string(), "1999999997.9998000000022");
}

#[test]
fn q03_a_store_from_before_costs_keeps_its_sums_and_gets_them() {
    let mut w = World::new();
    let fork = agenthub_store::SessionRecord {
        fork: Some(Lineage { conversation: Some(id(0)), trajectory: None }),
        ..record(1)
    };
    w.price(book(&[]));
    w.apply(&[
        change(record(0), vec![call("a", 100), Sighting { tokens: None, ..call("u", 0) }]),
        change(fork, vec![call("a", 100), call("b", 30)]),
        change(record(2), vec![named("c", 7, "gemini-new")]),
    ]);
    let seen = |w: &World| {
        let all = w.store.sessions(&Filter::default(), Sort::Name, true, 0, 9).unwrap();
        let by =
            [By::Model, By::Project, By::Session].map(|by| w.store.usage(by, i64::MIN, i64::MAX).unwrap());
        (all, by)
    };
    let before = seen(&w);
    // As it was at format 3.
    w.sql()
        .execute_batch(
            "DROP INDEX IF EXISTS session_active; DROP INDEX IF EXISTS session_started; DROP INDEX IF EXISTS session_name; DROP INDEX IF EXISTS session_tokens;
             DROP INDEX IF EXISTS session_cost; DROP INDEX IF EXISTS session_find; DROP INDEX IF EXISTS session_warned; DROP INDEX IF EXISTS session_lane; DROP INDEX IF EXISTS session_model;
             DROP INDEX IF EXISTS session_folder; DROP INDEX IF EXISTS session_own_sums; DROP INDEX IF EXISTS session_above;
             CREATE INDEX session_active ON session (hidden, last_activity);
             CREATE TABLE old AS SELECT sid, slot, mid, approximate, calls, unknown, input, output, cache_read, cache_write,
                 thinking FROM total;
             DROP TABLE total;
             CREATE TABLE total (sid INTEGER NOT NULL, slot INTEGER NOT NULL, mid INTEGER NOT NULL,
                 approximate INTEGER NOT NULL, calls INTEGER NOT NULL, unknown INTEGER NOT NULL, input INTEGER NOT NULL,
                 output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
                 thinking INTEGER NOT NULL, PRIMARY KEY (sid, slot, mid, approximate)) WITHOUT ROWID;
             CREATE INDEX total_slot ON total (slot);
             INSERT INTO total SELECT * FROM old;
             DROP TABLE old;
             ALTER TABLE session DROP COLUMN priced; ALTER TABLE session DROP COLUMN unpriced;
             ALTER TABLE session DROP COLUMN usd_large; ALTER TABLE session DROP COLUMN usd_small;
             DROP TABLE price_stamp; DROP TABLE repricing; DROP TABLE used; DROP TABLE rolled_up; DROP TABLE folder;
             DROP INDEX IF EXISTS session_span; ALTER TABLE model DROP COLUMN prices;
             ALTER TABLE session DROP COLUMN approximate; ALTER TABLE session DROP COLUMN first_slot;
             ALTER TABLE session DROP COLUMN last_slot;
             PRAGMA user_version = 3;",
        )
        .unwrap();
    w.reopen();
    assert!(w.price(book(&[])));
    assert_eq!(seen(&w), before);
    w.store.roll_up().unwrap();
    assert_eq!(seen(&w), before);
}

#[test]
fn q03_a_store_from_before_sums_were_rolled_up_says_the_same_before_and_after() {
    let mut w = World::new();
    w.price(book(&[]));
    let child = SessionRecord { parent: Some(id(0)), cwd: Some("/w/b".into()), ..record(1) };
    w.apply(&[
        change(SessionRecord { cwd: Some("/w/a".into()), ..record(0) }, vec![call("a", 100), call("b", 1)]),
        change(child, vec![named("c", 30, "gemini-new"), Sighting { stamp: None, ..call("d", 8) }]),
        change(record(2), vec![]),
        change(record(3), vec![call("e", 4_000)]),
    ]);
    w.store.set_deleted(&[id(3)]).unwrap();
    let seen = |w: &World| {
        let all = w.store.sessions(&Filter::default(), Sort::Name, true, 0, 9).unwrap();
        let by =
            [By::Model, By::Project, By::Session].map(|by| w.store.usage(by, i64::MIN, i64::MAX).unwrap());
        let days = w.store.usage_in(i64::MIN, i64::MAX, |slot| slot.div_euclid(96)).unwrap();
        let roots = Filter { roots_only: true, ..Filter::default() };
        let headers = [Filter::default(), roots].map(|f| w.store.totals(&f).unwrap());
        (all, by, days, headers, w.store.sessions_with_calls(1, i64::MAX).unwrap())
    };
    let before = seen(&w);
    assert_eq!((before.3[0].sessions, before.3[1].sessions, before.4), (3, 2, 2));
    // As it was at format 5.
    w.sql()
        .execute_batch(
            "DROP TABLE repricing; DROP TABLE used; DROP TABLE rolled_up; DROP TABLE folder;
             DROP INDEX IF EXISTS session_above; DROP INDEX IF EXISTS session_warned; DROP INDEX IF EXISTS session_span;
             CREATE INDEX session_sums ON session (hidden, parent, calls);
             ALTER TABLE model DROP COLUMN prices; ALTER TABLE session DROP COLUMN approximate;
             ALTER TABLE session DROP COLUMN first_slot; ALTER TABLE session DROP COLUMN last_slot;
             PRAGMA user_version = 5;",
        )
        .unwrap();
    w.reopen();
    assert!(!w.price(book(&[])), "it costs by the same book");
    assert_eq!(seen(&w), before);
    w.store.roll_up().unwrap();
    assert_eq!(seen(&w), before);
    // From then on they follow what changes.
    w.apply(&[change(record(2), vec![call("f", 7)])]);
    w.store.set_deleted(&[]).unwrap();
    let now = seen(&w);
    assert_eq!((now.3[0].sessions, now.3[0].sum.calls), (4, 6));
    w.reopen();
    assert_eq!(seen(&w), now);
}

#[test]
fn m6_prices_that_change_again_before_all_costs_are_made_anew_end_at_the_newest() {
    let mut w = World::new();
    w.price(book(&[]));
    w.apply(
        &(0..6)
            .map(|n| change(record(n), vec![named(&format!("c{n}"), 1_000_000, "gemini-new")]))
            .collect::<Vec<_>>(),
    );
    let own = |input| book(&[("gemini-new", Own::Rates(rates(input, "0")))]);
    let header = |w: &World| w.store.totals(&Filter::default()).unwrap().sum.usd().map(|u| u.to_string());
    assert_eq!(header(&w), None);
    assert!(w.store.price_by(own("1")).unwrap());
    assert!(w.store.reprice(2).unwrap());
    assert_eq!((header(&w).as_deref(), w.store.priced_by().unwrap()), (Some("1"), None), "the first of them");
    assert!(w.store.price_by(own("3")).unwrap());
    // Killed in the middle, it goes on where it was.
    assert!(w.store.reprice(4).unwrap());
    assert_eq!(header(&w).as_deref(), Some("9"));
    w.reopen();
    assert!(w.store.price_by(own("3")).unwrap());
    assert!(w.store.reprice(2).unwrap());
    assert_eq!(header(&w).as_deref(), Some("15"));
    while w.store.reprice(1).unwrap() {}
    assert_eq!(header(&w).as_deref(), Some("18"));
    assert_eq!(w.store.priced_by().unwrap().as_deref(), Some(own("3").stamp()));
    // A book that changes no price of a model that was used is in force at once.
    let other =
        book(&[("gemini-new", Own::Rates(rates("3", "0"))), ("never-used", Own::Rates(rates("1", "1")))]);
    assert!(!w.store.price_by(Arc::clone(&other)).unwrap());
    assert_eq!(w.store.priced_by().unwrap().as_deref(), Some(other.stamp()));
}

#[test]
fn q03_a_store_that_is_begun_anew_costs_by_the_same_book() {
    let mut w = World::new();
    w.price(book(&[]));
    w.apply(&[change(record(0), vec![call("a", 1_000_000)])]);
    let cost = |w: &World| usd(&w.store.session(&id(0)).unwrap().unwrap());
    let before = cost(&w);
    assert!(before.is_some());
    w.store.begin_anew().unwrap();
    w.apply(&[change(record(0), vec![call("a", 1_000_000)])]);
    assert_eq!(cost(&w), before);
    assert!(!w.price(book(&[])));
}
