//! Tools that take their time, and can be tasks.

use std::thread::sleep;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use zipfs_sdk::{Error, NoArguments, Outcome, Questions, Reply, Resumption, progress};

use crate::answers::{answer, field, said};
use crate::forms::{Confirm, Name};

#[derive(Deserialize, JsonSchema)]
pub struct Greet {
    name: String,
}

pub fn greet(arguments: Greet) -> Result<Outcome, Error> {
    Ok(said(format!("Hello, {}!", arguments.name)))
}

#[derive(Deserialize, JsonSchema)]
pub struct Slow {
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    #[serde(default)]
    label: String,
}

pub fn slow(arguments: Slow) -> Result<Outcome, Error> {
    let steps = (arguments.seconds * 10.0) as u32;
    for step in 0..steps {
        progress::report(f64::from(step), Some(f64::from(steps)), None);
        sleep(Duration::from_millis(100));
    }
    Ok(said(format!("Computed {} for {} s.", arguments.label, arguments.seconds)))
}

pub fn failing(_: NoArguments) -> Result<Outcome, Error> {
    sleep(Duration::from_secs(1));
    Err(Error::conflict("JOB_FAILED", "This job always fails."))
}

/// Breaks down, which is no error of a tool but the end of its guest.
pub fn breaking(_: NoArguments) -> Result<Outcome, Error> {
    panic!("this job always breaks down")
}

#[derive(Deserialize, JsonSchema)]
pub struct Delete {
    filename: String,
}

pub fn confirm(arguments: Delete, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "confirm") {
        Some(answer) if answer["content"]["confirm"] == true => Ok(said(format!("Deleted {}.", arguments.filename)).into()),
        Some(_) => Ok(said(format!("Kept {}.", arguments.filename)).into()),
        None => Ok(Questions::new().elicit::<Confirm>("confirm", format!("Delete {}?", arguments.filename)).into()),
    }
}

pub fn two_questions(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match (answer(resumed.as_ref(), "name"), answer(resumed.as_ref(), "confirm")) {
        (Some(_), Some(_)) => Ok(said("Both answered.").into()),
        _ => Ok(Questions::new().elicit::<Name>("name", "What is your name?").elicit::<Confirm>("confirm", "Are you sure?").into()),
    }
}

pub fn ask_then_work(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let Some(name) = field(resumed.as_ref(), "user_name", "name") else {
        return Ok(Questions::new().elicit::<Name>("user_name", "What is your name?").into());
    };
    // Longer than a host waits before it makes a task of the call.
    sleep(Duration::from_secs(4));
    Ok(said(format!("Worked for {name}.")).into())
}
