//! System packages: which, what for, and how they come. Debian's and Ubuntu's names; elsewhere the list is printed.

use std::collections::HashSet;
use std::io::IsTerminal;

use crate::program::{Failure, Program, on_path, say};

/// What a package is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Any crate: SQLite is built from C.
    Compile,
    /// The desktop app.
    Desktop,
    /// The tests that drive it on a virtual screen.
    DesktopTests,
    /// The `.deb`.
    Bundle,
}

/// How a system that is not Debian's shows that it has the thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Program(&'static str),
    Library(&'static str),
    /// Nothing that could be looked for.
    None,
}

#[derive(Debug, Clone, Copy)]
struct Package {
    name: &'static str,
    purpose: Purpose,
    what_for: &'static str,
    sign: Sign,
}

const fn package(purpose: Purpose, name: &'static str, sign: Sign, what_for: &'static str) -> Package {
    Package { name, purpose, what_for, sign }
}

/// One name that a system does not know makes the whole of `apt-get install` fail: each of these is in Debian 12
/// and 13 and in Ubuntu 22.04 and 24.04 (where some are in `universe`).
const PACKAGES: &[Package] = &[
    package(Purpose::Compile, "build-essential", Sign::Program("cc"), "the C compiler and linker"),
    package(Purpose::Compile, "pkg-config", Sign::Program("pkg-config"), "finds the C libraries"),
    package(Purpose::Compile, "ca-certificates", Sign::None, "lets Cargo and npm trust their registries"),
    package(Purpose::Desktop, "libgtk-3-dev", Sign::Library("gtk+-3.0"), "GTK 3: the window"),
    package(Purpose::Desktop, "libdbus-1-dev", Sign::Library("dbus-1"), "the bus that the tray is on"),
    package(
        Purpose::Desktop,
        "libwebkit2gtk-4.1-dev",
        Sign::Library("webkit2gtk-4.1"),
        "WebKit: the page in the window",
    ),
    package(Purpose::DesktopTests, "xvfb", Sign::Program("Xvfb"), "the virtual screen"),
    package(
        Purpose::DesktopTests,
        "dbus",
        Sign::Program("dbus-daemon"),
        "a private bus: tray and notifications",
    ),
    package(Purpose::DesktopTests, "webkit2gtk-driver", Sign::Program("WebKitWebDriver"), "drives the page"),
    package(
        Purpose::DesktopTests,
        "openbox",
        Sign::Program("openbox"),
        "a window manager: windows are closed as a user does",
    ),
    package(
        Purpose::DesktopTests,
        "wmctrl",
        Sign::Program("wmctrl"),
        "asks the window manager to close a window",
    ),
    package(Purpose::DesktopTests, "xdotool", Sign::Program("xdotool"), "finds windows, presses keys"),
    package(Purpose::DesktopTests, "imagemagick", Sign::Program("import"), "takes and compares screenshots"),
    package(
        Purpose::DesktopTests,
        "xfce4-panel",
        Sign::Program("xfce4-panel"),
        "a real tray for the screenshots",
    ),
    package(Purpose::DesktopTests, "fonts-dejavu-core", Sign::None, "a font for the virtual screen"),
    package(Purpose::DesktopTests, "procps", Sign::Program("ps"), "sees which processes are left"),
    package(
        Purpose::Bundle,
        "libayatana-appindicator3-dev",
        Sign::Library("ayatana-appindicator3-0.1"),
        "asked for by the packager",
    ),
];

/// npm itself. Its Node may be too old for the page's tools: those bring their own (`node` in `ui/package.json`).
const NPM: &[Package] = &[
    package(Purpose::Compile, "nodejs", Sign::Program("node"), "runs npm"),
    package(Purpose::Compile, "npm", Sign::Program("npm"), "installs the page's packages"),
];

/// Finds what is missing and installs it where apt-get is, as root or through sudo.
pub(crate) fn ensure(purposes: &[Purpose]) -> Result<(), Failure> {
    if !cfg!(target_os = "linux") {
        // The web view and the compiler belong to macOS and Windows; the desktop tests run on Linux only.
        return Ok(());
    }
    ensure_these(PACKAGES.iter().filter(|package| purposes.contains(&package.purpose)).collect())
}

/// npm, from whatever source it is on the PATH already, else from the system's packages.
pub(crate) fn ensure_npm() -> Result<(), Failure> {
    if cfg!(target_os = "linux") {
        ensure_these(NPM.iter().collect())
    } else {
        Err(by_hand(&NPM.iter().collect::<Vec<_>>()))
    }
}

fn ensure_these(wanted: Vec<&'static Package>) -> Result<(), Failure> {
    if on_path("dpkg-query").is_some() && on_path("apt-get").is_some() {
        let missing = missing_by_dpkg(wanted)?;
        return if missing.is_empty() { Ok(()) } else { install(&missing) };
    }
    let missing: Vec<_> = wanted.into_iter().filter(|package| !shows(package.sign)).collect();
    if missing.is_empty() { Ok(()) } else { Err(by_hand(&missing)) }
}

