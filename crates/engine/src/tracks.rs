//! The lanes' tracks in time: what each did in the last minutes or hours.
//!
//! Asked only while a window shows lanes. The times come from agy's files, newest rows first, and only from files that
//! changed since the last question: what was read of the others is kept.

use std::collections::{BTreeMap, HashMap};

use agenthub_agy as agy;
use agenthub_core::{SessionId, Time};
use agenthub_store::{Filter, SessionRow, Sort, Store};
use jiff::Timestamp;

use crate::{
    Snapshot,
    board_view::LiveState,
    host::store_error,
    usage::bad,
    view::{ErrorView, LaneTrack, Segment, SegmentKind, State, Tracks, TracksQuery},
};

/// Sessions that are looked into for one answer, the newest ones.
const MOST_SESSIONS: u32 = 300;
/// Segments of one kind on one lane; the page has fewer pixels.
const MOST_SEGMENTS: usize = 200;
/// What is closer together than this part of the span can't be told apart on the widest track.
const PARTS: i64 = 800;
/// The longest stretch that can be asked for.
const LONGEST_MS: i64 = 48 * 3_600_000;

/// What was read of each session's file, by the state of the file.
#[derive(Debug, Default)]
pub(crate) struct Cache(HashMap<SessionId, Kept>);

#[derive(Debug)]
struct Kept {
    fingerprint: agy::Fingerprint,
    since: Time,
    spans: Vec<Told>,
    cut: bool,
}

/// A span, and whether its times are whole seconds.
type Told = (agy::Span, bool);

/// Answers a question about tracks. Opens agy's files: not for a UI thread.
pub(crate) fn tracks(
    reader: &Store,
    board: &Snapshot,
    home: &agy::Home,
    cache: &mut Cache,
    q: &TracksQuery,
    now: Time,
) -> Result<Tracks, ErrorView> {
    let until = q.until.as_deref().map(moment).transpose()?.unwrap_or(now).min(now);
    let since = moment(&q.since)?;
    if since > until || until.ms_since(since) > LONGEST_MS {
        return Err(bad(format!(
            "tracks are told for at most 48 hours, not from {} to {}",
            q.since,
            until.rfc3339()
        )));
    }
    let filter = Filter { since: Some(since), ..Filter::default() };
    let rows =
        reader.sessions(&filter, Sort::Active, false, 0, MOST_SESSIONS).map_err(|e| store_error(&e))?;
    let lanes = Lanes::of(board, &rows);

    let mut segments: HashMap<&str, Vec<Segment>> = HashMap::new();
    let mut cut: HashMap<&str, bool> = HashMap::new();
    let mut kept = Cache::default();
    for row in &rows {
        let Some(lane) = lanes.of_row(row).filter(|l| q.lanes.is_empty() || q.lanes.iter().any(|id| id == l))
        else {
            continue;
        };
        let Some(read) = read(home, cache, row, since) else { continue };
        let live = board.states.get(row.id.as_str());
        segments.entry(lane).or_default().extend(live_segments(&read, live, row, since, until));
        *cut.entry(lane).or_default() |= read.cut;
        kept.0.insert(row.id.clone(), read);
    }
    *cache = kept;

    let full = rows.len() >= MOST_SESSIONS as usize;
    Ok(Tracks {
        since_ms: ms(since),
        until_ms: ms(until),
        lanes: board
            .board
            .lanes
            .iter()
            .map(|l| l.lane.id.as_str())
            .filter(|id| q.lanes.is_empty() || q.lanes.iter().any(|l| l == id))
            .map(|id| LaneTrack {
                lane_id: id.to_owned(),
                segments: merged(segments.remove(id).unwrap_or_default(), ms(since), ms(until)),
                cut: full || cut.get(id).copied().unwrap_or(false),
            })
            .collect(),
    })
}

fn moment(text: &str) -> Result<Time, ErrorView> {
    match text.parse::<Timestamp>() {
        Ok(t) => Ok(Time::from_micros(t.as_microsecond())),
        Err(_) => Err(bad(format!("`{text}` is not a moment such as `2026-11-30T08:00:00Z`"))),
    }
}

fn ms(t: Time) -> i64 {
    t.micros().div_euclid(1_000)
}

