//! S3 and S7: each call counts once, for its owner, whatever was read in which order and how often.
//!
//! The store keeps its sums by differences; the model here computes them anew from all that was ever given, and prices
//! each call by itself (M6).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use agenthub_core::{
    AtSource, CallKey, CallKind, Model, Sighting, Stamp, Time, Tokens,
    price::{Book, Cost, LongPrompts, Own, PriceTable, Rate, Rates, Row, Usd},
};
use agenthub_store::{By, Change, Filter, Lineage, Sort, Sum, Used};
use proptest::{collection::vec, option, prelude::*};
use rusqlite::Connection;

use crate::world::{World, at, call, change, id, record, rows};

const SESSIONS: usize = 6;

#[derive(Clone, Debug)]
enum Op {
    Apply(Vec<Change>),
    Delete(BTreeSet<usize>),
    /// From now on calls cost by another book; costs of so many sessions are made anew at once.
    Price(usize, u32),
    /// And of so many more.
    Reprice(u32),
    /// All files have been read once: from now on sums are rolled up.
    RollUp,
    Restart,
}

fn tokens() -> impl Strategy<Value = Tokens> {
    // Prompts of a few tokens, and some about the bounds above which other rates hold.
    let input = prop_oneof![4 => 0..50u64, 1 => 95_000..105_000u64, 1 => 195_000..205_000u64];
    (input, 0..50u64, 0..50u64, 0..3u64, 0..20u64).prop_map(
        |(input, output, cache_read, cache_write, thinking)| Tokens {
            input,
            output,
            cache_read,
            cache_write,
            thinking,
        },
    )
}

fn sighting() -> impl Strategy<Value = Sighting> {
    // Within an hour, within some days, and years apart.
    let seconds = prop_oneof![4 => 0..4_000i64, 3 => 0..400_000i64, 1 => -90_000_000..90_000_000i64];
    let stamp = (0..4usize, seconds).prop_map(|(s, t)| Stamp {
        source: [AtSource::Request, AtSource::Step, AtSource::Transcript, AtSource::File][s],
        at: at(t),
    });
    let model = (0..2i32, option::of("gemini-[abc]"), option::of("[XY]"))
        .prop_map(|(number, id, label)| Model { number: number * 1_016, id, label });
    (0..8usize, any::<bool>(), model, option::weighted(0.8, tokens()), option::weighted(0.9, stamp)).prop_map(
        |(key, background, model, tokens, stamp)| Sighting {
            key: CallKey(format!("r{key}")),
            kind: if background { CallKind::Background } else { CallKind::Turn },
            model,
            tokens,
            stamp,
        },
    )
}

const BOOKS: usize = 4;

/// None; one with long prompts and a price that changes meanwhile; one by the person, who prices a placeholder; one with
/// gaps.
fn book(n: usize) -> Arc<Book> {
    let rates = |texts: [&str; 4]| {
        let [input, cache_read, cache_write, output] = texts.map(|t| Rate::parse_per_million(t).ok());
        Rates { input, cache_read, cache_write, output }
    };
    let table = |key: &str, texts: [&str; 4], long: &[(u64, [&str; 4])]| {
        let long = long.iter().map(|(above, texts)| LongPrompts { above: *above, rates: rates(*texts) });
        PriceTable::new([Row::new(key, "gemini", rates(texts), long.collect()).unwrap()])
    };
    let long: &[(u64, [&str; 4])] = &[(100_000, ["3", "0.5", "", "7"]), (200_000, ["4.5", "0.75", "2", "9"])];
    let a = table("gemini/gemini-a", ["1.25", "0.125", "", "5"], long);
    let later = table("gemini/gemini-a", ["0.7", "0.07", "1", "3"], &[]);
    let b = table("gemini-b", ["", "0.3", "", "2"], &[]);
    let changed = a.clone().followed_by(&later, Time::of_slot(at(1_800).slot()));
    let own = [
        ("gemini-a".to_owned(), Own::Rates(rates(["9", "", "", "0"]))),
        ("MODEL_PLACEHOLDER_M16".to_owned(), Own::Alias("gemini-b".to_owned())),
    ];
    Arc::new(match n {
        0 => Book::default(),
        1 => Book::new(changed, []),
        2 => Book::new(b.followed_by(&a, at(0)), own),
        _ => Book::new(b, []),
    })
}

