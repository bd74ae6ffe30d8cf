//! Every word that the tray and the window's frame show, and how names from outside are made safe for a menu.

use agenthub_engine::view::{BoardLane, Outcome, State};

pub(crate) const APP: &str = "AgentHub";
pub(crate) const OPEN: &str = "Open AgentHub";
pub(crate) const QUIT: &str = "Quit";
pub(crate) const MORE: &str = "More…";
pub(crate) const MUTE: &str = "Mute notifications";
pub(crate) const NO_LANES: &str = "No lanes yet";
pub(crate) const READING: &str = "Reading conversations…";
#[cfg(target_os = "linux")]
pub(crate) const NO_DISPLAY: &str = "no display was found (neither `DISPLAY` nor `WAYLAND_DISPLAY` leads to one). \
     AgentHub's tray and window need a desktop; without one, use `agenthub watch`";
pub(crate) const NO_TRAY: &str = "No tray was found on this desktop, so the window opened instead; closing it quits AgentHub. \
     On GNOME the extension “AppIndicator and KStatusNotifierItem Support” adds a tray.";

/// Why the newest notification did not show.
pub(crate) fn no_notifications(why: &str) -> String {
    format!("The system does not show notifications: {why}. What was missed stands in the history.")
}

/// The most characters of a foreign name that a menu shows.
const NAME_MAX: usize = 40;

/// The state's shape where there are only letters; the page and the icons draw the same ones.
pub(crate) const fn shape(state: State) -> char {
    match state {
        State::Error => '✕',
        State::Waiting => '◆',
        State::Running => '●',
        State::Idle => '○',
    }
}

/// A lane's line in the menu: `◆ api-server — asks to run run_command · 2 min`.
pub(crate) fn lane_line(lane: &BoardLane, age_s: Option<i64>) -> String {
    let mut line = format!("{} {} — {}", shape(lane.lane.state), name(&lane.lane.name), standing(lane));
    if let Some(age_s) = age_s {
        line.push_str(" · ");
        line.push_str(&age(age_s));
    }
    line
}

/// What a lane does, in two or three words.
fn standing(lane: &BoardLane) -> String {
    match (lane.lane.state, lane.lane.outcome) {
        (State::Error, _) => "failed".to_owned(),
        (State::Waiting, _) => match &lane.lane.waiting_for {
            Some(tool) => format!("asks to run {}", name(tool)),
            None => "waits for you".to_owned(),
        },
        (State::Running, _) => "running".to_owned(),
        (State::Idle, Outcome::Unfinished) => "ended without finishing".to_owned(),
        (State::Idle, _) if lane.lane.sessions.is_empty() => "idle".to_owned(),
        (State::Idle, _) => "your turn".to_owned(),
    }
}

/// An age as lists show it: `now`, `12 min`, `3 h`, `2 d`.
pub(crate) fn age(age_s: i64) -> String {
    match age_s / 60 {
        ..1 => "now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes @ 60..2880 => format!("{} h", minutes / 60),
        minutes => format!("{} d", minutes / 1440),
    }
}

/// In how many seconds `age` says something else.
pub(crate) fn age_changes_in_s(age_s: i64) -> i64 {
    let step = match age_s / 60 {
        ..60 => 60,
        60..2880 => 3600,
        _ => 86_400,
    };
    step - age_s.max(0) % step
}

/// A name from outside, fit for one line of a menu: no control or direction characters, at most 40 characters, and
/// isolated when it could turn the line around.
pub(crate) fn name(raw: &str) -> String {
    let mut clean: String = raw
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_format(*c))
        .collect();
    if let Some((cut, _)) = clean.char_indices().nth(NAME_MAX) {
        let keep = clean.char_indices().nth(NAME_MAX - 1).map_or(cut, |(at, _)| at);
        clean.truncate(keep);
        clean.push('…');
    }
    if clean.chars().any(is_right_to_left) { format!("\u{2068}{clean}\u{2069}") } else { clean }
}

/// A text with `&` doubled: alone it would underline the letter behind it. (`_` is doubled by the Linux backend.)
pub(crate) fn escape_mnemonics(text: &str) -> String {
    text.replace('&', "&&")
}

/// Characters that are invisible and steer direction or joining.
const fn is_format(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

const fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_words_and_know_when_they_change() {
        for (age_s, says, changes_in_s) in [
            (-5, "now", 60),
            (0, "now", 60),
            (59, "now", 1),
            (60, "1 min", 60),
            (134, "2 min", 46),
            (3599, "59 min", 1),
            (3600, "1 h", 3600),
            (7199, "1 h", 1),
            (47 * 3600, "47 h", 3600),
            (48 * 3600, "2 d", 86_400),
        ] {
            assert_eq!(age(age_s), says, "{age_s} s");
            assert_eq!(age_changes_in_s(age_s), changes_in_s, "{age_s} s");
        }
    }

    #[test]
    fn a_foreign_name_can_neither_break_nor_turn_the_line() {
        assert_eq!(name("api-server"), "api-server");
        assert_eq!(name("two\nlines\tand\u{7} a bell"), "two lines and a bell");
        assert_eq!(name("abc\u{202e}cba"), "abccba");
        assert_eq!(name("مستودع"), "\u{2068}مستودع\u{2069}");
        let long = name(&"ü".repeat(41));
        assert_eq!((long.chars().count(), long.ends_with('…')), (40, true));
        assert_eq!(name(&"ü".repeat(40)).chars().count(), 40);
        assert_eq!(escape_mnemonics("R&D_lab"), "R&&D_lab");
    }
}
