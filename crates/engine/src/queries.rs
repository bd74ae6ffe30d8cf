//! Lists and details: the store's rows with the live states of the board.

pub(crate) mod unread;

use std::collections::HashMap;

use agenthub_agy as agy;
use agenthub_core::{
    CallKey, Evidence, Fact, Facts, SessionId, Time, Tokens, Why, Windows,
    board::lane_name,
    day_of, derive,
    price::{Book, Row, Usd},
};
use agenthub_store::{self as store, Filter, ModelSum, SessionRow, Sort, Store, Sum};
use jiff::tz::TimeZone;

use crate::{
    Snapshot,
    board_view::{LiveState, name_or_id},
    conversation::{self, Details},
    convert,
    hook_entries::with_hooks,
    host::{not_found, store_error},
    usage::{bad, totals},
    view::{self, ErrorView},
};

/// More rows than this are never sent to a page at once.
pub(crate) const LARGEST_PAGE: u32 = 500;
/// The newest entries of a timeline that are sent; a session of a whole day has fewer.
const LONGEST_TIMELINE: usize = 5_000;

/// All sessions, newest first (`agenthub sessions`), or those that have such words in name, folder or id.
pub(crate) fn all(
    reader: &Store,
    now: &Snapshot,
    book: &Book,
    words: Option<&str>,
) -> Result<view::SessionsDocument, ErrorView> {
    let f = Filter { search: words.map(str::to_owned), ..Filter::default() };
    let rows = reader.sessions(&f, Sort::Active, false, 0, u32::MAX).map_err(|e| store_error(&e))?;
    let sessions = rows.iter().map(|r| session(reader, now, r, book)).collect::<Result<Vec<_>, _>>()?;
    let t = reader.totals(&f).map_err(|e| store_error(&e))?;
    Ok(view::SessionsDocument {
        schema: view::SCHEMA,
        sessions,
        problems: now.problems.clone(),
        totals: totals(t.sessions, &t.sum),
    })
}

/// Where a detail is read from, and at which time.
pub(crate) struct Place<'a> {
    pub(crate) home: &'a agy::Home,
    pub(crate) now: Time,
    pub(crate) windows: &'a Windows,
    /// The person's.
    pub(crate) zone: &'a TimeZone,
    pub(crate) book: &'a Book,
}

/// Everything about one session; its timeline by itself.
pub(crate) fn detail(
    reader: &Store,
    now: &Snapshot,
    place: &Place<'_>,
    id: &str,
) -> Result<(view::SessionDetail, Vec<view::WholeEntry>), ErrorView> {
    let fail = |e: store::StoreError| store_error(&e);
    let missing = |id: &str| unread::session(&now.problems, id);
    let id = named(reader, id).map_err(|e| if e.code == "not_found" { missing(id) } else { e })?;
    let stored = reader.session(&id).map_err(fail)?.ok_or_else(|| missing(id.as_str()))?;
    let live = match now.states.get(id.as_str()) {
        Some(live) => live.clone(),
        None => cold_state(reader, place, &stored),
    };
    let mut row = row(reader, now, &stored, place.zone, place.book)?;
    row.session.outcome = live.outcome;
    let (entries, timeline_cut, mut timeline_note) = timeline(place, &stored);
    let unread = entries.is_empty();
    let events = reader.hook_events(&id).map_err(fail)?;
    let timeline = with_hooks(entries, &events, timeline_cut, place.windows.hold_ms);
    if unread && !timeline.is_empty() {
        let note = timeline_note.get_or_insert_default();
        note.push_str(if note.is_empty() { HOOKS_ONLY } else { HOOKS_TOO });
    }
    let copied = reader.copied_calls(&id).map_err(fail)?;
    let subagents = reader
        .sessions(
            &Filter { parent: Some(id.clone()), ..Filter::default() },
            Sort::Started,
            true,
            0,
            LARGEST_PAGE,
        )
        .map_err(fail)?;
    let about = |other: &Option<String>| -> Result<Option<view::SessionRef>, ErrorView> {
        let Some(other) = other.as_deref().and_then(SessionId::parse) else { return Ok(None) };
        let found = reader.session(&other).map_err(fail)?;
        Ok(found.map(|s| session_ref(&s.id, s.name.as_deref())))
    };
    let itself = Filter { ids: Some(vec![id.clone()]), ..Filter::default() };
    let below = reader.totals_below(&itself).map_err(fail)?;
    let whole = timeline.iter().map(|e| entry(e, &copied, place.book)).collect();
    let shown = view::SessionDetail {
        with_subagents: (below.sessions > 0)
            .then(|| totals(below.sessions.saturating_add(1), &stored.sum.plus(below.sum))),
        since: live.since,
        why: live.why,
        context: Details::parse(&stored.details).context,
        turn_sums: turn_sums(&timeline, &copied, place.book),
        timeline: Vec::new(),
        timeline_cut,
        timeline_note,
        subagents: subagents
            .iter()
            .map(|s| self::row(reader, now, s, place.zone, place.book))
            .collect::<Result<_, _>>()?,
        forks: reader
            .forks(&id)
            .map_err(fail)?
            .iter()
            .map(|(id, name)| session_ref(id, name.as_deref()))
            .collect(),
        parent: about(&stored.parent)?,
        origin: about(&stored.forked_from)?,
        row,
    };
    Ok((shown, whole))
}