fn lineage() -> impl Strategy<Value = Lineage> {
    (option::of(0..SESSIONS), option::of(0..3usize))
        .prop_map(|(c, t)| Lineage { conversation: c.map(id), trajectory: t.map(|t| format!("t{t}")) })
}

/// A read of one of few conversations, which share few calls: forks of each other, in circles too, known early or late.
fn read() -> impl Strategy<Value = Change> {
    (
        0..SESSIONS,
        option::weighted(0.4, lineage()),
        option::weighted(0.4, 0..3usize),
        (option::of(0..3i64), option::of(0..3i64), option::of(0..SESSIONS + 1), option::of(0..2usize)),
        vec(sighting(), 0..6),
    )
        .prop_map(|(n, fork, trajectory, (created, birth, parent, folder), sightings)| {
            let record = agenthub_store::SessionRecord {
                fork,
                trajectory: trajectory.map(|t| format!("t{t}")),
                created_at: created.map(at),
                birth_at: birth.map(at),
                parent: parent.map(id),
                cwd: folder.map(|f| format!("/w/{f}")),
                ..record(n)
            };
            change(record, sightings)
        })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => vec(read(), 1..4).prop_map(Op::Apply),
        1 => proptest::collection::btree_set(0..SESSIONS + 1, 0..3).prop_map(Op::Delete),
        2 => (0..BOOKS, 0..8u32).prop_map(|(n, portion)| Op::Price(n, portion)),
        1 => (1..4u32).prop_map(Op::Reprice),
        2 => Just(Op::RollUp),
        1 => Just(Op::Restart),
    ]
}

/// All that was ever given.
#[derive(Clone, Default)]
struct Given {
    sessions: BTreeMap<usize, Known>,
    deleted: BTreeSet<usize>,
    book: usize,
}

#[derive(Clone)]
struct Known {
    last: agenthub_store::SessionRecord,
    parent: Option<usize>,
    /// Its folder, once it has told one.
    cwd: Option<String>,
    calls: BTreeMap<String, Sighting>,
}

type Place = (usize, i64, (i32, String, String), bool);
type Sums = BTreeMap<Place, Sum>;

fn number(id: &agenthub_core::SessionId) -> usize {
    usize::from_str_radix(&id.as_str()[..8], 16).unwrap()
}

impl Given {
    fn add(&mut self, c: &Change) {
        let s = c.session.clone().unwrap();
        let n = number(&s.id);
        let known = self.sessions.entry(n).or_insert(Known {
            last: s.clone(),
            parent: None,
            cwd: None,
            calls: BTreeMap::new(),
        });
        known.cwd = s.cwd.clone().or(known.cwd.take());
        known.parent = s.parent.as_ref().map(number).or(known.parent);
        known.last = s;
        for seen in &c.sightings {
            let merged = match known.calls.remove(&seen.key.0) {
                Some(before) => before.merged(seen.clone()),
                None => seen.clone(),
            };
            known.calls.insert(seen.key.0.clone(), merged);
        }
    }

    /// created_at, birth_at and id, absent ones last.
    fn age(&self, n: usize) -> (i64, i64, usize) {
        let s = &self.sessions[&n].last;
        (s.created_at.map_or(i64::MAX, |t| t.micros()), s.birth_at.map_or(i64::MAX, |t| t.micros()), n)
    }

    fn origin(&self, n: usize) -> Option<usize> {
        let fork = self.sessions[&n].last.fork.as_ref()?;
        if let Some(named) = fork.conversation.as_ref().map(number).filter(|o| *o != n) {
            return self.sessions.contains_key(&named).then_some(named);
        }
        let copied = fork.trajectory.as_ref()?;
        let same = |o: &usize| *o != n && self.sessions[o].last.trajectory.as_ref() == Some(copied);
        self.sessions
            .keys()
            .copied()
            .filter(same)
            .min_by_key(|o| (self.sessions[o].last.fork.is_some(), self.age(*o)))
    }

    fn rank(&self, n: usize) -> (usize, (i64, i64, usize)) {
        let (mut depth, mut next) = (0, Some(n));
        while let Some(s) = next.filter(|s| self.sessions[s].last.fork.is_some() && depth < 64) {
            depth += 1;
            next = self.origin(s);
        }
        (depth, self.age(n))
    }

