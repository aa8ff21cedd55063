//! One call from arrival to answer. Every transport comes through here, in this order, and none can skip a step.

mod agree;
mod answer;
mod arguments;
mod authorise;
mod calls;
mod discretion;
mod effects;
mod equip;
mod grant;
mod named;
mod open;
mod origin;
pub mod policy;
pub mod principal;
mod reading;
mod record;
mod refuse;
mod root;
pub mod scopes;
mod transfer;
mod turns;
mod watch;

pub use crate::sandbox::bindings::prompts::exports::zipfs::plugin::prompts::PromptReply as PromptAnswer;
pub use answer::{Answer, Outcome, Question};
pub use arguments::shown_schema;
pub use calls::{Audience, Call, Refusal};
pub use open::Gate;
pub use origin::{Accounted, Origin, Trace, Transport};
pub use principal::{Principal, PrincipalKind};
pub use reading::Reader;
pub use transfer::{Admission, Archive};
pub use watch::Grants;

impl Gate {
    /// Calls a tool.
    pub async fn call(&self, call: Call) -> Result<Answer, Refusal> {
        let entry = self.record(&call.principal, &call.origin, record::CALL, &call.tool).map_err(Refusal::plain)?;
        let mut entry = entry.with_arguments(&call.arguments);
        let found = match self.find(&call.tool, call.only.as_deref(), &call.principal).await {
            Ok(found) => found,
            Err(refusal) => return Err(entry.end_unknown(refusal)),
        };
        entry.concerns(&found, &call.arguments);
        let answer = async {
            let touched = authorise::may_call(&self.config.settings.policy, &call.principal, &found, &call.arguments)?;
            let _turn = self.turns.take(&call.principal)?;
            let agreed = entry.told(self.agree(&found))?;
            let (arguments, session) = arguments::check(&found, agreed.is_bound(), call.arguments)?;
            entry.told(self.prepare(&found.plugin).await)?;
            let held = self.hold(&found, &agreed, &call.cancel);
            let cancel = held.as_ref().map_or(&call.cancel, |held| held.token());
            let owner = self.owner(&call.principal);
            let granted = self.grant(&found, agreed, owner, session.as_deref(), call.audience, cancel).await;
            let visit = entry.told(watch::explain(held.as_deref(), granted))?;
            authorise::may_follow(&call.principal, visit.context.mount.as_ref(), &touched)?;
            entry.watch(&visit);
            let notice = visit.notice();
            let reply = visit.call_tool(found.tool().name.clone(), arguments, call.resumed).await;
            let reply = match watch::explain(held.as_deref(), reply) {
                // These words are the host's.
                lost if held.as_deref().is_some_and(watch::Held::is_lost) => entry.told(lost),
                reply => reply,
            };
            let answer = reply.and_then(|reply| answer::check(&found, reply, &self.config.settings.calls));
            answer::told(answer, notice.and_then(|notice| notice.get().cloned()))
        }
        .await;
        let answer = entry.end(answer);
        answer.map_err(|failure| Refusal::Failed { failure, shape: found.plugin.manifest.errors })
    }
}