/// A beginning shorter than this would be a guess.
const LEAST_BEGINNING: usize = 4;
/// As many are named when a beginning is that of several.
const MOST_NAMED: u32 = 8;

/// The session of this id, or the only one whose id begins like this.
pub(crate) fn named(reader: &Store, text: &str) -> Result<SessionId, ErrorView> {
    if let Some(id) = SessionId::parse(text) {
        return Ok(id);
    }
    let start = beginning(text)?;
    let found = reader.beginning(&start, MOST_NAMED + 1).map_err(|e| store_error(&e))?;
    match found.as_slice() {
        [] => Err(not_found(text)),
        [(id, _)] => Ok(id.clone()),
        several => {
            let most = usize::try_from(MOST_NAMED).unwrap_or_default();
            let list = several.iter().take(most);
            let mut names: Vec<String> =
                list.map(|(id, name)| format!("{id} ({})", name_or_id(name.as_deref(), id))).collect();
            if several.len() > most {
                names.push("and more".to_owned());
            }
            Err(ambiguous(text, &names))
        }
    }
}

/// What the id begins with that somebody gave in short.
///
/// # Errors
/// `not_found` for what no id begins with, `bad_request` for too little of one.
pub(crate) fn beginning(text: &str) -> Result<String, ErrorView> {
    let start = text.trim().to_ascii_lowercase();
    if start.is_empty() || !start.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return Err(not_found(text));
    }
    if start.len() < LEAST_BEGINNING {
        return Err(bad(format!(
            "`{text}` is too short: give at least {LEAST_BEGINNING} characters of the id."
        )));
    }
    Ok(start)
}

/// `bad_request`: more than one id begins so.
pub(crate) fn ambiguous(text: &str, which: &[String]) -> ErrorView {
    bad(format!("Several sessions begin with `{text}`; give more of the id: {}.", which.join(", ")))
}

fn session_ref(id: &SessionId, name: Option<&str>) -> view::SessionRef {
    view::SessionRef { id: id.to_string(), name: name_or_id(name, id) }
}

/// The state of a session that the board no longer follows: derived anew from its file, or said to be past.
fn cold_state(reader: &Store, place: &Place<'_>, stored: &SessionRow) -> LiveState {
    let past = || {
        let since = stored.last_activity;
        let why = Why {
            decided: Evidence { fact: Fact::Quiet { minutes: place.windows.quiet_ms / 60_000 }, at: since },
            beat: Vec::new(),
        };
        let d = Details::parse(&stored.details);
        LiveState {
            state: cold(stored),
            settled: true,
            outcome: d.outcome.unwrap_or(view::Outcome::None),
            since: convert::time(since),
            why: convert::why(&why),
            held: false,
        }
    };
    if stored.file_gone {
        return past();
    }
    let path = place.home.conversation(&stored.id);
    let Ok(fingerprint) = agy::fingerprint(&path) else { return past() };
    let known = reader.conversation(&stored.id).ok().flatten();
    let cursor = known.as_ref().and_then(|c| agy::Cursor::from_json(&c.cursor));
    let entry = agy::Entry { id: stored.id.clone(), fingerprint, path };
    let ever_held = known.is_some_and(|c| c.ever_held);
    let found =
        conversation::read(place.home, &agy::Index::default(), &entry, cursor.as_ref(), ever_held, place.now);
    let Some(session) = found.session else { return past() };
    let held = agy::presence::held_one(place.home, &stored.id);
    let facts: Facts = conversation::with_lock(session, held, place.now).facts;
    LiveState::of(&derive(&facts, None, place.now, place.windows))
}

