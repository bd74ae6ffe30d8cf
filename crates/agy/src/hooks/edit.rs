//! Installing and removing by splicing: only the bytes of our own entry come and go (spec H2).

use std::{collections::HashSet, ops::Range};

use super::{
    Code, Event, MOST_BYTES, NamedHook, Refusal, Warning,
    json::{Document, Member},
    shape,
};

/// What hooks.json shall become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// `None`: there was no file, and none is needed.
    pub new: Option<Vec<u8>>,
    pub changed: bool,
    /// No named hook is in it any more.
    pub empty: bool,
    pub warnings: Vec<Warning>,
}

/// Installs, or refreshes what is there.
///
/// # Errors
/// `EBADJSON`, `EBADSHAPE`, `EFOREIGN` for a hook of our name that is somebody else's; `bad_request` for a path that no
/// hook can name.
pub fn install(current: Option<&[u8]>, hook: &NamedHook) -> Result<Edit, Refusal> {
    let bytes = current.unwrap_or(b"{}\n");
    let document = Document::parse(bytes)?;
    let mut warnings = shape::check(&document)?;
    let ours = ours(&document, hook)?;
    warnings.extend(about_others(&document, hook));
    let new = match ours.split_last() {
        None => insert(&document, hook)?,
        Some((last, earlier)) => {
            let old = document.slice(last.value.at.clone());
            if is_switched_off(old) {
                warnings.push(Warning {
                    code: "switched_on",
                    message: format!("The hook `{}` was switched off; this switches it on again.", hook.name),
                });
            }
            let mut splices = removals(&document, earlier);
            if !is_current(&document, hook, old)? {
                let lead = before(bytes, last.key.start);
                splices.push((last.value.at.clone(), value(&document, hook, &Style::of(lead))?));
            }
            apply(&document, splices)
        }
    };
    if new.len() > MOST_BYTES {
        return Err(too_big());
    }
    let merged = Document::parse(new.as_bytes())?;
    shape::check(&merged)?;
    Ok(Edit {
        changed: current != Some(new.as_bytes()),
        empty: merged.members.is_empty(),
        new: Some(new.into_bytes()),
        warnings,
    })
}

/// Takes our entry away, and all others of its name that are ours. A file whose other entries break agy's rules is
/// cleaned all the same: that makes nothing worse.
///
/// # Errors
/// `EBADJSON`; `EFOREIGN` for a hook of our name that is somebody else's.
pub fn remove(current: Option<&[u8]>, hook: &NamedHook) -> Result<Edit, Refusal> {
    let Some(bytes) = current else {
        return Ok(Edit { new: None, changed: false, empty: true, warnings: Vec::new() });
    };
    let document = Document::parse(bytes)?;
    let ours = ours(&document, hook)?;
    let new = apply(&document, removals(&document, &ours));
    Ok(Edit {
        changed: !ours.is_empty(),
        empty: ours.len() == document.members.len(),
        new: Some(new.into_bytes()),
        warnings: Vec::new(),
    })
}

/// A file that nobody wrote by hand, and that agy would read at each start.
pub fn too_big() -> Refusal {
    Refusal::new(
        Code::TooBig,
        "hooks.json would be larger than 1 MiB. Make it smaller, then try again; nothing was changed.",
    )
}

/// The entries of our name, all ours.
fn ours<'a>(document: &'a Document<'_>, hook: &NamedHook) -> Result<Vec<&'a Member>, Refusal> {
    let named: Vec<&Member> = document.members.iter().filter(|m| m.name == hook.name).collect();
    if named.iter().all(|m| hook.is_ours(document.slice(m.value.at.clone()))) {
        return Ok(named);
    }
    Err(Refusal::new(
        Code::Foreign,
        format!(
            "The hook `{}` in hooks.json holds something that AgentHub did not write, so it is left alone. Rename or \
             remove that entry, then try again.",
            hook.name
        ),
    ))
}

