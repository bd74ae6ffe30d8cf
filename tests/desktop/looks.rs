//! Pictures for people to look at, in `tests/artifacts/`: the page light and dark, empty and full, and the icon in a
//! real panel.

use std::{path::PathBuf, time::Duration};

use agy_sim::{Home, Live, LiveSpec, WorldSpec};
use serde_json::json;

use crate::harness::{desk::Desk, need, page::Page, until};

pub(crate) fn artifact(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/artifacts");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

pub(crate) fn both_themes(page: &Page, name: &str) {
    for theme in ["light", "dark"] {
        page.theme(theme);
        page.settle();
        page.screenshot(&artifact(&format!("{name}-{theme}.png")));
    }
}

/// The same, with what axe-core says of each picture.
pub(crate) fn judged(page: &Page, name: &str) {
    for theme in ["light", "dark"] {
        page.theme(theme);
        page.accessible(&format!("{name}, {theme}"));
    }
    both_themes(page, name);
}

#[test]
fn the_page_empty_and_full() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    let page = Page::open(&mut desk);
    page.see("Start agy in a project folder");
    judged(&page, "lanes-empty");

    agy_sim::build(&home, &WorldSpec::new(40, 600)).unwrap();
    let mut playing = Vec::new();
    for (at, folder) in ["/work/api-server", "/work/atlas-web", "/work/مستودع-الترجمة"].iter().enumerate()
    {
        let id = format!("5d0c1f7e-6a4b-4c3d-9e2f-00000000000{at}");
        let mut agy = Live::start(&home, LiveSpec::new(&id).cwd(folder)).unwrap();
        agy.prompt("Migrate the database and run every test").unwrap();
        agy.call_begins().unwrap();
        if at == 0 {
            let call = agy.plausible_call();
            agy.call_ends(&call).unwrap();
            agy.tool_waits("run_command", json!({ "CommandLine": "cargo sqlx migrate run" })).unwrap();
        }
        playing.push(agy);
    }
    page.see("api-server");
    page.see("atlas-web");
    page.see("run_command");
    judged(&page, "lanes");

    page.run("location.hash = '#/sessions'");
    page.see("sessions");
    judged(&page, "sessions");

    page.run(&format!("location.hash = '#/session/{}'", playing[0].id()));
    page.see("Migrate the database");
    judged(&page, "session");

    page.run("location.hash = '#/doctor'");
    page.see("What AgentHub cannot know");
    judged(&page, "doctor");
    page.close();
}

#[test]
fn the_icon_in_a_real_panel() {
    need("xfce4-panel", "xfce4-panel");
    let mut desk = Desk::bare();
    let home = Home::create(desk.gemini_dir()).unwrap();
    desk.write_config(
        "xfce4/xfconf/xfce-perchannel-xml/xfce4-panel.xml",
        r#"<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="size" type="uint" value="30"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
    </property>
  </property>
  <property name="plugins" type="empty"><property name="plugin-1" type="string" value="systray"/></property>
</channel>
"#,
    );
    desk.spawn("xfce4-panel", &["--disable-wm-check"]);
    desk.app(&[]);
    let tray = until("the item to register with the panel", || desk.item_in_a_panel());
    until("an empty board", || tray.line("No lanes yet"));
    // The panel draws some time after it was told; nothing says when.
    std::thread::sleep(Duration::from_millis(500));
    desk.screenshot(&artifact("panel-idle.png"));

    let mut agy =
        Live::start(&home, LiveSpec::new("5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab").cwd("/work/x")).unwrap();
    agy.prompt("Go").unwrap();
    agy.call_begins().unwrap();
    until("running", || tray.line("running"));
    std::thread::sleep(Duration::from_millis(500));
    desk.screenshot(&artifact("panel-running.png"));
}