const HOOKS_ONLY: &str = "This is what its hooks told.";
const HOOKS_TOO: &str = " What its hooks told is here.";

/// The newest entries, whether older ones were left out, and what there is to explain.
fn timeline(place: &Place<'_>, stored: &SessionRow) -> (Vec<agy::TimelineEntry>, bool, Option<String>) {
    let path = place.home.conversation(&stored.id);
    // What stands there and can't be read is as good as gone for counting, and still not what a person is told.
    if path.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return match agy::timeline_from_transcript(place.home, &stored.id) {
            Some(t) => {
                let note = "The conversation file is gone from agy's folder. Its numbers are kept; its course is told by its \
                            transcript: whole seconds, and no tokens.";
                let (entries, cut) = newest(t);
                (entries, cut, Some(note.to_owned()))
            }
            None => {
                let note = "The conversation file is gone from agy's folder. Its numbers are kept; its course is not.";
                (Vec::new(), false, Some(note.to_owned()))
            }
        };
    }
    let read = match agy::fingerprint(&path) {
        Ok(fingerprint) => {
            agy::timeline(place.home, &agy::Entry { id: stored.id.clone(), fingerprint, path })
        }
        Err(_) => {
            let why = unread::why(place.home, &stored.id)
                .map_or_else(|| "its file can't be looked at".to_owned(), |p| p.message);
            return (Vec::new(), false, Some(format!("Its course can't be read: {why}.")));
        }
    };
    match read {
        Ok(t) => {
            let approximate = !t.entries.is_empty() && t.entries.iter().all(|e| e.approximate);
            let note = approximate.then(|| {
                "The database can't be read now. This is its transcript: whole seconds, and no tokens."
                    .to_owned()
            });
            let (entries, cut) = newest(t);
            (entries, cut, note)
        }
        Err(e) => (Vec::new(), false, Some(format!("Its course can't be read: {e}."))),
    }
}

/// The newest entries that are sent, and whether older ones are left out.
fn newest(t: agy::Timeline) -> (Vec<agy::TimelineEntry>, bool) {
    let skip = t.entries.len().saturating_sub(LONGEST_TIMELINE);
    (t.entries.into_iter().skip(skip).collect(), t.truncated || skip > 0)
}

/// Calls that count for another session.
type Copied = HashMap<CallKey, SessionId>;

fn turn_sums(entries: &[agy::TimelineEntry], copied: &Copied, book: &Book) -> Vec<view::TurnSum> {
    entries.chunk_by(|a, b| a.turn == b.turn).filter_map(|turn| turn_sum(turn, copied, book)).collect()
}

fn turn_sum(turn: &[agy::TimelineEntry], copied: &Copied, book: &Book) -> Option<view::TurnSum> {
    let first = turn.first()?;
    let own = |e: &agy::TimelineEntry| e.call.as_ref().is_none_or(|c| !copied.contains_key(c));
    let of = |kind| turn.iter().filter(move |e| e.kind == kind && own(e));
    let at = turn.iter().filter_map(|e| e.at).min();
    // A title or a summary may come long after the answer: it is agy's own matter.
    let worked = turn.iter().filter(|e| e.kind != agy::EntryKind::Checkpoint);
    let end = worked.filter_map(|e| Some(e.at?.plus_ms(e.duration_ms.unwrap_or(0)))).max();
    let over = turn.iter().all(|e| !matches!(e.state, agy::EntryState::Running | agy::EntryState::Waiting));
    let told: Vec<Tokens> = of(agy::EntryKind::Call).filter_map(|e| e.tokens).collect();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(view::TurnSum {
        turn: first.turn,
        at: convert::time(at),
        approximate: first.approximate,
        duration_ms: end.zip(at).filter(|_| over).map(|(end, at)| end.ms_since(at)),
        calls: count(of(agy::EntryKind::Call).count()),
        tools: count(of(agy::EntryKind::Tool).count()),
        tokens: (!told.is_empty()).then(|| convert::tokens(told.into_iter().sum())),
        cost_usd: of(agy::EntryKind::Call)
            .filter_map(|e| cost(e, book).0)
            .reduce(Usd::plus)
            .map(|c| c.to_string()),
        tokens_unpriced: of(agy::EntryKind::Call).map(|e| cost(e, book).1).fold(0, u64::saturating_add),
    })
}

