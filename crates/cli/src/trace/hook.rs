//! `agenthub trace hook EVENT`, which agy waits for: the event goes to disk, `{}` is printed, a child is left behind, and
//! that is all. No argument parser, no settings, no database stands in its way.

use std::{
    ffi::OsString,
    io::Write as _,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use agenthub_engine::{Config, Overrides, tracer};

/// Where things are, as the forwarder says it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Args {
    event: Option<String>,
    places: [Option<PathBuf>; 3],
}

/// The flags, and the variables that win over what was baked in (spec H7).
const PLACES: [(&str, &str); 3] = [
    ("--data-dir", "AGENTHUB_DATA_DIR"),
    ("--config-dir", "AGENTHUB_CONFIG_DIR"),
    ("--gemini-dir", "AGENTHUB_GEMINI_DIR"),
];

/// `None`: the command line asks for something else. Otherwise it is done, whatever happened, with exit code 0: a failed
/// hook is agy's business in no case.
pub(crate) fn main() -> Option<ExitCode> {
    let args = parse(std::env::args_os().skip(1), &|name| std::env::var_os(name))?;
    let [data, config, gemini] = args.places;
    let event = args.event.unwrap_or_default();
    let overrides = Overrides { data_dir: data, config_dir: config, gemini_dir: gemini };
    let config = Config::from_env(&overrides).ok();
    let is_work = config.as_ref().is_some_and(|c| tracer::receive(&c.data_dir, &event));
    let mut out = std::io::stdout();
    let _ = out.write_all(b"{}\n").and_then(|()| out.flush());
    if let Some(config) = config.filter(|_| is_work) {
        leave_child(&config);
    }
    // Not by returning: a thread may still wait for the rest of a standard input that never ends.
    std::process::exit(0);
}

/// `None` unless it is `trace hook`, at the beginning.
fn parse(words: impl Iterator<Item = OsString>, var: &dyn Fn(&str) -> Option<OsString>) -> Option<Args> {
    let mut words = words;
    if words.next()? != "trace" || words.next()? != "hook" {
        return None;
    }
    let mut args = Args::default();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--help" || text == "-h" {
            return None;
        }
        match PLACES.iter().zip(&mut args.places).find(|((flag, _), _)| text == *flag) {
            Some((_, place)) => *place = words.next().map(PathBuf::from),
            None => args.event = args.event.or_else(|| Some(text.into_owned())),
        }
    }
    for ((_, name), place) in PLACES.iter().zip(&mut args.places) {
        if let Some(set) = var(name).filter(|v| !v.is_empty()) {
            *place = Some(set.into());
        }
    }
    args.event.is_some().then_some(args)
}

/// Nobody waits for it: it holds none of agy's pipes, and leaves agy's session as its first act.
fn leave_child(config: &Config) {
    let Ok(program) = std::env::current_exe() else { return };
    // What can't be started is done by the next hook, or the app.
    let _ = Command::new(program)
        .args(["trace", "work"])
        .arg("--data-dir")
        .arg(&config.data_dir)
        .arg("--config-dir")
        .arg(&config.config_dir)
        .arg("--gemini-dir")
        .arg(&config.gemini_dir)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str, set: &[(&str, &str)]) -> Option<Args> {
        let var = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        parse(line.split_whitespace().map(OsString::from), &var)
    }

    #[test]
    fn r1_h7_places_are_baked_in_and_a_variable_wins() {
        let line = "trace hook --data-dir /d --config-dir /c --gemini-dir /g Stop";
        let places = |a: Args| a.places.map(|p| p.map(|p| p.display().to_string()));
        let args = parsed(line, &[]).unwrap();
        assert_eq!(args.event.as_deref(), Some("Stop"));
        assert_eq!(places(args), ["/d", "/c", "/g"].map(|p| Some(p.to_owned())));
        let args = parsed(line, &[("AGENTHUB_DATA_DIR", "/set"), ("AGENTHUB_CONFIG_DIR", "")]).unwrap();
        assert_eq!(places(args), ["/set", "/c", "/g"].map(|p| Some(p.to_owned())));
        for other in
            ["", "trace", "trace hook", "trace status", "lanes", "trace hook --help", "hook trace Stop"]
        {
            assert_eq!(parsed(other, &[]), None, "{other}");
        }
    }
}
