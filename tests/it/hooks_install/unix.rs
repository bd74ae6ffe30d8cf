//! Links, owners, modes and disks, which other systems have in other ways.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn h2_mode_and_owner_stay() {
    for bits in [0o600, 0o640, 0o664] {
        let home = Home::with(OTHERS);
        std::fs::set_permissions(home.hooks_json(), PermissionsExt::from_mode(bits)).unwrap();
        let _ = chown(home.hooks_json(), None, Some(65_534));
        let gid = std::fs::metadata(home.hooks_json()).unwrap().gid();
        home.done(&["install"]);
        assert_eq!(
            (mode(&home.hooks_json()), std::fs::metadata(home.hooks_json()).unwrap().gid()),
            (bits, gid)
        );
        home.done(&["remove"]);
        assert_eq!(mode(&home.hooks_json()), bits);
    }
    let home = Home::new();
    home.done(&["install"]);
    assert_eq!((mode(&home.hooks_json()), mode(&home.forwarder())), (0o600, 0o755));
}

/// `hooks.json` → …, each link as it is written; the last is the file.
fn chained(home: &Home, links: &[&str]) -> PathBuf {
    std::fs::create_dir_all(home.rig.home.root().join("dots/agy")).unwrap();
    let mut at = home.hooks_json();
    for link in links {
        symlink(link, &at).unwrap();
        at = at.parent().unwrap().join(link);
    }
    at
}

#[test]
fn h2_links_are_written_through() {
    let home = Home::new();
    let absolute = home.rig.home.root().join("dots/agy/absolute.json");
    let absolute = absolute.to_str().unwrap();
    for links in [&["../dots/agy/a.json"][..], &[absolute], &["../dots/b.json", "agy/c.json", "../d.json"]] {
        let home = Home::new();
        let links: Vec<String> = links
            .iter()
            .map(|l| {
                if l.starts_with('/') {
                    home.rig.home.root().join("dots/agy/x.json").display().to_string()
                } else {
                    (*l).to_owned()
                }
            })
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let target = chained(&home, &links);
        std::fs::write(&target, OTHERS).unwrap();
        home.done(&["install"]);
        assert!(std::fs::read_to_string(&target).unwrap().contains("agenthub"));
        let status = home.json(&["status"]);
        assert_eq!(status["state"], "installed");
        assert!(status["target"].is_string());
        home.done(&["remove"]);
        assert_eq!(std::fs::read_to_string(&target).unwrap(), OTHERS);
        assert!(home.hooks_json().is_symlink() && !target.is_symlink(), "{links:?}");
        // No temporary file and no backup beside it.
        let beside = std::fs::read_dir(target.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name());
        assert!(beside.into_iter().all(|n| !n.to_string_lossy().starts_with('.')), "{links:?}");
    }
}

#[test]
fn h2_a_link_that_leads_nowhere_gets_its_file_and_keeps_an_empty_one() {
    for link in ["../dots/new/more/deep.json", "../dots/agy/new.json"] {
        let home = Home::new();
        let target = chained(&home, &[link]);
        // Folders that are to be made are said first, and go when the file does.
        let makes = link.contains("new/");
        let folder = home.rig.home.root().join("dots/new");
        assert_eq!(home.done(&["install", "--dry-run"]).contains("dots/new/more, which is not there"), makes);
        assert!(!folder.exists());
        home.done(&["install"]);
        assert_eq!(folder.exists(), makes);
        home.done(&["undo"]);
        assert!(!folder.exists() && !target.exists() && home.rig.home.root().join("dots/agy").is_dir());
        home.done(&["install"]);
        assert!(home.hooks_json().is_symlink() && target.is_file());
        home.done(&["remove"]);
        assert!(home.hooks_json().is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap().trim(), "{}");
    }
}

