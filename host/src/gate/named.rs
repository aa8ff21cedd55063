//! The places that arguments name: those that the tool's schema marks with `x-zipfs-path`.
//!
//! Containment does not depend on it; what a call is said to touch, and what a principal's scopes let it name, does. So where it
//! is unclear what is named, that is everything.

use serde_json::{Map, Value};

use super::scopes::Extent;

/// What stands in a place that is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named<'a> {
    /// `None` if nothing stands there, or nothing that is a path.
    pub path: Option<&'a str>,
    pub extent: Extent,
}

/// What the arguments name, in the order of the schema.
pub fn named<'a>(schema: &'a Map<String, Value>, arguments: &'a Map<String, Value>) -> Vec<Named<'a>> {
    let mut walk = Walk { root: schema, found: Vec::new() };
    walk.at(schema, Given::Members(arguments), &mut Vec::new());
    walk.found
}

struct Walk<'a> {
    /// Where local references start.
    root: &'a Map<String, Value>,
    found: Vec<Named<'a>>,
}

/// The value that a schema is about.
#[derive(Clone, Copy)]
enum Given<'a> {
    Nothing,
    Text(&'a str),
    Items(&'a [Value]),
    Members(&'a Map<String, Value>),
    Other,
}

impl<'a> From<Option<&'a Value>> for Given<'a> {
    fn from(value: Option<&'a Value>) -> Given<'a> {
        match value {
            None | Some(Value::Null) => Given::Nothing,
            Some(Value::String(text)) => Given::Text(text),
            Some(Value::Array(items)) => Given::Items(items),
            Some(Value::Object(members)) => Given::Members(members),
            Some(_) => Given::Other,
        }
    }
}

/// Keywords whose schemas are about the same value.
const ABOUT_THE_SAME: [&str; 6] = ["allOf", "anyOf", "oneOf", "if", "then", "else"];
/// Keywords whose schemas are about the items of an array.
const ABOUT_ITEMS: [&str; 4] = ["prefixItems", "items", "contains", "unevaluatedItems"];
/// Keywords whose schemas are about members that `properties` does not name.
const ABOUT_OTHER_MEMBERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

impl<'a> Walk<'a> {
    /// `seen` are the schemas that this value has met: each says what it says once, and one that refers to itself ends here.
    fn at(&mut self, schema: &'a Map<String, Value>, given: Given<'a>, seen: &mut Vec<*const Map<String, Value>>) {
        if seen.contains(&std::ptr::from_ref(schema)) {
            return;
        }
        seen.push(schema);
        if let Some(extent) = mark(schema) {
            self.mark(given, extent);
        }
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(target) = schema.get(keyword).and_then(Value::as_str).and_then(|to| referred(self.root, to)) {
                self.at(target, given, seen);
            }
        }
        for inner in ABOUT_THE_SAME.iter().flat_map(|keyword| schemas(schema, keyword)) {
            self.at(inner, given, seen);
        }
        for (_, inner) in schemas_by_name(schema, "dependentSchemas") {
            self.at(inner, given, seen);
        }
        match given {
            Given::Members(members) => self.members(schema, members),
            Given::Items(items) => {
                for inner in ABOUT_ITEMS.iter().flat_map(|keyword| schemas(schema, keyword)) {
                    items.iter().for_each(|item| self.at(inner, Some(item).into(), &mut Vec::new()));
                }
            }
            // What is inside a value that is not there is not there either.
            Given::Nothing | Given::Text(_) | Given::Other => {}
        }
    }

    fn members(&mut self, schema: &'a Map<String, Value>, members: &'a Map<String, Value>) {
        for (name, inner) in schemas_by_name(schema, "properties") {
            self.at(inner, members.get(name).into(), &mut Vec::new());
        }
        let own = schema.get("properties");
        let others = ABOUT_OTHER_MEMBERS.iter().flat_map(|keyword| schemas(schema, keyword));
        // Whether a pattern is about a member is for the validator; here it may be.
        let others = others.chain(schemas_by_name(schema, "patternProperties").map(|(_, inner)| inner));
        for inner in others {
            for (_, member) in members.iter().filter(|(name, _)| own.is_none_or(|own| own.get(name.as_str()).is_none())) {
                self.at(inner, Some(member).into(), &mut Vec::new());
            }
        }
    }

    fn mark(&mut self, given: Given<'a>, extent: Extent) {
        // Tools take a directory that is not named for the root with all that is in it.
        let everything = Named { path: None, extent: Extent::Tree };
        match given {
            Given::Text(path) => self.found.push(Named { path: Some(path), extent }),
            Given::Items(several) => self.found.extend(several.iter().map(|item| match item {
                Value::String(path) => Named { path: Some(path), extent },
                _ => everything,
            })),
            Given::Nothing | Given::Members(_) | Given::Other => self.found.push(everything),
        }
    }
}

fn mark(schema: &Map<String, Value>) -> Option<Extent> {
    match schema.get("x-zipfs-path")? {
        Value::Bool(false) => None,
        Value::Bool(true) => Some(Extent::Itself),
        _ => Some(Extent::Tree),
    }
}

/// The schema of a keyword, or the schemas of its list.
fn schemas<'a>(schema: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Map<String, Value>> {
    let value = schema.get(keyword);
    let several = value.and_then(Value::as_array).into_iter().flatten();
    several.chain(value).filter_map(Value::as_object)
}

