//! What becomes of the destinations when the person says something about one: pure, over settings and secrets as values.
//!
//! A header's value is meant for one server. When its destination moves to another one, it stays behind.

use agenthub_otlp::{
    Destination, DestinationId, Endpoint, Header, HeaderName, Preset, Profiles, Refusal, Secrets,
};

use super::{TracingSettings, setup::bad_request, setup::refused};
use crate::view::ErrorView;

/// Everything that is to be written at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SetUp {
    pub(super) settings: TracingSettings,
    pub(super) secrets: Secrets,
}

/// What is said of one destination. What is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) endpoint: Option<String>,
    pub(super) headers: Vec<Header>,
    /// Empty takes it away.
    pub(super) project: Option<String>,
    pub(super) profiles: Option<Profiles>,
    pub(super) enabled: Option<bool>,
}

/// Which destination an installation speaks of.
#[derive(Clone, Debug, Default)]
pub(super) struct Which {
    pub(super) preset: Option<Preset>,
    /// By its own name.
    pub(super) id: Option<String>,
    /// A further one, whatever is there.
    pub(super) add: bool,
}

impl SetUp {
    /// The destination that is meant: the one that is named, else the one with this endpoint, else the only one of its
    /// preset, else a new one. Gives its id, and `None` when nothing of a destination was said.
    pub(super) fn install(
        &mut self,
        which: &Which,
        said: Said,
        notes: &mut Vec<String>,
    ) -> Result<Option<DestinationId>, ErrorView> {
        let preset = which.preset.unwrap_or_default();
        let all = &self.settings.destinations;
        let known = match &which.id {
            Some(id) => Some(self.named(id)?),
            None if which.add => None,
            None => {
                let endpoint = said.endpoint.as_deref().map(str::trim);
                let there = endpoint.and_then(|e| all.iter().find(|d| d.endpoint.trim() == e));
                let is_said = which.preset.is_some() || endpoint.is_some();
                let alike: Vec<&Destination> =
                    all.iter().filter(|d| is_said && there.is_none() && d.preset == preset).collect();
                if let [_, _, ..] = alike.as_slice() {
                    let names: Vec<&str> = alike.iter().map(|d| d.id.as_str()).collect();
                    return Err(bad_request(format!(
                        "There are several destinations of this kind: {}. Say which one with --destination NAME, or --add \
                         for one more.",
                        names.join(", ")
                    )));
                }
                there.or(alike.first().copied()).map(|d| d.id.clone())
            }
        };
        let id = match known {
            Some(id) => id,
            None => {
                let endpoint = said.endpoint.clone().or_else(|| which.preset?.endpoint().map(str::to_owned));
                let Some(endpoint) = endpoint else {
                    let asks = which.preset.is_some()
                        || which.add
                        || !said.headers.is_empty()
                        || said.project.is_some();
                    return if asks {
                        Err(bad_request(format!("{}: say its endpoint with --endpoint URL.", preset.id())))
                    } else {
                        Ok(None)
                    };
                };
                let id = DestinationId::free(preset, all);
                self.settings.destinations.push(Destination::new(id.clone(), preset, &endpoint));
                id
            }
        };
        if let (Some(preset), Some(d)) = (which.preset, self.get(&id)) {
            // Its own choice stays; the old preset's goes with that.
            if d.cache_write_name == d.preset.cache_write_name() {
                d.cache_write_name = preset.cache_write_name();
            }
            d.preset = preset;
        }
        let said = Said { enabled: Some(true), ..said };
        let checked = self.amend(&id, said, notes)?;
        notes.push(format!("Traces go to {checked}."));
        Ok(Some(id))
    }

