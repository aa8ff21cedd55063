//! What a function of wasmcp takes, made from its own type: the request, and surroundings that say nothing of anybody.

use wasmtime::component::{Type, Val};

/// The revision whose messages the types are modelled on.
const REVISION: &str = "2025-06-18";

/// A type that uses another twice, which uses a third twice, grows without end when it is filled in.
/// Test: `security::wasmcp::parameters_without_end_are_refused`.
const MOST_PARTS: usize = 1_000;

/// What is asked. Each goes into the fields of its name; all other fields are empty.
#[derive(Default)]
pub struct Given<'a> {
    pub name: Option<&'a str>,
    /// JSON.
    pub arguments: Option<&'a str>,
    pub cursor: Option<&'a str>,
}

impl Given<'_> {
    fn of(&self, field: &str) -> Option<&str> {
        match field {
            "name" => self.name,
            "arguments" => self.arguments,
            "cursor" => self.cursor,
            "protocol-version" => Some(REVISION),
            _ => None,
        }
    }
}

/// Makes values, up to an end.
pub struct Maker<'a> {
    given: &'a Given<'a>,
    left: usize,
}

impl<'a> Maker<'a> {
    pub fn new(given: &'a Given<'a>) -> Maker<'a> {
        Maker { given, left: MOST_PARTS }
    }

    /// A value for each parameter; or what in them cannot be made.
    pub fn all(&mut self, parameters: &[(String, Type)]) -> Result<Vec<Val>, String> {
        parameters.iter().map(|(name, ty)| self.value(name, ty)).collect()
    }

    fn value(&mut self, field: &str, ty: &Type) -> Result<Val, String> {
        self.left = self.left.checked_sub(1).ok_or_else(|| format!("more than {MOST_PARTS} parts"))?;
        Ok(match ty {
            Type::Option(option) if self.given.of(field).is_some() => Val::Option(Some(self.value(field, &option.ty())?.into())),
            Type::Option(_) => Val::Option(None),
            Type::String => Val::String(self.given.of(field).unwrap_or_default().to_owned()),
            Type::Bool => Val::Bool(false),
            Type::S8 => Val::S8(0),
            Type::U8 => Val::U8(0),
            Type::S16 => Val::S16(0),
            Type::U16 => Val::U16(0),
            Type::S32 => Val::S32(0),
            Type::U32 => Val::U32(0),
            Type::S64 => Val::S64(0),
            Type::U64 => Val::U64(0),
            Type::Float32 => Val::Float32(0.0),
            Type::Float64 => Val::Float64(0.0),
            Type::Char => Val::Char(' '),
            Type::List(_) => Val::List(Vec::new()),
            Type::Map(_) => Val::Map(Vec::new()),
            Type::Record(record) => {
                let fields = record.fields().map(|part| Ok((part.name.to_owned(), self.value(part.name, &part.ty)?)));
                Val::Record(fields.collect::<Result<_, String>>()?)
            }
            Type::Tuple(tuple) => Val::Tuple(tuple.types().map(|ty| self.value("", &ty)).collect::<Result<_, _>>()?),
            Type::Variant(variant) => {
                let case = variant.cases().next().ok_or("a variant without cases")?;
                let payload = case.ty.map(|ty| self.value("", &ty)).transpose()?;
                Val::Variant(case.name.to_owned(), payload.map(Box::new))
            }
            Type::Enum(names) => Val::Enum(names.names().next().ok_or("an enum without cases")?.to_owned()),
            Type::Flags(_) => Val::Flags(Vec::new()),
            Type::Result(result) => Val::Result(Ok(result.ok().map(|ty| self.value("", &ty)).transpose()?.map(Box::new))),
            Type::Own(_) | Type::Borrow(_) => return Err(format!("a resource as `{field}`")),
            Type::FixedLengthList(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
                return Err(format!("an array, a future or a stream as `{field}`"));
            }
        })
    }
}
