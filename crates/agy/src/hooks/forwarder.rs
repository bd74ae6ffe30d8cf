//! The forwarder: the small script that agy starts for each event. It answers first, then passes the event on.

use std::path::{Path, PathBuf};

use super::{Code, Event, Refusal, ours::first_word};

/// Grows with every change of the text that an older AgentHub must not undo.
pub const VERSION: u32 = 1;

/// Which of AgentHub's two named hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// `agenthub`: what an agent does, for the board (spec §5).
    Watch,
    /// `agenthub-tracing`: the end of a turn, for the tracer (spec §9).
    Tracing,
}

/// What an installation bakes in, for agy's environment may lack everything (spec H7, R1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forwarder {
    Watch { program: PathBuf, journal: PathBuf, doorbell: PathBuf, dropped: PathBuf },
    Tracing { program: PathBuf, data: PathBuf, config: PathBuf, gemini: PathBuf },
}

impl Hook {
    /// Ours by this, whatever follows it (spec H4).
    const fn mark(self) -> &'static str {
        match self {
            Hook::Watch => "agenthub-hook forwarder v",
            Hook::Tracing => "agenthub-tracing forwarder v",
        }
    }

    /// The command that takes it away.
    const fn removed_by(self) -> &'static str {
        match self {
            Hook::Watch => "agenthub hooks remove",
            Hook::Tracing => "agenthub trace uninstall",
        }
    }

    /// The variable that names another program.
    const fn variable(self) -> &'static str {
        match self {
            Hook::Watch => "AGENTHUB_HOOK_PROGRAM",
            Hook::Tracing => "AGENTHUB_TRACE_PROGRAM",
        }
    }

    /// The forwarder's name in agy's configuration folder.
    pub const fn file_name(self) -> &'static str {
        match (self, cfg!(windows)) {
            (Hook::Watch, true) => "agenthub-hook.cmd",
            (Hook::Watch, false) => "agenthub-hook.sh",
            (Hook::Tracing, true) => "agenthub-tracing.cmd",
            (Hook::Tracing, false) => "agenthub-tracing.sh",
        }
    }

    /// The version of a script of ours; `None` for anything else.
    pub fn recognise(self, script: &[u8]) -> Option<u32> {
        let head = script.get(..script.len().min(400))?;
        String::from_utf8_lossy(head).lines().take(3).find_map(|line| {
            let line = line.strip_prefix("# ").or_else(|| line.strip_prefix("rem "))?;
            let digits: String =
                line.strip_prefix(self.mark())?.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
    }
}

/// How a path is written in a script of one kind.
type Quoted = fn(&Path) -> Result<String, Refusal>;

impl Forwarder {
    pub const fn hook(&self) -> Hook {
        match self {
            Forwarder::Watch { .. } => Hook::Watch,
            Forwarder::Tracing { .. } => Hook::Tracing,
        }
    }

    fn program(&self) -> &Path {
        match self {
            Forwarder::Watch { program, .. } | Forwarder::Tracing { program, .. } => program,
        }
    }

    /// The script for this system.
    ///
    /// # Errors
    /// `bad_request` for a path that a script can't name.
    pub fn text(&self) -> Result<String, Refusal> {
        let paths = match self {
            Forwarder::Watch { program, journal, doorbell, dropped } => [program, journal, doorbell, dropped],
            Forwarder::Tracing { program, data, config, gemini } => [program, data, config, gemini],
        };
        for path in paths {
            absolute(path)?;
        }
        if cfg!(windows) { self.cmd() } else { self.sh() }
    }

    /// What the program is told beside the event.
    fn words(&self, quoted: Quoted) -> Result<String, Refusal> {
        Ok(match self {
            Forwarder::Watch { journal, doorbell, dropped, .. } => format!(
                "--journal {} --doorbell {} --dropped {}",
                quoted(journal)?,
                quoted(doorbell)?,
                quoted(dropped)?
            ),
            Forwarder::Tracing { data, config, gemini, .. } => format!(
                "trace hook --data-dir {} --config-dir {} --gemini-dir {}",
                quoted(data)?,
                quoted(config)?,
                quoted(gemini)?
            ),
        })
    }

    /// The watcher's answers first: whatever happens afterwards, agy got its one answer. The tracer's answers last: what it
    /// has to do is on disk then (R4), and its program ends by itself in time.
    fn sh(&self) -> Result<String, Refusal> {
        let hook = self.hook();
        let answer = "printf '{}\\n'\n";
        let (first, last) = match hook {
            Hook::Watch => (answer, ""),
            Hook::Tracing => ("", answer),
        };
        Ok(format!(
            "#!/bin/sh\n\
             # {mark}{VERSION}. Written by AgentHub, which replaces it; `{removed_by}` takes it away.\n\
             # agy has its one answer, whatever goes wrong.\n\
             trap '' PIPE\n\
             {first}program={program}\n\
             if [ -n \"${{{variable}:-}}\" ]; then program=${variable}; fi\n\
             if [ -f \"$program\" ] && [ -x \"$program\" ]; then\n  \
               \"$program\" {words} \"$@\" >/dev/null 2>&1\n\
             fi\n\
             {last}exit 0\n",
            mark = hook.mark(),
            removed_by = hook.removed_by(),
            variable = hook.variable(),
            program = sh_word(self.program())?,
            words = self.words(sh_word)?,
        ))
    }

    fn cmd(&self) -> Result<String, Refusal> {
        let hook = self.hook();
        let answer = "echo {}\r\n";
        let (first, last) = match hook {
            Hook::Watch => (answer, ""),
            Hook::Tracing => ("", answer),
        };
        Ok(format!(
            "@echo off\r\n\
             rem {mark}{VERSION}. Written by AgentHub, which replaces it; `{removed_by}` takes it away.\r\n\
             {first}setlocal\r\n\
             set \"program={program}\"\r\n\
             if defined {variable} set \"program=%{variable}%\"\r\n\
             if exist \"%program%\" \"%program%\" {words} %* >nul 2>nul\r\n\
             {last}exit /b 0\r\n",
            mark = hook.mark(),
            removed_by = hook.removed_by(),
            variable = hook.variable(),
            program = cmd_words(self.program())?,
            words = self.words(|p| Ok(format!("\"{}\"", cmd_words(p)?)))?,
        ))
    }

    /// Whether a script of ours works for the same data folder: then it is this AgentHub's, not another build's.
    pub fn shares_folder_with(&self, script: &str) -> bool {
        let place = match self {
            Forwarder::Watch { journal, .. } => journal,
            Forwarder::Tracing { data, .. } => data,
        };
        let word = if cfg!(windows) { cmd_words(place) } else { sh_word(place) };
        word.is_ok_and(|word| script.contains(&word))
    }
}

/// The program that a script of ours starts.
pub fn program_of(script: &str) -> Option<PathBuf> {
    script.lines().find_map(|line| {
        if let Some(word) = line.strip_prefix("program=") {
            return Some(first_word(word).into());
        }
        let path = line.strip_prefix("set \"program=")?.strip_suffix('"')?;
        Some(path.replace("%%", "%").into())
    })
}

/// What stands in hooks.json: the forwarder's path as one word, and the event.
///
/// # Errors
/// `bad_request` for a path that a shell or JSON can't name.
pub fn command(forwarder: &Path, event: Event) -> Result<String, Refusal> {
    absolute(forwarder)?;
    if cfg!(windows) {
        Ok(format!("\"{}\" {}", cmd_words(forwarder)?, event.name()))
    } else {
        Ok(format!("{} {}", sh_word(forwarder)?, event.name()))
    }
}

/// One word of a shell, whatever is in it.
fn sh_word(path: &Path) -> Result<String, Refusal> {
    Ok(format!("'{}'", nameable(path)?.replace('\'', r"'\''")))
}

/// To stand between quotation marks in a batch file.
fn cmd_words(path: &Path) -> Result<String, Refusal> {
    let text = nameable(path)?;
    if text.contains('"') {
        return Err(unnameable(path));
    }
    Ok(text.replace('%', "%%"))
}

fn nameable(path: &Path) -> Result<&str, Refusal> {
    path.to_str().filter(|text| !text.chars().any(char::is_control)).ok_or_else(|| unnameable(path))
}

/// Hooks run in agy's configuration folder, wherever AgentHub was started.
fn absolute(path: &Path) -> Result<(), Refusal> {
    if path.is_absolute() { Ok(()) } else { Err(unnameable(path)) }
}

fn unnameable(path: &Path) -> Refusal {
    Refusal::new(
        Code::BadPath,
        format!(
            "A hook can't use the path {path:?}: it must be absolute, in UTF-8, and without control characters. Choose \
             another folder with AGENTHUB_GEMINI_DIR or AGENTHUB_DATA_DIR."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarder(folder: &str) -> Forwarder {
        let at = |name: &str| Path::new(folder).join(name);
        Forwarder::Watch {
            program: at("bin/agenthub-hook"),
            journal: at("hooks/journal"),
            doorbell: at("hooks/doorbell"),
            dropped: at("hooks/dropped"),
        }
    }

    fn tracing(folder: &str) -> Forwarder {
        let at = |name: &str| Path::new(folder).join(name);
        Forwarder::Tracing {
            program: at("bin/agenthub"),
            data: at("data"),
            config: at("config"),
            gemini: at("gemini"),
        }
    }

    #[test]
    fn h6_the_answer_comes_before_anything_else() {
        let commands = |sh: &str| {
            assert_eq!(sh.matches("printf").count(), 1);
            sh.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
        };
        let watch = commands(&forwarder("/d").sh().unwrap());
        assert_eq!(watch[..2], ["trap '' PIPE", r"printf '{}\n'"]);
        assert_eq!(watch.last().unwrap(), "exit 0");
        // The tracer's comes when its event is on disk.
        let traced = commands(&tracing("/d").sh().unwrap());
        assert_eq!(traced[0], "trap '' PIPE");
        assert_eq!(traced[traced.len() - 2..], [r"printf '{}\n'", "exit 0"]);
        let tracing = tracing("/d").sh().unwrap();
        assert!(tracing.contains(
            "\"$program\" trace hook --data-dir '/d/data' --config-dir '/d/config' --gemini-dir '/d/gemini' \"$@\" >/dev/null 2>&1"
        ), "{tracing}");
        assert_eq!(program_of(&forwarder("/it's").sh().unwrap()), Some("/it's/bin/agenthub-hook".into()));
        let cmd = forwarder(r"C:\d%x").cmd().unwrap();
        assert_eq!(cmd.lines().nth(2), Some("echo {}"));
        assert!(cmd.ends_with("exit /b 0\r\n") && cmd.contains(r"C:\d%%x"), "{cmd}");
    }

    #[test]
    fn h4_ours_is_known_by_its_marker_only() {
        assert_eq!(Hook::Watch.recognise(forwarder("/d").sh().unwrap().as_bytes()), Some(VERSION));
        assert_eq!(Hook::Watch.recognise(forwarder("/d").cmd().unwrap().as_bytes()), Some(VERSION));
        assert_eq!(Hook::Watch.recognise(b"#!/bin/sh\n# agenthub-hook forwarder v12 by hand\n"), Some(12));
        let script = tracing("/d").sh().unwrap();
        assert_eq!(
            (Hook::Tracing.recognise(script.as_bytes()), Hook::Watch.recognise(script.as_bytes())),
            (Some(VERSION), None)
        );
        for other in [
            &b""[..],
            b"#!/bin/sh\necho '# agenthub-hook forwarder v1'\n",
            b"# agenthub-hook forwarder vX",
            b"\xff\0",
        ] {
            assert_eq!(Hook::Watch.recognise(other), None);
        }
    }

    #[test]
    fn h7_a_path_no_script_can_name_is_refused() {
        for folder in ["/a\nb", "/a\rb", "/a\0b", "/a\u{1b}b"] {
            assert_eq!(forwarder(folder).sh().unwrap_err().code, Code::BadPath, "{folder:?}");
        }
        assert!(forwarder("C:\\a\"b").cmd().is_err());
    }

    /// The shell itself says whether each path arrives as it is.
    #[cfg(unix)]
    #[test]
    fn h1_any_other_path_is_one_word() {
        for name in [
            "plain",
            "with space",
            "it's",
            "a\"b",
            "$HOME",
            "`x`",
            "a\\b",
            "*?[",
            "ünï",
            "-n",
            "'",
            "a;b&c|d",
        ] {
            let path = Path::new("/tmp").join(name).join("agenthub-hook.sh");
            let command = command(&path, Event::Stop).unwrap();
            let out = std::process::Command::new("sh")
                .args(["-c", &format!("printf '%s\\n' {command}")])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stdout), format!("{}\nStop\n", path.display()));
        }
    }
}
