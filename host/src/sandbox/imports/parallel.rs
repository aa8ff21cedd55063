//! `parallel`: a call that shares its work over the cores.

use wasmtime::Result;

use crate::failure::Failure;
use crate::sandbox::bindings::plugin::zipfs::plugin::parallel::Host;
use crate::sandbox::bindings::types::Error;
use crate::sandbox::guest::Guest;
use crate::sandbox::limits::Limits;

/// Parts of one call. More would cost more to hand out than they could save. Test: `limits::parts::too_many_are_refused`.
const MOST_PARTS: usize = 1024;

impl Host for Guest {
    async fn run(&mut self, parts: Vec<String>) -> Result<Result<Vec<String>, Error>> {
        let Some(crew) = self.call.crew.clone() else {
            return Ok(Err(Failure::invalid("Only the call of a tool can be shared, and its parts cannot share again.").into()));
        };
        if parts.len() > MOST_PARTS {
            let message = format!("The tool cut its work into {} parts; {MOST_PARTS} are the most.", parts.len());
            return Ok(Err(Failure::limit(message).into()));
        }
        let limits = Limits::of_part(&self.limits, self.began.elapsed());
        let contents = match self.call.mount.as_ref().map(|mount| mount.dir.try_clone()).transpose() {
            Ok(contents) => contents,
            Err(error) => return Ok(Err(Failure::internal(format!("The workspace is gone: {error}.")).into())),
        };
        Ok(crew.run(parts, contents, limits).await.map_err(Error::from))
    }
}
