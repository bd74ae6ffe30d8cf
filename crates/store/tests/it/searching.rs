//! A search finds sub-agents, too, and says so by what they stand inside of (S11); the foot of the list stays what is listed
//! and what is inside that (M6).

use std::collections::{BTreeMap, BTreeSet};

use agenthub_store::{Filter, Page, SessionRecord, Sort, Sum};
use proptest::{collection::vec, option, prelude::*};

use crate::world::{World, at, call, change, id, record};

fn session(n: usize, parent: Option<usize>, name: &str) -> SessionRecord {
    let started = Some(at(i64::try_from(n).unwrap()));
    let model = Some(if n.is_multiple_of(2) { "even" } else { "odd" }.to_owned());
    let lane = format!("antigravity:/w/{}", n % 3);
    SessionRecord {
        name: Some(name.to_owned()),
        parent: parent.map(id),
        started_at: started,
        last_activity: started,
        model,
        lane,
        ..record(n)
    }
}

fn number(id: &agenthub_core::SessionId) -> usize {
    usize::from_str_radix(&id.as_str()[..8], 16).unwrap()
}

fn numbers(page: &Page) -> Vec<usize> {
    page.rows.iter().map(|r| number(&r.id)).collect()
}

fn searched(words: &str) -> Filter {
    Filter { search: Some(words.to_owned()), roots_only: true, ..Filter::default() }
}

fn page(w: &World, f: &Filter) -> Page {
    w.store.page(f, Sort::Started, true, 0, 100).unwrap()
}

/// Of each row that is there for what is inside it: how many were found, and what explains it.
fn inside(page: &Page) -> Vec<(usize, u32, Vec<usize>)> {
    let one = |i: &agenthub_store::FoundInside| {
        (number(&i.session), i.found, i.rows.iter().map(|r| number(&r.id)).collect())
    };
    page.inside.iter().map(one).collect()
}

/// 0 started 1 and 2, 2 started 3, 3 started 4; 5 stands alone; 6 was started by one that is not here, and started 7.
fn world() -> World {
    let mut w = World::new();
    let all = [
        (0, None, "Fix the parser"),
        (1, Some(0), "Reader of docs"),
        (2, Some(0), "Reviewer"),
        (3, Some(2), "Tester"),
        (4, Some(3), "Reader of tests"),
        (5, None, "Tester of patience"),
        (6, Some(99), "Orphan"),
        (7, Some(6), "Tester of orphans"),
    ];
    let changes = all.map(|(n, parent, name)| {
        change(session(n, parent, name), vec![call(&format!("r{n}"), 10_u64.pow(u32::try_from(n).unwrap()))])
    });
    w.apply(&changes);
    w
}

#[test]
fn s11_a_sub_agent_is_found_inside_what_it_was_started_by() {
    let w = world();
    for (words, listed, explained) in [
        // By its name, at any depth, with what stands between.
        ("reader", vec![0], vec![(0, 2, vec![1, 2, 3, 4])]),
        ("READER OF T", vec![0], vec![(0, 1, vec![2, 3, 4])]),
        ("reviewer", vec![0], vec![(0, 1, vec![2])]),
        // By its id, and by how that begins.
        (id(4).as_str(), vec![0], vec![(0, 1, vec![2, 3, 4])]),
        ("00000001-", vec![0], vec![(0, 1, vec![1])]),
        // What is found itself needs no explanation.
        ("tester", vec![0, 5, 6], vec![(0, 1, vec![2, 3]), (6, 1, vec![7])]),
        ("e", vec![0, 5, 6], vec![(6, 1, vec![7])]),
        ("-4000-", vec![0, 5, 6], vec![]),
        ("orphan", vec![6], vec![]),
        ("parser", vec![0], vec![]),
        ("nobody", vec![], vec![]),
    ] {
        let page = page(&w, &searched(words));
        assert_eq!((numbers(&page), inside(&page)), (listed, explained), "{words:?}");
        // Whoever asks for all, flat, gets those that match themselves.
        let flat =
            w.store.sessions(&Filter { roots_only: false, ..searched(words) }, Sort::Started, true, 0, 9);
        assert!(flat.unwrap().iter().all(|r| {
            let text = format!("{}\n{}", r.name.as_deref().unwrap_or_default(), r.id);
            text.to_lowercase().contains(&words.to_lowercase())
        }));
    }
    let foot = page(&w, &searched("tests"));
    assert_eq!((foot.sessions, foot.subagents, foot.sum.tokens.input), (1, 4, 11_111), "the whole of it");
}

