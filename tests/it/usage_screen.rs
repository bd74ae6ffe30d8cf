//! The Usage screen and its exports over a whole home: every sum of one range is the same, however it is cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use agenthub_engine::{
    Host, Options, UsageBy, UsageQuery,
    view::{
        ExportFormat, ListedState, SessionRow, SessionsQuery, Tokens, Totals, UsageDocument, UsageMeasure,
        UsageRange, UsageRow, UsageScreen, UsageScreenQuery,
    },
};
use agy_sim::{WorldSpec, build};

use crate::rig::Rig;

const RANGES: [UsageRange; 6] = [
    UsageRange::Week,
    UsageRange::Days30,
    UsageRange::Days90,
    UsageRange::ThisMonth,
    UsageRange::LastMonth,
    UsageRange::All,
];

fn tokens(range: UsageRange) -> UsageScreenQuery {
    UsageScreenQuery { range, measure: UsageMeasure::Tokens, ..Default::default() }
}

/// Calls, calls without usage, all tokens, the exact cost, and tokens without a price.
type Sum = (u32, u32, Tokens, i128, u64);

/// In units of 10⁻¹⁵ USD, so that sums are exact.
fn usd(cost: Option<&String>) -> i128 {
    let Some(cost) = cost else { return 0 };
    let (whole, part) = cost.split_once('.').unwrap_or((cost, ""));
    assert!(part.len() <= 15, "{cost}");
    format!("{whole}{part:0<15}").parse().unwrap()
}

fn header(t: &Totals) -> Sum {
    (t.calls, t.calls_without_usage, t.tokens, usd(t.cost_usd.as_ref()), t.tokens_unpriced)
}

fn sum<'a>(rows: impl Iterator<Item = &'a UsageRow>) -> Sum {
    rows.fold((0, 0, Tokens::default(), 0, 0), |(calls, unknown, t, cost, unpriced), r| {
        let u = r.tokens.unwrap_or_default();
        let tokens = Tokens {
            input: t.input + u.input,
            output: t.output + u.output,
            cache_read: t.cache_read + u.cache_read,
            cache_write: t.cache_write + u.cache_write,
            thinking: t.thinking + u.thinking,
            total: t.total + u.total,
        };
        let cost = cost + usd(r.cost_usd.as_ref());
        (calls + r.calls, unknown + r.calls_without_usage, tokens, cost, unpriced + r.tokens_unpriced)
    })
}

fn agrees(s: &UsageScreen, what: &str) -> Sum {
    let header = header(&s.totals);
    assert_eq!(sum(s.models.iter().map(|m| &m.row)), header, "{what}: models");
    assert_eq!(sum(s.projects.iter().map(|p| &p.row)), header, "{what}: projects");
    assert_eq!(sum(s.bars.iter().map(|b| &b.row).chain(&s.untimed)), header, "{what}: bars");
    for bar in &s.bars {
        let calls: u32 = bar.parts.iter().map(|p| p.calls).sum();
        let tokens: u64 = bar.parts.iter().filter_map(|p| p.tokens_total).sum();
        assert_eq!(
            (calls, tokens),
            (bar.row.calls, bar.row.tokens.unwrap_or_default().total),
            "{what}: {bar:?}"
        );
    }
    header
}

