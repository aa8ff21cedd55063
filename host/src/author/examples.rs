//! Arguments that a schema allows: the plainest, and those at its edges.

use serde_json::{Map, Value, json};

/// How deep schemas are followed. Test: `functional::author::schemas_that_refer_to_themselves_end`.
const MOST_DEPTH: usize = 8;

/// A schema with its definitions at hand.
#[derive(Clone, Copy)]
pub struct Schema<'a> {
    root: &'a Value,
    pub at: &'a Value,
}

impl<'a> Schema<'a> {
    pub fn new(root: &'a Value) -> Schema<'a> {
        Schema { root, at: root }
    }

    /// The properties of an object, each followed to where it is defined.
    pub fn properties(self) -> Vec<(&'a str, Schema<'a>)> {
        let properties = self.at.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.map(|(name, at)| (name.as_str(), Schema { root: self.root, at }.resolved())).collect()
    }

    pub fn requires(self, name: &str) -> bool {
        self.at.get("required").and_then(Value::as_array).is_some_and(|required| required.iter().any(|one| one == name))
    }

    /// Follows a reference within the schema.
    fn resolved(self) -> Schema<'a> {
        let Some(path) = self.at.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#')) else { return self };
        self.root.pointer(path).map_or(self, |at| Schema { root: self.root, at })
    }

    fn alternatives(self) -> Vec<Schema<'a>> {
        let lists = ["anyOf", "oneOf"].iter().filter_map(|name| self.at.get(*name)?.as_array()).flatten();
        lists.map(|at| Schema { root: self.root, at }.resolved()).collect()
    }

    pub fn kind(self) -> Option<&'a str> {
        match self.at.get("type")? {
            Value::String(kind) => Some(kind),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
            _ => None,
        }
    }

    pub fn is_path(self) -> bool {
        self.at.get("x-zipfs-path") == Some(&json!(true))
    }

    /// The plainest value that fits.
    pub fn plain(self, name: &str) -> Value {
        self.plain_at(name, 0)
    }

    fn plain_at(self, name: &str, depth: usize) -> Value {
        let here = self.resolved();
        let at = here.at;
        if depth > MOST_DEPTH {
            return Value::Null;
        }
        for given in ["const", "default"] {
            if let Some(value) = at.get(given) {
                return value.clone();
            }
        }
        for listed in ["enum", "examples"] {
            if let Some(first) = at.get(listed).and_then(Value::as_array).and_then(|values| values.first()) {
                return first.clone();
            }
        }
        if let Some(first) = here.alternatives().into_iter().find(|one| one.kind() != Some("null")) {
            return first.plain_at(name, depth + 1);
        }
        match here.kind() {
            Some("string") => json!(here.plain_text(name)),
            Some("integer" | "number") => {
                let least = ["minimum", "exclusiveMinimum"].iter().find_map(|edge| at.get(*edge)?.as_f64()).unwrap_or(0.0);
                let most = at.get("maximum").and_then(Value::as_f64).unwrap_or(f64::MAX);
                json!(1.0f64.max(least.ceil()).min(most) as i64)
            }
            Some("boolean") => json!(false),
            Some("array") => here.plain_array(name, depth),
            Some("object") | None => here.plain_object(depth),
            Some(_) => Value::Null,
        }
    }

    fn plain_text(self, name: &str) -> String {
        let looks_like_path = ["path", "file", "dir"].iter().any(|word| name.contains(word));
        let text = if self.is_path() || looks_like_path { "README.md" } else { "text" };
        let bound = |edge: &str| self.at.get(edge).and_then(Value::as_u64);
        let least = usize::try_from(bound("minLength").unwrap_or(0)).unwrap_or(0).min(1 << 16);
        let most = usize::try_from(bound("maxLength").unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        text.chars().cycle().take(text.len().max(least).min(most)).collect()
    }

    fn plain_array(self, name: &str, depth: usize) -> Value {
        if let Some(items) = self.at.get("prefixItems").and_then(Value::as_array) {
            return items.iter().map(|at| Schema { root: self.root, at }.plain_at(name, depth + 1)).collect();
        }
        let least = self.at.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, 64);
        let item = self.at.get("items").map(|at| Schema { root: self.root, at }.plain_at(name, depth + 1));
        item.map_or_else(|| json!([]), |item| (0..least).map(|_| item.clone()).collect())
    }

    fn plain_object(self, depth: usize) -> Value {
        let needed = self.properties().into_iter().filter(|(name, _)| self.requires(name));
        Value::Object(needed.map(|(name, schema)| (name.to_owned(), schema.plain_at(name, depth + 1))).collect())
    }

    /// Arguments with everything in them that has to be there, and those with everything that can be.
    pub fn arguments(self) -> Vec<Map<String, Value>> {
        let object = |value: Value| if let Value::Object(map) = value { map } else { Map::new() };
        let least = object(self.plain(""));
        let all: Map<String, Value> =
            self.properties().into_iter().map(|(name, schema)| (name.to_owned(), schema.plain(name))).collect();
        if all == least { vec![least] } else { vec![least, all] }
    }
}