fn about_others(document: &Document<'_>, hook: &NamedHook) -> Vec<Warning> {
    let blocking = hook.others_with(Event::PreToolUse, document).into_iter().map(|name| Warning {
        code: "pre_tool_use",
        message: format!(
            "The hook `{name}` has PreToolUse: agy asks it before each tool, and an answer of `{{}}` denies the tool. If \
             agy refuses its tools, look there."
        ),
    });
    let only_alone = hook.handlers.iter().filter(|h| h.only_alone);
    let beside = only_alone.flat_map(|h| {
        hook.others_with(h.event, document).into_iter().map(|name| Warning {
            code: "post_tool_use",
            message: format!(
                "The hook `{name}` has {event}, and agy may run only one of two: ours is left out, and tools show from \
                 agy's database.",
                event = h.event.name()
            ),
        })
    });
    blocking.chain(beside).collect()
}

pub(super) fn is_switched_off(value: &str) -> bool {
    let value = serde_json::from_str::<serde_json::Value>(value).unwrap_or_default();
    value.as_object().is_some_and(|hook| {
        hook.iter().any(|(name, v)| name.eq_ignore_ascii_case("enabled") && v.as_bool() == Some(false))
    })
}

/// Whether the entry says exactly what it shall, however it is laid out.
fn is_current(document: &Document<'_>, hook: &NamedHook, old: &str) -> Result<bool, Refusal> {
    let mut right = serde_json::Map::new();
    for handler in hook.wanted(document) {
        right.insert(handler.event.name().to_owned(), hook.entries(handler)?);
    }
    let old = serde_json::from_str::<serde_json::Map<_, _>>(old);
    Ok(old.is_ok_and(|mut old| {
        // agy's own switch, when it is on, says nothing.
        old.retain(|name, v| !name.eq_ignore_ascii_case("enabled") || *v != serde_json::Value::Bool(true));
        old == right
    }))
}

/// How a member is laid out, from what stands before it.
enum Style<'a> {
    OneLine,
    Lines { end: &'a str, indent: &'a str },
}

impl<'a> Style<'a> {
    fn of(lead: &'a str) -> Style<'a> {
        match lead.rsplit_once('\n') {
            None => Style::OneLine,
            Some((before, indent)) => {
                Style::Lines { end: if before.ends_with('\r') { "\r\n" } else { "\n" }, indent }
            }
        }
    }
}

/// The white space before `at`.
fn before(bytes: &[u8], at: usize) -> &str {
    let head = bytes.get(..at).unwrap_or_default();
    let from = head.iter().rposition(|b| !b.is_ascii_whitespace()).map_or(0, |n| n + 1);
    head.get(from..).and_then(|space| std::str::from_utf8(space).ok()).unwrap_or_default()
}

/// The text with our entry as its last one.
fn insert(document: &Document<'_>, hook: &NamedHook) -> Result<String, Refusal> {
    let entry = |lead: &str| -> Result<String, Refusal> {
        let style = Style::of(lead);
        let space = if matches!(style, Style::OneLine) { "" } else { " " };
        let name = serde_json::Value::from(hook.name.as_str());
        Ok(format!("{lead}{name}:{space}{}", value(document, hook, &style)?))
    };
    let bytes = document.text.as_bytes();
    let splice = match (document.members.first(), document.members.last()) {
        (Some(first), Some(last)) => {
            let lead = before(bytes, first.key.start);
            // Blank lines before the first entry are not the manner of the others.
            let lead = lead.rfind('\n').map_or(lead, |n| {
                let end = lead.get(..n).is_some_and(|l| l.ends_with('\r'));
                lead.get(n - usize::from(end)..).unwrap_or(lead)
            });
            (last.value.at.end..last.value.at.end, format!(",{}", entry(lead)?))
        }
        _ => {
            let open = document.at.start + 1;
            let space = document.slice(open..document.at.end - 1);
            let line = |text: &str| if text.contains("\r\n") { "\r\n" } else { "\n" };
            // Each way leaves something by which `removals` finds what was there before.
            let text = match space {
                "" => {
                    let end = line(document.text);
                    format!("{}{end}", entry(&format!("{end}  "))?)
                }
                _ if !space.contains('\n') => entry("")?,
                "\n" | "\r\n" => entry(&format!("{space}    "))?,
                _ => entry(&format!("{}  ", line(space)))?,
            };
            (open..open, text)
        }
    };
    Ok(apply(document, vec![splice]))
}

/// Our value, one line for each event.
fn value(document: &Document<'_>, hook: &NamedHook, style: &Style<'_>) -> Result<String, Refusal> {
    let mut events = Vec::new();
    for handler in hook.wanted(document) {
        let entries = hook.entries(handler)?;
        let (name, space) = (handler.event.name(), if matches!(style, Style::OneLine) { "" } else { " " });
        events.push(format!("\"{name}\":{space}{}", laid_out(&entries, space)));
    }
    Ok(match style {
        Style::OneLine => format!("{{{}}}", events.join(",")),
        Style::Lines { end, indent } => {
            let deeper = if indent.is_empty() { "  ".to_owned() } else { indent.repeat(2) };
            format!("{{{end}{deeper}{}{end}{indent}}}", events.join(&format!(",{end}{deeper}")))
        }
    })
}

/// One line of JSON, with or without spaces between its parts.
fn laid_out(value: &serde_json::Value, space: &str) -> String {
    use serde_json::Value;
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|v| laid_out(v, space)).collect();
            format!("[{}]", items.join(&format!(",{space}")))
        }
        Value::Object(members) => {
            // As a person would write them; a map has its own order.
            let order = ["matcher", "hooks", "type", "command", "timeout"];
            let named = order.iter().filter_map(|name| Some((name, members.get(*name)?)));
            let members: Vec<_> =
                named.map(|(name, v)| format!("\"{name}\":{space}{}", laid_out(v, space))).collect();
            format!("{{{space}{}{space}}}", members.join(&format!(",{space}")))
        }
        other => other.to_string(),
    }
}