/// The foot of a search is what each listed session used together with its sub-agents, which each session says itself.
fn searches_sum_whole_trees(host: &Host, all: &[SessionRow]) {
    let found = |words: &str| {
        let search = Some(words.to_owned());
        host.sessions(&SessionsQuery { search, limit: 500, ..Default::default() }).unwrap()
    };
    let parent = all.iter().find(|r| r.children > 0).unwrap();
    let child = host.session(&parent.session.id).unwrap().subagents.remove(0);
    let by_id = found(&child.session.id[..23]);
    assert_eq!(by_id.rows, std::slice::from_ref(parent), "a sub-agent's id finds what it stands inside of");
    assert_eq!(by_id.inside.len(), 1);
    assert!(by_id.inside[0].rows.contains(&child));
    for words in [&*child.session.name, &child.session.id[..4], "a", "e", "-", "no session has this"] {
        let page = found(words);
        assert_eq!(page.rows.len(), usize::try_from(page.totals.sessions).unwrap(), "{words}");
        let mut sessions = 0;
        let sum = page.rows.iter().fold((0, 0, 0, 0), |(calls, tokens, usd, unpriced), r| {
            let detail = host.session(&r.session.id).unwrap();
            let alone =
                || (r.session.models.iter().map(|m| m.calls).sum(), &r.session.tokens, &r.session.cost_usd);
            let (calls_of, tokens_of, usd_of, unpriced_of) = match &detail.with_subagents {
                Some(t) => (t.calls, t.tokens.total, self::usd(t.cost_usd.as_ref()), t.tokens_unpriced),
                None => {
                    let (calls, tokens, cost): (u32, _, _) = alone();
                    (
                        calls,
                        tokens.map_or(0, |t| t.total),
                        self::usd(cost.as_ref()),
                        r.session.tokens_unpriced,
                    )
                }
            };
            sessions += detail.with_subagents.map_or(1, |t| t.sessions);
            (calls + calls_of, tokens + tokens_of, usd + usd_of, unpriced + unpriced_of)
        });
        let t = &page.totals;
        let foot = (t.calls, t.tokens.total, self::usd(t.cost_usd.as_ref()), t.tokens_unpriced);
        assert_eq!(foot, sum, "{words}");
        assert_eq!(t.sessions + page.subagents, sessions, "{words}");
    }
}

#[test]
fn u20_the_usage_screen_agrees_with_itself_and_with_every_other_view_in_every_zone() {
    let rig = Rig::new();
    build(&rig.home, &WorldSpec::new(40, 600).with_traps()).unwrap();
    for zone in ["UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati", "Europe/Berlin"] {
        let config = rig.config();
        std::fs::create_dir_all(&config.config_dir).unwrap();
        let settings = serde_json::json!({ "time_zone": zone }).to_string();
        std::fs::write(config.config_dir.join("settings.json"), settings).unwrap();
        let host = Host::once(config, Options::default()).unwrap();
        let sessions = host.all_sessions().unwrap().totals;
        for range in RANGES {
            let what = format!("{range:?} in {zone}");
            let screen = host.usage_screen(&tokens(range)).unwrap();
            assert!(screen.time_zone.ends_with(zone), "{}", screen.time_zone);
            let header = agrees(&screen, &what);
            // The same days by name and by hand are the same.
            if range != UsageRange::All {
                let (since, until) = (screen.since.clone(), screen.until.clone());
                let by_hand = UsageScreenQuery { since, until, ..tokens(UsageRange::Custom) };
                assert_eq!(host.usage_screen(&by_hand).unwrap(), screen, "{what}");
            }
            if range == UsageRange::All {
                assert!(sessions.cost_usd.is_some() && sessions.tokens_unpriced > 0, "a world with both");
                assert_eq!(header, self::header(&sessions), "{what}: the header of Sessions");
                assert_eq!(screen.totals.sessions, sessions.sessions, "{what}");
                // The list's foot, whole, and of its parts.
                let list = |state| {
                    let query = SessionsQuery { state, limit: 500, ..Default::default() };
                    host.sessions(&query).unwrap()
                };
                let all = list(None);
                assert!(all.subagents > 1, "a world with sub-agents");
                assert_eq!(all.rows.len(), usize::try_from(all.totals.sessions).unwrap(), "all on one page");
                assert_eq!(self::header(&all.totals), header, "{what}: the foot of Sessions");
                assert_eq!(all.totals.sessions + all.subagents, sessions.sessions, "{what}");
                assert_eq!(screen.subagents, all.subagents, "{what}: what Usage counts more than lists do");
                let parts =
                    [ListedState::NeedsYou, ListedState::Running, ListedState::Idle, ListedState::Completed]
                        .map(|state| list(Some(state)));
                let calls: u32 = parts.iter().map(|p| p.totals.calls).sum();
                let tokens: u64 = parts.iter().map(|p| p.totals.tokens.total).sum();
                let cost: i128 = parts.iter().map(|p| usd(p.totals.cost_usd.as_ref())).sum();
                assert_eq!((calls, tokens, cost), (header.0, header.2.total, header.3), "{what}: by state");
                // What is unfolded is what the sums have.
                let inside: u32 = all
                    .rows
                    .iter()
                    .filter(|r| r.children > 0)
                    .map(|r| {
                        let parent_id = Some(r.session.id.clone());
                        let page = host.sessions(&SessionsQuery { parent_id, ..Default::default() }).unwrap();
                        assert_eq!(page.rows.len(), usize::try_from(r.children).unwrap());
                        assert!(
                            page.rows.iter().all(|c| c.session.parent_id.as_ref() == Some(&r.session.id))
                        );
                        let inside = u32::try_from(page.rows.len()).unwrap() + page.subagents;
                        let whole = host.session(&r.session.id).unwrap().with_subagents.unwrap();
                        assert_eq!(whole.sessions, inside + 1);
                        let own = r.session.tokens.map_or(0, |t| t.total);
                        assert_eq!(whole.tokens.total, own + page.totals.tokens.total);
                        assert_eq!(
                            usd(whole.cost_usd.as_ref()),
                            usd(r.session.cost_usd.as_ref()) + usd(page.totals.cost_usd.as_ref())
                        );
                        inside
                    })
                    .sum();
                assert_eq!(inside, all.subagents, "{what}: what is unfolded is what is summed");
                if zone == "UTC" {
                    searches_sum_whole_trees(&host, &all.rows);
                }
            }
            // What the command line says of the same days.
            for by in [UsageBy::Day, UsageBy::Model, UsageBy::Project, UsageBy::Session] {
                let days = |day: &Option<String>| day.clone().filter(|_| range != UsageRange::All);
                let query =
                    UsageQuery { by, since: days(&screen.since), until: days(&screen.until), tz: None };
                let doc = host.usage(&query).unwrap();
                assert_eq!(sum(doc.rows.iter()), header, "{what}: usage --by {}", by.name());
                assert_eq!(doc.totals.sessions, screen.totals.sessions, "{what}");
            }
        }
    }
}

