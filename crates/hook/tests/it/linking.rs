//! What the program links: agy waits while the loader works.

use std::process::Command;

#[test]
fn h6_it_links_nothing_beyond_libc_and_libgcc_s() {
    let Ok(out) = Command::new("ldd").arg(env!("CARGO_BIN_EXE_agenthub-hook")).output() else {
        println!("skipped: `ldd` is not here");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    let known =
        ["linux-vdso", "libc.so", "libgcc_s.so", "ld-linux", "ld-musl", "libc.musl", "statically linked"];
    let others: Vec<&str> =
        text.lines().filter(|line| !known.iter().any(|name| line.contains(name))).collect();
    assert!(!text.trim().is_empty() && others.is_empty(), "{text}");
}