/// What a call cost, `None` for what is no call and for a call without a price; and how many of its tokens have none.
fn cost(e: &agy::TimelineEntry, book: &Book) -> (Option<Usd>, u64) {
    let Some(tokens) = e.tokens else { return (None, 0) };
    match e.model.as_ref().and_then(|model| book.cost(model, e.at, &tokens)) {
        Some((cost, _)) => (cost.known(1, &tokens), cost.unpriced_tokens),
        None => (None, tokens.total()),
    }
}

fn entry(e: &agy::TimelineEntry, copied: &Copied, book: &Book) -> view::WholeEntry {
    let (cost, tokens_unpriced) = cost(e, book);
    view::WholeEntry {
        entry: view::TimelineEntry {
            kind: convert::entry_kind(e.kind),
            turn: e.turn,
            step: e.step,
            at: convert::time(e.at),
            approximate: e.approximate,
            duration_ms: e.duration_ms,
            name: e.name.clone().or_else(|| e.model.as_ref().map(convert::model_name)),
            state: convert::entry_state(e.state),
            tokens: e.tokens.map(convert::tokens),
            cost_usd: cost.map(|c| c.to_string()),
            tokens_unpriced,
            text: e.text.clone().or_else(|| e.argument.clone()),
            copied_from: e.call.as_ref().and_then(|c| copied.get(c)).map(ToString::to_string),
        },
        argument: e.argument.clone(),
        arguments: e.args.clone(),
        call: e.call.as_ref().and_then(agy::calls::response_id).map(str::to_owned),
    }
}

pub(crate) fn row(
    reader: &Store,
    now: &Snapshot,
    r: &SessionRow,
    zone: &TimeZone,
    book: &Book,
) -> Result<view::SessionRow, ErrorView> {
    Ok(view::SessionRow {
        session: session(reader, now, r, book)?,
        lane_name: match reader.run_lane_name(&r.lane).map_err(|e| store_error(&e))? {
            Some(name) => name,
            None => lane_name(r.cwd.as_deref(), r.name.as_deref(), &r.id),
        },
        lane_id: r.lane.clone(),
        folder: r.cwd.as_deref().map(|c| convert::for_people(c.as_ref())),
        children: r.children,
        file_gone: r.file_gone,
        day: r.last_activity.and_then(|t| day_of(t, zone)).map(|d| d.to_string()),
    })
}

fn session(reader: &Store, now: &Snapshot, r: &SessionRow, book: &Book) -> Result<view::Session, ErrorView> {
    let sums = reader.model_sums(&r.id).map_err(|e| store_error(&e))?;
    let models = models(&sums, book);
    let live = now.states.get(r.id.as_str());
    let details = Details::parse(&r.details);
    Ok(view::Session {
        id: r.id.to_string(),
        tool: r.tool.clone(),
        name: name_or_id(r.name.as_deref(), &r.id),
        cwd: r.cwd.clone(),
        status: if live.is_some_and(|l| !l.settled) { view::Status::Active } else { view::Status::Completed },
        state: live.map_or_else(|| cold(r), |l| l.state),
        outcome: live.map_or_else(|| details.outcome.unwrap_or(view::Outcome::None), |l| l.outcome),
        started_at: convert::time(r.started_at),
        last_activity_at: convert::time(r.last_activity),
        model: r.model.clone(),
        model_label: details.model_label.or_else(|| {
            models.iter().find(|m| Some(&m.model) == r.model.as_ref()).and_then(|m| m.model_label.clone())
        }),
        parent_id: r.parent.clone(),
        forked_from: r.forked_from.clone(),
        turns: r.turns,
        tool_calls: r.tool_calls,
        calls_without_usage: r.sum.unknown,
        unpriced_models: unpriced(&sums),
        models,
        tokens: convert::known_tokens(&r.sum),
        cost_usd: convert::cost(&r.sum),
        tokens_unpriced: r.sum.cost.unpriced_tokens,
        warnings: details.warnings,
    })
}

