//! Lists: filters, search, order, pages.

use agenthub_store::{Filter, Page, SessionRecord, Sort, Store};

use crate::world::{World, at, call, change, id, record};

fn numbered(w: &World, f: &Filter, sort: Sort, ascending: bool) -> Vec<usize> {
    let rows = w.store.sessions(f, sort, ascending, 0, 1_000).unwrap();
    let numbers: Vec<usize> =
        rows.iter().map(|s| usize::from_str_radix(&s.id.as_str()[..8], 16).unwrap()).collect();
    let page = w.store.page(f, sort, ascending, 0, 1_000).unwrap();
    assert_eq!(page.rows, rows);
    agrees(&w.store, f, &page);
    // The header counts what is listed, neither more nor less.
    let totals = w.store.totals(f).unwrap();
    assert_eq!(totals.sessions as usize, numbers.len());
    assert_eq!(w.store.count(f).unwrap(), totals.sessions);
    assert_eq!(totals.sum.tokens.input, rows.iter().map(|r| r.sum.tokens.input).sum::<u64>());
    numbers
}

/// A page's foot is what is listed, and what is inside it.
fn agrees(store: &Store, f: &Filter, page: &Page) {
    let (listed, inside) = (store.totals(f).unwrap(), store.totals_below(f).unwrap());
    assert_eq!((page.sessions, page.subagents), (listed.sessions, inside.sessions), "{f:?}");
    assert_eq!(page.sum, listed.sum.plus(inside.sum), "{f:?}");
}

fn few() -> World {
    let mut w = World::new();
    let s = |n: usize, name: &str, folder: Option<&str>, active: Option<i64>, tokens: u64| {
        let r = SessionRecord {
            name: (!name.is_empty()).then(|| name.to_owned()),
            cwd: folder.map(str::to_owned),
            lane: folder.map_or_else(|| format!("antigravity#{}", id(n)), |f| format!("antigravity:{f}")),
            model: Some(if n.is_multiple_of(2) { "gemini-3.1-pro" } else { "gemini-3.7-flash" }.into()),
            started_at: active.map(|t| at(t - 100 * i64::try_from(n).unwrap())),
            last_activity: active.map(at),
            ..record(n)
        };
        change(r, vec![call(&format!("r{n}"), tokens)])
    };
    w.apply(&[
        s(0, "Fix the Parser", Some("/w/api"), Some(10), 5),
        s(1, "fix 100% of it", Some("/w/api"), Some(30), 900),
        s(2, "Überprüfe die Straße", Some("/w/Größe"), Some(20), 50),
        s(3, "it's a \"quoted\" name_x", None, None, 1),
        s(4, "修复解析器", Some("C:\\Users\\Ünal\\api"), Some(40), 700),
        s(5, "", Some("/w/api"), Some(40), 0),
    ]);
    w.apply(&[change(
        SessionRecord { parent: Some(id(0)), last_activity: Some(at(5)), ..record(6) },
        vec![],
    )]);
    w.apply(&[change(
        SessionRecord { parent: Some(id(99)), last_activity: Some(at(4)), ..record(7) },
        vec![],
    )]);
    w
}

#[test]
fn lists_are_searched_by_what_a_person_reads() {
    let w = few();
    for (search, found) in [
        ("parser", vec![0]),
        ("PARSER", vec![0]),
        ("  fix ", vec![0, 1]),
        ("%", vec![1]),
        ("100%", vec![1]),
        ("_", vec![3]),
        ("it's", vec![3]),
        ("\"QUOTED\"", vec![3]),
        ("überprüfe", vec![2]),
        ("ÜBERPRÜFE", vec![2]),
        ("straße", vec![2]),
        ("größe", vec![2]),
        ("解析", vec![4]),
        ("users\\ünal", vec![4]),
        ("/w/api", vec![0, 1, 5]),
        ("00000005-", vec![5]),
        ("'; DROP TABLE session; --", vec![]),
        ("nothing like it", vec![]),
        ("   ", vec![0, 1, 2, 3, 4, 5, 6, 7]),
        ("", vec![0, 1, 2, 3, 4, 5, 6, 7]),
    ] {
        let f = Filter { search: Some(search.into()), ..Filter::default() };
        let mut numbers = numbered(&w, &f, Sort::Active, false);
        numbers.sort_unstable();
        assert_eq!(numbers, found, "{search:?}");
    }
}