#[test]
fn h2_through_a_linked_home_too() {
    let home = Home::with(OTHERS);
    let linked = home.rig.data_dir();
    symlink(home.rig.home.root(), &linked).unwrap();
    let data = home.rig.config().config_dir.join("data");
    let mut c = home.rig.command(&["hooks", "install"]);
    c.arg("--gemini-dir").arg(&linked).arg("--data-dir").arg(&data);
    assert!(c.output().unwrap().status.success());
    assert!(home.text().contains(&format!("'{}/config/agenthub-hook.sh' Stop", linked.display())));
}

#[test]
fn h3_what_stands_there_and_is_no_file() {
    let folder = Home::new();
    std::fs::create_dir(folder.hooks_json()).unwrap();
    folder.refuses(&["install"], "ENOTAFILE");
    let pipe = Home::new();
    assert!(Command::new("mkfifo").arg(pipe.hooks_json()).status().unwrap().success());
    pipe.refuses(&["install"], "ENOTAFILE");
    let config = Home::new();
    std::fs::remove_dir_all(config.config()).unwrap();
    std::fs::write(config.config(), "a file").unwrap();
    config.refuses(&["install"], "ENOTAFILE");
    let cycle = Home::new();
    symlink("hooks.json", cycle.hooks_json()).unwrap();
    cycle.refuses(&["install"], "ELOOP");
    let folders = Home::new();
    symlink("loop/hooks.json", folders.hooks_json()).unwrap();
    symlink("loop", folders.config().join("loop")).unwrap();
    folders.refuses(&["install"], "ELOOP");
}

#[test]
fn h3_what_may_not_be_written() {
    let home = Home::with(OTHERS);
    std::fs::set_permissions(home.hooks_json(), PermissionsExt::from_mode(0o444)).unwrap();
    home.refuses(&["install"], "EREADONLY");
    let theirs = Home::with(OTHERS);
    if chown(theirs.hooks_json(), Some(65_534), None).is_err() {
        println!("skipped: only root can give a file away");
        return;
    }
    theirs.refuses(&["install"], "ENOTOURS");
    let script = Home::with(OTHERS);
    std::fs::write(script.forwarder(), "# agenthub-hook forwarder v1\n").unwrap();
    chown(script.forwarder(), Some(65_534), None).unwrap();
    script.refuses(&["install"], "EFOREIGN");
    let dangling = Home::with(OTHERS);
    symlink("nowhere", dangling.forwarder()).unwrap();
    dangling.refuses(&["install"], "EFOREIGN");
}

#[test]
fn h3_a_full_or_read_only_disk_leaves_the_file_as_it_was() {
    let home = Home::new();
    let words = ["hooks", "install", "--json"];
    let inside = |script: &str| {
        let agenthub = home.rig.command(&words);
        let mut c = Command::new("unshare");
        c.args(["-m", "sh", "-c", script]).arg(home.config()).arg(agenthub.get_program());
        c.args(agenthub.get_args());
        for (name, value) in agenthub.get_envs() {
            match value {
                Some(value) => c.env(name, value),
                None => c.env_remove(name),
            };
        }
        c.output().unwrap()
    };
    // The file fills the disk but for less than the new one needs; the second time the disk is read-only.
    let script = r#"
        mount -t tmpfs -o size=64k none "$0" || exit 9
        printf '{"a": {"note": "%s"}}' "$(head -c 40000 /dev/zero | tr '\0' x)" > "$0/hooks.json"
        before=$(cksum < "$0/hooks.json")
        REMOUNT
        "$@"; code=$?
        [ "$(cksum < "$0/hooks.json")" = "$before" ] || exit 8
        [ "$(ls -A "$0")" = hooks.json ] || exit 7
        exit $code
    "#;
    for (remount, code) in [(":", "ENOSPACE"), ("mount -o remount,ro \"$0\"", "EREADONLY")] {
        let out = inside(&script.replace("REMOUNT", remount));
        if out.status.code() == Some(9) || out.status.code() == Some(127) || out.stdout.is_empty() {
            println!("skipped: no disk can be mounted here: {}", String::from_utf8_lossy(&out.stderr));
            return;
        }
        assert_eq!(out.status.code(), Some(1), "{out:?}");
        let doc: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(doc["error"]["code"], code, "{doc}");
    }
}