#[test]
fn s11_filters_hold_for_what_is_listed_and_deleted_ones_are_not_found() {
    let mut w = world();
    let odd = Filter { model: Some("odd".into()), ..searched("tester") };
    assert_eq!(numbers(&page(&w, &odd)), [5], "0 and 6 are even, what was found inside them is not");
    let lane = Filter { lane: Some("antigravity:/w/0".into()), ..searched("reader") };
    assert_eq!(numbers(&page(&w, &lane)), [0]);
    let since = Filter { since: Some(at(1)), ..searched("tester") };
    assert_eq!(numbers(&page(&w, &since)), [5, 6]);
    let ids = Filter { ids: Some(vec![id(0), id(4), id(5)]), ..searched("tester") };
    assert_eq!(numbers(&page(&w, &ids)), [0, 5]);
    let not = Filter { not_ids: Some(vec![id(0)]), ..searched("tester") };
    assert_eq!(numbers(&page(&w, &not)), [5, 6]);
    let below = Filter { parent: Some(id(2)), roots_only: false, ..searched("reader") };
    assert_eq!(numbers(&page(&w, &below)), [], "of what one started, only those that match");
    w.store.set_deleted(&[id(3)]).unwrap();
    assert_eq!(inside(&page(&w, &searched("reader"))), [(0, 1, vec![1])]);
    w.store.set_deleted(&[id(1), id(3)]).unwrap();
    assert_eq!(numbers(&page(&w, &searched("reader"))), []);
}

#[test]
fn s11_many_that_were_found_are_counted_and_the_first_are_there() {
    let mut w = World::new();
    let mut all: Vec<_> = (0..100).map(|n| change(session(n, None, "Root"), vec![])).collect();
    all.extend((100..800).map(|n| change(session(n, Some(n % 100), "Reader"), vec![])));
    w.apply(&all);
    let many = page(&w, &searched("reader"));
    assert_eq!(numbers(&many), (0..100).collect::<Vec<_>>());
    for (n, i) in inside(&many).into_iter().enumerate() {
        assert_eq!(i, (n, 7, (1..=5).map(|k| n + 100 * k).collect()));
    }
    let one = Filter { ids: Some(vec![id(42)]), ..searched("reader") };
    assert_eq!(inside(&page(&w, &one)), [(42, 7, (1..=7).map(|k| 42 + 100 * k).collect())]);
}

#[test]
fn s11_sessions_that_name_each_other_end_a_search() {
    let mut w = World::new();
    w.apply(&[
        change(session(0, Some(1), "Reader"), vec![]),
        change(session(1, Some(0), "Reader"), vec![]),
        change(session(2, Some(1), "Reader"), vec![]),
        change(session(3, Some(3), "Reader"), vec![]),
        change(session(4, None, "Reader"), vec![]),
    ]);
    assert_eq!(numbers(&page(&w, &searched("reader"))), [4], "as in the list without words");
}

#[test]
fn q03_a_store_from_before_lists_were_put_together_has_the_same_lists() {
    let mut w = world();
    let seen = |w: &World| {
        let filters = [
            searched("reader"),
            searched("e"),
            Filter { model: Some("odd".into()), ..searched("tester") },
            Filter { lane: Some("antigravity:/w/0".into()), search: None, ..searched("") },
        ];
        let pages = filters.map(|f| {
            let page = page(w, &f);
            (numbers(&page), inside(&page), page.sum)
        });
        (pages, w.store.choices().unwrap())
    };
    let before = seen(&w);
    // As it was at format 6.
    w.sql()
        .execute_batch(
            "DROP INDEX IF EXISTS session_words; DROP INDEX IF EXISTS session_own_sums; DROP INDEX IF EXISTS session_above;
             DROP INDEX IF EXISTS session_lane; DROP INDEX session_model;
             CREATE INDEX session_model ON session (model, last_activity DESC, id, parent) WHERE hidden = 0;
             CREATE INDEX session_lane ON session (lane, last_activity DESC, id, parent) WHERE hidden = 0;
             CREATE INDEX session_find ON session (hidden, search, parent, lane, model, last_activity, id, calls);
             CREATE INDEX session_below ON session (parent, calls) WHERE parent IS NOT NULL AND hidden = 0;
             PRAGMA user_version = 6;",
        )
        .unwrap();
    w.reopen();
    assert_eq!(seen(&w), before);
    let kept = |name: &str| {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?1";
        w.sql().query_row(sql, [name], |r| r.get::<_, u32>(0)).unwrap()
    };
    let names = [
        "session_find",
        "session_below",
        "session_words",
        "session_own_sums",
        "session_above",
        "session_lane",
    ];
    assert_eq!(names.map(kept), [0, 0, 1, 1, 1, 1]);
}

