// How numbers and times are written. Pure; `now` and times come in as values. What is unknown is "–", never 0.

export const UNKNOWN = "–";

const LOCALE = "en-GB";
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

const whole = new Intl.NumberFormat(LOCALE);
const hm = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const hms = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const dayMonth = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });
const dayMonthYear = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", year: "numeric" });
const longDay = new Intl.DateTimeFormat(LOCALE, { weekday: "long", day: "numeric", month: "long", timeZone: "UTC" });
const longDayYear = new Intl.DateTimeFormat(LOCALE, { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** Text as it is searched in and for, folded as the store does it: without case, letters and their marks together. */
export function folded(text: string): string {
  // Again after the case went: some letters with marks are one character only when they are small (ǰ).
  return text.normalize("NFC").toLowerCase().normalize("NFC");
}

export function count(n: number | null | undefined): string {
  return n == null || !Number.isFinite(n) ? UNKNOWN : whole.format(n);
}

export function plural(n: number, one: string, many: string): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Tokens in lists: `812`, `38 k`, `1.12 M`. */
export function tokens(n: number | null | undefined): string {
  return scaled(n, 0);
}

/** Tokens on the Session screen, with one more digit: `25.8 k`. */
export function tokensFine(n: number | null | undefined): string {
  return scaled(n, 1);
}

function scaled(n: number | null | undefined, digits: 0 | 1): string {
  if (n == null || !Number.isFinite(n)) return UNKNOWN;
  if (n < 1000) return String(Math.round(n));
  // Rounded as whole numbers, so that halves go up, as in the command line (`crates/cli/src/out.rs`).
  const of = (unit: number, places: number) => (Math.round(n / (unit / 10 ** places)) / 10 ** places).toFixed(places);
  const thousands = of(1e3, digits);
  if (Number(thousands) < 1000) return `${thousands} k`;
  if (n < 999_950_000) return `${of(1e6, n < 99_995_000 ? 2 : 1)} M`;
  return n < 999_950_000_000 ? `${of(1e9, n < 99_995_000_000 ? 2 : 1)} G` : `${of(1e12, 2)} T`;
}

/** Milliseconds since the epoch, or `null` where there is no usable time. */
export function millis(at: string | null | undefined): number | null {
  if (!at) return null;
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? null : ms;
}

export function sinceMs(at: string | null | undefined, now: number): number | null {
  const ms = millis(at);
  return ms === null ? null : Math.max(0, now - ms);
}

/** A timer that ticks: `0:48`, `21:37`, `1:02:14`. */
export function timer(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  const s = Math.floor(ms / 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3600);
  const minutes = Math.floor(s / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}

/** An age at rest: `48 s`, `12 min`, `3 h`, `2 d`. */
export function age(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  if (ms < MINUTE) return `${Math.floor(ms / 1000)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** An age in a sentence for screen readers: `2 minutes 14 seconds`. */
export function spoken(ms: number | null): string | null {
  if (ms === null) return null;
  const s = Math.floor(ms / 1000);
  if (s < 60) return plural(s, "second", "seconds");
  const minutes = Math.floor(s / 60);
  if (minutes < 10 && s % 60 > 0) return `${plural(minutes, "minute", "minutes")} ${plural(s % 60, "second", "seconds")}`;
  if (minutes < 60) return plural(minutes, "minute", "minutes");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return plural(hours, "hour", "hours");
  return plural(Math.floor(hours / 24), "day", "days");
}

/** How long a step took: `12 ms`, `0.4 s`, `13.8 s`, `2:14`. */
export function duration(ms: number | null | undefined): string {
  if (ms == null || ms < 0) return UNKNOWN;
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  return timer(ms);
}

/** How long a turn took: `0.4 s`, `1:51`, `1:02:14`. */
export function turnTime(ms: number | null | undefined): string {
  return ms == null || ms < 1000 ? duration(ms) : timer(ms);
}

export function clock(at: string | null | undefined): string {
  const ms = millis(at);
  return ms === null ? UNKNOWN : hm.format(ms);
}

export function clockSeconds(at: string | null | undefined): string {
  const ms = millis(at);
  return ms === null ? UNKNOWN : hms.format(ms);
}

/** Evidence: to the millisecond. */
export function clockMs(at: string | null | undefined): string {
  const ms = millis(at);
  return ms === null ? UNKNOWN : `${hms.format(ms)}.${String(((ms % 1000) + 1000) % 1000).padStart(3, "0")}`;
}

export function approximate(text: string, yes: boolean): string {
  return yes && text !== UNKNOWN ? `~${text}` : text;
}

/** The calendar day of a moment, `YYYY-MM-DD`, on this computer's clock. */
export function calendarDay(ms: number): string {
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** A moment in a cell: `14:21` today, `28 Nov` before, `28 Nov 2025` in another year. */
export function moment(at: string | null | undefined, now: number): string {
  const ms = millis(at);
  if (ms === null) return UNKNOWN;
  if (calendarDay(ms) === calendarDay(now)) return hm.format(ms);
  return new Date(ms).getFullYear() === new Date(now).getFullYear() ? dayMonth.format(ms) : dayMonthYear.format(ms);
}

/** A moment in full: `Today 13:02:11`, `28 Nov 2026 21:08:40`. */
export function momentFull(at: string | null | undefined, now: number): string {
  const ms = millis(at);
  if (ms === null) return UNKNOWN;
  return `${calendarDay(ms) === calendarDay(now) ? "Today" : dayMonthYear.format(ms)} ${hms.format(ms)}`;
}

/** A day's heading: `Today`, `Yesterday`, `Saturday 28 November`. */
export function dayHeading(day: string | null, now: number): string {
  if (day === null) return "No date";
  if (day === calendarDay(now)) return "Today";
  const noon = new Date(now);
  noon.setHours(12, 0, 0, 0);
  if (day === calendarDay(noon.getTime() - DAY)) return "Yesterday";
  const ms = Date.parse(`${day}T12:00:00Z`);
  if (Number.isNaN(ms)) return day;
  return (day.slice(0, 4) === calendarDay(now).slice(0, 4) ? longDay : longDayYear).format(ms).replace(",", "");
}

/* eslint-disable no-control-regex */
const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;
const CONTROLS = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/g;
// Overrides and isolates could make a command read as another one.
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g;

/** Letters, digits and signs that need no second look; most names are made of nothing else. */
const PLAIN = /^[!-~\u00a1-\u1fff]+(?: [!-~\u00a1-\u1fff]+)*$/;

/** Text from outside, for one line: no control characters, no direction overrides, at most `max` characters. */
export function line(text: string | null | undefined, max = 400): string {
  if (!text) return "";
  if (text.length <= max && PLAIN.test(text)) return text;
  const head = text.length > 4 * max ? text.slice(0, 4 * max) : text;
  return cut(head.replace(BREAKS, " ").replace(CONTROLS, "\ufffd").replace(BIDI, "\ufffd").trim(), max);
}

/** Text from outside, for a block: line breaks stay. */
export function block(text: string | null | undefined, max = 20_000): string {
  if (!text) return "";
  return cut(text.replace(/\r\n?/g, "\n").replace(CONTROLS, "\ufffd").replace(BIDI, "\ufffd"), max);
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  // Never cut a surrogate pair in half.
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 2)) ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`;
}