/// In which lane of the board a session stands: where the board has it, else where its parent stands, else its own.
struct Lanes<'a> {
    board: HashMap<&'a str, &'a str>,
    rows: HashMap<&'a str, &'a SessionRow>,
}

impl<'a> Lanes<'a> {
    fn of(board: &'a Snapshot, rows: &'a [SessionRow]) -> Lanes<'a> {
        let members = board
            .board
            .lanes
            .iter()
            .flat_map(|l| l.members.iter().map(|m| (m.id.as_str(), l.lane.id.as_str())))
            .collect();
        Lanes { board: members, rows: rows.iter().map(|r| (r.id.as_str(), r)).collect() }
    }

    fn of_row(&self, row: &'a SessionRow) -> Option<&'a str> {
        let mut at = row;
        // Parents that name each other would go round for ever.
        for _ in 0..16 {
            if let Some(lane) = self.board.get(at.id.as_str()) {
                return Some(lane);
            }
            match at.parent.as_deref().and_then(|p| self.rows.get(p)) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        Some(at.lane.as_str())
    }
}

/// What a session's file tells of the time since `since`; `None` when it tells nothing.
fn read(home: &agy::Home, cache: &mut Cache, row: &SessionRow, since: Time) -> Option<Kept> {
    if row.file_gone {
        return None;
    }
    let path = home.conversation(&row.id);
    let fingerprint = agy::fingerprint(&path).ok()?;
    let before = cache.0.remove(&row.id);
    if let Some(kept) = before.as_ref().filter(|k| k.fingerprint == fingerprint && k.since <= since) {
        return Some(Kept { fingerprint, since: kept.since, spans: kept.spans.clone(), cut: kept.cut });
    }
    let entry = agy::Entry { id: row.id.clone(), fingerprint, path };
    match agy::track(home, &entry, since) {
        Ok(t) => {
            let spans = t.spans.into_iter().map(|s| (s, false)).collect();
            Some(Kept { fingerprint, since, spans, cut: t.cut })
        }
        // A busy file is read at the next question; until then it told what it told.
        Err(_) if before.is_some() => before,
        Err(_) => {
            let t = agy::timeline(home, &entry).ok()?;
            Some(Kept { fingerprint, since, spans: from_timeline(&t), cut: t.truncated })
        }
    }
}

/// The turns of a session whose database can't be read.
fn from_timeline(t: &agy::Timeline) -> Vec<Told> {
    t.entries
        .chunk_by(|a, b| a.turn == b.turn)
        .filter_map(|turn| {
            let times = || turn.iter().filter_map(|e| Some((e.at?, e.duration_ms.unwrap_or(0))));
            let from = times().map(|(at, _)| at).min()?;
            let to = times().map(|(at, ms)| at.plus_ms(ms)).max();
            Some((agy::Span { kind: agy::SpanKind::Turn, from, to }, t.from_transcript))
        })
        .collect()
}

/// A session's segments, as its state has it: the file tells late that a turn goes on, and never that agy is gone.
fn live_segments(
    read: &Kept,
    live: Option<&LiveState>,
    row: &SessionRow,
    since: Time,
    until: Time,
) -> Vec<Segment> {
    let live = live.filter(|l| !l.settled);
    let state = live.map_or(State::Idle, |l| l.state);
    let works = matches!(state, State::Running | State::Waiting);
    let held = live.is_some_and(|l| l.held) && state == State::Running;
    // Nothing went on after the last write.
    let last = row.last_activity.unwrap_or(read.fingerprint.wrote());
    let newest = read.spans.iter().rposition(|(s, _)| s.kind == agy::SpanKind::Turn);
    let mut out = Vec::new();
    for (i, (span, approximate)) in read.spans.iter().enumerate() {
        let goes_on = match span.kind {
            agy::SpanKind::Turn => works && Some(i) == newest,
            agy::SpanKind::Tool => works && span.to.is_none(),
            agy::SpanKind::Wait => state == State::Waiting && span.to.is_none(),
            agy::SpanKind::Held | agy::SpanKind::Error => false,
        };
        let to = if goes_on { None } else { Some(span.to.unwrap_or(last).max(span.from)) };
        // A sub-agent's failure is its parent's matter.
        if span.kind == agy::SpanKind::Error && row.parent.is_some() {
            continue;
        }
        if held && Some(i) == newest {
            let from = span.to.unwrap_or(last);
            out.push(segment(SegmentKind::Held, from, None, *approximate));
        }
        out.push(segment(kind(span.kind), span.from, to, *approximate));
    }
    let (since, until) = (ms(since), ms(until));
    out.retain(|s| s.from_ms <= until && s.to_ms.is_none_or(|to| to >= since));
    for s in &mut out {
        s.from_ms = s.from_ms.max(since);
        s.to_ms = s.to_ms.map(|to| to.min(until));
    }
    out
}

fn segment(kind: SegmentKind, from: Time, to: Option<Time>, approximate: bool) -> Segment {
    Segment { kind, from_ms: ms(from), to_ms: to.map(ms), approximate }
}

const fn kind(k: agy::SpanKind) -> SegmentKind {
    match k {
        agy::SpanKind::Turn => SegmentKind::Turn,
        agy::SpanKind::Tool => SegmentKind::Tool,
        agy::SpanKind::Wait => SegmentKind::Wait,
        agy::SpanKind::Error => SegmentKind::Error,
        agy::SpanKind::Held => SegmentKind::Held,
    }
}

/// One lane's segments, of all its sessions: what overlaps or nearly touches is one, so that there is a bound on them.
fn merged(segments: Vec<Segment>, since: i64, until: i64) -> Vec<Segment> {
    let mut kinds: BTreeMap<SegmentKind, Vec<Segment>> = BTreeMap::new();
    for s in segments {
        kinds.entry(s.kind).or_default().push(s);
    }
    let mut gap = ((until - since) / PARTS).max(1);
    let mut out = Vec::new();
    for mut of_kind in kinds.into_values() {
        of_kind.sort_by_key(|s| (s.from_ms, s.to_ms.unwrap_or(i64::MAX)));
        let mut joined = join(&of_kind, gap, until);
        while joined.len() > MOST_SEGMENTS {
            gap = gap.saturating_mul(2);
            joined = join(&joined, gap, until);
        }
        out.extend(joined);
    }
    out.sort_by_key(|s| (s.from_ms, s.kind));
    out
}

fn join(sorted: &[Segment], gap: i64, until: i64) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    for s in sorted {
        match out.last_mut() {
            Some(before) if s.from_ms - before.to_ms.unwrap_or(until) < gap => {
                before.to_ms = before.to_ms.zip(s.to_ms).map(|(a, b)| a.max(b));
                before.approximate |= s.approximate;
            }
            _ => out.push(*s),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seg(kind: SegmentKind, from_ms: i64, to_ms: Option<i64>) -> Segment {
        Segment { kind, from_ms, to_ms, approximate: false }
    }

    #[test]
    fn w1_what_cant_be_told_apart_is_one_segment_and_their_number_has_a_bound() {
        use SegmentKind::{Tool, Turn, Wait};
        let hour = 3_600_000;
        let told = merged(
            vec![
                seg(Turn, 0, Some(60_000)),
                seg(Turn, 30_000, Some(90_000)),
                seg(Turn, 93_000, Some(95_000)),
                seg(Turn, 400_000, None),
                seg(Wait, 50_000, Some(51_000)),
            ],
            0,
            hour,
        );
        assert_eq!(
            told,
            [seg(Turn, 0, Some(95_000)), seg(Wait, 50_000, Some(51_000)), seg(Turn, 400_000, None)],
            "3 s are less than a pixel of an hour"
        );
        let many = (0..100_000).map(|i| seg(Tool, i * 36, Some(i * 36 + 1))).collect();
        assert!(merged(many, 0, hour).len() <= MOST_SEGMENTS);
        let apart = (0..600).map(|i| seg(Tool, i * 6_000, Some(i * 6_000 + 500))).collect();
        let told = merged(apart, 0, hour);
        assert!(
            told.len() <= MOST_SEGMENTS && told.last().is_some_and(|s| s.to_ms == Some(599 * 6_000 + 500))
        );
    }

    #[test]
    fn w1_what_goes_on_swallows_what_follows_it() {
        use SegmentKind::Turn;
        let told = merged(vec![seg(Turn, 0, None), seg(Turn, 500, Some(900))], 0, 1_000);
        assert_eq!(told, [seg(Turn, 0, None)]);
    }
}
