//! Any value of any type goes to JSON and back, and the JSON is what the schema says.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use wasmtime::component::Val;

use super::schema;
use crate::sandbox::typed::{Field, Integer, Shape, lift, lower};

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Bool),
        proptest::sample::select(Integer::ALL.to_vec()).prop_map(Shape::Integer),
        Just(Shape::Float32),
        Just(Shape::Float64),
        Just(Shape::Char),
        Just(Shape::String),
        Just(Shape::Bytes),
        (1..5usize).prop_map(|count| Shape::Enum(names(count))),
        (1..40usize).prop_map(|count| Shape::Flags(names(count))),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            // `list<u8>` is a shape of its own.
            inner
                .clone()
                .prop_filter("bytes", |item| *item != Shape::Integer(Integer::U8))
                .prop_map(|item| Shape::List(item.into())),
            (boxed.clone(), 1..4u32).prop_map(|(item, length)| Shape::Array(item, length)),
            vec(inner.clone(), 1..5).prop_map(|shapes| Shape::Record(fields(shapes))),
            vec(inner.clone(), 1..5).prop_map(Shape::Tuple),
            vec(proptest::option::of(inner.clone()), 1..5)
                .prop_map(|cases| { Shape::Variant(names(cases.len()).into_iter().zip(cases).collect()) }),
            boxed.clone().prop_map(Shape::Option),
            (proptest::option::of(boxed.clone()), proptest::option::of(boxed)).prop_map(|(ok, err)| Shape::Result(ok, err)),
        ]
    })
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("name-{at}")).collect()
}

fn fields(shapes: Vec<Shape>) -> Vec<Field> {
    names(shapes.len()).into_iter().zip(shapes).map(|(name, shape)| Field { name, shape }).collect()
}

fn values(shape: &Shape) -> BoxedStrategy<Val> {
    match shape {
        Shape::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Shape::Integer(Integer::S8) => any::<i8>().prop_map(Val::S8).boxed(),
        Shape::Integer(Integer::U8) => any::<u8>().prop_map(Val::U8).boxed(),
        Shape::Integer(Integer::S16) => any::<i16>().prop_map(Val::S16).boxed(),
        Shape::Integer(Integer::U16) => any::<u16>().prop_map(Val::U16).boxed(),
        Shape::Integer(Integer::S32) => any::<i32>().prop_map(Val::S32).boxed(),
        Shape::Integer(Integer::U32) => any::<u32>().prop_map(Val::U32).boxed(),
        Shape::Integer(Integer::S64) => any::<i64>().prop_map(Val::S64).boxed(),
        Shape::Integer(Integer::U64) => any::<u64>().prop_map(Val::U64).boxed(),
        Shape::Float32 => any::<u32>().prop_map(|bits| Val::Float32(f32::from_bits(bits))).boxed(),
        Shape::Float64 => any::<u64>().prop_map(|bits| Val::Float64(f64::from_bits(bits))).boxed(),
        Shape::Char => any::<char>().prop_map(Val::Char).boxed(),
        Shape::String => any::<String>().prop_map(Val::String).boxed(),
        Shape::Bytes => vec(any::<u8>(), 0..20).prop_map(|bytes| Val::List(bytes.into_iter().map(Val::U8).collect())).boxed(),
        Shape::List(item) => vec(values(item), 0..4).prop_map(Val::List).boxed(),
        Shape::Array(item, length) => vec(values(item), *length as usize).prop_map(Val::FixedLengthList).boxed(),
        Shape::Record(fields) => {
            let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
            let parts: Vec<_> = fields.iter().map(|field| values(&field.shape)).collect();
            parts.prop_map(move |parts| Val::Record(names.clone().into_iter().zip(parts).collect())).boxed()
        }
        Shape::Tuple(shapes) => shapes.iter().map(values).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        Shape::Variant(cases) => {
            let case = |(name, payload): &(String, Option<Shape>)| {
                let name = name.clone();
                match payload {
                    None => Just(Val::Variant(name, None)).boxed(),
                    Some(shape) => values(shape).prop_map(move |value| Val::Variant(name.clone(), Some(value.into()))).boxed(),
                }
            };
            proptest::strategy::Union::new(cases.iter().map(case)).boxed()
        }
        Shape::Enum(names) => proptest::sample::select(names.clone()).prop_map(Val::Enum).boxed(),
        Shape::Flags(names) => proptest::sample::subsequence(names.clone(), 0..=names.len()).prop_map(Val::Flags).boxed(),
        Shape::Option(inner) => proptest::option::of(values(inner)).prop_map(|value| Val::Option(value.map(Box::new))).boxed(),
        Shape::Result(ok, err) => {
            let side = |shape: &Option<Box<Shape>>| match shape {
                None => Just(None).boxed(),
                Some(shape) => values(shape).prop_map(|value| Some(Box::new(value))).boxed(),
            };
            prop_oneof![side(ok).prop_map(|value| Val::Result(Ok(value))), side(err).prop_map(|value| Val::Result(Err(value)))]
                .boxed()
        }
    }
}

