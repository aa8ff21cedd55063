//! `zipfs doctor`: the installation as it is, and what is wrong with it. It looks, and makes nothing that other commands do not make.

mod directories;
mod filesystem;
mod sessions;
mod words;

use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::Args;
use super::connect;
use super::output::{print, print_json};
use super::plugin::granted;
use crate::config::{Config, DataDir, Settings, all_settings};
use crate::failure::Failure;
use crate::gate::Gate;
use crate::plugins::bundled::BUNDLED;
use crate::plugins::plugin::Origin;
use crate::sandbox::Shape;

/// Something that is wrong, and what to do about it.
struct Problem {
    what: String,
    next: String,
}

type Problems = Vec<Problem>;

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        Problem { what: failure.message, next: failure.suggestion.unwrap_or_else(|| "Mend the cause.".to_owned()) }
    }
}

fn problem(what: impl Into<String>, next: impl Into<String>) -> Problem {
    Problem { what: what.into(), next: next.into() }
}

pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut problems = Problems::new();
    // A wrong configuration is what people call a doctor for, so it is told among the rest.
    let config = match Config::load() {
        Ok(config) => config,
        Err(failure) => {
            problems.push(failure.into());
            Config::with(DataDir::from_environment()?, Settings::default())
        }
    };
    let report = examine(config, &mut problems).await;
    match args.json {
        true => print_json(&report)?,
        false => print(&words::of(&report, args.quiet))?,
    }
    Ok(ExitCode::from(u8::from(!problems.is_empty())))
}

async fn examine(config: Config, problems: &mut Problems) -> Value {
    let data = config.data.clone();
    let settings: Vec<Value> = all_settings(&config.settings)
        .into_iter()
        .map(|(key, value)| json!({"source": config.sources.of(&key).to_string(), "key": key, "value": value}))
        .collect();
    let directory = directories::examine(&data, problems);
    let filesystem = filesystem::examine(data.root());
    let sessions = sessions::examine(&data.workspaces(), problems);
    let cache = directories::examine_cache(&data.cache(), problems);
    let plugins = plugins(config, problems).await;
    let told: Vec<Value> = problems.iter().map(|problem| json!({"problem": problem.what, "next": problem.next})).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "program": std::env::current_exe().unwrap_or_default(),
        "platform": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "data_directory": directory,
        "settings": settings,
        "filesystem": filesystem,
        "sessions": sessions,
        "plugins": plugins,
        "cache": cache,
        "clients": connect::as_json(),
        "problems": told,
    })
}

/// The plugins that can be used, and where their code comes from.
async fn plugins(config: Config, problems: &mut Problems) -> Value {
    let gate = match Gate::open(config, Shape::Command).await {
        Ok(gate) => gate,
        // What keeps it from opening was found with the directories, and is told there.
        Err(failure) if failure.code == "UNSAFE_DATA_DIR" => return json!([]),
        Err(failure) => {
            problems.push(failure.into());
            return json!([]);
        }
    };
    for bundled in BUNDLED.iter().filter(|bundled| gate.sandbox.load_embedded(bundled.code).is_none()) {
        let what = format!("The code of the component {} in this program does not fit this processor.", bundled.name);
        problems.push(problem(what, "It works, compiled on first use; a zipfs built on this machine starts faster."));
    }
    if let Err(failure) = gate.grants.file().read() {
        problems.push(failure.into());
    }
    let registry = gate.registry();
    match gate.store.names() {
        Ok(names) => {
            for name in names.iter().filter(|name| !registry.plugins.iter().any(|plugin| plugin.description.name == **name)) {
                let what = format!("The plugin {name} cannot be used.");
                let next = format!("See why with zipfs plugin verify {name}; remove it with zipfs plugin remove {name}");
                problems.push(problem(what, next));
            }
        }
        Err(failure) => problems.push(failure.into()),
    }
    let told = registry.plugins.iter().map(|plugin| {
        let origin = match &plugin.origin {
            Origin::Bundled(_) => "bundled".to_owned(),
            Origin::Stored { path, .. } => path.display().to_string(),
        };
        json!({
            "name": plugin.description.name,
            "version": plugin.description.version,
            "origin": origin,
            "digest": plugin.digest,
            "granted": granted(&gate, plugin),
            "tools": plugin.description.tools.len(),
        })
    });
    told.collect()
}
