//! Own X server, own session bus, own home: two tests never see each other.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use zbus::blocking::{Connection, Proxy, fdo::DBusProxy};

use super::{
    APP, need,
    tray::Tray,
    tray_host::{self, Items},
    until, within_or_not,
};

#[derive(Debug)]
pub(crate) struct Desk {
    dir: TempDir,
    display: String,
    bus_address: String,
    bus: Connection,
    items: Items,
    children: Vec<Child>,
}

/// A program that runs on a desk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running(usize);

impl Desk {
    /// A desktop with a tray host.
    pub(crate) fn start() -> Desk {
        let desk = Desk::bare();
        desk.add_tray_host();
        desk
    }

    /// A desktop on which nothing shows a tray.
    pub(crate) fn bare() -> Desk {
        need("dbus-daemon", "dbus");
        let dir = tempfile::Builder::new().prefix("desk-").tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        let (server, display) = x_server();
        let (daemon, bus_address) = printing(
            Command::new("dbus-daemon")
                .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
                // What the bus starts (xfconfd) lives here too.
                .env("XDG_RUNTIME_DIR", dir.path())
                .env("HOME", dir.path().join("home"))
                .env("XDG_CONFIG_HOME", dir.path().join("home/.config")),
        );
        let bus = connect(&bus_address);
        Desk { dir, display, bus_address, bus, items: Items::default(), children: vec![server, daemon] }
    }

    /// Starts a tray host on a desktop that has none.
    pub(crate) fn add_tray_host(&self) {
        tray_host::serve(&self.bus, &self.items);
    }

    pub(crate) fn remove_tray_host(&self) {
        tray_host::leave(&self.bus, &self.items);
    }

