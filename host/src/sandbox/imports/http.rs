//! `wasi:http`: wasmtime's types, and our own way of sending. Guests that do not import it are linked without it.

use std::sync::Arc;

use http::uri::Scheme;
use http::{Request, Response};
use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::egress::Egress;
use crate::sandbox::guest::Guest;
use crate::sandbox::uses::Uses;
use crate::sandbox::witness::{Reach, Witness};

/// The state of one guest.
pub struct HttpState {
    context: WasiHttpCtx,
    sender: Sender,
}

struct Sender {
    egress: Option<Arc<Egress>>,
    uses: Arc<Uses>,
    witness: Option<Arc<Witness>>,
}

/// Bytes that all headers of one message may take in memory; a guest can make many.
const MOST_FIELDS: usize = 64 << 10;

impl HttpState {
    pub fn new(egress: Option<Arc<Egress>>, uses: Arc<Uses>, witness: Option<Arc<Witness>>) -> HttpState {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MOST_FIELDS);
        HttpState { context, sender: Sender { egress, uses, witness } }
    }
}

pub fn add_to_linker(linker: &mut Linker<Guest>) -> Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.http.sender, table: &mut self.table, ctx: &mut self.http.context }
    }
}

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Sender {
    fn is_supported_scheme(&mut self, scheme: &Scheme) -> bool {
        *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Io,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, Io), Error>> + Send> {
        if let Some(witness) = &self.witness {
            let host = request.uri().authority().map(|authority| authority.as_str().to_owned());
            witness.saw(Reach::Named(Capability::Http.name(), host.unwrap_or_default()));
        }
        let Some(egress) = self.egress.clone() else {
            let message = "This call may not use `http`: the tool does not declare it, or the plugin was not granted it.";
            self.uses.refuse(Capability::Http, "a request", Failure::new(Class::Forbidden, "CAPABILITY_REFUSED", message));
            return Box::new(async { Err(Error::HttpRequestDenied) });
        };
        Box::new(async move {
            let (response, pump) = egress.send(request, options).await?;
            let io: Io = Box::new(async move {
                pump.await;
                Ok(())
            });
            Ok((response, io))
        })
    }
}
