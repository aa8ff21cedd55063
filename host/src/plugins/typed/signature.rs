//! A function in a line of WIT, for those that come without words.

use crate::sandbox::typed::{Field, Function, Integer, Shape};

/// Longer ones are cut: this is read by a model each time it chooses a tool.
const MOST: usize = 1_000;

pub fn of(function: &Function) -> String {
    let mut text = format!("{}({})", function.name, fields(&function.parameters));
    if let Some(result) = &function.result {
        text += &format!(" -> {}", shape(result));
    }
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn fields(fields: &[Field]) -> String {
    fields.iter().map(|field| format!("{}: {}", field.name, shape(&field.shape))).collect::<Vec<_>>().join(", ")
}

fn shape(given: &Shape) -> String {
    match given {
        Shape::Bool => "bool".into(),
        Shape::Integer(kind) => integer(*kind).into(),
        Shape::Float32 => "f32".into(),
        Shape::Float64 => "f64".into(),
        Shape::Char => "char".into(),
        Shape::String => "string".into(),
        Shape::Bytes => "list<u8>".into(),
        Shape::List(item) => format!("list<{}>", shape(item)),
        Shape::Array(item, length) => format!("list<{}, {length}>", shape(item)),
        Shape::Record(parts) => format!("{{{}}}", fields(parts)),
        Shape::Tuple(parts) => format!("tuple<{}>", parts.iter().map(shape).collect::<Vec<_>>().join(", ")),
        Shape::Variant(cases) => {
            let case = |(name, payload): &(String, Option<Shape>)| match payload {
                Some(payload) => format!("{name}({})", shape(payload)),
                None => name.clone(),
            };
            cases.iter().map(case).collect::<Vec<_>>().join(" | ")
        }
        Shape::Enum(names) => names.join(" | "),
        Shape::Flags(names) => format!("flags {{{}}}", names.join(", ")),
        Shape::Option(inner) => format!("option<{}>", shape(inner)),
        Shape::Result(ok, err) => {
            let side = |side: &Option<Box<Shape>>| side.as_deref().map_or_else(|| "_".into(), shape);
            format!("result<{}, {}>", side(ok), side(err))
        }
    }
}

fn integer(kind: Integer) -> &'static str {
    match kind {
        Integer::S8 => "s8",
        Integer::U8 => "u8",
        Integer::S16 => "s16",
        Integer::U16 => "u16",
        Integer::S32 => "s32",
        Integer::U32 => "u32",
        Integer::S64 => "s64",
        Integer::U64 => "u64",
    }
}
