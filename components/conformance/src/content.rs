//! Every kind of block, and an error.

use zipfs_sdk::{Error, NoArguments, Outcome, ResourceBody, ResourceContents};

use crate::answers::said;

/// One red pixel, and an eighth of a second of silence.
pub const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0,
    0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T', 8, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd,
    0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
const SILENCE: &[u8] = &[
    b'R', b'I', b'F', b'F', 0x26, 0, 0, 0, b'W', b'A', b'V', b'E', b'f', b'm', b't', b' ', 16, 0, 0, 0, 1, 0, 1, 0, 0x40, 0x1f, 0,
    0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0, b'd', b'a', b't', b'a', 2, 0, 0, 0, 0, 0,
];

pub fn text(_: NoArguments) -> Result<Outcome, Error> {
    Ok(said("This is a simple text response for testing."))
}

pub fn image(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().image(PIXEL.to_vec(), "image/png"))
}

pub fn audio(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().audio(SILENCE.to_vec(), "audio/wav"))
}

pub fn embedded(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().embedded(resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
}

pub fn mixed(_: NoArguments) -> Result<Outcome, Error> {
    let resource = resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#);
    Ok(Outcome::new().text("Multiple content types test:").image(PIXEL.to_vec(), "image/png").embedded(resource))
}

pub fn failure(_: NoArguments) -> Result<Outcome, Error> {
    Err(Error::internal("TEST_ERROR", "This tool intentionally returns an error for testing"))
}

pub fn resource(uri: &str, mime_type: &str, text: &str) -> ResourceContents {
    ResourceContents { uri: uri.into(), mime_type: Some(mime_type.into()), body: ResourceBody::Text(text.into()) }
}