    /// Changes one destination. Gives its checked endpoint.
    pub(super) fn amend(
        &mut self,
        id: &DestinationId,
        said: Said,
        notes: &mut Vec<String>,
    ) -> Result<Endpoint, ErrorView> {
        let Some(d) = self.settings.destinations.iter_mut().find(|d| d.id == *id) else {
            return Err(no_such(id.as_str()));
        };
        if let Some(enabled) = said.enabled {
            d.enabled = enabled;
        }
        if let Some(profiles) = said.profiles {
            d.profiles = profiles;
        }
        if let Some(project) = said.project {
            d.project = Some(project.trim().to_owned()).filter(|p| !p.is_empty());
        }
        let before = d.endpoint();
        let text = said.endpoint.unwrap_or_else(|| d.endpoint.clone());
        let has_moved = text.trim() != d.endpoint.trim();
        d.endpoint = text.trim().to_owned();
        let checked = d.check().map_err(refused)?;
        if has_moved {
            notes.push(match &before {
                Ok(before) => {
                    format!("{id} moves from {before} to {checked}; what waits for it goes there, too.")
                }
                Err(_) => format!("{id} has another endpoint now: {checked}."),
            });
            let is_same = before.is_ok_and(|before| before.is_same_server(&checked));
            if !is_same {
                self.leave_behind(id, &said.headers, &checked, notes);
            }
        }
        for header in said.headers {
            self.secrets.set(id, header);
        }
        notes.extend(checked.doubt(self.secrets.of(id).next().is_some()));
        Ok(checked)
    }

    /// Headers of the old server that are not given anew.
    fn leave_behind(&mut self, id: &DestinationId, given: &[Header], to: &Endpoint, notes: &mut Vec<String>) {
        let old: Vec<HeaderName> = self.secrets.of(id).map(|(name, _)| name.clone()).collect();
        let gone: Vec<&HeaderName> = old.iter().filter(|n| given.iter().all(|h| h.name != **n)).collect();
        if !gone.is_empty() {
            let names: Vec<String> = gone.iter().map(|n| format!("`{n}`")).collect();
            let (what, it) = if names.len() == 1 { ("The header", "is") } else { ("The headers", "are") };
            notes.push(format!(
                "{what} {} {it} dropped: it was for the old server and does not go to {}. Give it again if that one takes it.",
                names.join(", "),
                to.host()
            ));
        }
        self.secrets.forget(id);
    }

    /// Takes a destination away, with its headers.
    pub(super) fn remove(&mut self, id: &str) -> Result<DestinationId, ErrorView> {
        let id = self.named(id)?;
        self.settings.destinations.retain(|d| d.id != id);
        self.secrets.forget(&id);
        Ok(id)
    }

    pub(super) fn named(&self, id: &str) -> Result<DestinationId, ErrorView> {
        let found = self.settings.destinations.iter().find(|d| d.id.as_str() == id);
        found.map(|d| d.id.clone()).ok_or_else(|| no_such(id))
    }

    fn get(&mut self, id: &DestinationId) -> Option<&mut Destination> {
        self.settings.destinations.iter_mut().find(|d| d.id == *id)
    }
}

fn no_such(id: &str) -> ErrorView {
    let id: String = id.chars().take(60).filter(|c| !c.is_control()).collect();
    ErrorView { code: "not_found".to_owned(), message: format!("There is no destination `{id}`.") }
}