    /// agy's home on this desk.
    pub(crate) fn gemini_dir(&self) -> PathBuf {
        self.home().join(".gemini")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn runtime_dir(&self) -> &Path {
        self.dir.path()
    }

    /// Another connection to the bus.
    pub(crate) fn connect(&self) -> Connection {
        connect(&self.bus_address)
    }

    /// All names on the bus.
    pub(crate) fn bus_names(&self) -> Vec<String> {
        let dbus = DBusProxy::new(&self.bus).unwrap();
        dbus.list_names().unwrap().into_iter().map(|name| name.to_string()).collect()
    }

    /// The name by which a second start finds the first one, while the first one lives.
    pub(crate) fn single_instance(&self) -> Option<String> {
        self.bus_names().into_iter().find(|name| name.ends_with(".SingleInstance"))
    }

    /// The process that has it.
    pub(crate) fn single_instance_pid(&self) -> u32 {
        let name = self.single_instance().expect("the app is on the bus");
        let name = zbus::names::BusName::try_from(name).unwrap();
        DBusProxy::new(&self.bus).unwrap().get_connection_unix_process_id(name).unwrap()
    }

    /// The tray item that a real panel knows; for desks without our own tray host.
    pub(crate) fn item_in_a_panel(&self) -> Option<Tray> {
        let panel =
            Proxy::new(&self.bus, tray_host::NAME, tray_host::PATH, "org.kde.StatusNotifierWatcher").ok()?;
        let items: Vec<String> = panel.get_property("RegisteredStatusNotifierItems").ok()?;
        items.first().map(|item| Tray::new(&self.bus, item))
    }

    /// Puts a file below `~/.config`.
    pub(crate) fn write_config(&self, file: &str, content: &str) {
        let path = self.home().join(".config").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Puts a program first on the path of whatever is started from now on.
    pub(crate) fn install(&self, name: &str, script: &str) {
        let path = self.bin().join(name);
        std::fs::create_dir_all(self.bin()).unwrap();
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    pub(crate) fn app(&mut self, args: &[&str]) -> Running {
        self.spawn(APP, args)
    }

    pub(crate) fn spawn(&mut self, program: &str, args: &[&str]) -> Running {
        self.spawn_with(program, args, &[])
    }

    pub(crate) fn spawn_with(&mut self, program: &str, args: &[&str], env: &[(&str, &str)]) -> Running {
        let log = File::create(self.log_of(self.children.len())).unwrap();
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        self.furnish(&mut command);
        command.envs(env.iter().copied());
        self.children.push(command.spawn().unwrap_or_else(|e| panic!("{program}: {e}")));
        Running(self.children.len() - 1)
    }

    /// What a program has printed so far.
    pub(crate) fn log(&self, running: Running) -> String {
        std::fs::read_to_string(self.log_of(running.0)).unwrap_or_default()
    }

    pub(crate) fn pid(&self, running: Running) -> u32 {
        self.children[running.0].id()
    }

    pub(crate) fn exited(&mut self, running: Running) -> Option<ExitStatus> {
        self.children[running.0].try_wait().unwrap()
    }

    /// Waits for the app's tray item.
    pub(crate) fn tray(&self) -> Tray {
        let item = until("a tray item", || self.items.first());
        Tray::new(&self.bus, &item)
    }

    pub(crate) fn tray_items(&self) -> usize {
        self.items.len()
    }

    /// The id of a visible window with this title.
    pub(crate) fn window(&self, title: &str) -> Option<String> {
        need("xdotool", "xdotool");
        let mut search = Command::new("xdotool");
        self.furnish(search.args(["search", "--onlyvisible", "--name", &format!("^{title}$")]));
        loop {
            let found = search.output().unwrap();
            // A window that goes away while xdotool walks through all of them ends its search with an X error.
            if found.stderr.is_empty() {
                return String::from_utf8_lossy(&found.stdout).lines().next().map(str::to_owned);
            }
        }
    }

    /// Starts a window manager, and waits until windows are in its hands.
    pub(crate) fn window_manager(&mut self) {
        need("openbox", "openbox");
        need("wmctrl", "wmctrl");
        self.spawn("openbox", &[]);
        until("the window manager", || self.run("wmctrl", &["-m"]).contains("Openbox").then_some(()));
    }

    /// Closes a window as its person would. Needs the window manager.
    pub(crate) fn close(&self, title: &str) {
        until("the window to close", || {
            let Some(window) = self.window(title) else { return Some(()) };
            // Lost when the window manager does not have the window in its hands yet.
            self.run("wmctrl", &["-i", "-c", &window]);
            within_or_not(Duration::from_secs(2), || self.window(title).is_none())
        });
    }

    /// A picture of the whole screen.
    pub(crate) fn screenshot(&self, to: &Path) {
        need("import", "imagemagick");
        self.run("import", &["-window", "root", &to.display().to_string()]);
    }

    /// Runs a program on this desk to its end, for what it prints.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> String {
        let mut command = Command::new(program);
        self.furnish(command.args(args));
        let output = command.output().unwrap_or_else(|e| panic!("{program}: {e}"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Sends a signal (`TERM`) to one process that this desk started.
    pub(crate) fn signal(&self, running: Running, signal: &str) {
        send(signal, &self.pid(running).to_string());
    }

    fn furnish(&self, command: &mut Command) {
        let home = self.home();
        let mut path = self.bin().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command
            .env("PATH", path)
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus_address)
            .env("XDG_RUNTIME_DIR", self.dir.path())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("GDK_BACKEND", "x11")
            .env("NO_AT_BRIDGE", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        for variable in ["WAYLAND_DISPLAY", "AGENTHUB_GEMINI_DIR", "AGENTHUB_DATA_DIR", "AGENTHUB_CONFIG_DIR"]
        {
            command.env_remove(variable);
        }
    }

    fn log_of(&self, child: usize) -> PathBuf {
        self.dir.path().join(format!("log-{child}"))
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for child in 2..self.children.len() {
                let log = self.log(Running(child));
                eprintln!("--- log of child {child}:\n{log}");
            }
        }
        for child in self.children.iter_mut().rev() {
            // The whole group that this desk started: WebKit's helpers and the driver's app are in it.
            let group = format!("-{}", child.id());
            send("TERM", &group);
            if within_or_not(Duration::from_secs(3), || child.try_wait().unwrap().is_some()).is_none() {
                send("KILL", &group);
                let _ = child.wait();
            }
        }
    }
}

/// Processes with this name below `pid`, at any depth.
pub(crate) fn descendants(pid: u32, name: &str) -> usize {
    let Ok(children) = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) else { return 0 };
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children
        .map(|child: u32| {
            let comm = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            // The kernel keeps 15 characters.
            let named = !comm.trim().is_empty() && name.starts_with(comm.trim());
            usize::from(named) + descendants(child, name)
        })
        .sum()
}

/// Processor time that a process has used, all its threads together.
pub(crate) fn cpu_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    // utime and stime are the 14th and 15th field; the first of `fields` is the 3rd. A tick is 10 ms on Linux.
    let ticks: u64 = fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The same of a process and all below it: the app with its web processes.
pub(crate) fn family_cpu_time(pid: u32) -> Duration {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    cpu_time(pid) + children.map(family_cpu_time).sum::<Duration>()
}

/// Proportional memory of a process in MiB.
pub(crate) fn pss_mib(pid: u32) -> f64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn connect(address: &str) -> Connection {
    zbus::blocking::connection::Builder::address(address).unwrap().build().unwrap()
}

fn send(signal: &str, target: &str) {
    need("kill", "procps");
    let _ = Command::new("kill").args(["-s", signal, "--", target]).stderr(Stdio::null()).status();
}

/// An X server that answers, and its display.
fn x_server() -> (Child, String) {
    need("Xvfb", "xvfb");
    need("xdotool", "xdotool");
    // Without `-noreset` the server starts anew when its last client goes.
    let screen = ["-displayfd", "1", "-screen", "0", "1400x900x24", "-nolisten", "tcp", "-noreset"];
    for _ in 0..5 {
        let (mut server, number) = printing(Command::new("Xvfb").args(screen));
        let display = format!(":{number}");
        let answers = || {
            let mut ask = Command::new("xdotool");
            ask.arg("getdisplaygeometry")
                .env("DISPLAY", &display)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            ask.status().is_ok_and(|status| status.success())
        };
        if within_or_not(Duration::from_secs(5), answers).is_some() {
            return (server, display);
        }
        // Seen once in a hundred starts on a busy machine (21.1.7), for a reason not found.
        send("KILL", &server.id().to_string());
        let _ = server.wait();
    }
    panic!("no Xvfb answers on its display");
}

/// Starts a program that prints its address in one line once it listens.
fn printing(command: &mut Command) -> (Child, String) {
    let mut child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}
