//! Content that comes as a stream: read to its end before anything of the answer is looked at, and put in its place.

use wasmtime::component::{ResourceAny, Val};
use wasmtime::{AsContextMut, Store};
use wasmtime_wasi::p2::{DynInputStream, StreamError};

use super::answers::broken;
use crate::failure::Failure;
use crate::sandbox::guest::Guest;
use crate::sandbox::run::too_large;

/// What is read at once.
const CHUNK: usize = 64 << 10;

/// The cases that carry a stream, and those that carry the same as it is.
const STREAMED: [(&str, &str); 2] = [("text-stream", "text"), ("blob-stream", "blob")];

/// Puts what is in streams in their place. All of them together may have as many bytes as an answer.
/// Test: `security::wasmcp::streams_without_end_are_refused`.
pub async fn read_all(store: &mut Store<Guest>, answer: &mut Val) -> wasmtime::Result<Result<(), Failure>> {
    let mut found = Vec::new();
    collect(answer, &mut found);
    let mut left = store.data().limits.result_bytes;
    for place in found {
        let Val::Variant(case, Some(payload)) = place else { continue };
        let (streamed, plain) = if case == STREAMED[0].0 { STREAMED[0] } else { STREAMED[1] };
        let Val::Resource(stream) = **payload else { continue };
        let bytes = match read(store, stream, left).await? {
            Ok(bytes) => bytes,
            Err(failure) => return Ok(Err(failure)),
        };
        left -= bytes.len();
        let value = match (streamed, String::from_utf8(bytes)) {
            ("text-stream", Ok(text)) => Val::String(text),
            ("text-stream", Err(_)) => return Ok(Err(broken("A text that it streams is not UTF-8.".into()).into())),
            (_, Ok(text)) => Val::List(text.into_bytes().into_iter().map(Val::U8).collect()),
            (_, Err(other)) => Val::List(other.into_bytes().into_iter().map(Val::U8).collect()),
        };
        *place = Val::Variant(plain.to_owned(), Some(value.into()));
    }
    Ok(Ok(()))
}

/// Every place in a value where a stream is.
fn collect<'a>(value: &'a mut Val, found: &mut Vec<&'a mut Val>) {
    let streamed = matches!(value, Val::Variant(case, Some(payload))
        if STREAMED.iter().any(|(name, _)| name == case) && matches!(**payload, Val::Resource(_)));
    if streamed {
        found.push(value);
        return;
    }
    match value {
        Val::Record(fields) => fields.iter_mut().for_each(|(_, value)| collect(value, found)),
        Val::List(items) | Val::Tuple(items) => items.iter_mut().for_each(|value| collect(value, found)),
        Val::Variant(_, Some(inner)) | Val::Option(Some(inner)) | Val::Result(Ok(Some(inner))) | Val::Result(Err(Some(inner))) => {
            collect(inner, found)
        }
        _ => {}
    }
}

async fn read(store: &mut Store<Guest>, stream: ResourceAny, most: usize) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
    let handle = stream.try_into_resource::<DynInputStream>(store.as_context_mut())?;
    let mut bytes = Vec::new();
    let ended = loop {
        let stream = store.data_mut().table.get_mut(&handle)?;
        stream.ready().await;
        match stream.read(CHUNK) {
            Ok(chunk) if bytes.len() + chunk.len() > most => break Err(too_large(store.data().limits.result_bytes)),
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => break Ok(bytes),
            Err(StreamError::LastOperationFailed(error)) => {
                break Err(broken(format!("A stream of its answer cannot be read: {error}.")).into());
            }
            Err(StreamError::Trap(error)) => return Err(error),
        }
    };
    store.data_mut().table.delete(handle)?;
    Ok(ended)
}