fn missing_by_dpkg(wanted: Vec<&'static Package>) -> Result<Vec<&'static Package>, Failure> {
    // It ends with 1 when it does not know one of them, and still prints the others.
    let printed = Program::new("dpkg-query")
        .args(["-W", "-f=${Package}\\t${db:Status-Status}\\n"])
        .args(wanted.iter().map(|package| package.name))
        .env("LC_ALL", "C")
        .quiet()?
        .stdout;
    let installed = installed(&printed);
    Ok(wanted.into_iter().filter(|package| !installed.contains(package.name)).collect())
}

/// From lines of `name<TAB>status`, one for each architecture.
fn installed(printed: &str) -> HashSet<&str> {
    printed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(_, status)| *status == "installed")
        .map(|(name, _)| name)
        .collect()
}

/// From `apt-cache policy`: the names that have a version to install.
fn available(printed: &str) -> HashSet<&str> {
    let mut known = HashSet::new();
    let mut name = "";
    for line in printed.lines() {
        if let Some(candidate) = line.trim().strip_prefix("Candidate:") {
            if candidate.trim() != "(none)" {
                known.insert(name);
            }
        } else if !line.starts_with(' ') {
            // A foreign architecture is named `xvfb:i386`.
            name = line.trim_end_matches(':').split(':').next().unwrap_or_default();
        }
    }
    known
}

fn install(missing: &[&'static Package]) -> Result<(), Failure> {
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    say(&format!("System packages to install: {}", names.join(" ")));
    let Some(root) = root() else { return Err(by_hand(missing)) };
    // A source of the person's that fails need not be one of ours: what matters is what apt-get then knows.
    if let Err(failure) = root.apt_get(&["update"]) {
        say(&format!("{failure}\n  Going on with the lists that are there."));
    }
    let policy = Program::new("apt-cache").args(["policy"]).args(&names).env("LC_ALL", "C").quiet()?;
    let available = available(&policy.stdout);
    let unknown: Vec<&str> = names.iter().copied().filter(|name| !available.contains(name)).collect();
    if !unknown.is_empty() {
        return Err(Failure::new(
            format!("this system's package sources do not have: {}", unknown.join(" ")),
            "switch on the sources that have them (on Ubuntu `add-apt-repository universe`), or install them from elsewhere; \
             Debian 12 and 13 and Ubuntu 22.04 and 24.04 have all of them",
        ));
    }
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(&names);
    root.apt_get(&arguments).map_err(|failure| {
        Failure::new(
            failure.what,
            format!("read what apt-get says above, then run `apt-get install {}` yourself", names.join(" ")),
        )
    })
}

/// The way to root's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Ourselves,
    /// Only where a terminal is can it ask for a password.
    Sudo {
        may_ask: bool,
    },
}

fn root() -> Option<Root> {
    let id = Program::new("id").args(["-u"]).quiet().ok()?.stdout;
    if id.trim() == "0" {
        return Some(Root::Ourselves);
    }
    on_path("sudo").map(|_| Root::Sudo { may_ask: std::io::stdin().is_terminal() })
}

impl Root {
    fn apt_get(self, arguments: &[&str]) -> Result<(), Failure> {
        let program = match self {
            Root::Ourselves => Program::new("env"),
            Root::Sudo { may_ask: true } => Program::new("sudo").args(["env"]),
            Root::Sudo { may_ask: false } => Program::new("sudo").args(["-n", "env"]),
        };
        program
            .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"])
            .args(["-q", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300"])
            .args(arguments)
            .run()
    }
}

fn shows(sign: Sign) -> bool {
    match sign {
        Sign::Program(name) => on_path(name).is_some(),
        Sign::Library(name) => {
            Program::new("pkg-config").args(["--exists", name]).quiet().is_ok_and(|ran| ran.success)
        }
        Sign::None => true,
    }
}

fn by_hand(missing: &[&'static Package]) -> Failure {
    let width = missing.iter().map(|package| package.name.len()).max().unwrap_or(0);
    let lines: Vec<String> =
        missing.iter().map(|package| format!("    {:width$}  {}", package.name, package.what_for)).collect();
    Failure::new(
        format!("this machine lacks (by their names in Debian):\n{}", lines.join("\n")),
        "install them with this system's package manager, then run this again; on Debian and Ubuntu xtask does it \
         itself, as root or through sudo",
    )
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn only_installed_packages_count_as_installed() {
        let printed = "xvfb\tinstalled\nnpm\tnot-installed\ndbus\tconfig-files\nlibc6\tinstalled\nlibc6\tinstalled\nodd line\n";
        assert_eq!(installed(printed), HashSet::from(["xvfb", "libc6"]));
    }

    #[test]
    fn a_package_without_a_candidate_is_not_available() {
        let printed = "xvfb:\n  Installed: (none)\n  Candidate: 2:21.1.7-3\n  Version table:\n     2:21.1.7-3 500\n\
                       stalonetray:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n\
                       wmctrl:\n  Installed: 1.07\n  Candidate: 1.07-7\n";
        assert_eq!(available(printed), HashSet::from(["xvfb", "wmctrl"]));
        assert!(available("").is_empty());
    }

    #[test]
    fn a_missing_package_is_listed_with_its_purpose() {
        let failure = by_hand(&PACKAGES.iter().filter(|p| p.purpose == Purpose::Desktop).collect::<Vec<_>>());
        assert!(failure.what.contains("libwebkit2gtk-4.1-dev  WebKit"), "{failure}");
    }

    #[test]
    fn no_package_is_listed_twice() {
        let names: HashSet<_> = PACKAGES.iter().chain(NPM).map(|package| package.name).collect();
        assert_eq!(names.len(), PACKAGES.len() + NPM.len());
    }
}
