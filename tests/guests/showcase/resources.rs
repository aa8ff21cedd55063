//! A text, some bytes, and a family of resources.

use zipfs_sdk::resources::{ResourceEntry, ResourceTemplate, Resources};
use zipfs_sdk::{Error, ResourceBody, ResourceContents};

pub const STATIC: &str = "I never change.";
const BYTES: [u8; 4] = [0, 1, 254, 255];
const ITEM: &str = "show://item/";

impl Resources for super::Showcase {
    fn list() -> Result<Vec<ResourceEntry>, Error> {
        let entry = |name: &str, mime_type: &str, size: usize| ResourceEntry {
            uri: format!("show://{name}"),
            name: name.into(),
            title: None,
            description: Some(format!("The {name} resource.")),
            mime_type: Some(mime_type.into()),
            size: Some(size as u64),
            icons: vec![super::dot()],
        };
        Ok(vec![entry("static", "text/plain", STATIC.len()), entry("binary", "application/octet-stream", BYTES.len())])
    }

    fn templates() -> Result<Vec<ResourceTemplate>, Error> {
        Ok(vec![ResourceTemplate {
            uri_template: "show://item/{id}".into(),
            name: "item".into(),
            title: Some("Item".into()),
            description: Some("An item by its number.".into()),
            mime_type: Some("text/plain".into()),
            icons: Vec::new(),
        }])
    }

    fn read(uri: &str) -> Result<Vec<ResourceContents>, Error> {
        let (mime_type, body) = match uri {
            "show://static" => ("text/plain", ResourceBody::Text(STATIC.into())),
            "show://binary" => ("application/octet-stream", ResourceBody::Bytes(BYTES.to_vec())),
            _ => match uri.strip_prefix(ITEM).and_then(|id| id.parse::<u32>().ok()) {
                Some(id) => ("text/plain", ResourceBody::Text(format!("Item {id}."))),
                None => return Err(Error::not_found("RESOURCE_NOT_FOUND", format!("There is no resource '{uri}'."))),
            },
        };
        Ok(vec![ResourceContents { uri: uri.into(), mime_type: Some(mime_type.into()), body }])
    }
}
