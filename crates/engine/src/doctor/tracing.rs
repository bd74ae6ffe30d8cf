//! What doctor finds of tracing: its hook, each destination by its last answer, the queue, settings that can't be so.

use agenthub_core::words::{counted, plural};

use super::told;
use crate::view::{ErrorView, Finding, HooksState, Level, TracingAttempt, TracingDestination, TracingStatus};

/// Of what the queue may hold, so much is worth a word.
const NEARLY_FULL_PERCENT: u64 = 80;

pub(super) fn findings(status: &Result<TracingStatus, ErrorView>) -> Vec<Finding> {
    let s = match status {
        Ok(s) => s,
        Err(e) => {
            let advice = "Check that the data folder can be written.";
            return vec![told(Level::Warning, "tracing_unknown", e.message.clone(), advice)];
        }
    };
    let mut found = if s.enabled { of_on(s) } else { of_off(s) };
    // That the whole file can't be read is told as a finding of its own.
    found.extend(s.problems.iter().filter(|p| p.key != "settings.json").map(|p| match p.key.as_str() {
        "secrets.json" => told(
            Level::Warning,
            "tracing_secrets",
            p.message.clone(),
            "Run `agenthub trace install` with the headers once more, which writes the file anew for you alone.",
        ),
        key => told(
            Level::Warning,
            "tracing_settings",
            format!("In settings.json `{key}`: {}.", p.message.trim_end_matches('.')),
            "Correct it in settings.json, or set it in the window under Settings → Tracing.",
        ),
    }));
    let is_well = found.iter().all(|f| f.level == Level::Note);
    if s.enabled && is_well {
        found.push(Finding { advice: None, ..told(Level::Ok, "tracing_on", summary(s), "") });
    }
    found
}

fn summary(s: &TracingStatus) -> String {
    let on = s.destinations.iter().filter(|d| d.enabled);
    let places: Vec<&str> =
        on.clone().map(|d| d.id.as_str()).chain(s.file.as_ref().map(|_| "a file")).collect();
    let last = on.filter_map(|d| d.last_taken.as_ref()).map(|a| a.at.as_str()).max();
    let last = last.map_or_else(|| "nothing was sent yet".to_owned(), |at| format!("last taken at {at}"));
    format!("Traces go to {}; {last}.", places.join(", "))
}

fn of_off(s: &TracingStatus) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_there =
        !matches!(s.hook.state, HooksState::NotInstalled | HooksState::Unreadable | HooksState::Foreign);
    if is_there {
        found.push(told(
            Level::Note,
            "tracing_off_hook",
            "Tracing is off, but its hook is still in agy's hooks.json; what agy tells it is thrown away."
                .to_owned(),
            "Take it out with `agenthub trace uninstall`, or switch tracing on.",
        ));
    }
    let waiting: u64 = s.destinations.iter().map(|d| d.waiting_spans).sum();
    if waiting > 0 {
        found.push(told(
            Level::Note,
            "tracing_off_waiting",
            format!("{} to be sent, and tracing is off.", counted(waiting, "span waits", "spans wait")),
            "Switch tracing on to send them, or throw them away with `agenthub trace uninstall --purge`.",
        ));
    }
    found
}

fn of_on(s: &TracingStatus) -> Vec<Finding> {
    let mut found = Vec::new();
    if s.file.is_none() && !s.destinations.iter().any(|d| d.enabled) {
        found.push(told(
            Level::Warning,
            "tracing_no_destination",
            "Tracing is on and has no destination that is switched on: nothing is sent.".to_owned(),
            "Run `agenthub trace install --endpoint URL`, or switch a destination on in Settings → Tracing.",
        ));
    }
    found.extend(hook(s));
    for d in s.destinations.iter().filter(|d| d.enabled) {
        found.extend(destination(d));
    }
    let bytes: u64 = s.destinations.iter().map(|d| d.waiting_bytes).sum();
    if bytes >= s.most_waiting_bytes / 100 * NEARLY_FULL_PERCENT {
        let mib = |n: u64| n.div_ceil(1 << 20);
        found.push(told(
            Level::Warning,
            "tracing_queue_full",
            format!("The queue of traces holds {} of {} MiB; beyond that the oldest is dropped.", mib(bytes), mib(s.most_waiting_bytes)),
            "See with `agenthub trace test` why they are not taken; switch a destination off that is no more.",
        ));
    }
    if s.user_found == Some(false) {
        found.push(told(
            Level::Warning,
            "tracing_no_address",
            format!(
                "Traces shall name you (`{}`), but no log of agy's names an address: they carry no user.",
                s.user
            ),
            "Sign in to agy once more, which writes it into its log, or choose `--user none`.",
        ));
    }
    found
}

