//! The bytes on disk have the shape that agy-format.md documents, and that the real sample has.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agy_sim::{At, Call, Conversation, Home, Layout, Recording, SCHEMA, Turn};
use serde_json::json;

use crate::support::*;

const ID: &str = "18ee78b4-4643-45db-85df-8abd89b51b1c";

fn small(home: &Home, layout: Layout) -> Recording {
    let tools = Call::model(1016)
        .tool("run_command", json!({"CommandLine": "ls", "Cwd": "/src"}))
        .tool("view_file", json!({"AbsolutePath": "/src/a.rs"}));
    Conversation::new(ID)
        .layout(layout)
        .title("Listing a Folder")
        .turn(Turn::prompt("ls").call(tools).call(Call::model(1016)))
        .turn(Turn::prompt("again").call(Call::model(1016)))
        .write(home)
        .unwrap()
}

#[test]
fn schema_pragmas_and_header_are_those_of_agy() {
    let home = Home::temp().unwrap();
    small(&home, Layout::V1_2);
    let conn = open(&home.db(ID));
    let mut statement = conn.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").unwrap();
    let sql: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(sql, SCHEMA);
    for (pragma, expected) in
        [("user_version", 1), ("page_size", 4096), ("schema_version", 9), ("auto_vacuum", 0)]
    {
        let value: i64 = conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap();
        assert_eq!(value, expected, "{pragma}");
    }
    let bytes = std::fs::read(home.db(ID)).unwrap();
    assert_eq!(&bytes[18..20], [2, 2], "the header says WAL");
    assert!(!home.wal(ID).exists() && !home.shm(ID).exists());
    let meta: (String, i64, i64) = conn
        .query_row("SELECT cascade_id, trajectory_type, source FROM trajectory_meta", [], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?))
        })
        .unwrap();
    assert_eq!(meta, (ID.to_owned(), 4, 17));
}

#[test]
fn rows_join_by_every_documented_key() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let home = Home::temp().unwrap();
        small(&home, layout);
        let conn = open(&home.db(ID));
        let metadata = blobs(&conn, "SELECT metadata FROM steps ORDER BY idx");
        let payloads = blobs(&conn, "SELECT step_payload FROM steps ORDER BY idx");
        let gens = blobs(&conn, "SELECT data FROM gen_metadata ORDER BY idx");
        let sizes: i64 = conn
            .query_row("SELECT count(*) FROM gen_metadata WHERE size <> length(data)", [], |r| r.get(0))
            .unwrap();
        assert_eq!((gens.len(), sizes), (3, 0));
        for (idx, (metadata, payload)) in metadata.iter().zip(&payloads).enumerate() {
            let columns: (u32, u32) = conn
                .query_row("SELECT step_type, status FROM steps WHERE idx = ?1", [idx as i64], |r| {
                    Ok((r.get(0)?, r.get(1)?))
                })
                .unwrap();
            let columns = (u64::from(columns.0), u64::from(columns.1));
            assert_eq!(columns, (number_at(payload, &[1]), number_at(payload, &[4])));
            assert_eq!(bytes_at(payload, &[5]).as_ref(), Some(metadata));
            assert_eq!(text_at(metadata, &[20, 4]).unwrap(), ID);
        }
        for (idx, data) in gens.iter().enumerate() {
            let indices = bytes_at(data, &[2]).unwrap();
            let step = &metadata[usize::from(indices[0])];
            assert_eq!(number_at(step, &[20, 3]), idx as u64, "metadata_index");
            assert_eq!(text_at(data, &[4]), text_at(step, &[12]), "execution_id");
            assert_eq!(text_at(data, &[1, 4, 11]), text_at(step, &[9, 11]), "response_id");
            assert_eq!(text_at(data, &[1, 17, 2, 11]), text_at(data, &[1, 4, 11]), "retry of a success");
            assert_eq!(number_at(data, &[1, 9, 2]), u64::MAX, "the decoy −1");
            let usage = bytes_at(data, &[1, 4]).unwrap();
            assert_eq!(number_at(&usage, &[3]), number_at(&usage, &[9]) + number_at(&usage, &[10]));
            let old = layout == Layout::V1_0;
            assert_eq!(bytes_at(data, &[1, 9, 4]).is_some(), old, "call time");
            assert_eq!(number_at(data, &[1, 9, 10, 4]) == 0, old, "max_context_tokens");
            assert_eq!(text_at(&usage, &[7]).is_none(), old, "message_id");
            assert_eq!(indices.len() > 1, !old && idx == 0, "tool steps in step_indices");
            assert_eq!(bytes_at(data, &[3]).is_some(), idx == 2, "only the newest row is heavy");
            assert_eq!(data.len() > 100_000, idx == 2, "{}", data.len());
        }
        let types: Vec<u64> = payloads.iter().map(|p| number_at(p, &[1])).collect();
        let expected: &[u64] = match layout {
            Layout::V1_0 => &[14, 98, 90, 15, 21, 8, 15, 23, 14, 90, 15],
            Layout::V1_2 => &[14, 90, 15, 132, 132, 15, 14, 15],
        };
        assert_eq!(types, expected);
        let tool = types.iter().position(|t| *t == 21 || *t == 132).unwrap();
        assert_eq!(text_at(&metadata[tool], &[4, 2]).unwrap(), "run_command");
        let executions = blobs(&conn, "SELECT data FROM executor_metadata ORDER BY idx");
        assert_eq!(executions.len(), 2);
        assert_eq!(number_at(&executions[0], &[1]), 4);
        assert_eq!(text_at(&executions[1], &[9]), text_at(metadata.last().unwrap(), &[12]));
        assert_eq!(number_at(&executions[1], &[3]) as usize, types.len() - 1);
    }
}