type Splice = (Range<usize>, String);

/// Without these members. What `insert` made is gone to the byte.
fn removals(document: &Document<'_>, gone: &[&Member]) -> Vec<Splice> {
    let gone: HashSet<usize> = gone.iter().map(|m| m.key.start).collect();
    let is_gone = |m: &Member| gone.contains(&m.key.start);
    let cut = |range: Range<usize>| (range, String::new());
    let members = &document.members;
    let (Some(first), Some(last)) = (members.first(), members.last()) else { return Vec::new() };
    let Some(kept) = members.iter().position(|m| !is_gone(m)) else {
        let (open, close) = (document.at.start + 1, document.at.end - 1);
        let lead = document.slice(open..first.key.start);
        let tail = document.slice(last.value.at.end..close);
        let was_bare = ["\n", "\r\n"].iter().any(|end| tail == *end && lead == format!("{end}  "));
        return vec![cut(open..if was_bare { close } else { last.value.at.end })];
    };
    // A comma goes with ours; the white space around it is its neighbours', whoever wrote them there since.
    let comma = |from: usize| {
        let text = document.text.as_bytes().get(from..).unwrap_or_default();
        from + text.iter().position(|b| *b == b',').unwrap_or_default()
    };
    let mut cuts = Vec::new();
    if let Some(last_gone) = kept.checked_sub(1).and_then(|n| members.get(n)) {
        let end = last_gone.value.at.end;
        cuts.push(cut(document.at.start + 1..end));
        cuts.push(cut(comma(end)..comma(end) + 1));
    }
    let behind = members.get(kept..).unwrap_or_default();
    for (before, m) in behind.iter().zip(behind.iter().skip(1)).filter(|(_, m)| is_gone(m)) {
        let end = before.value.at.end;
        cuts.push(cut(if is_gone(before) { end } else { comma(end) }..m.value.at.end));
    }
    cuts
}

/// Splices are ascending and do not overlap.
fn apply(document: &Document<'_>, splices: Vec<Splice>) -> String {
    let mut out = String::with_capacity(document.text.len() + 1_024);
    let mut at = 0;
    for (range, text) in splices {
        out.push_str(document.slice(at..range.start));
        out.push_str(&text);
        at = range.end;
    }
    out.push_str(document.slice(at..document.text.len()));
    out
}

#[cfg(test)]
mod tests;
