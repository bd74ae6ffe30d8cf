//! Which sessions a list has, and which stand inside these: as sets of row numbers, each from an index that holds little
//! else. What rows are long by (details, sums) is read of those alone that are shown, or that decide the sums.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use agenthub_core::SessionId;
use foldhash::fast::RandomState;
use rusqlite::{Connection, Params, types::Value};
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    Filter, ListedTotals, SessionRow, Sort, Store, StoreError, Sum,
    listing::{filtered, one_of, refs},
};

/// Sessions by their row numbers.
pub(crate) type Sids = HashSet<i64, RandomState>;
type Known<T> = HashMap<i64, T, RandomState>;

/// So few sessions are sorted by themselves sooner than they are met in an order that is there.
pub(crate) const FEW: usize = 2_000;
/// So many are looked up one by one sooner than found on a walk through all.
const MANY: usize = 20_000;
/// So many sub-agents explain a page's rows, together.
const EXPLAINING: usize = 500;
/// And so many explain one of them, however many rows there are.
const LEAST_EXPLAINING: usize = 5;

/// What a list has.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) listed: Sids,
    /// All sub-agents inside these, none of these themselves.
    pub(crate) inside: Sids,
}

impl Found {
    fn len(&self) -> usize {
        self.listed.len().saturating_add(self.inside.len())
    }

    fn holds(&self, sid: i64) -> bool {
        self.listed.contains(&sid) || self.inside.contains(&sid)
    }
}

/// What a search found inside a session that it did not find itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInside {
    pub session: SessionId,
    /// So many of its sub-agents match, at any depth.
    pub found: u32,
    /// The first of those by their start, and those between them and the session, in this order.
    pub rows: Vec<SessionRow>,
}

/// Who started whom, of all sessions that are not deleted. What stands above a deleted one is not above its sub-agents.
struct Tree {
    above: Known<Option<i64>>,
}

impl Tree {
    fn read(conn: &Connection) -> rusqlite::Result<Tree> {
        // Whether a parent is deleted stands in its long row; the deleted ones stand together in an index.
        let deleted: Sids = conn
            .prepare_cached("SELECT sid FROM session WHERE hidden = 1")?
            .query_map([], |r| r.get(0))?
            .collect::<Result<_, _>>()?;
        let mut all = conn.prepare_cached(
            "SELECT c.sid, p.sid FROM session AS c LEFT JOIN session AS p ON p.id = c.parent
             WHERE c.parent IS NOT NULL AND +c.hidden = 0",
        )?;
        let mut rows = all.query([])?;
        let mut above: Known<Option<i64>> = HashMap::default();
        while let Some(r) = rows.next()? {
            let parent: Option<i64> = r.get::<_, Option<i64>>(1)?.filter(|p| !deleted.contains(p));
            let known = above.entry(r.get(0)?).or_default();
            *known = known.or(parent);
        }
        Ok(Tree { above })
    }

    fn parent(&self, sid: i64) -> Option<i64> {
        self.above.get(&sid).copied().flatten()
    }

    /// Goes up from a session until `answer` has one; `Err` is where to go on. In a circle of parents it is `none`.
    fn climb<T: Copy>(known: &mut Known<T>, sid: i64, none: T, answer: impl Fn(i64) -> Result<T, i64>) -> T {
        let mut way = Vec::new();
        let mut at = sid;
        let found = loop {
            if let Some(known) = known.get(&at) {
                break *known;
            }
            // Until the answer is known it is none: this ends a circle.
            known.insert(at, none);
            way.push(at);
            match answer(at) {
                Ok(found) => break found,
                Err(above) => at = above,
            }
        };
        known.extend(way.into_iter().map(|sid| (sid, found)));
        found
    }

    /// Of these sessions, what each stands inside of and that stands in none itself: most often itself.
    fn roots(&self, sids: &Sids) -> Sids {
        let mut known = HashMap::default();
        let up = |sid| self.parent(sid).map_or(Ok(Some(sid)), Err);
        let root = |sid: &i64| {
            if self.above.contains_key(sid) { Tree::climb(&mut known, *sid, None, up) } else { Some(*sid) }
        };
        let mut roots = Sids::with_capacity_and_hasher(sids.len(), RandomState::default());
        roots.extend(sids.iter().filter_map(root));
        roots
    }

    /// All that stands inside one of these, at any depth, and is none of them.
    fn inside(&self, sids: &Sids) -> Sids {
        let mut known = HashMap::default();
        let up = |sid| match self.parent(sid) {
            Some(parent) if sids.contains(&parent) => Ok(true),
            Some(parent) => Err(parent),
            None => Ok(false),
        };
        let is_inside = |sid: &i64| !sids.contains(sid) && Tree::climb(&mut known, *sid, false, up);
        self.above.keys().copied().filter(is_inside).collect()
    }
}