#[test]
fn lists_are_filtered() {
    let w = few();
    let all = Filter::default();
    for (f, found) in [
        (Filter { lane: Some("antigravity:/w/api".into()), ..all.clone() }, vec![0, 1, 5]),
        (Filter { model: Some("gemini-3.7-flash".into()), ..all.clone() }, vec![1, 3, 5]),
        (Filter { since: Some(at(30)), ..all.clone() }, vec![1, 4, 5]),
        (Filter { ids: Some(vec![id(4), id(2), id(77)]), ..all.clone() }, vec![2, 4]),
        (Filter { ids: Some(vec![]), ..all.clone() }, vec![]),
        (Filter { since: Some(at(30)), until: Some(at(30).plus_ms(1)), ..all.clone() }, vec![1]),
        (Filter { not_ids: Some(vec![id(4), id(2), id(77)]), ..all.clone() }, vec![0, 1, 3, 5, 6, 7]),
        (Filter { not_ids: Some(vec![]), ..all.clone() }, vec![0, 1, 2, 3, 4, 5, 6, 7]),
        (Filter { parent: Some(id(0)), ..all.clone() }, vec![6]),
        // A sub-agent whose parent is not listed stands for itself.
        (Filter { roots_only: true, ..all.clone() }, vec![0, 1, 2, 3, 4, 5, 7]),
        (
            Filter {
                search: Some("fix".into()),
                lane: Some("antigravity:/w/api".into()),
                model: Some("gemini-3.1-pro".into()),
                since: Some(at(1)),
                roots_only: true,
                ..all
            },
            vec![0],
        ),
    ] {
        let mut numbers = numbered(&w, &f, Sort::Active, false);
        numbers.sort_unstable();
        assert_eq!(numbers, found, "{f:?}");
    }
    let (models, lanes) = w.store.choices().unwrap();
    assert_eq!(models, ["gemini-3.1-pro", "gemini-3.7-flash"]);
    let lanes: Vec<String> = lanes.into_iter().map(|(lane, _)| lane).collect();
    assert_eq!(lanes, ["antigravity:/w/api", "antigravity:C:\\Users\\Ünal\\api", "antigravity:/w/Größe"]);
    assert_eq!(w.store.session(&id(0)).unwrap().unwrap().children, 1);
}

#[test]
fn s11_the_sums_of_a_list_can_have_what_is_inside_its_sessions() {
    let mut w = World::new();
    let s = |n: usize, parent: Option<usize>, folder: &str| {
        let lane = format!("antigravity:{folder}");
        let r = SessionRecord { parent: parent.map(id), lane, last_activity: Some(at(1)), ..record(n) };
        change(r, vec![call(&format!("r{n}"), 10_u64.pow(u32::try_from(n).unwrap()))])
    };
    // 0 started 1 and 2, 2 started 3; 4 stands alone; the parent of 5 was never seen; 6 and 7 name each other.
    w.apply(&[
        s(0, None, "/a"),
        s(1, Some(0), "/a"),
        s(2, Some(0), "/b"),
        s(3, Some(2), "/b"),
        s(4, None, "/b"),
        s(5, Some(99), "/b"),
        s(6, Some(7), "/c"),
        s(7, Some(6), "/c"),
    ]);
    let below = |w: &World, f: &Filter| {
        let t = w.store.totals_below(f).unwrap();
        (t.sessions, t.sum.tokens.input)
    };
    let roots = Filter { roots_only: true, ..Filter::default() };
    let lane = |l: &str| Filter { lane: Some(format!("antigravity:{l}")), ..roots.clone() };
    assert_eq!(below(&w, &roots), (3, 1_110));
    assert_eq!(below(&w, &lane("/a")), (3, 1_110), "wherever they worked");
    assert_eq!(below(&w, &lane("/b")), (0, 0), "what they started is inside another one");
    assert_eq!(below(&w, &lane("/c")), (0, 0));
    assert_eq!(below(&w, &Filter { parent: Some(id(0)), ..Filter::default() }), (1, 1_000));
    assert_eq!(below(&w, &Filter { parent: Some(id(6)), ..Filter::default() }), (1, 1_000_000));
    assert_eq!(below(&w, &Filter { ids: Some(vec![id(4), id(5)]), ..roots.clone() }), (0, 0));
    let ids = |ids: &[usize]| Filter { ids: Some(ids.iter().map(|n| id(*n)).collect()), ..Filter::default() };
    assert_eq!(below(&w, &ids(&[0])), (3, 1_110), "at any depth");
    assert_eq!(below(&w, &ids(&[6])), (1, 10_000_000), "not itself, although each is inside the other");
    assert_eq!(below(&w, &Filter::default()), (0, 0), "each is listed itself");

    // What was deleted is in no sum, with all below it.
    w.store.set_deleted(&[id(2)]).unwrap();
    assert_eq!(below(&w, &roots), (1, 10));
    assert_eq!(below(&w, &lane("/a")), (1, 10));

    // Sums that are kept say the same. Circles are broken before they get here.
    w.store.set_deleted(&[id(6), id(7)]).unwrap();
    w.store.first_filling_done();
    w.store.roll_up().unwrap();
    for left_out in [None, Some(vec![id(0)]), Some(vec![id(4), id(1)])] {
        let f = Filter { not_ids: left_out, ..roots.clone() };
        let page = w.store.page(&f, Sort::Active, false, 0, 10).unwrap();
        assert_eq!(page.sessions as usize, page.rows.len());
        agrees(&w.store, &f, &page);
    }
}