/// Sessions of which each was started by none, by another, or by one that is not here. Whoever started one comes before it.
fn forest() -> impl Strategy<Value = Vec<(Option<usize>, String)>> {
    vec((option::weighted(0.7, 0..50usize), "[xyz]{1,3}"), 1..40).prop_map(|all| {
        let above = |n: usize, p: usize| if p.is_multiple_of(7) { 900 + p } else { p % n.max(1) };
        all.into_iter()
            .enumerate()
            .map(|(n, (parent, name))| (parent.map(|p| above(n, p)).filter(|p| *p != n), name))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Against a plain model: what is listed, in order, what is summed, and why.
    #[test]
    fn s11_m6_a_search_lists_and_sums_whole_trees(
        all in forest(),
        deleted in vec(0..40usize, 0..3),
        words in prop_oneof![Just(String::new()), "[xyz]{1,2}", Just("w".to_owned())],
        left_out in option::of(vec(0..40usize, 0..4)),
        named in option::weighted(0.3, vec(0..40usize, 0..9)),
        model in option::weighted(0.3, Just("odd".to_owned())),
        rolled_up in any::<bool>(),
    ) {
        let mut w = World::new();
        let changes: Vec<_> = all.iter().enumerate().map(|(n, (parent, name))| {
            change(session(n, *parent, name), vec![call(&format!("r{n}"), 1 << n)])
        }).collect();
        w.apply(&changes);
        w.store.set_deleted(&deleted.iter().map(|n| id(*n)).collect::<Vec<_>>()).unwrap();
        if rolled_up {
            w.store.first_filling_done();
            w.store.roll_up().unwrap();
        }

        let parent = |n: usize| all[n].0.filter(|p| *p < all.len());
        let way = |n: usize| std::iter::successors(Some(n), |n| parent(*n)).collect::<Vec<_>>();
        let is_here = |n: usize| !way(n).iter().any(|n| deleted.contains(n));
        let has_words = |n: usize| all[n].1.contains(&words);
        let mut trees: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for n in (0..all.len()).filter(|n| is_here(*n)) {
            trees.entry(*way(n).last().unwrap()).or_default().push(n);
        }
        trees.retain(|root, tree| {
            tree.iter().any(|n| has_words(*n))
                && !left_out.as_ref().is_some_and(|ids| ids.contains(root))
                && named.as_ref().is_none_or(|ids| ids.contains(root))
                && (model.is_none() || root % 2 == 1)
        });
        let ids = |ns: &Vec<usize>| ns.iter().map(|n| id(*n)).collect::<Vec<_>>();
        let f = Filter {
            search: Some(words.clone()),
            model,
            ids: named.as_ref().map(ids),
            not_ids: left_out.as_ref().map(ids),
            roots_only: true,
            ..Filter::default()
        };

        let page = w.store.page(&f, Sort::Started, true, 0, 100).unwrap();
        prop_assert_eq!(numbers(&page), trees.keys().copied().collect::<Vec<_>>());
        let summed: BTreeSet<usize> = trees.values().flatten().copied().collect();
        prop_assert_eq!(page.sum.tokens.input, summed.iter().map(|n| 1_u64 << n).sum::<u64>());
        prop_assert_eq!((page.sessions + page.subagents) as usize, summed.len());
        // The same by every other way to ask.
        let (listed, below) = (w.store.totals(&f).unwrap(), w.store.totals_below(&f).unwrap());
        prop_assert_eq!((page.sessions, page.subagents), (listed.sessions, below.sessions));
        prop_assert_eq!(page.sum, listed.sum.plus(below.sum));
        prop_assert_eq!(w.store.count(&f).unwrap(), page.sessions);
        prop_assert_eq!(&w.store.sessions(&f, Sort::Started, true, 0, 100).unwrap(), &page.rows);
        let each = page.rows.iter().map(|r| {
            let one = Filter { ids: Some(vec![r.id.clone()]), ..Filter::default() };
            r.sum.plus(w.store.totals_below(&one).unwrap().sum)
        });
        prop_assert_eq!(each.fold(Sum::default(), Sum::plus), page.sum);
        // A row that has not the words itself shows who has, and how that hangs below it.
        let explained = inside(&page);
        let unfound: Vec<usize> = trees.keys().copied().filter(|n| !has_words(*n)).collect();
        prop_assert_eq!(explained.iter().map(|e| e.0).collect::<Vec<_>>(), unfound);
        for (root, found, rows) in explained {
            let hits: Vec<usize> = trees[&root].iter().copied().filter(|n| has_words(*n)).collect();
            prop_assert_eq!(found as usize, hits.len());
            let ways: BTreeSet<usize> = hits.iter().flat_map(|n| way(*n)).filter(|n| *n != root).collect();
            prop_assert_eq!(rows, ways.into_iter().collect::<Vec<_>>());
        }
    }
}

/// Beyond the numbers that are looked up one by one: the orders, the pages and the sums are those of few.
#[test]
fn many_that_are_found_come_in_order_and_in_pages_and_sum_to_what_they_are() {
    let mut w = World::new();
    let name = |n: usize| format!("{} {:04}", ["ash", "birch", "cedar"][n % 3], (n * 7919) % 6_000);
    let all: Vec<_> = (0..6_000_usize)
        .map(|n| {
            let parent = (n % 4 == 3).then(|| n - 1);
            change(session(n, parent, &name(n)), vec![call(&format!("r{n}"), 1 + (n as u64 * 31) % 977)])
        })
        .collect();
    w.apply(&all);
    for rolled_up in [false, true] {
        if rolled_up {
            w.store.first_filling_done();
            w.store.roll_up().unwrap();
        }
        for words in ["birch", "-4000-", "birch 00"] {
            let f = searched(words);
            let of = |n: usize| name(n).contains(words) || words == "-4000-";
            let mut wanted: BTreeSet<usize> = BTreeSet::new();
            for n in (0..6_000).filter(|n| of(*n)) {
                wanted.insert(if n % 4 == 3 { n - 1 } else { n });
            }
            for (sort, ascending) in [
                (Sort::Started, true),
                (Sort::Name, true),
                (Sort::Name, false),
                (Sort::Tokens, false),
                (Sort::Tokens, true),
            ] {
                let mut met = Vec::new();
                loop {
                    let page =
                        w.store.page(&f, sort, ascending, u32::try_from(met.len()).unwrap(), 450).unwrap();
                    assert_eq!(page.sessions as usize, wanted.len(), "{words}");
                    let inside: Vec<usize> = wanted.iter().filter(|n| *n % 4 == 2).map(|n| n + 1).collect();
                    assert_eq!(page.subagents as usize, inside.len());
                    let input = wanted.iter().chain(&inside).map(|n| 1 + (*n as u64 * 31) % 977).sum::<u64>();
                    assert_eq!(page.sum.tokens.input, input);
                    if page.rows.is_empty() {
                        break;
                    }
                    met.extend(page.rows);
                }
                let seen: BTreeSet<usize> = met.iter().map(|r| number(&r.id)).collect();
                assert_eq!((seen.len(), &seen), (met.len(), &wanted), "{words}: each once");
                let key = |r: &agenthub_store::SessionRow| match sort {
                    Sort::Name => (0, r.name.clone().unwrap(), r.id.clone()),
                    Sort::Tokens => (r.sum.tokens.total(), String::new(), r.id.clone()),
                    _ => (0, String::new(), r.id.clone()),
                };
                let keys: Vec<_> = met.iter().map(key).collect();
                let is_sorted = keys.windows(2).all(|two| {
                    let (a, b) = (&two[0], &two[1]);
                    let by = (a.0, &a.1).cmp(&(b.0, &b.1));
                    let by = if ascending { by } else { by.reverse() };
                    by.then(a.2.cmp(&b.2)).is_lt()
                });
                assert!(is_sorted, "{words} by {sort:?}, {ascending}");
            }
        }
    }
}

/// macOS names folders with letters and marks apart; keyboards type them together.
#[test]
fn s11_a_letter_is_found_however_its_marks_are_written() {
    let mut w = World::new();
    let names = ["Caf\u{e9} menu", "Cafe\u{301} bill", "CAF\u{c9} CHAIRS", "Coffee"];
    w.apply(
        &names.iter().enumerate().map(|(n, name)| change(session(n, None, name), vec![])).collect::<Vec<_>>(),
    );
    for words in ["caf\u{e9}", "cafe\u{301}", "CAF\u{c9}", "CAFE\u{301}"] {
        assert_eq!(numbers(&page(&w, &searched(words))), [0, 1, 2], "{words}");
    }
    // A store of an older format is folded anew when it is opened.
    w.sql()
        .execute_batch(
            "UPDATE session SET search = replace(search, 'caf\u{e9} bill', 'cafe\u{301} bill'); PRAGMA user_version = 8;",
        )
        .unwrap();
    assert_eq!(numbers(&page(&w, &searched("caf\u{e9}"))), [0, 2]);
    w.reopen();
    assert_eq!(numbers(&page(&w, &searched("caf\u{e9}"))), [0, 1, 2]);
}
