//! From the command line to an exit code: 0 done, 1 failed, 2 wrong use.

mod pricing;

use std::process::ExitCode;

use agenthub_engine::{
    Config, Host, LogFile, Options, UsageQuery, has_put_aside, take_put_aside, usage_csv,
    view::{self, ErrorView, State},
};
use clap::Parser;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::{
    args::{self, Args, By, Command},
    hooks, open, out, running, tables, trace, watch,
};

/// Characters of one line; the longest path of most systems, and some words.
const LONGEST_COMPLAINT: usize = 4_500;

/// An error of the engine's, with its code.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) ErrorView);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.0.message, self.0.code)
    }
}

impl std::error::Error for Failed {}

/// A failure of which the printed document tells: with `--json` there is one document, not two.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Failed);

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Told {}

pub(crate) fn main() -> ExitCode {
    // agy waits for this one: nothing else is set up before it.
    if let Some(done) = trace::hook::main() {
        return done;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => return misused(&e),
    };
    if let Command::Run(command) = &args.command {
        return running::run(&args.overrides(), command);
    }
    // A command that ends by itself says in its own words what a person shall know; its log is for whoever asks for one.
    let asked =
        ["AGENTHUB_LOG", "RUST_LOG"].into_iter().find(|v| std::env::var_os(v).is_some_and(|v| !v.is_empty()));
    let filter = asked.and_then(|v| tracing_subscriber::EnvFilter::try_from_env(v).ok());
    let filter = filter.unwrap_or_else(|| "warn".into());
    let is_quiet = asked.is_none() && !matches!(args.command, Command::Watch { .. });
    // Kept beside the store, too, for a diagnostics bundle. Without a place for it there is an error soon enough.
    let writer = match Config::from_env(&args.overrides()) {
        Ok(config) => {
            let log =
                if is_quiet { LogFile::quiet(&config.data_dir) } else { LogFile::new(&config.data_dir) };
            BoxMakeWriter::new(move || log.clone())
        }
        Err(_) => BoxMakeWriter::new(std::io::stderr),
    };
    // A log that can't be written is no reason to end: complaining of that to the same place would panic.
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).log_internal_errors(false).init();
    let done = run(&args);
    tell_put_aside();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let told = e.downcast_ref::<Told>();
            let failed = e.downcast_ref::<Failed>().or(told.map(|t| &t.0));
            // All that is written here goes to standard output.
            let other = if e.is::<std::io::Error>() { "io" } else { "internal" };
            let code = failed.map_or(other, |f| f.0.code.as_str());
            let message = failed.map_or_else(|| format!("{e:#}"), |f| f.0.message.clone());
            if args.json() && told.is_none() {
                tell_error(code, &message);
            }
            tracing::debug!("{e:?}");
            complain(&format!("agenthub: {message} ({code})"));
            // What was typed can't be.
            let is_misuse = matches!(code, "bad_request" | "endpoint_refused" | "header_refused");
            ExitCode::from(if is_misuse { 2 } else { 1 })
        }
    }
}

/// Says at a command's end what became of a settings file that it could not read: what scrolled by is not seen.
fn tell_put_aside() {
    for text in take_put_aside() {
        complain(&format!("agenthub: {text} (settings_reset)"));
    }
}

/// Wrong use; or help and version, which clap gives in the same way.
fn misused(e: &clap::Error) -> ExitCode {
    if e.use_stderr() && args::wants_json(std::env::args_os().skip(1)) {
        let text = e.to_string();
        let said = text.split("\n\nUsage:").next().unwrap_or_default();
        tell_error("bad_request", said.trim_start_matches("error: ").trim());
    }
    // Where even this can't be written, the exit code still tells.
    let _ = e.print();
    ExitCode::from(if e.use_stderr() { 2 } else { 0 })
}

fn tell_error(code: &str, message: &str) {
    let document = serde_json::json!({ "error": { "code": code, "message": message } });
    // Where even this can't be written, the exit code still tells.
    let _ = out::line(&document.to_string());
}

/// Takes a lane's error off the board (spec L7).
fn dismiss(host: &Host, what: &str) -> anyhow::Result<()> {
    let refused = |code: &str, message: String| Failed(ErrorView { code: code.to_owned(), message });
    let lanes = host.watch().borrow().lanes().lanes;
    let Some(id) = open::lane(&lanes, what)? else {
        let message = format!("There is no lane `{what}` on the board. `agenthub lanes` lists them.");
        return Err(refused("not_found", message).into());
    };
    let Some(lane) = lanes.iter().find(|l| l.id == id && l.state == State::Error) else {
        return Err(refused("bad_request", format!("The lane `{what}` has not failed.")).into());
    };
    host.dismiss(&id).map_err(Failed)?;
    Ok(out::line(&format!("Dismissed: {}", out::safe(&lane.name)))?)
}

/// Says beside a list what bears on all that is listed: that what it was kept in was damaged, or that agy's home can't be
/// read. Documents have no place for it.
pub(crate) fn say_notes(host: &Host) {
    for text in telling(&without_put_aside(&host.watch().borrow().board)) {
        complain(&text);
    }
}