    fn sums(&self) -> Sums {
        let mut copies: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
        for (n, s) in &self.sessions {
            for key in s.calls.keys() {
                copies.entry(key).or_default().push(*n);
            }
        }
        let mut sums = Sums::new();
        for (key, holders) in copies {
            let owner = holders.iter().copied().min_by_key(|n| self.rank(*n)).unwrap();
            let one =
                holders.iter().map(|n| self.sessions[n].calls[key].clone()).reduce(Sighting::merged).unwrap();
            let one_model = one.model.clone();
            let model =
                (one.model.number, one.model.id.unwrap_or_default(), one.model.label.unwrap_or_default());
            let slot = one.stamp.map_or(0, |s| s.at.slot());
            let approximate = one.stamp.is_none_or(Stamp::approximate);
            let sum = sums.entry((owner, slot, model, approximate)).or_default();
            let tokens = one.tokens.unwrap_or_default();
            let priced = one.tokens.and_then(|t| {
                let at = one.stamp.map(|s| s.at);
                book(self.book).cost(&one_model, at, &t).map(|(cost, _)| cost)
            });
            *sum = sum.plus(Sum {
                calls: 1,
                unknown: u32::from(one.tokens.is_none()),
                tokens,
                priced: u32::from(priced.is_some()),
                cost: priced.unwrap_or(Cost::none(&tokens)),
            });
        }
        sums
    }

    fn hidden(&self, n: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = Some(n);
        while let Some(s) = next.filter(|s| seen.insert(*s)) {
            if self.deleted.contains(&s) {
                return true;
            }
            next = self.sessions.get(&s).and_then(|k| k.parent);
        }
        false
    }
}

fn sum_of<'a>(sums: impl IntoIterator<Item = &'a Sum>) -> Sum {
    sums.into_iter().fold(Sum::default(), |a, b| a.plus(*b))
}

/// Table `total`, by names.
fn stored_sums(conn: &Connection) -> Sums {
    let mut statement = conn
        .prepare(
            "SELECT s.id, slot, number, m.name, label, t.approximate, t.calls, t.unknown, t.input, t.output, t.cache_read,
                 t.cache_write, t.thinking, t.priced, t.unpriced, t.usd_large, t.usd_small, band FROM total AS t JOIN session AS s USING (sid) JOIN model AS m USING (mid)",
        )
        .unwrap();
    let mut sums = Sums::new();
    let mut bands = BTreeSet::new();
    let mut rows = statement.query([]).unwrap();
    while let Some(r) = rows.next().unwrap() {
        let id = agenthub_core::SessionId::parse(&r.get::<_, String>(0).unwrap()).unwrap();
        let place = (
            number(&id),
            r.get(1).unwrap(),
            (r.get(2).unwrap(), r.get(3).unwrap(), r.get(4).unwrap()),
            r.get(5).unwrap(),
        );
        let n = |i| u64::try_from(r.get::<_, i64>(i).unwrap()).unwrap();
        let sum = Sum {
            calls: r.get(6).unwrap(),
            unknown: r.get(7).unwrap(),
            tokens: Tokens {
                input: n(8),
                output: n(9),
                cache_read: n(10),
                cache_write: n(11),
                thinking: n(12),
            },
            priced: r.get(13).unwrap(),
            cost: Cost {
                unpriced_tokens: n(14),
                usd: Usd::from_parts(r.get(15).unwrap(), r.get(16).unwrap()),
            },
        };
        assert!(bands.insert((place.clone(), n(17))), "one row for the same names");
        let known: &mut Sum = sums.entry(place).or_default();
        *known = known.plus(sum);
    }
    sums
}

/// Rows by names, so that two stores that were filled in different order compare.
fn logical(conn: &Connection) -> Vec<Vec<Vec<rusqlite::types::Value>>> {
    vec![
        rows(
            conn,
            "SELECT tool, id, name, cwd, lane, search, parent, origin, origin_trajectory, trajectory, fork_depth, created_at,
                 birth_at, hidden, calls, unknown, input, output, cache_read, cache_write, thinking FROM session",
        ),
        rows(
            conn,
            "SELECT key, s.id, kind, number, m.name, label, usage, g.input, g.output, g.cache_read, g.cache_write,
                 g.thinking, at, at_source
             FROM sighting AS g JOIN session AS s USING (sid) JOIN model AS m USING (mid)",
        ),
    ]
}

/// The sums without what they cost.
fn unpriced(sums: &Sums) -> Sums {
    let without = |s: &Sum| Sum { priced: 0, cost: Cost::default(), ..*s };
    sums.iter().map(|(place, sum)| (place.clone(), without(sum))).collect()
}

