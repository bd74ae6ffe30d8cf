//! The backends that AgentHub has settings ready for.

use serde::{Deserialize, Serialize};

use crate::CacheWriteName;

/// A kind of backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    Phoenix,
    Arize,
    Langfuse,
    Honeycomb,
    Jaeger,
    Grafana,
    /// An OpenTelemetry Collector, and whatever else speaks OTLP over HTTP.
    #[default]
    Collector,
    Atatus,
}

/// A header that a backend wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderHint {
    pub name: &'static str,
    /// What to write, with the part to fill in in capitals.
    pub value: &'static str,
    pub needed: bool,
}

impl Preset {
    pub const ALL: [Preset; 8] = [
        Preset::Phoenix,
        Preset::Arize,
        Preset::Langfuse,
        Preset::Honeycomb,
        Preset::Jaeger,
        Preset::Grafana,
        Preset::Collector,
        Preset::Atatus,
    ];

    /// As in settings and on the command line.
    pub const fn id(self) -> &'static str {
        match self {
            Preset::Phoenix => "phoenix",
            Preset::Arize => "arize",
            Preset::Langfuse => "langfuse",
            Preset::Honeycomb => "honeycomb",
            Preset::Jaeger => "jaeger",
            Preset::Grafana => "grafana",
            Preset::Collector => "collector",
            Preset::Atatus => "atatus",
        }
    }

    pub fn named(id: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.id() == id)
    }

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::Phoenix => "Arize Phoenix",
            Preset::Arize => "Arize AX",
            Preset::Langfuse => "Langfuse",
            Preset::Honeycomb => "Honeycomb",
            Preset::Jaeger => "Jaeger",
            Preset::Grafana => "Grafana Cloud",
            Preset::Collector => "OpenTelemetry Collector",
            Preset::Atatus => "Atatus",
        }
    }

    /// The address to begin with; `None` where only the person's account tells it.
    pub const fn endpoint(self) -> Option<&'static str> {
        match self {
            Preset::Phoenix => Some("http://localhost:6006/v1/traces"),
            Preset::Arize => Some("https://otlp.arize.com/v1/traces"),
            Preset::Langfuse => Some("https://cloud.langfuse.com/api/public/otel/v1/traces"),
            Preset::Honeycomb => Some("https://api.honeycomb.io/v1/traces"),
            Preset::Jaeger | Preset::Collector => Some("http://localhost:4318/v1/traces"),
            Preset::Grafana | Preset::Atatus => None,
        }
    }

    /// What an address of theirs looks like, or where it stands.
    pub const fn endpoint_hint(self) -> &'static str {
        match self {
            Preset::Phoenix => "Your Phoenix's address; it listens at port 6006.",
            Preset::Arize => "For the EU: https://otlp.eu-west-1a.arize.com/v1/traces.",
            Preset::Langfuse => {
                "For the US: https://us.cloud.langfuse.com/api/public/otel; else your own server."
            }
            Preset::Honeycomb => "For the EU: https://api.eu1.honeycomb.io/v1/traces.",
            Preset::Jaeger => "Jaeger listens for OTLP over HTTP at port 4318.",
            Preset::Grafana => {
                "Your stack's OTLP endpoint, such as https://otlp-gateway-ZONE.grafana.net/otlp (Connections → OpenTelemetry)."
            }
            Preset::Collector => "Where the collector's OTLP receiver listens for HTTP, mostly port 4318.",
            Preset::Atatus => "The OTLP/HTTP endpoint as your Atatus account's page says.",
        }
    }

    pub const fn headers(self) -> &'static [HeaderHint] {
        const fn needed(name: &'static str, value: &'static str) -> HeaderHint {
            HeaderHint { name, value, needed: true }
        }
        const AUTH_WHERE_ON: HeaderHint =
            HeaderHint { name: "authorization", value: "Bearer API_KEY", needed: false };
        match self {
            Preset::Phoenix => &[AUTH_WHERE_ON],
            Preset::Arize => &const { [needed("space_id", "SPACE_ID"), needed("api_key", "API_KEY")] },
            Preset::Langfuse => &const { [needed("authorization", "Basic BASE64(PUBLIC_KEY:SECRET_KEY)")] },
            Preset::Honeycomb => &const { [needed("x-honeycomb-team", "API_KEY")] },
            Preset::Jaeger | Preset::Collector => &[],
            Preset::Grafana => &const { [needed("authorization", "Basic BASE64(INSTANCE_ID:TOKEN)")] },
            Preset::Atatus => &[],
        }
    }

    /// Langfuse knows only the name from before.
    pub const fn cache_write_name(self) -> CacheWriteName {
        match self {
            Preset::Langfuse => CacheWriteName::CacheCreation,
            _ => CacheWriteName::CacheWrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, HeaderName};

    #[test]
    fn r4_every_preset_can_be_named_and_its_address_and_headers_are_good() {
        for preset in Preset::ALL {
            assert_eq!(Preset::named(preset.id()), Some(preset));
            assert_eq!(serde_json::to_value(preset).unwrap(), preset.id());
            if let Some(endpoint) = preset.endpoint() {
                let checked = Endpoint::parse(endpoint, false).unwrap();
                assert_eq!(checked.to_string(), endpoint, "a preset's address is whole");
                assert!(checked.is_tls() || checked.is_loopback(), "{endpoint}");
            }
            for hint in preset.headers() {
                assert_eq!(HeaderName::new(hint.name).unwrap().as_str(), hint.name);
            }
        }
        assert_eq!(Preset::named("datadog"), None);
        assert_eq!(Preset::Atatus.endpoint(), None, "Atatus asks for its endpoint");
    }
}