#[test]
fn field_paths_of_the_old_layout_are_those_of_the_real_sample() {
    let folder = std::env::var_os("AGENTHUB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    let real = folder.join("ingo-eichhorst__Irrlicht/conversations/18ee78b4-4643-45db-85df-8abd89b51b1b.db");
    if !real.exists() {
        println!("skipped: no samples at {}", folder.display());
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().join("real.db");
    std::fs::copy(real, &copied).unwrap();
    let home = Home::temp().unwrap();
    Conversation::new(ID)
        .layout(Layout::V1_0)
        .title("A Title")
        .at(At::unix(1_782_640_471))
        .turn(Turn::prompt("one").call(Call::model(1016)))
        .turn(Turn::prompt("two").call(Call::model(1016)))
        .write(&home)
        .unwrap();
    let (real, sim) = (open(&copied), open(&home.db(ID)));
    let inside = [
        "1", "1.4", "1.9", "1.9.10", "1.17", "1.17.2", "5", "5.1", "5.9", "5.20", "5.26", "5.26.1", "5.28",
        "5.28.2", "20", "30", "1.15", "1.20", "1.9.6", "1.9.7", "1.11", "1.12", "19", "19.3",
    ];
    for (sql, optional) in [
        // 1.0.10's rows have no last_cache_index on the first call.
        ("SELECT data FROM gen_metadata", &["1.6:0"][..]),
        ("SELECT step_payload FROM steps WHERE step_type IN (14, 15, 23)", &[][..]),
        ("SELECT data FROM executor_metadata", &[][..]),
        ("SELECT data FROM trajectory_metadata_blob", &[][..]),
    ] {
        let inside = if sql.contains("executor") || sql.contains("blob") { &[][..] } else { &inside[..] };
        let collect = |conn| {
            let mut out = BTreeSet::new();
            blobs(conn, sql).iter().for_each(|row| paths(row, "", inside, &mut out));
            out
        };
        let (real, sim) = (collect(&real), collect(&sim));
        let strange: Vec<_> = sim.difference(&real).filter(|p| !optional.contains(&p.as_str())).collect();
        assert!(strange.is_empty(), "fields that no real row has ({sql}): {strange:?}");
    }
}
