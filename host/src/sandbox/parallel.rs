//! The parts of one call, each in an instance of its own, as many at once as there are cores.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::compiled::Compiled;
use super::engine::Sandbox;
use super::exports::Visit;
use super::guest::{CallContext, Mount};
use super::limits::Limits;
use super::run::too_large;
use crate::failure::Failure;

/// Who does the parts: the same code, for the same tool.
#[derive(Clone)]
pub struct Crew {
    pub sandbox: Arc<Sandbox>,
    pub compiled: Arc<Compiled>,
    pub tool: String,
    pub label: Arc<str>,
}

impl Crew {
    /// Runs the parts on a read-only workspace. `limits` are those of one part. Dropping the future stops them all.
    pub async fn run(self, parts: Vec<String>, contents: Option<Dir>, limits: Limits) -> Result<Vec<String>, Failure> {
        let most = limits.memory_bytes / 2;
        let stop = CancellationToken::new();
        let _stop_when_dropped = stop.clone().drop_guard();
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_WORKERS)).min(parts.len());
        let mut results = vec![String::new(); parts.len()];
        let parts = Arc::new(Mutex::new(parts.into_iter().enumerate().collect::<VecDeque<_>>()));
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let (crew, parts, stop, limits) = (self.clone(), parts.clone(), stop.clone(), limits.clone());
            let contents = contents.as_ref().map(Dir::try_clone).transpose().map_err(no_handle)?;
            tasks.spawn(async move {
                let mut done = Vec::new();
                loop {
                    let next = parts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
                    let Some((number, part)) = next else { return Ok(done) };
                    let result = crew.run_part(part, contents.as_ref(), &limits, &stop).await?;
                    done.push((number, result));
                    if done.iter().map(|(_, result)| result.len()).sum::<usize>() > most {
                        return Err(too_large(most));
                    }
                }
            });
        }
        let mut bytes = 0;
        while let Some(joined) = tasks.join_next().await {
            let done = joined.unwrap_or_else(|error| Err(Failure::internal(format!("A part broke down: {error}."))));
            for (number, result) in done? {
                bytes += result.len();
                results[number] = result;
            }
            if bytes > most {
                return Err(too_large(most));
            }
        }
        Ok(results)
    }

    async fn run_part(
        &self,
        part: String,
        contents: Option<&Dir>,
        limits: &Limits,
        stop: &CancellationToken,
    ) -> Result<String, Failure> {
        let mount = contents.map(|dir| dir.try_clone().map(Mount::read_only)).transpose().map_err(no_handle)?;
        let context = CallContext { mount, read_only: true, label: self.label.clone(), ..CallContext::default() };
        let visit =
            Visit { sandbox: &self.sandbox, compiled: self.compiled.clone(), context, limits: limits.clone(), cancel: stop };
        visit.run_part(self.tool.clone(), part).await
    }
}

/// More cores than that are left to other calls.
const MOST_WORKERS: usize = 8;

fn no_handle(error: std::io::Error) -> Failure {
    Failure::internal(format!("There is no handle for a part of the work: {error}."))
}
