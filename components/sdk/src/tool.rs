//! A tool: a name, a text by which agents choose it, what it touches, and the function behind it.

use std::rc::Rc;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::bindings::plugin::exports::zipfs::plugin::tools as contract;
use crate::handler::{Answer, Handler};
use crate::plugin::{is_object, to_json};
use crate::{Error, Icon, Reply, Resumption, arguments, schema};

/// Who may use a tool. Each role includes the ones before it.
pub use crate::bindings::plugin::exports::zipfs::plugin::tools::Role;

pub use crate::bindings::plugin::exports::zipfs::plugin::tools::WorkspaceAccess;

/// Whether calls of a tool become tasks, for clients that know tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskUse {
    /// Those that take long do.
    #[default]
    WhenLong,
    /// All do, at once.
    Always,
    /// All do, and clients that do not know tasks cannot call it.
    Required,
    /// None do.
    Never,
}

/// How one part of a call is done, from JSON to JSON.
pub(crate) type RunPart = dyn Fn(&str) -> Result<String, Error>;

type Run = dyn Fn(&str, Option<Resumption>, &'static str) -> Result<Reply, Error>;

/// One tool of a plugin.
///
/// A tool that says nothing about access gets nothing: no workspace, no capability. What it does say is enforced, and shown
/// to clients as annotations.
pub struct Tool {
    name: &'static str,
    title: Option<&'static str>,
    description: &'static str,
    icons: Vec<Icon>,
    meta: Option<fn() -> Value>,
    task: TaskUse,
    access: Access,
    input_schema: fn() -> Value,
    output_schema: Option<fn() -> Value>,
    run: Box<Run>,
    run_part: Option<Rc<RunPart>>,
}

struct Access {
    workspace: WorkspaceAccess,
    capabilities: Vec<&'static str>,
    role: Option<Role>,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

impl Tool {
    /// A tool that runs `handler`: a function from arguments to a result, both typed, or to [`Outcome`](crate::Outcome) or
    /// [`Reply`]. One that asks the client questions takes `Option<Resumption>` as a second parameter.
    ///
    /// The name has letters, digits, `_`, `-` and `.`, at most 64. The description says what the tool does, when to use it and
    /// what comes back.
    pub fn new<H, Shape>(name: &'static str, description: &'static str, handler: H) -> Tool
    where
        H: Handler<Shape> + 'static,
    {
        Tool {
            name,
            title: None,
            description,
            icons: Vec::new(),
            meta: None,
            task: TaskUse::WhenLong,
            access: Access {
                workspace: WorkspaceAccess::None,
                capabilities: Vec::new(),
                role: None,
                destructive: false,
                idempotent: false,
                open_world: false,
            },
            input_schema: schema::of_arguments::<H::Arguments>,
            output_schema: <H::Answer as Answer>::OUTPUT_SCHEMA,
            run: Box::new(move |text, resumed, code| handler.run(arguments::parse(text, code)?, resumed)?.into_reply()),
            run_part: None,
        }
    }

    /// The name that people see.
    pub fn title(mut self, title: &'static str) -> Tool {
        self.title = Some(title);
        self
    }

    /// The tool reads the workspace. It is mounted read-only, and so the tool is not destructive and can be repeated.
    pub fn reads(mut self) -> Tool {
        self.access.workspace = WorkspaceAccess::Read;
        self.access.destructive = false;
        self.access.idempotent = true;
        self
    }

    /// The tool changes the workspace. It counts as destructive unless [`destructive`](Tool::destructive) says otherwise.
    pub fn writes(mut self) -> Tool {
        self.access.workspace = WorkspaceAccess::Write;
        self.access.destructive = true;
        self
    }

    /// The tool uses a capability of the host: `files`, `sessions`, `http`, `directory`, `environment`, `secret`, `endpoint`. It has
    /// to be asked for in `plugin.toml` too, and granted.
    pub fn uses(mut self, capability: &'static str) -> Tool {
        self.access.capabilities.push(capability);
        self
    }

    /// The least role that may call it. By default `operator` for one that writes or destroys, else `viewer`.
    pub fn role(mut self, role: Role) -> Tool {
        self.access.role = Some(role);
        self
    }

    /// Whether it may destroy something that was there before.
    pub fn destructive(mut self, destructive: bool) -> Tool {
        self.access.destructive = destructive;
        self
    }

    /// Whether calling it twice with the same arguments is the same as calling it once.
    pub fn idempotent(mut self, idempotent: bool) -> Tool {
        self.access.idempotent = idempotent;
        self
    }

    /// Whether it deals with a world beyond the workspace: the network, a device, another service.
    pub fn open_world(mut self, open_world: bool) -> Tool {
        self.access.open_world = open_world;
        self
    }

    /// Adds a picture for clients with a user interface.
    pub fn icon(mut self, icon: Icon) -> Tool {
        self.icons.push(icon);
        self
    }

    /// The tool's `_meta`, a JSON object. A function, so that a call does not build what only `describe` shows.
    pub fn meta(mut self, meta: fn() -> Value) -> Tool {
        self.meta = Some(meta);
        self
    }

    /// Whether calls become tasks. Without it those do that take long, where the client knows tasks.
    pub fn as_task(mut self, task: TaskUse) -> Tool {
        self.task = task;
        self
    }

    fn whole_meta(&self) -> Option<Value> {
        let word = match self.task {
            TaskUse::WhenLong => return self.meta.map(|meta| meta()),
            TaskUse::Always => "always",
            TaskUse::Required => "required",
            TaskUse::Never => "never",
        };
        let mut meta = self.meta.map_or_else(|| Value::Object(Default::default()), |meta| meta());
        meta["zipfs/task"] = word.into();
        Some(meta)
    }

    /// Declares the structured result of a handler whose return type does not show it.
    pub fn returns<T: schemars::JsonSchema>(mut self) -> Tool {
        self.output_schema = Some(schema::of_result::<T>);
        self
    }

    /// How a part of its work is done, if the tool shares it with [`parallel::map`](crate::parallel::map). The plugin has to be
    /// exported `with parts`.
    pub fn parts<Part, Done>(mut self, work: fn(Part) -> Result<Done, Error>) -> Tool
    where
        Part: DeserializeOwned + 'static,
        Done: Serialize + 'static,
    {
        self.run_part = Some(Rc::new(move |text| {
            let part = serde_json::from_str(text);
            let part = part.map_err(|error| Error::internal("INTERNAL_ERROR", format!("A part of the work is odd: {error}.")))?;
            to_json(&work(part)?)
        }));
        self
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn run(&self, arguments: &str, resumed: Option<Resumption>, code: &'static str) -> Result<Reply, Error> {
        (self.run)(arguments, resumed, code)
    }

    pub(crate) fn run_part(&self, part: &str) -> Result<String, Error> {
        match &self.run_part {
            Some(run_part) => run_part(part),
            None => Err(Error::internal("INTERNAL_ERROR", format!("The tool '{}' has no parts.", self.name))),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn part_worker(&self) -> Option<Rc<RunPart>> {
        self.run_part.clone()
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn workspace_access(&self) -> WorkspaceAccess {
        self.access.workspace
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn capabilities(&self) -> &[&'static str] {
        &self.access.capabilities
    }

    /// As the contract has it. This is where schemas are generated.
    ///
    /// # Panics
    /// If arguments or result are not objects: a mistake of the author, which must not get past adding the plugin.
    pub(crate) fn describe(self) -> contract::Tool {
        let input_schema = (self.input_schema)();
        let meta = self.whole_meta();
        let output_schema = self.output_schema.map(|schema| schema());
        for (schema, what) in [(Some(&input_schema), "arguments"), (output_schema.as_ref(), "result")] {
            assert!(
                schema.is_none_or(is_object),
                "tool '{}': the {what} must be a struct, so that their JSON is an object",
                self.name
            );
        }
        contract::Tool {
            name: self.name.to_owned(),
            title: self.title.map(str::to_owned),
            description: self.description.to_owned(),
            input_schema: input_schema.to_string(),
            output_schema: output_schema.map(|schema| schema.to_string()),
            icons: self.icons,
            meta: meta.map(|meta| meta.to_string()),
            access: contract::Access {
                workspace: self.access.workspace,
                capabilities: self.access.capabilities.into_iter().map(str::to_owned).collect(),
                role: self.access.role,
                destructive: self.access.destructive,
                idempotent: self.access.idempotent,
                open_world: self.access.open_world,
            },
        }
    }
}
