//! What a function of wasmcp gives, read by the names of its fields: a page of tools, the result of a call, an error.

use serde_json::{Value, json};
use wasmtime::component::Val;

use super::json_or_text;
use crate::sandbox::bindings::tools::{Outcome, Reply};
use crate::sandbox::bindings::types::{Blob, Content, Error, ErrorClass, Icon, ResourceBody, ResourceContents, ResourceLink};

/// A tool as it lists it. Its hints are what it says, not what is enforced.
pub struct Listed {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: String,
    pub output_schema: Option<String>,
    pub meta: Option<String>,
    pub icons: Vec<Icon>,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

pub struct Page {
    pub tools: Vec<Listed>,
    pub next: Option<String>,
}

pub fn page(answer: &Val) -> Result<Page, Error> {
    let page = successful(answer)?.ok_or_else(|| broken("It lists nothing.".into()))?;
    let Some(Val::List(items)) = field(page, "tools") else { return Err(broken("It lists nothing.".into())) };
    let tools: Option<Vec<Listed>> = items.iter().map(listed).collect();
    Ok(Page {
        tools: tools.ok_or_else(|| broken("It lists a tool without a name or an input schema.".into()))?,
        next: text(page, "next-cursor").filter(|cursor| !cursor.is_empty()),
    })
}

fn listed(tool: &Val) -> Option<Listed> {
    // In some versions a tool has its options apart, in others in itself.
    let options = field(tool, "options").unwrap_or(tool);
    let hints = field(options, "annotations");
    let hint = |name: &str| hints.and_then(|hints| field(hints, name)).is_some_and(|hint| matches!(hint, Val::Bool(true)));
    let icon = |icon: &Val| {
        let sizes = field(icon, "sizes").map(|sizes| items(sizes).iter().filter_map(string).collect());
        Some(Icon { src: text(icon, "src")?, mime_type: text(icon, "mime-type"), sizes: sizes.unwrap_or_default() })
    };
    Some(Listed {
        name: text(tool, "name")?,
        title: text(options, "title").or_else(|| text(hints?, "title")),
        description: text(options, "description"),
        input_schema: text(tool, "input-schema")?,
        output_schema: text(options, "output-schema"),
        meta: text(options, "meta"),
        icons: field(options, "icons").map(items).unwrap_or_default().iter().filter_map(icon).collect(),
        read_only: hint("read-only-hint"),
        destructive: hint("destructive-hint"),
        idempotent: hint("idempotent-hint"),
        open_world: hint("open-world-hint"),
    })
}

/// The result of a call. One that says it is an error becomes one.
pub fn reply(tool: &str, answer: &Val) -> Result<Reply, Error> {
    let Some(result) = successful(answer)? else {
        return Err(broken(format!("It lists the tool {tool}, and does not know it when it is called.")));
    };
    let content: Option<Vec<Content>> = field(result, "content").map(items).unwrap_or_default().iter().map(block).collect();
    let content = content.ok_or_else(|| broken("Its answer has content that this host does not know.".into()))?;
    let structured = text(result, "structured-content");
    if field(result, "is-error").is_some_and(|said| matches!(said, Val::Bool(true))) {
        return Err(told(tool, &content, structured));
    }
    Ok(Reply::Complete(Outcome { content, structured }))
}

fn told(tool: &str, content: &[Content], structured: Option<String>) -> Error {
    let texts: Vec<&str> =
        content.iter().filter_map(|block| if let Content::Text(text) = block { Some(text.as_str()) } else { None }).collect();
    let message = match texts.join("\n") {
        text if text.trim().is_empty() => format!("{tool} failed."),
        text => text,
    };
    Error { message, details: structured.map(|text| json_or_text(&text).to_string()), ..broken(String::new()) }
}

fn block(block: &Val) -> Option<Content> {
    let Val::Variant(case, Some(inner)) = block else { return None };
    Some(match case.as_str() {
        "text" => Content::Text(streamable(field(inner, "text")?).and_then(string)?),
        "image" | "audio" => {
            let blob = Blob { data: bytes(streamable(field(inner, "data")?)?)?, mime_type: text(inner, "mime-type")? };
            if case == "image" { Content::Image(blob) } else { Content::Audio(blob) }
        }
        "resource-link" => {
            let options = field(inner, "options").unwrap_or(inner);
            let size = field(options, "size").and_then(|size| if let Val::U64(size) = size { Some(*size) } else { None });
            Content::Link(ResourceLink {
                uri: text(inner, "uri")?,
                name: text(inner, "name")?,
                title: text(options, "title"),
                description: text(options, "description"),
                mime_type: text(options, "mime-type"),
                size,
            })
        }
        "embedded-resource" => {
            let Val::Variant(kind, Some(contents)) = field(inner, "resource")? else { return None };
            let options = field(contents, "options").unwrap_or(contents);
            let body = match kind.as_str() {
                "text" => ResourceBody::Text(streamable(field(contents, "text")?).and_then(string)?),
                _ => ResourceBody::Bytes(bytes(streamable(field(contents, "blob")?)?)?),
            };
            Content::Embedded(ResourceContents { uri: text(contents, "uri")?, mime_type: text(options, "mime-type"), body })
        }
        _ => return None,
    })
}

/// What a function gives if it succeeds, without the options around it; `None` for none.
fn successful(answer: &Val) -> Result<Option<&Val>, Error> {
    match answer {
        Val::Result(Err(error)) => Err(failed(error.as_deref())),
        Val::Result(Ok(Some(inner))) | Val::Option(Some(inner)) => successful(inner),
        Val::Result(Ok(None)) | Val::Option(None) => Ok(None),
        plain => Ok(Some(plain)),
    }
}

/// An error of JSON-RPC: its case is its code.
fn failed(error: Option<&Val>) -> Error {
    let (case, inner) = match error {
        Some(Val::Variant(case, inner)) => (case.as_str(), inner.as_deref()),
        Some(Val::Enum(case)) => (case.as_str(), None),
        other => ("", other),
    };
    let code = inner.and_then(|inner| field(inner, "code")).and_then(|code| match code {
        Val::S64(code) => Some(*code),
        Val::S32(code) => Some(i64::from(*code)),
        _ => None,
    });
    let said = inner.and_then(|inner| text(inner, "message").or_else(|| string(inner)));
    let data = inner.and_then(|inner| text(inner, "data")).map(|text| json_or_text(&text));
    let details = json!({"code": code, "data": data});
    Error {
        class: match case {
            "invalid-params" | "invalid-request" | "parse-error" => ErrorClass::Invalid,
            "method-not-found" => ErrorClass::NotFound,
            _ => ErrorClass::Internal,
        },
        code: if case.is_empty() { "TOOL_FAILED".into() } else { case.replace('-', "_").to_ascii_uppercase() },
        message: said.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "The tool failed.".into()),
        suggestion: None,
        details: (code.is_some() || data_is_there(&details)).then(|| details.to_string()),
    }
}