/// The state of a completed session: only its error outlives it.
fn cold(r: &SessionRow) -> view::State {
    if r.error_at.is_some() { view::State::Error } else { view::State::Idle }
}

/// Models that used something and have no price, each by its own name: one that only its number tells may stand with
/// another of that number, which has a price.
fn unpriced(sums: &[ModelSum]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for m in
        sums.iter().filter(|m| convert::known_tokens(&m.sum).is_some() && convert::cost(&m.sum).is_none())
    {
        let name = convert::model_name(&m.model);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Sums grouped by agy's model number, by name only where there is none; each call costs what its own name costs. The
/// names, and the row, are those of the newest calls that have a name.
fn models(sums: &[ModelSum], book: &Book) -> Vec<view::ModelUsage> {
    let mut groups: Vec<(view::ModelUsage, Sum)> = Vec::new();
    for m in sums {
        let model = convert::model_name(&m.model);
        let number = m.model.number;
        let row = book.row(&m.model, m.newest);
        let parts = row.map(|r| unpriced_parts(r, &m.sum.tokens)).unwrap_or_default();
        let lacking = Some(m.sum.cost.unpriced_tokens).filter(|n| *n > 0);
        let lacking = lacking.map(|tokens| view::UnpricedName { model: model.clone(), tokens });
        let same = |g: &view::ModelUsage| g.model_enum == number && (number != 0 || g.model == model);
        match groups.iter_mut().find(|(g, _)| same(g)) {
            Some((g, sum)) => {
                *sum = sum.plus(m.sum);
                if let Some(new) = lacking {
                    match g.unpriced_names.iter_mut().find(|known| known.model == new.model) {
                        Some(known) => known.tokens = known.tokens.saturating_add(new.tokens),
                        None => g.unpriced_names.push(new),
                    }
                }
                if m.model.id.is_some() && Some(&g.model) == m.model.placeholder().as_ref() {
                    g.model = model;
                }
                g.model_label = g.model_label.take().or_else(|| m.model.label.clone());
                g.price_row = g.price_row.take().or_else(|| row.map(|r| r.key.clone()));
                let new = parts.into_iter().filter(|p| !g.unpriced_parts.contains(p)).collect::<Vec<_>>();
                g.unpriced_parts.extend(new);
            }
            None => {
                let group = view::ModelUsage {
                    model,
                    model_label: m.model.label.clone(),
                    model_enum: number,
                    calls: 0,
                    tokens: None,
                    cost_usd: None,
                    price_row: row.map(|r| r.key.clone()),
                    tokens_unpriced: 0,
                    unpriced_parts: parts,
                    unpriced_names: lacking.into_iter().collect(),
                };
                groups.push((group, m.sum));
            }
        }
    }
    groups
        .into_iter()
        .map(|(g, sum)| view::ModelUsage {
            calls: sum.calls,
            tokens: convert::known_tokens(&sum),
            cost_usd: convert::cost(&sum),
            tokens_unpriced: sum.cost.unpriced_tokens,
            ..g
        })
        .collect()
}

/// The parts that were used and that a row has no rate for.
fn unpriced_parts(row: &Row, used: &Tokens) -> Vec<String> {
    let r = &row.rates;
    let parts = [
        ("input", used.input, r.input),
        ("cache_read", used.cache_read, r.cache_read),
        ("cache_write", used.cache_write, r.cache_write),
        ("output", used.output, r.output),
    ];
    let missing = parts.into_iter().filter(|(_, n, rate)| *n > 0 && rate.is_none());
    missing.map(|(name, _, _)| name.to_owned()).collect()
}