fn check(w: &World, given: &Given) -> Result<(), TestCaseError> {
    let truth = given.sums();
    let sums = stored_sums(&w.sql());
    if w.store.is_repricing() {
        // Some cost by the old book and some by the new one; whichever way they are cut, they are the same (M6).
        prop_assert_eq!(unpriced(&sums), unpriced(&truth));
    } else {
        prop_assert_eq!(&sums, &truth);
    }
    let of = |keep: &dyn Fn(&Place) -> bool| sum_of(sums.iter().filter(|(p, _)| keep(p)).map(|(_, s)| s));
    let mut seen = Sum::default();
    for n in given.sessions.keys() {
        let row = w.store.session(&id(*n)).unwrap();
        prop_assert_eq!(row.is_none(), given.hidden(*n), "session {}", n);
        let Some(row) = row else { continue };
        prop_assert_eq!(row.sum, of(&|p| p.0 == *n), "session {}", n);
        let models = w.store.model_sums(&id(*n)).unwrap();
        prop_assert_eq!(sum_of(models.iter().map(|m| &m.sum)), row.sum);
        seen = seen.plus(row.sum);
    }
    // One header, whichever way it is cut (user-reports 20).
    let header = w.store.totals(&Filter::default()).unwrap();
    prop_assert_eq!(header.sum, seen);
    prop_assert_eq!(header.sum, of(&|p| !given.hidden(p.0)));
    for f in [Filter::default(), Filter { roots_only: true, ..Filter::default() }] {
        let rows = w.store.sessions(&f, Sort::Active, false, 0, 100).unwrap();
        let totals = w.store.totals(&f).unwrap();
        prop_assert_eq!(totals.sum, sum_of(rows.iter().map(|r| &r.sum)), "{:?}", &f);
        prop_assert_eq!(totals.sessions as usize, rows.len(), "{:?}", &f);
        prop_assert_eq!(w.store.count(&f).unwrap(), totals.sessions);
    }
    let start = at(0).slot();
    for (from, until) in [
        (i64::MIN, i64::MAX),
        (0, i64::MAX),
        (1, i64::MAX),
        (start, start + 3),
        (start - 5_000, start + 37),
        (start - 3, start + 400),
        (start + 1, start + 90_000),
        (i64::MIN, start + 2),
    ] {
        check_range(w, given, &sums, from, until)?;
    }
    for (n, known) in &given.sessions {
        let kept: Vec<Sighting> = known.calls.values().cloned().collect();
        prop_assert_eq!(w.store.sightings(&id(*n)).unwrap(), kept);
    }
    Ok(())
}

type Group = BTreeMap<String, (u32, Sum)>;

/// Every cut of a stretch of time is what its calls are.
fn check_range(w: &World, given: &Given, sums: &Sums, from: i64, until: i64) -> Result<(), TestCaseError> {
    let here: Vec<(&Place, &Sum)> =
        sums.iter().filter(|(p, _)| !given.hidden(p.0) && p.1 >= from && p.1 < until).collect();
    let grouped = |name: &dyn Fn(&Place) -> String| {
        let mut groups = Group::new();
        for (p, sum) in &here {
            let (approximate, all) = groups.entry(name(p)).or_default();
            *approximate += if p.3 { sum.calls } else { 0 };
            *all = all.plus(**sum);
        }
        groups
    };
    let named = |all: Vec<(String, Used)>| -> Group {
        all.into_iter().map(|(name, u)| (name, (u.approximate_calls, u.sum))).collect()
    };
    let by = |by: By, name: &dyn Fn(&Used) -> String| {
        named(w.store.usage(by, from, until).unwrap().into_iter().map(|u| (name(&u), u)).collect())
    };
    let model = |(number, id, label): &(i32, String, String)| format!("{number} {id} {label}");
    let model_of = |u: &Used| {
        model(&(
            u.model.number,
            u.model.id.clone().unwrap_or_default(),
            u.model.label.clone().unwrap_or_default(),
        ))
    };
    let what = format!("{from}..{until}");
    prop_assert_eq!(by(By::Model, &model_of), grouped(&|p| model(&p.2)), "models {}", &what);
    let folder = |p: &Place| format!("{:?}", given.sessions[&p.0].cwd);
    prop_assert_eq!(by(By::Project, &|u| format!("{:?}", u.cwd)), grouped(&folder), "projects {}", &what);
    let session = |u: &Used| u.session.clone().unwrap().0;
    let of_sessions = grouped(&|p| id(p.0).to_string());
    prop_assert_eq!(
        w.store.sessions_with_calls(from, until).unwrap() as usize,
        of_sessions.len(),
        "{}",
        &what
    );
    prop_assert_eq!(by(By::Session, &session), of_sessions, "sessions {}", &what);
    // Days that begin at any quarter of an hour, and calls whose time is not known.
    let day = |slot: i64| (slot != 0).then(|| (slot - 7).div_euclid(96));
    let days = w.store.usage_in(from, until, day).unwrap();
    let days = named(days.into_iter().map(|(day, u)| (format!("{day:?} {}", model_of(&u)), u)).collect());
    prop_assert_eq!(days, grouped(&|p| format!("{:?} {}", day(p.1), model(&p.2))), "days {}", &what);
    Ok(())
}