fn schemas_by_name<'a>(schema: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = (&'a str, &'a Map<String, Value>)> {
    let members = schema.get(keyword).and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, inner)| Some((name.as_str(), inner.as_object()?)))
}

/// The part of the schema that a local reference leads to.
fn referred<'a>(root: &'a Map<String, Value>, to: &str) -> Option<&'a Map<String, Value>> {
    let steps = to.strip_prefix('#')?;
    if steps.is_empty() {
        return Some(root);
    }
    let mut steps = steps.strip_prefix('/')?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut at = root.get(&steps.next()?)?;
    for step in steps {
        at = match at {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    at.as_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Paths of arguments, `/**` behind those of trees.
    fn found(schema: &Value, arguments: &Value) -> Vec<String> {
        let named = named(schema.as_object().unwrap(), arguments.as_object().unwrap());
        let shown = |one: &Named<'_>| match one.extent {
            Extent::Itself => one.path.unwrap_or_default().to_owned(),
            Extent::Tree => format!("{}/**", one.path.unwrap_or_default()),
        };
        named.iter().map(shown).collect()
    }

    #[test]
    fn marked_arguments_are_found_however_deep() {
        let schema = json!({
            "properties": {
                "path": {"type": "string", "x-zipfs-path": true},
                "root": {"type": "string", "x-zipfs-path": "tree"},
                "text": {"type": "string"},
                "many": {"type": "array", "items": {"$ref": "#/$defs/Path"}},
                "edit": {"anyOf": [{"type": "null"}, {"properties": {"to": {"x-zipfs-path": true}, "from": {"x-zipfs-path": false}}}]},
                "loop": {"$ref": "#/$defs/Loop"},
            },
            "additionalProperties": {"prefixItems": [{"$ref": "#/$defs/Path"}]},
            "$defs": {
                "Path": {"type": "string", "x-zipfs-path": true},
                "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/properties/edit/anyOf/1"}, {"allOf": [{"$ref": "#/$defs/Loop"}]}]},
            },
        });
        let arguments = json!({
            "path": "a", "root": "r", "text": "b", "many": ["c", "d"], "edit": {"to": "e", "from": "f"},
            "loop": {"to": "g"}, "other": ["h"],
        });
        assert_eq!(found(&schema, &arguments), ["e", "g", "c", "d", "a", "r/**", "h"]);
    }

    #[test]
    fn what_is_missing_or_no_path_is_everything() {
        let path = json!({"x-zipfs-path": true});
        let schema = json!({"properties": {"path": {"anyOf": [path, {"type": "null"}]}, "deep": {"properties": {"path": path}}}});
        for arguments in
            [json!({}), json!({"path": null}), json!({"path": {"path": "a"}}), json!({"path": [["a"]]}), json!({"path": 1})]
        {
            assert_eq!(found(&schema, &arguments), ["/**"], "{arguments}");
        }
        assert_eq!(found(&schema, &json!({"path": "a", "deep": {}})), ["/**", "a"]);
    }

    #[test]
    fn nesting_does_not_hide_a_path() {
        let schema = json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"properties": {
            "path": {"x-zipfs-path": true}, "next": {"$ref": "#/$defs/Node"}}}}});
        let mut arguments = json!({"path": "deepest"});
        for depth in 0..100 {
            arguments = json!({"path": depth.to_string(), "next": arguments});
        }
        let found = found(&schema, &arguments);
        assert_eq!((found.len(), found[0].as_str()), (101, "deepest"));
    }
}