/// JSON as an attacker or a confused model sends it.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(vec!["NaN", "name-0", "tag", "Infinity", "QQ=="]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = proptest::sample::select(vec!["name-0", "name-1", "tag", "val", "ok", "err", "some", "other"]);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn values_of_random_types_go_to_json_and_back((shape, value) in shapes().prop_flat_map(|shape| { let values = values(&shape); (Just(shape), values) })) {
        let json = lift::value(&shape, &value);
        let schema = schema::of(&shape);
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        prop_assert!(validator.is_valid(&json), "{json} does not fit {schema}");
        let again = lower::value(&shape, &json).map_err(|failure| TestCaseError::fail(format!("{failure} for {json}")))?;
        prop_assert_eq!(&value, &again);
        prop_assert_eq!(lift::value(&shape, &again), json);
    }

    #[test]
    fn json_of_any_kind_is_refused_or_means_one_value(shape in shapes(), given in any_json()) {
        if let Ok(value) = lower::value(&shape, &given) {
            let plain = lift::value(&shape, &value);
            let again = lower::value(&shape, &plain);
            prop_assert!(again.is_ok(), "{given} became {plain}, which is refused");
            prop_assert_eq!(value, again.unwrap_or(Val::Bool(false)));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let shape = Shape::Record(fields(vec![
        Shape::Integer(Integer::U8),
        Shape::Variant(vec![("name-0".into(), Some(Shape::Char)), ("name-1".into(), None)]),
        Shape::Option(Shape::Float32.into()),
    ]));
    let with = |at: usize, value: Value| {
        let mut good = serde_json::json!({"name-0": 1, "name-1": {"tag": "name-1"}});
        good[format!("name-{at}")] = value;
        lower::value(&shape, &good)
    };
    assert!(with(0, serde_json::json!(255)).is_ok() && with(0, serde_json::json!(7.0)).is_ok() && with(2, Value::Null).is_ok());
    for (at, value, says) in [
        (0, serde_json::json!(256), "from 0 to 255"),
        (0, serde_json::json!(-1), "from 0 to 255"),
        (0, serde_json::json!(1.5), "whole number"),
        (0, serde_json::json!(1e300), "whole number"),
        (0, serde_json::json!("1"), "`name-0`"),
        (1, serde_json::json!({"tag": "name-9"}), "one of name-0, name-1"),
        (1, serde_json::json!({"tag": "name-0"}), "needs `val`"),
        (1, serde_json::json!({"tag": "name-1", "val": 1}), "has no `val`"),
        (1, serde_json::json!({"tag": "name-0", "val": "ab"}), "`name-1.val`"),
        (1, serde_json::json!({"tag": "name-0", "val": ""}), "one character"),
        (1, serde_json::json!({"tag": "name-1", "extra": 1}), "only `tag` and `val`"),
        (2, serde_json::json!(1e39), "32 bits"),
        (2, serde_json::json!("nan"), "a number"),
        (7, serde_json::json!(1), "no field"),
    ] {
        let failure = with(at, value.clone()).expect_err("refused").to_string();
        assert!(failure.contains(says), "{value}: {failure}");
    }
}