/// How its hook stands in agy's configuration.
fn hook(s: &TracingStatus) -> Option<Finding> {
    let (level, code, means) = match s.hook.state {
        HooksState::Installed if s.hook.error.is_some() => {
            (Level::Warning, "tracing_hook_dropped", "agy drops the whole hooks.json, so no turn is sent.")
        }
        HooksState::Installed if s.hook.last_event_at.is_none() => {
            (Level::Note, "tracing_hook_silent", "The tracing hook is installed; agy has not started it yet.")
        }
        HooksState::Installed => return None,
        HooksState::NotInstalled => (
            Level::Warning,
            "tracing_hook_missing",
            "Tracing is on, but its hook is not in agy's hooks.json: no turn is sent.",
        ),
        HooksState::SwitchedOff => (
            Level::Warning,
            "tracing_hook_off",
            "The tracing hook is switched off in agy's hooks.json: no turn is sent.",
        ),
        HooksState::Incomplete => (
            Level::Warning,
            "tracing_hook_incomplete",
            "The tracing hook lacks one of its events: turns may be sent late or not at all.",
        ),
        HooksState::StaleCommand => (
            Level::Warning,
            "tracing_hook_stale",
            "The tracing hook starts a script of an older place or version.",
        ),
        HooksState::TargetMissing => (
            Level::Warning,
            "tracing_hook_target",
            "The script that the tracing hook starts, or the program behind it, is gone: no turn is sent.",
        ),
        HooksState::Foreign => (
            Level::Warning,
            "tracing_hook_foreign",
            "Something that is not AgentHub's has the place of the tracing hook.",
        ),
        HooksState::Unreadable => {
            (Level::Warning, "tracing_hook_unreadable", "agy's hooks.json can't be used, so no turn is sent.")
        }
    };
    let why = s.hook.error.as_ref().map_or_else(String::new, |e| format!(" {}", e.message));
    let advice = match (s.hook.state, &s.hook.advice) {
        (HooksState::Installed, None) => {
            "Start agy anew: sessions that are open keep the hooks they started with."
        }
        (_, Some(advice)) => advice,
        (_, None) => "Correct hooks.json, then run `agenthub trace install`.",
    };
    Some(told(level, code, format!("{means}{why}"), advice))
}

fn destination(d: &TracingDestination) -> Vec<Finding> {
    let mut found = Vec::new();
    let anew = format!("agenthub trace install --destination {}", d.id);
    if let Some(e) = &d.error {
        let advice = format!("Say where it is with `{anew} --endpoint URL`, or in Settings → Tracing.");
        found.push(told(Level::Warning, "tracing_endpoint", format!("{}: {}", d.id, e.message), &advice));
    } else if let Some(last) = d.last.as_ref().filter(|_| d.held_up) {
        found.push(held_up(d, last, &anew));
    }
    if d.refused_spans > 0 {
        let advice = format!("Its words stand in `agenthub trace status`; `{anew}` sends them once more.");
        let message = format!(
            "{} does not want {}; {} kept for seven days.",
            d.id,
            spans(d.refused_spans),
            plural(d.refused_spans, "it is", "they are")
        );
        found.push(told(Level::Warning, "tracing_refused", message, &advice));
    }
    if d.dropped_spans > 0 {
        let message = format!(
            "{} for {} {} given up after seven days of waiting, or because the queue was full.",
            spans(d.dropped_spans),
            d.id,
            plural(d.dropped_spans, "was", "were")
        );
        let advice = "What agy still has can be sent with `agenthub trace export --session ID`.";
        found.push(told(Level::Warning, "tracing_dropped", message, advice));
    }
    if d.rejected_spans > 0 {
        let message = format!("{} dropped {} of those that it took.", d.id, spans(d.rejected_spans));
        let advice = "Its words stand in `agenthub trace status`; mostly a limit of the account.";
        found.push(told(Level::Note, "tracing_rejected", message, advice));
    }
    if d.damaged > 0 {
        let message = format!(
            "{} in the queue for {} could not be read and {} set aside.",
            counted(d.damaged, "file", "files"),
            d.id,
            plural(d.damaged, "is", "are")
        );
        let advice = "Nothing to do; the turns can be sent with `agenthub trace export --session ID`.";
        found.push(told(Level::Note, "tracing_damaged", message, advice));
    }
    if let Some(doubt) = &d.doubt {
        let advice = format!("If it is not meant so: `{anew} --endpoint URL`.");
        found.push(told(Level::Warning, "tracing_doubt", format!("{}: {doubt}", d.id), &advice));
    }
    found
}

/// It did not take the last spans: what it said, and what follows.
fn held_up(d: &TracingDestination, last: &TracingAttempt, anew: &str) -> Finding {
    let status = last.http_status.map_or_else(|| "no answer".to_owned(), |s| format!("HTTP {s}"));
    let next = d.next_attempt_at.as_ref().map_or_else(String::new, |at| format!(", next try at {at}"));
    let waits = match d.waiting_spans {
        0 => String::new(),
        n => format!(" {}{next}.", counted(n, "span waits", "spans wait")),
    };
    let said = if last.message.is_empty() { String::new() } else { format!(" {}", last.message) };
    let message = format!("{} ({}) did not take the last request: {status}.{said}{waits}", d.id, d.endpoint);
    let (code, advice) = match last.fate.as_str() {
        "misdirected" => (
            "tracing_misdirected",
            format!("Correct the endpoint or the key with `{anew} --endpoint URL --header \"NAME: VALUE\"`; `agenthub trace test` shows its answer."),
        ),
        "refused" | "too_large" => (
            "tracing_not_wanted",
            "See with `agenthub trace test` what the backend says.".to_owned(),
        ),
        _ => (
            "tracing_unreachable",
            "Start the backend or see to its address; what waits is sent by itself. `agenthub trace test` tries at once.".to_owned(),
        ),
    };
    told(Level::Warning, code, message, &advice)
}

fn spans(n: u64) -> String {
    counted(n, "span", "spans")
}
