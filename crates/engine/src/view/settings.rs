//! The shape of `settings.json`, one struct a section, and how the settings stand. What a value may be stands beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Everything that the person can set. In the file every key may be left out.
///
/// A new section is a field here, with a `Default` and a line in `check`: reading, merging and reporting follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct Settings {
    /// Lanes stand on the board for so long after their last activity. 1 to 720.
    pub board_hours: u32,
    /// A session of which hooks tell counts as over after so much silence. 1 to 1440.
    pub quiet_minutes_with_hooks: u32,
    /// The same for a session that hooks never spoke of. 1 to 1440.
    pub quiet_minutes_without_hooks: u32,
    /// The IANA name of the zone in which days are cut; `null` takes the system's.
    pub time_zone: Option<String>,
    pub start_at_login: bool,
    /// Whether our own forwarder is brought up to date at each start, while the hook is installed.
    pub refresh_hooks: bool,
    /// Whether Lanes says what hooks bring while there are none. Dismissed there, it is `false`.
    pub hooks_hint: bool,
    pub notifications: NotificationSettings,
    pub prices: PriceSettings,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            board_hours: 8,
            quiet_minutes_with_hooks: 10,
            quiet_minutes_without_hooks: 2,
            time_zone: None,
            start_at_login: false,
            refresh_hooks: true,
            hooks_hint: true,
            notifications: NotificationSettings::default(),
            prices: PriceSettings::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct NotificationSettings {
    /// Nothing is shown or sounded; the tray goes on telling.
    pub do_not_disturb: bool,
    /// A turn is over, and it is the person's turn.
    pub ready: NoticeSwitch,
    pub waiting: NoticeSwitch,
    pub failed: NoticeSwitch,
    /// agy went away in the middle of a turn.
    pub ended: NoticeSwitch,
    /// Turns that end well after less than so many seconds are not announced. 0 to 86400.
    pub min_turn_s: u32,
    pub quiet_hours: QuietHours,
    /// Ids of lanes that are not announced. At most 1000.
    pub muted_lanes: Vec<String>,
}

impl Default for NotificationSettings {
    fn default() -> NotificationSettings {
        NotificationSettings {
            do_not_disturb: false,
            ready: NoticeSwitch::default(),
            waiting: NoticeSwitch::default(),
            failed: NoticeSwitch::default(),
            ended: NoticeSwitch::default(),
            min_turn_s: 10,
            quiet_hours: QuietHours::default(),
            muted_lanes: Vec::new(),
        }
    }
}

/// One kind of notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct NoticeSwitch {
    pub on: bool,
    pub sound: bool,
}

impl Default for NoticeSwitch {
    fn default() -> NoticeSwitch {
        NoticeSwitch { on: true, sound: false }
    }
}

/// A part of each day, in the person's zone, in which nothing is shown. It may go over midnight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct QuietHours {
    pub on: bool,
    /// `HH:MM`, included.
    pub from: String,
    /// `HH:MM`, excluded. The same as `from`: no quiet hours.
    pub to: String,
}

impl Default for QuietHours {
    fn default() -> QuietHours {
        QuietHours { on: false, from: "22:00".to_owned(), to: "08:00".to_owned() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct PriceSettings {
    /// Whether the public price table is fetched once a week.
    pub weekly_sync: bool,
}

/// The settings in force, and what is wrong with the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SettingsView {
    pub schema: u32,
    /// `settings.json`, as the person knows it (`~` for the home folder).
    pub path: String,
    pub values: Settings,
    /// Values in the file that cannot be; their defaults are in force.
    pub problems: Vec<SettingProblem>,
    /// What is wrong with the file as a whole; `null` when nothing is. Then all defaults are in force.
    pub file_problem: Option<String>,
    pub zone: ZoneView,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SettingProblem {
    /// `notifications.min_turn_s`.
    pub key: String,
    /// What it may be.
    pub message: String,
}

/// The zone in which days are cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ZoneView {
    /// Its IANA name; `system` for the system's where it has no name, `Etc/Unknown` (which is UTC) where that is not known.
    pub name: String,
    pub source: ZoneSource,
    /// Why it is not the one that was asked for.
    pub problem: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ZoneSource {
    /// The person set it.
    Setting,
    #[default]
    System,
    /// The system's is not known: UTC.
    Fallback,
}