/// Headers as the person wrote them.
pub(super) fn headers(lines: &[String]) -> Result<Vec<Header>, ErrorView> {
    let all: Result<Vec<Header>, Refusal> = lines.iter().map(|h| Header::parse(h)).collect();
    all.map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(endpoint: &str, lines: &[&str]) -> Said {
        let lines: Vec<String> = lines.iter().map(|l| (*l).to_owned()).collect();
        let endpoint = Some(endpoint.to_owned()).filter(|e| !e.is_empty());
        Said { endpoint, headers: headers(&lines).unwrap(), ..Said::default() }
    }

    fn of(preset: Preset) -> Which {
        Which { preset: Some(preset), ..Which::default() }
    }

    fn empty() -> SetUp {
        SetUp { settings: TracingSettings::default(), secrets: Secrets::default() }
    }

    fn names(s: &SetUp) -> Vec<(String, String, Vec<String>)> {
        let of = |d: &Destination| {
            let headers = s.secrets.of(&d.id).map(|(n, v)| format!("{n}={}", v.reveal())).collect();
            (d.id.to_string(), d.endpoint.clone(), headers)
        };
        s.settings.destinations.iter().map(of).collect()
    }

    fn install(s: &mut SetUp, which: &Which, said: Said) -> String {
        let mut notes = Vec::new();
        s.install(which, said, &mut notes).unwrap();
        notes.join(" ")
    }

    fn row(id: &str, endpoint: &str, headers: &[&str]) -> (String, String, Vec<String>) {
        (id.to_owned(), endpoint.to_owned(), headers.iter().map(|h| (*h).to_owned()).collect())
    }

    #[test]
    fn r4_a_second_installation_of_a_preset_moves_its_destination_and_leaves_its_secret_behind() {
        let mut s = empty();
        install(&mut s, &of(Preset::Phoenix), said("https://a.example", &["authorization: Bearer one"]));
        // Another path of the same server keeps it.
        install(&mut s, &of(Preset::Phoenix), said("https://a.example/team", &[]));
        assert_eq!(names(&s), [row("phoenix", "https://a.example/team", &["authorization=Bearer one"])]);
        let told = install(&mut s, &of(Preset::Phoenix), said("https://b.example", &[]));
        assert_eq!(names(&s), [row("phoenix", "https://b.example", &[])]);
        assert!(
            told.contains("moves from https://a.example/team") && told.contains("`authorization`"),
            "{told}"
        );
        assert!(told.contains("dropped") && !told.contains("Bearer"), "{told}");
        // Given again, it is the new server's.
        let again = said("https://c.example", &["authorization: Bearer two"]);
        let told = install(&mut s, &of(Preset::Phoenix), again);
        assert_eq!(names(&s), [row("phoenix", "https://c.example", &["authorization=Bearer two"])]);
        assert!(!told.contains("dropped"), "{told}");
    }

    #[test]
    fn r4_a_preset_alone_changes_its_destination_and_keeps_where_it_is() {
        let mut s = empty();
        install(
            &mut s,
            &of(Preset::Langfuse),
            said("https://us.cloud.langfuse.com/api/public/otel", &["a: 1"]),
        );
        install(&mut s, &of(Preset::Langfuse), said("", &["a: 2"]));
        assert_eq!(names(&s), [row("langfuse", "https://us.cloud.langfuse.com/api/public/otel", &["a=2"])]);
        install(&mut s, &of(Preset::Honeycomb), said("", &[]));
        assert_eq!(names(&s).len(), 2, "another kind is another destination");
    }

    #[test]
    fn r4_a_second_one_of_a_kind_is_asked_for_by_name() {
        let mut s = empty();
        install(&mut s, &of(Preset::Jaeger), said("http://a:4318", &[]));
        let add = Which { add: true, ..of(Preset::Jaeger) };
        install(&mut s, &add, said("http://b:4318", &[]));
        assert_eq!(names(&s).iter().map(|(id, ..)| id.as_str()).collect::<Vec<_>>(), ["jaeger", "jaeger-2"]);
        let mut notes = Vec::new();
        let e = s.clone().install(&of(Preset::Jaeger), said("http://c:4318", &[]), &mut notes).unwrap_err();
        assert!(e.message.contains("jaeger, jaeger-2") && e.code == "bad_request", "{e:?}");
        // The endpoint names the one that has it.
        install(&mut s, &of(Preset::Jaeger), said("http://b:4318", &["x: 1"]));
        let second = Which { id: Some("jaeger-2".to_owned()), ..Which::default() };
        install(&mut s, &second, said("http://b:4318/x", &[]));
        assert_eq!(names(&s)[1], row("jaeger-2", "http://b:4318/x", &["x=1"]));
        let nobody = Which { id: Some("nobody".to_owned()), ..Which::default() };
        assert_eq!(s.install(&nobody, said("", &[]), &mut notes).unwrap_err().code, "not_found");
        s.remove("jaeger-2").unwrap();
        assert_eq!(names(&s), [row("jaeger", "http://a:4318", &[])]);
        assert!(s.secrets.destinations().is_empty());
    }

    #[test]
    fn r4_what_can_not_be_changes_nothing() {
        let mut s = empty();
        install(&mut s, &of(Preset::Phoenix), said("https://a.example", &["a: 1"]));
        let id = s.named("phoenix").unwrap();
        let mut after = s.clone();
        let e = after.amend(&id, said("nonsense", &[]), &mut Vec::new()).unwrap_err();
        assert_eq!(e.code, "endpoint_refused");
        let atatus = s.clone().install(&of(Preset::Atatus), Said::default(), &mut Vec::new()).unwrap_err();
        assert!(atatus.message.contains("--endpoint"), "{atatus:?}");
        assert_eq!(s.install(&Which::default(), Said::default(), &mut Vec::new()), Ok(None));
    }
}
