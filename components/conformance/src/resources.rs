//! A text, a picture, a family, and one that is watched.

use zipfs_sdk::resources::{ResourceEntry, ResourceTemplate, Resources};
use zipfs_sdk::{Error, ResourceBody, ResourceContents};

use crate::content::{PIXEL, resource};

const FAMILY: (&str, &str) = ("test://template/", "/data");

impl Resources for super::Conformance {
    fn list() -> Result<Vec<ResourceEntry>, Error> {
        let entry = |name: &str, mime_type: &str| ResourceEntry {
            uri: format!("test://{name}"),
            name: name.into(),
            title: None,
            description: Some(format!("The resource {name}.")),
            mime_type: Some(mime_type.into()),
            size: None,
            icons: Vec::new(),
        };
        Ok(vec![entry("static-text", "text/plain"), entry("static-binary", "image/png"), entry("watched-resource", "text/plain")])
    }

    fn templates() -> Result<Vec<ResourceTemplate>, Error> {
        Ok(vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".into(),
            name: "template".into(),
            title: None,
            description: Some("One resource for each id.".into()),
            mime_type: Some("application/json".into()),
            icons: Vec::new(),
        }])
    }

    fn read(uri: &str) -> Result<Vec<ResourceContents>, Error> {
        Ok(vec![match uri {
            "test://static-text" => resource(uri, "text/plain", "This is the content of the static text resource."),
            "test://static-binary" => {
                ResourceContents { uri: uri.into(), mime_type: Some("image/png".into()), body: ResourceBody::Bytes(PIXEL.to_vec()) }
            }
            "test://watched-resource" => resource(uri, "text/plain", "Watched resource content."),
            _ => {
                let id = uri.strip_prefix(FAMILY.0).and_then(|rest| rest.strip_suffix(FAMILY.1)).filter(|id| !id.contains('/'));
                let id = id.ok_or_else(|| Error::not_found("RESOURCE_NOT_FOUND", format!("There is no resource '{uri}'.")))?;
                let data = serde_json::json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                resource(uri, "application/json", &data.to_string())
            }
        }])
    }
}