fn data_is_there(details: &Value) -> bool {
    !details["data"].is_null()
}

/// The component does not keep to what it promises.
pub fn broken(message: String) -> Error {
    Error { class: ErrorClass::Internal, code: "TOOL_FAILED".into(), message, suggestion: None, details: None }
}

/// A field of a record, without the option around it.
fn field<'a>(record: &'a Val, name: &str) -> Option<&'a Val> {
    let Val::Record(fields) = record else { return None };
    plain(fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)?)
}

fn plain(value: &Val) -> Option<&Val> {
    match value {
        Val::Option(None) => None,
        Val::Option(Some(inner)) => plain(inner),
        value => Some(value),
    }
}

fn text(record: &Val, name: &str) -> Option<String> {
    field(record, name).and_then(string)
}

fn string(value: &Val) -> Option<String> {
    match plain(value)? {
        Val::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn items(value: &Val) -> &[Val] {
    match value {
        Val::List(items) => items,
        _ => &[],
    }
}

/// What may come as it is or as one case of a variant; streams were read before.
fn streamable(value: &Val) -> Option<&Val> {
    match value {
        Val::Variant(_, inner) => inner.as_deref(),
        value => Some(value),
    }
}

fn bytes(value: &Val) -> Option<Vec<u8>> {
    let Val::List(items) = value else { return None };
    items.iter().map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect()
}
