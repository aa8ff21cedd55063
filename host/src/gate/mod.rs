//! One call from arrival to answer. Every transport comes through here, in this order, and none can skip a step.

mod answer;
mod arguments;
mod authorise;
mod calls;
mod effects;
mod grant;
mod named;
mod open;
mod origin;
pub mod policy;
pub mod principal;
mod reading;
mod record;
pub mod scopes;

pub use answer::{Answer, Outcome, Question};
pub use arguments::shown_schema;
pub use calls::{Audience, Call, Refusal};
pub use open::Gate;
pub use origin::{Origin, Trace, Transport};
pub use principal::{Principal, PrincipalKind};
pub use reading::Reader;

impl Gate {
    /// Calls a tool.
    pub async fn call(&self, call: Call) -> Result<Answer, Refusal> {
        let entry = self.record(&call.principal, &call.origin, "call", &call.tool).map_err(Refusal::plain)?;
        let mut entry = entry.with_arguments(&call.arguments);
        let found = match self.find(&call.tool, call.only.as_deref(), &call.principal).await {
            Ok(found) => found,
            Err(refusal) => return Err(entry.end_unknown(refusal)),
        };
        entry.concerns(&found, &call.arguments);
        let answer = async {
            authorise::may_call(&self.config.settings.policy, &call.principal, &found, &call.arguments)?;
            let (arguments, session) = arguments::check(&found, call.arguments)?;
            let visit = self.grant(&found, session.as_deref(), call.audience, &call.cancel).await?;
            entry.watch(&visit);
            let notice = visit.notice();
            let reply = visit.call_tool(found.tool().name.clone(), arguments, call.resumed).await;
            let answer = reply.and_then(|reply| answer::check(&found, reply, &self.config.settings.calls));
            answer::told(answer, notice.and_then(|notice| notice.get().cloned()))
        }
        .await;
        let answer = entry.end(answer);
        answer.map_err(|failure| Refusal::Failed { failure, shape: found.plugin.manifest.errors })
    }
}