fn no_smaller(a: Sum, b: Sum) -> bool {
    let t = |s: Sum| {
        [s.tokens.input, s.tokens.output, s.tokens.cache_read, s.tokens.cache_write, s.tokens.thinking]
    };
    a.calls >= b.calls && t(a).iter().zip(t(b)).all(|(a, b)| *a >= b)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn s07_totals_are_those_of_all_that_was_ever_given(ops in vec(op(), 1..8)) {
        let mut w = World::new();
        let mut given = Given::default();
        let mut grand = Sum::default();
        for op in &ops {
            match op {
                Op::Apply(changes) => {
                    w.apply(changes);
                    changes.iter().for_each(|c| given.add(c));
                    let dump = w.dump();
                    w.apply(changes);
                    // The same bytes again: not a row is different (user-reports 17).
                    prop_assert_eq!(&w.dump(), &dump);
                }
                Op::Delete(which) => {
                    w.store.set_deleted(&which.iter().copied().map(id).collect::<Vec<_>>()).unwrap();
                    given.deleted.clone_from(which);
                }
                Op::Price(n, portion) => {
                    w.store.price_by(book(*n)).unwrap();
                    given.book = *n;
                    if *portion > 0 {
                        w.store.reprice(*portion).unwrap();
                    }
                }
                Op::Reprice(portion) => {
                    w.store.reprice(*portion).unwrap();
                }
                Op::RollUp => {
                    w.store.first_filling_done();
                    w.store.roll_up().unwrap();
                }
                Op::Restart => {
                    w.reopen();
                    w.store.price_by(book(given.book)).unwrap();
                }
            }
            check(&w, &given)?;
            // By one book, for another one may be cheaper.
            let now = sum_of(Given { book: 0, ..given.clone() }.sums().values());
            prop_assert!(no_smaller(now, grand), "the grand total shrank");
            grand = now;
        }
    }

    #[test]
    fn s07_the_order_of_files_does_not_matter(
        reads in vec(read(), 1..12), keys in vec(any::<u32>(), 12), batch in 1..5usize,
    ) {
        let mut one = World::new();
        for c in &reads {
            one.apply(std::slice::from_ref(c));
        }
        // Any order of the files; each file's own reads stay in theirs, for its newest record holds.
        let mut order: Vec<usize> = (0..reads.len()).collect();
        order.sort_by_key(|i| keys[*i]);
        let mut queues: BTreeMap<usize, std::collections::VecDeque<&Change>> = BTreeMap::new();
        let of = |c: &Change| number(&c.conversation.id);
        for c in &reads {
            queues.entry(of(c)).or_default().push_back(c);
        }
        let shuffled: Vec<Change> =
            order.iter().map(|i| queues.get_mut(&of(&reads[*i])).unwrap().pop_front().unwrap().clone()).collect();
        let mut other = World::new();
        for c in shuffled.chunks(batch) {
            other.apply(c);
        }
        prop_assert_eq!(logical(&other.sql()), logical(&one.sql()));
        prop_assert_eq!(stored_sums(&other.sql()), stored_sums(&one.sql()));
    }
}