/// Text as it is searched in and for: without case, and each letter with its marks as one character where there is one. macOS
/// gives folder names with letters and marks apart, keyboards type them together.
pub(crate) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfc().collect::<String>().to_lowercase().nfc().collect()
}

impl Filter {
    /// The words that are searched for, as names are kept to be searched.
    pub(crate) fn words(&self) -> Option<String> {
        let words = self.search.as_deref().map(str::trim).filter(|words| !words.is_empty())?;
        Some(folded(words))
    }

    /// A search of a list that leaves out sub-agents: it finds them, too, and lists what they stand inside of.
    pub(crate) fn looks_inside(&self) -> bool {
        self.roots_only && self.words().is_some()
    }
}

impl Store {
    /// What a list has.
    pub(crate) fn find(&self, f: &Filter) -> Result<Found, StoreError> {
        self.at_once(|store| {
            if (f.ids.is_some() || f.parent.is_some()) && !f.looks_inside() {
                let listed = store.sids(f)?;
                if listed.len() <= FEW {
                    let inside = store.inside_of_few(&listed)?;
                    return Ok(Found { listed, inside });
                }
            }
            let tree = store.read(Tree::read)?;
            let listed = store.listed(f, &tree)?;
            let inside = tree.inside(&listed);
            Ok(Found { listed, inside })
        })
    }

    fn listed(&self, f: &Filter, tree: &Tree) -> Result<Sids, StoreError> {
        let words = Filter { search: f.words(), ..Filter::default() };
        // All but the words is asked of what is listed; the words of what is inside it, too.
        let rest = Filter { search: None, not_ids: None, roots_only: false, ..f.clone() };
        let narrowed = (rest != Filter::default()).then(|| self.sids(&rest)).transpose()?;
        let (mut listed, narrowed) = match narrowed {
            Some(narrowed) if words.search.is_none() => (narrowed, None),
            narrowed => (self.sids(&words)?, narrowed),
        };
        if f.looks_inside() {
            listed = tree.roots(&listed);
        } else if f.roots_only {
            listed.retain(|sid| tree.parent(*sid).is_none());
        }
        if let Some(narrowed) = narrowed {
            listed.retain(|sid| narrowed.contains(sid));
        }
        if let Some(ids) = f.not_ids.as_ref().filter(|ids| !ids.is_empty()) {
            for sid in self.sids(&Filter { ids: Some(ids.clone()), ..Filter::default() })? {
                listed.remove(&sid);
            }
        }
        Ok(listed)
    }

    /// All sessions that match a filter by themselves.
    fn sids(&self, f: &Filter) -> Result<Sids, StoreError> {
        // A list first: its length is known when the set is made.
        Ok(self.sid_list(f)?.into_iter().collect())
    }

    fn sid_list(&self, f: &Filter) -> Result<Vec<i64>, StoreError> {
        let (clause, values) = filtered(f);
        let sql = format!("SELECT s.sid FROM session AS s WHERE {clause}");
        self.read(|conn| {
            conn.prepare_cached(&sql)?.query_map(refs(&values).as_slice(), |r| r.get(0))?.collect()
        })
    }