/// A board without the note that [`tell_put_aside`] is going to say.
fn without_put_aside(board: &view::BoardView) -> view::BoardView {
    let mut board = board.clone();
    if has_put_aside() {
        board.notes.retain(|n| n.code != "settings_reset");
    }
    board
}

/// What [`say_notes`] says of a board.
pub(crate) fn telling(board: &view::BoardView) -> Vec<String> {
    const TELLING: [&str; 9] = [
        "store_rebuilt",
        "person_rebuilt",
        "settings_bad",
        "settings_reset",
        "settings_unreadable",
        "source_failed",
        "no_home",
        "unreadable_folder",
        "schema_drift",
    ];
    let telling = board.notes.iter().filter(|n| TELLING.contains(&&*n.code));
    telling.map(|note| format!("agenthub: {} ({})", note.message, note.code)).collect()
}

/// Where nobody can be told, the exit code still tells.
pub(crate) fn complain(text: &str) {
    use std::io::Write as _;
    // Messages hold what was typed and how files are called: nothing of that may drive the terminal, or fill it.
    let lines: Vec<String> = text.lines().map(|line| out::cut(line, LONGEST_COMPLAINT)).collect();
    let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
}

fn run(args: &Args) -> anyhow::Result<()> {
    let config = Config::from_env(&args.overrides())
        .map_err(|e| Failed(ErrorView { code: "bad_request".to_owned(), message: e.to_string() }))?;
    let once = || Host::once(config.clone(), Options::default()).map_err(Failed);
    let for_doctor = || Host::for_doctor(config.clone(), Options::default()).map_err(Failed);
    // For all that lists or sums: what could not be kept would be missing there.
    let whole = || once()?.whole().map_err(Failed);
    let now = jiff::Timestamp::now();
    match &args.command {
        Command::Watch { .. } => watch::watch(config),
        Command::Lanes { dismiss: Some(what), .. } => dismiss(&whole()?, what),
        Command::Lanes { json, dismiss: None } => {
            let host = whole()?;
            let snapshot = host.watch().borrow().clone();
            if *json {
                say_notes(&host);
                out::json(&snapshot.lanes())
            } else {
                let board = without_put_aside(&snapshot.board);
                Ok(out::line(&tables::with_unread(tables::lanes(&board, now), &host))?)
            }
        }
        Command::Sessions { search, json } => {
            let host = whole()?;
            let mut doc = host.sessions_with(search.as_deref()).map_err(Failed)?;
            say_notes(&host);
            if *json {
                return out::json(&doc);
            }
            // A note has just said what is wrong with the whole folder.
            doc.problems.retain(|p| agenthub_engine::is_of_one_file(p, &config.gemini_dir));
            Ok(out::line(&tables::sessions(&doc, now))?)
        }
        Command::Session { id, json } => {
            let host = whole()?;
            if *json {
                let doc = host.session_document(id).map_err(Failed)?;
                say_notes(&host);
                out::json(&doc)
            } else {
                let (detail, timeline) = host.whole_session(id).map_err(Failed)?;
                say_notes(&host);
                Ok(out::line(&tables::session(&detail, &timeline, &host.time_zone()))?)
            }
        }
        Command::Usage { by, since, until, tz, csv, json } => {
            let query =
                UsageQuery { by: (*by).into(), since: since.clone(), until: until.clone(), tz: tz.clone() };
            let host = whole()?;
            let mut doc = host.usage(&query).map_err(Failed)?;
            say_notes(&host);
            match (json, csv) {
                (true, _) => out::json(&doc),
                (_, true) => {
                    // The table has no place for it.
                    tables::unread(&host).iter().for_each(|text| complain(&format!("agenthub: {text}")));
                    Ok(out::line(usage_csv(&doc).map_err(Failed)?.trim_end())?)
                }
                _ => {
                    doc.problems.retain(|p| agenthub_engine::is_of_one_file(p, &config.gemini_dir));
                    let days = matches!(by, By::Day) || since.is_some() || until.is_some();
                    Ok(out::line(&tables::usage(&doc, days))?)
                }
            }
        }
        Command::Hooks { command } => hooks::run(&config, *command),
        Command::Pricing { command } => pricing::run(config, command),
        // Its exit code is not ours: it never comes here.
        Command::Run(_) => Ok(()),
        Command::Open { what } => open::open(config, what.as_deref()),
        Command::Trace { command } => trace::run(&config, command),
        Command::Doctor { bundle: Some(file), json } => {
            let bundle = for_doctor()?.bundle(file).map_err(Failed)?;
            if *json { out::json(&bundle) } else { Ok(out::line(&tables::bundle(&bundle))?) }
        }
        Command::Doctor { bundle: None, json } => {
            let doc = for_doctor()?.doctor().map_err(Failed)?;
            if *json { out::json(&doc) } else { Ok(out::line(&tables::doctor(&doc))?) }
        }
    }
}
