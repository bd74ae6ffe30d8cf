//! Compiles `proto/agy.proto` with protox, so that no `protoc` is needed on the machine, and writes down beside prost's
//! types which wire type each field has: prost refuses a message whose field has another one, and agy's rows have such.

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

use prost_build::Config;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/agy.proto");
    let files = protox::compile(["proto/agy.proto"], ["proto"])?;
    let mut shapes = String::new();
    for file in &files.file {
        for message in &file.message_type {
            let name = message.name();
            write!(shapes, "impl Shaped for {name} {{ const SHAPE: Shape = Shape(&[")?;
            for field in &message.field {
                use prost_types::field_descriptor_proto::{Label, Type};
                let kind = match field.r#type() {
                    Type::Message => {
                        let of = field.type_name().rsplit('.').next().unwrap_or_default();
                        format!("Wire::Message(&<{of} as Shaped>::SHAPE)")
                    }
                    Type::Bytes | Type::String => "Wire::Bytes".to_owned(),
                    _ if field.label() == Label::Repeated => "Wire::Packed".to_owned(),
                    _ => "Wire::Varint".to_owned(),
                };
                write!(shapes, "({}, {kind}), ", field.number())?;
            }
            shapes.push_str("]); }\n");
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("shapes.rs"), shapes)?;
    // Bytes that share the row's one copy: a row has a dozen such fields, and a scan has a hundred thousand rows.
    Config::new().bytes(["."]).compile_fds(files)?;
    Ok(())
}