    /// What stands inside a few sessions: nothing else is looked at.
    fn inside_of_few(&self, sids: &Sids) -> Result<Sids, StoreError> {
        // A set, so that a circle of parents ends it, too.
        let sql = format!(
            "WITH RECURSIVE down (sid, id) AS (
                 SELECT s.sid, s.id FROM session AS s WHERE {}
                 UNION SELECT c.sid, c.id FROM down JOIN session AS c ON c.parent = down.id WHERE +c.hidden = 0)
             SELECT sid FROM down",
            one_of(sids)
        );
        let all: Vec<i64> = self.read(|conn| conn.prepare(&sql)?.query_map([], |r| r.get(0))?.collect())?;
        Ok(all.into_iter().filter(|sid| !sids.contains(sid)).collect())
    }

    /// How many sessions these are, and their sums.
    pub(crate) fn sums_of(&self, sids: &Sids) -> Result<ListedTotals, StoreError> {
        let list: Vec<i64> = sids.iter().copied().collect();
        Ok(ListedTotals { sessions: u32::try_from(list.len()).unwrap_or(u32::MAX), sum: self.sum(&list)? })
    }

    /// The sums of what a list has, and of what is inside it. Those of everything are kept: where a list has most of it, they
    /// are these without the rest.
    pub(crate) fn sums_of_found(&self, found: &Found) -> Result<Sum, StoreError> {
        self.at_once(|store| {
            let all = store.rolled_up_totals(&Filter::default())?;
            let rest = all.map(|all| (all.sum, usize::try_from(all.sessions).unwrap_or(usize::MAX)));
            match rest {
                Some((all, sessions)) if sessions.saturating_sub(found.len()) < found.len() => {
                    let mut rest = store.sid_list(&Filter::default())?;
                    rest.retain(|sid| !found.holds(*sid));
                    Ok(all.minus(store.sum(&rest)?))
                }
                _ => {
                    let wanted: Vec<i64> = found.listed.iter().chain(&found.inside).copied().collect();
                    store.sum(&wanted)
                }
            }
        })
    }

    /// The sums of sessions, each named once.
    fn sum(&self, sids: &[i64]) -> Result<Sum, StoreError> {
        let sql = |from: &str| format!("SELECT s.sid, {} FROM {from}", Sum::NAMES);
        if sids.len() > MANY {
            let wanted: Sids = sids.iter().copied().collect();
            return self.add_up(&sql("session AS s"), [], |sid| wanted.contains(&sid));
        }
        // Word for word what an index begins with: rows are looked up there by their numbers, not where they are long.
        let looked_up = sql("session AS s WHERE s.sid + 0 IN (SELECT value FROM rarray(?1))");
        let wanted = Rc::new(sids.iter().copied().map(Value::from).collect::<Vec<_>>());
        self.add_up(&looked_up, [wanted], |_| true)
    }

    fn add_up(
        &self,
        sql: &str,
        values: impl Params,
        is_wanted: impl Fn(i64) -> bool,
    ) -> Result<Sum, StoreError> {
        self.read(|conn| {
            let mut sums = [0_i64; Sum::COLUMNS];
            let mut all = conn.prepare_cached(sql)?;
            let mut rows = all.query(values)?;
            while let Some(r) = rows.next()? {
                if is_wanted(r.get(0)?) {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.saturating_add(r.get(1 + i)?);
                    }
                }
            }
            Ok(Sum::of(sums))
        })
    }

    /// Why rows of a page are listed that a search did not find themselves: what it found inside them.
    pub(crate) fn found_inside(
        &self,
        f: &Filter,
        rows: &[SessionRow],
    ) -> Result<Vec<FoundInside>, StoreError> {
        let Some(words) = f.words().filter(|_| f.roots_only && !rows.is_empty()) else {
            return Ok(Vec::new());
        };
        let here = Filter { ids: Some(rows.iter().map(|r| r.id.clone()).collect()), ..Filter::default() };
        let mut unfound = self.sids(&here)?;
        for sid in self.sids(&Filter { search: Some(words.clone()), ..here })? {
            unfound.remove(&sid);
        }
        if unfound.is_empty() {
            return Ok(Vec::new());
        }
        let most = (EXPLAINING / unfound.len()).max(LEAST_EXPLAINING);
        let sql = format!(
            "WITH RECURSIVE down (sid, id, above, root) AS (
                 SELECT s.sid, s.id, NULL, s.id FROM session AS s WHERE {}
                 UNION SELECT c.sid, c.id, down.sid, down.root FROM down JOIN session AS c ON c.parent = down.id
                 WHERE +c.hidden = 0)
             SELECT d.sid, d.id, d.above, d.root, instr(s.search, ?1) > 0 FROM down AS d JOIN session AS s USING (sid)
             ORDER BY s.started_at IS NULL, s.started_at, s.id",
            one_of(&unfound)
        );
        let mut above: Known<Option<i64>> = HashMap::default();
        let mut root_of: HashMap<String, String> = HashMap::new();
        let mut hits: Vec<(i64, String)> = Vec::new();
        self.read(|conn| {
            let mut all = conn.prepare(&sql)?;
            let mut found = all.query([&words])?;
            while let Some(r) = found.next()? {
                let (sid, root): (i64, String) = (r.get(0)?, r.get(3)?);
                above.insert(sid, r.get(2)?);
                root_of.insert(r.get(1)?, root.clone());
                if r.get(4)? {
                    hits.push((sid, root));
                }
            }
            Ok(())
        })?;
        let mut found: HashMap<String, u32> = HashMap::new();
        let mut shown = Sids::default();
        for (sid, root) in hits {
            let n = found.entry(root).or_default();
            *n = n.saturating_add(1);
            let mut at = Some(sid).filter(|_| usize::try_from(*n).is_ok_and(|n| n <= most));
            // With all between it and the session, which itself is in the list.
            while let Some(between) = at.filter(|sid| !unfound.contains(sid) && shown.insert(*sid)) {
                at = above.get(&between).copied().flatten();
            }
        }
        let mut inside: HashMap<String, Vec<SessionRow>> = HashMap::new();
        for row in self.rows(&one_of(&shown), &[], Sort::Started, true, 0, u32::MAX)? {
            if let Some(root) = root_of.get(row.id.as_str()) {
                inside.entry(root.clone()).or_default().push(row);
            }
        }
        let one = |r: &SessionRow| {
            let rows = inside.remove(r.id.as_str())?;
            let found = found.get(r.id.as_str()).copied().unwrap_or_default();
            Some(FoundInside { session: r.id.clone(), found, rows })
        };
        Ok(rows.iter().filter_map(one).collect())
    }
}