#[test]
fn s11_many_sessions_have_inside_them_what_each_has() {
    let mut w = World::new();
    // Beyond the number of sessions that are looked into one by one. Each third has a sub-agent, of a sub-agent now and then.
    let all: Vec<_> = (0..4_000_usize)
        .map(|n| {
            let parent = match n {
                ..3_000 => None,
                _ if n.is_multiple_of(5) && n > 3_100 => Some(n - 7),
                _ => Some(3 * (n - 3_000)),
            };
            let r = SessionRecord { parent: parent.map(id), last_activity: Some(at(1)), ..record(n) };
            change(r, vec![call(&format!("r{n}"), 1 + n as u64)])
        })
        .collect();
    w.apply(&all);
    w.store.set_deleted(&[id(3), id(3_050), id(3_200)]).unwrap();
    let roots = Filter { roots_only: true, ..Filter::default() };
    let listed = w.store.sessions(&roots, Sort::Active, false, 0, 5_000).unwrap();
    assert!(listed.len() > 2_000);
    let one_by_one = listed.iter().map(|s| {
        let f = Filter { ids: Some(vec![s.id.clone()]), ..Filter::default() };
        let below = w.store.totals_below(&f).unwrap();
        (u64::from(below.sessions), below.sum.tokens.input)
    });
    let sums = one_by_one.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let below = w.store.totals_below(&roots).unwrap();
    assert!(below.sessions > 900);
    assert_eq!((u64::from(below.sessions), below.sum.tokens.input), sums);
}

#[test]
fn lists_are_sorted_with_the_unknown_last() {
    let w = few();
    let all = Filter::default();
    assert_eq!(numbered(&w, &all, Sort::Active, false), [4, 5, 1, 2, 0, 6, 7, 3]);
    assert_eq!(numbered(&w, &all, Sort::Active, true), [7, 6, 0, 2, 1, 4, 5, 3]);
    assert_eq!(numbered(&w, &all, Sort::Started, false), [0, 1, 2, 4, 5, 3, 6, 7]);
    assert_eq!(numbered(&w, &all, Sort::Tokens, false), [1, 4, 2, 0, 3, 5, 6, 7]);
    assert_eq!(numbered(&w, &all, Sort::Name, true), [1, 0, 3, 2, 4, 5, 6, 7]);
}

#[test]
fn pages_cover_the_list_without_a_gap_or_a_repeat() {
    let mut w = World::new();
    // Many ties.
    let all: Vec<_> = (0..97)
        .map(|n| {
            change(
                SessionRecord { last_activity: Some(at(i64::try_from(n % 4).unwrap())), ..record(n) },
                vec![],
            )
        })
        .collect();
    w.apply(&all);
    // And some of which nothing is known, and one that is left out.
    w.apply(&[(97, None), (98, None), (99, Some(id(0)))].map(|(n, parent)| {
        change(
            SessionRecord { name: None, last_activity: None, started_at: None, parent, ..record(n) },
            vec![],
        )
    }));
    w.store.first_filling_done();
    let roots = Filter { roots_only: true, ..Filter::default() };
    let roots_without = Filter { not_ids: Some(vec![id(3), id(50)]), ..roots.clone() };
    for sort in [Sort::Active, Sort::Started, Sort::Name, Sort::Tokens, Sort::Cost] {
        for ascending in [false, true] {
            for (f, count) in [(&Filter::default(), 100), (&roots, 99), (&roots_without, 97)] {
                let whole = w.store.sessions(f, sort, ascending, 0, 1_000).unwrap();
                assert_eq!(whole.len(), count);
                for size in [1, 10, 64] {
                    let starts = || (0..100).step_by(size);
                    let size = u32::try_from(size).unwrap();
                    let from = |n| u32::try_from(n).unwrap();
                    let rows = |n| w.store.sessions(f, sort, ascending, from(n), size).unwrap();
                    assert_eq!(starts().flat_map(rows).collect::<Vec<_>>(), whole);
                    // The screen's pages are counted from the nearer end.
                    let page = |n| w.store.page(f, sort, ascending, from(n), size).unwrap().rows;
                    assert_eq!(starts().flat_map(page).collect::<Vec<_>>(), whole, "{sort:?} {ascending}");
                }
                for behind in [97, 98, 99, 100, 101, u32::MAX] {
                    let rows = w.store.page(f, sort, ascending, behind, 10).unwrap().rows;
                    assert_eq!(rows, whole.get(behind as usize..).unwrap_or_default());
                }
            }
        }
    }
    assert_eq!(w.store.sessions(&Filter::default(), Sort::Active, false, 100, 10).unwrap(), []);
}

#[test]
fn recent_ones_are_those_that_may_stand_on_the_board() {
    let mut w = World::new();
    let s = |n: usize, active: i64, error: Option<i64>| {
        change(
            SessionRecord { last_activity: Some(at(active)), error_at: error.map(at), ..record(n) },
            vec![],
        )
    };
    w.apply(&[s(0, 100, None), s(1, 10, None), s(2, 10, Some(10)), s(3, 10, Some(1)), s(4, 10, None)]);
    let recent = |since, errors, named: &[_]| w.store.recent(at(since), at(errors), named).unwrap();
    assert_eq!(recent(50, 50, &[]), [id(0)]);
    assert_eq!(recent(50, 5, &[id(4), id(0)]), [id(0), id(2), id(4)]);
}
