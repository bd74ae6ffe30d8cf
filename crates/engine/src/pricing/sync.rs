//! Fetching LiteLLM's file, on the person's word only (spec P4), and taking it over only when it is whole (spec M1).

use std::{
    io::{ErrorKind, Read as _, Write as _},
    sync::Arc,
    time::Duration,
};

use agenthub_core::{Time, price::PriceTable, words::counted};
use jiff::tz::TimeZone;
use ureq::tls::{RootCerts, TlsConfig};

use super::{PriceFile, Prices, day_start, litellm};
use crate::{
    places::Places,
    view::{ErrorView, PriceChanges},
};

/// LiteLLM's file as it is today.
pub(crate) const URL: &str =
    "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";

/// How much is read, and for how long it is waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes: u64,
    pub(crate) patience: Duration,
}

/// The file has 3.5 MB in late 2026.
pub(crate) const LIMITS: Limits = Limits { bytes: 32 << 20, patience: Duration::from_secs(60) };

/// Characters of an address that is none.
const LONGEST_SHOWN: usize = 200;

/// The address to ask: `AGENTHUB_PRICES_URL`, for those who keep a mirror, else LiteLLM's.
pub(crate) fn url() -> String {
    std::env::var("AGENTHUB_PRICES_URL").ok().filter(|u| !u.is_empty()).unwrap_or_else(|| URL.to_owned())
}

fn failed(code: &str, message: String) -> ErrorView {
    ErrorView { code: code.to_owned(), message: format!("{message} The prices stay as they were.") }
}

/// The file's text.
///
/// # Errors
/// `bad_request` for an address that is none; `sync_unreachable`, `sync_timeout`, `sync_redirect`, `sync_status`, `sync_not_prices`, `sync_short`, `sync_too_large`.
pub(crate) fn fetch(url: &str, limits: Limits) -> Result<String, ErrorView> {
    let is_web = ["http://", "https://"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    if !is_web {
        return Err(failed(
            "bad_request",
            format!(
                "Prices are fetched from an address that begins with `http://` or `https://`, and AGENTHUB_PRICES_URL is \
                 `{}`. Correct it, or take it away for LiteLLM's own file.",
                url.chars().take(LONGEST_SHOWN).collect::<String>().escape_debug()
            ),
        ));
    }
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        // A table from somewhere else is not the one that was asked for.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(limits.patience))
        .user_agent(concat!("agenthub/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build()
        .new_agent();
    let mut response = agent.get(url).call().map_err(|e| no_answer(url, &e, limits))?;
    let header = |name: &str| {
        response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
    };
    match response.status().as_u16() {
        200 => {}
        300..400 => {
            let to = header("location");
            return Err(failed("sync_redirect", format!("{url} sends on to `{to}`, which is not followed.")));
        }
        status => return Err(failed("sync_status", format!("{url} answered {status}."))),
    }
    let kind = header("content-type");
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // GitHub calls it plain text.
    if !["", "text/plain", "application/json", "text/json", "application/octet-stream"].contains(&kind) {
        return Err(failed("sync_not_prices", format!("{url} answered `{kind}` and not JSON.")));
    }
    let mut bytes = Vec::new();
    let read = response.body_mut().as_reader().take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes);
    if let Err(e) = read {
        let timeout = e.get_ref().and_then(|e| e.downcast_ref::<ureq::Error>());
        return Err(match (timeout, e.kind()) {
            (Some(ureq::Error::Timeout(_)), _) | (None, ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                too_slow(url, limits)
            }
            _ => failed("sync_short", format!("The answer of {url} broke off: {e}.")),
        });
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limits.bytes {
        return Err(failed("sync_too_large", format!("{url} answered more than {} bytes.", limits.bytes)));
    }
    String::from_utf8(bytes).map_err(|_| failed("sync_not_prices", format!("{url} answered no text.")))
}

fn too_slow(url: &str, limits: Limits) -> ErrorView {
    let seconds = limits.patience.as_secs_f32();
    failed("sync_timeout", format!("{url} did not answer in {seconds} s."))
}

fn no_answer(url: &str, e: &ureq::Error, limits: Limits) -> ErrorView {
    match e {
        ureq::Error::Timeout(_) => too_slow(url, limits),
        ureq::Error::Io(io) if matches!(io.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            too_slow(url, limits)
        }
        ureq::Error::BadUri(_) => failed("bad_request", format!("`{url}` is no address: {e}.")),
        _ => failed("sync_unreachable", format!("{url} could not be asked: {e}.")),
    }
}

/// What the fetched file makes of the prices in use: the new ones hold from today on.
///
/// # Errors
/// `sync_not_prices`, or `sync_short` for a table that lacks much of what is known.
pub(crate) fn take_over(
    known: &Prices,
    text: &str,
    now: Time,
    zone: &TimeZone,
) -> Result<(PriceFile, PriceChanges), ErrorView> {
    let found = litellm::sift(text)
        .map_err(|e| failed("sync_not_prices", format!("The answer is not LiteLLM's price file: {e}.")))?;
    let newer = PriceTable::new(found.rows.iter().cloned());
    if newer.len().saturating_mul(4) < known.table.len().saturating_mul(3) {
        return Err(failed(
            "sync_short",
            format!(
                "The answer has prices for {}, and {} are known: it is cut, or not the file that was asked for.",
                counted(newer.len(), "model", "models"),
                known.table.len()
            ),
        ));
    }
    let mut changes = PriceChanges::default();
    for (model, prices) in newer.models() {
        match (known.table.model(model).and_then(<[_]>::last), prices.last()) {
            (None, _) => changes.added += 1,
            (Some(old), Some(new)) if !old.row.costs_like(&new.row) => changes.changed += 1,
            _ => {}
        }
    }
    let kept = known.table.models().filter(|(model, _)| newer.model(model).is_none()).count();
    changes.kept = u32::try_from(kept).unwrap_or(u32::MAX);
    let table = known.table.clone().followed_by(&newer, day_start(now, zone));
    let today = agenthub_core::day_of(now, zone).map(|d| d.to_string()).unwrap_or_default();
    let mut file = PriceFile::new("LiteLLM", &today, &found.rows, &table);
    file.synced_at = Some(now.rfc3339());
    Ok((file, changes))
}

/// Fetches the file, and keeps it in the data folder.
///
/// # Errors
/// As [`fetch`] and [`take_over`]; `io` when it can't be written.
pub(crate) fn run(
    places: &Places,
    url: &str,
    limits: Limits,
    now: Time,
    zone: &TimeZone,
) -> Result<PriceChanges, ErrorView> {
    let text = fetch(url, limits)?;
    let io = |e: std::io::Error| places.unwritable(&e);
    // Two at once would each write a history without the other's.
    let lock = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(places.prices_lock())
        .map_err(io)?;
    lock.lock().map_err(io)?;
    let (file, changes) = take_over(&Prices::load(&places.prices()), &text, now, zone)?;
    let mut written = tempfile::NamedTempFile::new_in(places.data_dir()).map_err(io)?;
    written.write_all(file.to_json().as_bytes()).map_err(io)?;
    written.as_file().sync_all().map_err(io)?;
    written.persist(places.prices()).map_err(|e| io(e.error))?;
    Ok(changes)
}

#[cfg(test)]
mod tests;