#[test]
fn s03_a_fork_counts_only_what_is_its_own() {
    let fork = || agenthub_store::SessionRecord {
        fork: Some(Lineage { conversation: Some(id(0)), trajectory: None }),
        // Copied steps keep their old times, and a fork's file may look older.
        created_at: Some(at(1)),
        birth_at: Some(at(1)),
        ..record(1)
    };
    let origin =
        || agenthub_store::SessionRecord { created_at: Some(at(100)), birth_at: Some(at(100)), ..record(0) };
    let copied = vec![call("a", 100), call("b", 30)];
    let own = [copied.clone(), vec![call("c", 7)]].concat();
    // Read in either order.
    for fork_first in [false, true] {
        let mut w = World::new();
        let mut both = [change(origin(), copied.clone()), change(fork(), own.clone())];
        if fork_first {
            both.reverse();
        }
        for c in &both {
            w.apply(std::slice::from_ref(c));
        }
        assert_eq!(w.inputs(2), [130, 7]);
        // The origin's file is slimmed, rewound, gone: the numbers stay.
        w.apply(&[change(origin(), vec![])]);
        w.store.set_file_gone(agenthub_core::Tool::Antigravity, &[id(0)], true).unwrap();
        assert_eq!(w.inputs(2), [130, 7]);
        assert!(w.store.session(&id(0)).unwrap().unwrap().file_gone);
        assert_eq!(w.store.forks(&id(0)).unwrap(), [(id(1), None)]);
    }
}

#[test]
fn s03_an_origin_that_turns_up_late_takes_its_calls() {
    let fork = agenthub_store::SessionRecord {
        fork: Some(Lineage { conversation: None, trajectory: Some("t".into()) }),
        created_at: Some(at(1)),
        ..record(1)
    };
    let fork_of_fork = agenthub_store::SessionRecord {
        fork: Some(Lineage { conversation: Some(id(1)), trajectory: None }),
        created_at: Some(at(0)),
        ..record(2)
    };
    let mut w = World::new();
    w.apply(&[change(fork_of_fork, vec![call("a", 100), call("b", 30), call("c", 7)])]);
    w.apply(&[change(fork, vec![call("a", 100), call("b", 30)])]);
    assert_eq!(w.inputs(3), [0, 130, 7]);
    let origin = agenthub_store::SessionRecord { trajectory: Some("t".into()), ..record(0) };
    w.apply(&[change(origin, vec![call("a", 100)])]);
    assert_eq!(w.inputs(3), [100, 30, 7]);
    assert_eq!(w.store.session(&id(1)).unwrap().unwrap().forked_from, Some(id(0).to_string()));
}

#[test]
fn s03_a_circle_of_forks_comes_to_rest() {
    let of = |n: usize, origin: usize| agenthub_store::SessionRecord {
        fork: Some(Lineage { conversation: Some(id(origin)), trajectory: None }),
        created_at: Some(at(10 - i64::try_from(n).unwrap())),
        ..record(n)
    };
    let all = [
        change(of(0, 1), vec![call("a", 1)]),
        change(of(1, 0), vec![call("a", 1)]),
        change(of(2, 2), vec![call("b", 5)]),
    ];
    let mut w = World::new();
    w.apply(&all);
    let dump = w.dump();
    for _ in 0..3 {
        w.apply(&all);
    }
    assert_eq!(w.dump(), dump);
    assert_eq!(w.inputs(3), [0, 1, 5]);
}

#[test]
fn s04_unknown_usage_is_counted_and_is_not_zero() {
    let mut w = World::new();
    let unknown = Sighting { tokens: None, ..call("a", 0) };
    w.apply(&[change(record(0), vec![unknown.clone(), call("b", 5)])]);
    let sum = w.store.session(&id(0)).unwrap().unwrap().sum;
    assert_eq!((sum.calls, sum.unknown, sum.tokens.input), (2, 1, 5));
    assert!(w.store.sightings(&id(0)).unwrap().contains(&unknown));
    // agy writes its numbers later: they are known then, and stay.
    w.apply(&[change(record(0), vec![call("a", 9)])]);
    w.apply(&[change(record(0), vec![unknown])]);
    let sum = w.store.session(&id(0)).unwrap().unwrap().sum;
    assert_eq!((sum.calls, sum.unknown, sum.tokens.input), (2, 0, 14));
}

#[test]
fn u21_a_continued_session_adds_only_its_new_calls() {
    let mut w = World::new();
    w.apply(&[change(record(0), vec![call("a", 100)])]);
    w.apply(&[change(record(0), vec![call("a", 100), call("b", 10)])]);
    w.reopen();
    w.apply(&[change(record(0), vec![call("b", 10), call("c", 1)])]);
    assert_eq!(w.inputs(1), [111]);
}
