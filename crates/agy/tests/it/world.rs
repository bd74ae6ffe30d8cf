//! Against the simulated agy, which knows the right answers: worlds with every known trap.

use std::collections::{BTreeMap, HashMap};

use agenthub_agy::{Home, Index, ProblemCode, Read, calls, list, read};
use agenthub_core::{CallKey, SessionId, Sighting, Time, Tokens};

/// Everything that a scan of a home gives: the reads, and the problems of listing and reading.
pub(crate) struct Scan {
    pub(crate) reads: BTreeMap<SessionId, Read>,
    pub(crate) problems: Vec<(String, String)>,
}

pub(crate) fn scan(home: &Home) -> Scan {
    let listing = list(home);
    let index = Index::load(home);
    let mut problems: Vec<(String, String)> =
        listing.problems.iter().map(|p| (p.file.clone(), p.code.name().to_owned())).collect();
    let mut reads = BTreeMap::new();
    for e in &listing.entries {
        match read(home, e, None, Time::from_micros(1), &index) {
            Ok(r) => {
                reads.insert(e.id.clone(), r);
            }
            Err(err) => {
                assert!(err.is_verdict(), "{}: {err}", e.id);
                problems.push((format!("{}.db", e.id), err.code().name().to_owned()));
            }
        }
    }
    problems.sort();
    Scan { reads, problems }
}

pub(crate) fn home_of(sim: &agy_sim::Home) -> Home {
    Home::new(sim.root().to_owned())
}

/// What the store does with sightings of several files (spec S3): each key is one call, of its oldest owner.
fn owned(scan: &Scan) -> HashMap<SessionId, Vec<Sighting>> {
    let mut owners: HashMap<CallKey, (SessionId, Sighting)> = HashMap::new();
    let depth = |id: &SessionId| {
        std::iter::successors(Some(id.clone()), |id| {
            scan.reads.get(id)?.meta.forked_from.as_ref()?.conversation.clone()
        })
        .take(20)
        .count()
    };
    let rank = |id: &SessionId| (depth(id), scan.reads[id].meta.created_at, id.clone());
    for (id, r) in &scan.reads {
        for s in &r.sightings {
            let owner = owners.entry(s.key.clone()).or_insert_with(|| (id.clone(), s.clone()));
            owner.1 = owner.1.clone().merged(s.clone());
            if rank(id) < rank(&owner.0) {
                owner.0 = id.clone();
            }
        }
    }
    let mut out: HashMap<SessionId, Vec<Sighting>> = HashMap::new();
    for (id, s) in owners.into_values() {
        out.entry(id).or_default().push(s);
    }
    out
}

fn tokens(t: agy_sim::Tokens) -> Tokens {
    Tokens {
        input: t.input,
        output: t.output,
        cache_read: t.cache_read,
        cache_write: t.cache_write,
        thinking: t.thinking,
    }
}

#[test]
fn s03_a_world_with_every_trap_is_counted_right() {
    let sim = agy_sim::Home::temp().unwrap();
    let truth = agy_sim::build(&sim, &agy_sim::WorldSpec::new(20, 200).with_traps()).unwrap();
    let home = home_of(&sim);
    let scan = scan(&home);

    let expected: Vec<(String, String)> =
        truth.problems.iter().map(|p| (p.file.clone(), p.code.clone())).collect();
    let mut differences = Vec::new();
    if scan.problems != expected {
        differences.push(format!("problems {:?}\n  not {expected:?}", scan.problems));
    }
    let owned = owned(&scan);
    let mut total = Tokens::default();
    for (id, s) in &truth.sessions {
        let sid = SessionId::parse(id).unwrap();
        let Some(r) = scan.reads.get(&sid) else {
            differences.push(format!("{id} ({}) is missing", s.name));
            continue;
        };
        let mine = owned.get(&sid).cloned().unwrap_or_default();
        let mut models: BTreeMap<u32, (u64, Tokens)> = BTreeMap::new();
        for m in &mine {
            if let Some(t) = m.tokens {
                let e = models.entry(u32::try_from(m.model.number).unwrap()).or_default();
                *e = (e.0 + 1, e.1.plus(t));
                total = total.plus(t);
            }
        }
        let without = mine.iter().filter(|m| m.tokens.is_none()).count() as u64;
        let right: BTreeMap<u32, (u64, Tokens)> =
            s.models.iter().map(|(n, m)| (*n, (m.calls, tokens(m.tokens)))).collect();
        let mut check = |what: &str, got: String, want: String| {
            if got != want {
                differences.push(format!("{id} ({}) {what}: {got}\n  not {want}", s.name));
            }
        };
        let warnings: BTreeMap<String, u64> =
            r.warnings.iter().map(|(c, n)| (c.name().to_owned(), *n)).collect();
        let text = |id: &Option<SessionId>| id.as_ref().map(ToString::to_string);
        let fork = r.meta.forked_from.as_ref().map(|f| {
            text(&f.conversation).or_else(|| {
                let of = |(id, r): (&SessionId, &Read)| {
                    (r.meta.trajectory_id == f.trajectory).then(|| id.to_string())
                };
                scan.reads.iter().find_map(of)
            })
        });
        check("models", format!("{models:?}"), format!("{right:?}"));
        check("without usage", format!("{without}"), format!("{}", s.calls_without_usage));
        check("name", format!("{:?}", r.meta.name), format!("{:?}", Some(&s.name)));
        check("folder", format!("{:?}", r.meta.cwd), format!("{:?}", s.cwd));
        check("parent", format!("{:?}", text(&r.meta.parent)), format!("{:?}", s.parent));
        check("fork", format!("{:?}", fork.flatten()), format!("{:?}", s.forked_from));
        check(
            "start",
            format!("{:?}", r.meta.started_at.map(Time::micros)),
            format!("{:?}", Some(s.started_at_us)),
        );
        check("turns", format!("{:?}", r.turns), format!("{:?}", s.turns));
        check("tools", format!("{:?}", r.tool_calls), format!("{:?}", s.tool_calls));
        check(
            "model",
            format!("{:?}", r.meta.model.as_ref().map(|m| m.number as u32)),
            format!("{:?}", s.model),
        );
        check("warnings", format!("{warnings:?}"), format!("{:?}", s.warnings));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(total, tokens(truth.totals.tokens));
    assert_eq!(scan.reads.len(), truth.sessions.len());
    let keys = || scan.reads.values().flat_map(|r| &r.sightings);
    assert!(keys().any(|s| calls::response_id(&s.key).is_some()));
    assert!(scan.problems.iter().any(|(_, c)| c == ProblemCode::LegacyPb.name()));
}
