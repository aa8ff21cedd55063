//! The type of a value, as we keep it: read from a component once, within bounds.

use wasmtime::component::Type;

/// Types cannot be recursive, but one that uses another twice, which uses a third twice, grows without end when it is written out.
/// Test: `security::typed::types_without_end_are_refused`.
const MOST_PARTS: usize = 2_000;
/// Deeper than any type that a model can fill in, and shallow enough for everything that walks one. Same test.
const MOST_DEPTH: usize = 24;

/// A type of WIT, without what cannot cross into JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Bool,
    Integer(Integer),
    Float32,
    Float64,
    Char,
    String,
    /// `list<u8>`: base64 in JSON.
    Bytes,
    List(Box<Shape>),
    /// A list of so many.
    Array(Box<Shape>, u32),
    Record(Vec<Field>),
    Tuple(Vec<Shape>),
    Variant(Vec<(String, Option<Shape>)>),
    Enum(Vec<String>),
    Option(Box<Shape>),
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    Flags(Vec<String>),
}

/// A named part of a record, or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

impl Integer {
    pub const ALL: [Integer; 8] =
        [Integer::S8, Integer::U8, Integer::S16, Integer::U16, Integer::S32, Integer::U32, Integer::S64, Integer::U64];

    /// The least and the greatest.
    pub fn bounds(self) -> (i128, i128) {
        match self {
            Integer::S8 => (i8::MIN.into(), i8::MAX.into()),
            Integer::U8 => (0, u8::MAX.into()),
            Integer::S16 => (i16::MIN.into(), i16::MAX.into()),
            Integer::U16 => (0, u16::MAX.into()),
            Integer::S32 => (i32::MIN.into(), i32::MAX.into()),
            Integer::U32 => (0, u32::MAX.into()),
            Integer::S64 => (i64::MIN.into(), i64::MAX.into()),
            Integer::U64 => (0, u64::MAX.into()),
        }
    }
}

impl Shape {
    /// Whether the value may be left out: then it is none.
    pub fn is_optional(&self) -> bool {
        matches!(self, Shape::Option(_))
    }
}

/// What may still be read of a component's types.
pub struct Reader {
    left: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Reader { left: MOST_PARTS }
    }
}

impl Reader {
    /// The shape of a type, or in a few words what is in it that cannot be.
    pub fn read(&mut self, ty: &Type) -> Result<Shape, String> {
        self.read_at(ty, 0)
    }

    fn read_at(&mut self, ty: &Type, depth: usize) -> Result<Shape, String> {
        self.take(1)?;
        if depth > MOST_DEPTH {
            return Err(format!("types nested deeper than {MOST_DEPTH}"));
        }
        let mut inner = |ty: &Type| self.read_at(ty, depth + 1);
        Ok(match ty {
            Type::Bool => Shape::Bool,
            Type::S8 => Shape::Integer(Integer::S8),
            Type::U8 => Shape::Integer(Integer::U8),
            Type::S16 => Shape::Integer(Integer::S16),
            Type::U16 => Shape::Integer(Integer::U16),
            Type::S32 => Shape::Integer(Integer::S32),
            Type::U32 => Shape::Integer(Integer::U32),
            Type::S64 => Shape::Integer(Integer::S64),
            Type::U64 => Shape::Integer(Integer::U64),
            Type::Float32 => Shape::Float32,
            Type::Float64 => Shape::Float64,
            Type::Char => Shape::Char,
            Type::String => Shape::String,
            Type::List(list) if list.ty() == Type::U8 => Shape::Bytes,
            Type::List(list) => Shape::List(inner(&list.ty())?.into()),
            Type::FixedLengthList(list) => {
                let item = inner(&list.ty())?;
                self.take(list.len() as usize)?;
                Shape::Array(item.into(), list.len())
            }
            Type::Record(record) => {
                let field = |field: wasmtime::component::types::Field<'_>| {
                    Ok(Field { name: field.name.to_owned(), shape: inner(&field.ty)? })
                };
                Shape::Record(record.fields().map(field).collect::<Result<_, String>>()?)
            }
            Type::Tuple(tuple) => Shape::Tuple(tuple.types().map(|ty| inner(&ty)).collect::<Result<_, _>>()?),
            Type::Variant(variant) => {
                let mut cases = Vec::new();
                for case in variant.cases() {
                    cases.push((case.name.to_owned(), case.ty.map(|ty| self.read_at(&ty, depth + 1)).transpose()?));
                    self.take(1)?;
                }
                Shape::Variant(cases)
            }
            Type::Enum(names) => Shape::Enum(self.names(names.names())?),
            Type::Flags(names) => Shape::Flags(self.names(names.names())?),
            Type::Option(option) => Shape::Option(inner(&option.ty())?.into()),
            Type::Result(result) => {
                let ok = result.ok().map(|ty| inner(&ty)).transpose()?.map(Box::new);
                let err = result.err().map(|ty| inner(&ty)).transpose()?.map(Box::new);
                Shape::Result(ok, err)
            }
            Type::Own(_) => return Err("a resource, whose life ends with the call".into()),
            Type::Borrow(_) => return Err("a borrowed resource, which nothing outside of the component has".into()),
            Type::Future(_) => return Err("a future, which JSON cannot carry".into()),
            Type::Stream(_) => return Err("a stream, which JSON cannot carry".into()),
            Type::ErrorContext => return Err("an error-context, which JSON cannot carry".into()),
            Type::Map(_) => return Err("a map; use a list of tuples".into()),
        })
    }

    fn names<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<Vec<String>, String> {
        let names: Vec<String> = names.map(str::to_owned).collect();
        self.take(names.len())?;
        Ok(names)
    }

    fn take(&mut self, parts: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(parts).ok_or_else(|| format!("more than {MOST_PARTS} parts, written out"))?;
        Ok(())
    }
}