#[test]
fn an_export_says_what_the_screen_says() {
    let rig = Rig::new();
    build(&rig.home, &WorldSpec::new(20, 200)).unwrap();
    let host = Host::once(rig.config(), Options::default()).unwrap();
    let folder = rig.data_dir().join("Downloads");
    for range in [UsageRange::All, UsageRange::Days30] {
        let screen = host.usage_screen(&tokens(range)).unwrap();
        let done = host.usage_export(UsageBy::Model, &tokens(range), ExportFormat::Json, &folder).unwrap();
        let doc: UsageDocument = serde_json::from_str(&std::fs::read_to_string(&done.file).unwrap()).unwrap();
        assert_eq!(doc.rows.len(), screen.models.len());
        assert_eq!(sum(doc.rows.iter()), sum(screen.models.iter().map(|m| &m.row)));
        assert_eq!(doc.totals, screen.totals);
    }
    let csv = host.usage_export(UsageBy::Day, &tokens(UsageRange::All), ExportFormat::Csv, &folder).unwrap();
    let text = std::fs::read_to_string(&csv.file).unwrap();
    assert_eq!(text.lines().count(), csv.rows as usize + 1);
    assert!(text.starts_with("day,label,calls,"), "{text}");
    // A folder that can't be is an error with its path, and nothing is left.
    std::fs::write(rig.data_dir().join("file"), "").unwrap();
    let refused = host.usage_export(
        UsageBy::Day,
        &tokens(UsageRange::All),
        ExportFormat::Csv,
        &rig.data_dir().join("file"),
    );
    assert_eq!(refused.unwrap_err().code, "io");
}

#[test]
fn an_empty_store_has_an_empty_screen() {
    let rig = Rig::new();
    let host = Host::once(rig.config(), Options::default()).unwrap();
    let all = host.usage_screen(&UsageScreenQuery { range: UsageRange::All, ..Default::default() }).unwrap();
    assert_eq!((all.since, all.bars.len(), all.cached_percent), (None, 0, None));
    let month = host.usage_screen(&UsageScreenQuery::default()).unwrap();
    assert_eq!((month.bars.len(), month.totals.calls, month.untimed), (30, 0, None));
}
