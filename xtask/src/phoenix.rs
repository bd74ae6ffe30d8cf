//! A real backend for traces: Arize Phoenix, from PyPI into an environment of its own, on loopback, for as long as a stage
//! needs it. Nothing of it is shipped.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::program::{Failure, Program, on_path, say};
use crate::stages::Broken;
use crate::tree::Tree;

const PACKAGE: &str = "arize-phoenix";
/// Its first start makes a database; on a busy machine that takes its time.
const PATIENCE: Duration = Duration::from_secs(300);

/// A Phoenix that serves, with a folder that goes with it.
#[derive(Debug)]
pub(crate) struct Phoenix {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Phoenix {
    /// Installs it when it is not there, and waits until it serves.
    pub(crate) fn start(tree: &Tree) -> Result<Phoenix, Failure> {
        let folder = tree.stamps().join("phoenix");
        let python = install(&folder)?;
        let asked = format!("import importlib.metadata as m; print(m.version('{PACKAGE}'))");
        let version = Program::new(&python).args(["-c", asked.as_str()]).quiet()?.stdout;
        say(&format!("{PACKAGE} {}", version.trim()));

        let work = folder.join("work");
        // Spans of an earlier run would be found again.
        let _ = std::fs::remove_dir_all(&work);
        let log = folder.join("phoenix.log");
        let file = std::fs::create_dir_all(&work).and_then(|()| File::create(&log)).map_err(|error| {
            Failure::new(format!("{} cannot be written: {error}", work.display()), "see whose folder it is")
        })?;
        let (port, grpc_port) = (free_port()?, free_port()?);
        let child = Program::new(&python)
            .called("phoenix")
            .args(["-m", "phoenix.server.main", "serve"])
            .dir(&work)
            .env("PHOENIX_WORKING_DIR", &work)
            .env("PHOENIX_HOST", "127.0.0.1")
            .env("PHOENIX_PORT", port.to_string())
            .env("PHOENIX_GRPC_PORT", grpc_port.to_string())
            .env("PHOENIX_TELEMETRY_ENABLED", "false")
            .spawn_into(&file)?;
        let mut phoenix = Phoenix { child, port, log };
        phoenix.wait()?;
        Ok(phoenix)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A failed stage, with what Phoenix said last.
    pub(crate) fn explained(&self, broken: Broken) -> Broken {
        say(&format!("\nPhoenix said last:\n{}", last_lines(&self.log)));
        broken
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        while !answers(self.port) {
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > until {
                let how =
                    ended.map_or("did not serve in time".to_owned(), |status| format!("ended ({status})"));
                return Err(Failure::new(
                    format!("Phoenix {how}:\n{}", last_lines(&self.log)),
                    format!("read its output; `{}` can be deleted to install it anew", self.log.display()),
                ));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The environment's Python, with Phoenix in it.
fn install(folder: &Path) -> Result<PathBuf, Failure> {
    let environment = folder.join("environment");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python3" });
    // Written when all is there: an installation that was broken off is begun again.
    let whole = environment.join("whole");
    if whole.is_file() {
        return Ok(python);
    }
    let Some(system) = on_path("python3") else {
        return Err(Failure::new("there is no `python3`", "install Python 3.10 or newer with its `venv`"));
    };
    let _ = std::fs::remove_dir_all(&environment);
    let _ = std::fs::create_dir_all(folder);
    say(&format!("{PACKAGE} is installed from PyPI into {}: about a minute.", environment.display()));
    let made = Program::new(system).called("python3").args(["-m", "venv"]).args([&environment]).run();
    made.map_err(|failure| Failure::new(failure.what, "install Python's `venv` (on Debian: python3-venv)"))?;
    Program::new(&python)
        .called("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE])
        .run()?;
    let _ = File::create(whole);
    Ok(python)
}

fn free_port() -> Result<u16, Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound
        .map(|address| address.port())
        .map_err(|error| Failure::new(format!("no port is free: {error}"), "see what listens on loopback"))
}

/// Whether it says that it is well.
fn answers(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut said = String::new();
        stream.take(4096).read_to_string(&mut said)?;
        Ok(said)
    };
    ask().is_ok_and(|said| said.starts_with("HTTP/1.1 200"))
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(30)).copied().collect::<Vec<_>>().join("\n")
}
