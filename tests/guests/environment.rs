//! Looks around: variables, arguments, working directory, and which directories it was given.

use schemars::JsonSchema;
use serde::Serialize;
use wasip2::cli::environment::{get_arguments, get_environment, initial_cwd};
use wasip2::filesystem::preopens::get_directories;
use zipfs_guests::harmless;
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

struct Environment;

impl Plugin for Environment {
    fn about() -> About {
        About::new("environment", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let alone = "Looks around without a workspace. Returns {variables, arguments, directory, preopens}.";
        vec![
            Tool::new("environment", "Looks around. Returns {variables, arguments, directory, preopens}.", environment).reads(),
            Tool::new("environment_without_workspace", alone, environment),
            harmless("environment_ok"),
        ]
    }
}

zipfs_sdk::export!(Environment);

#[derive(Serialize, JsonSchema)]
struct Found {
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    directory: Option<String>,
    preopens: Vec<String>,
}

fn environment(_: NoArguments) -> Result<Found, Error> {
    Ok(Found {
        variables: get_environment(),
        arguments: get_arguments(),
        directory: initial_cwd(),
        preopens: get_directories().into_iter().map(|(_, path)| path).collect(),
    })
}
