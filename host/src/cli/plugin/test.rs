//! `zipfs plugin test`: golden cases, hostile arguments, and a run with nothing granted.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::author::cases::{self, Case};
use crate::author::hostile::{self, Survived};
use crate::author::needs::{self, Needs, word};
use crate::author::workbench::Workbench;
use crate::cli::console::{Console, misused};
use crate::cli::output::{print, print_json, shown};
use crate::failure::{Class, Failure};
use crate::sandbox::witness::Reach;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory of plugin.toml, or a .wasm file.
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Where the golden cases are; `cases` beside plugin.toml, unless said otherwise.
    #[arg(long, value_name = "DIRECTORY")]
    pub cases: Option<PathBuf>,
    /// Write down what the cases come to now, and look at the difference in version control.
    #[arg(long)]
    pub update: bool,
    /// Print only the smallest plugin.toml that would do.
    #[arg(long, conflicts_with = "update")]
    pub propose: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let cases = find_cases(args)?;
    if args.propose {
        return print(&needs::find_out(&args.path, &cases).await?.manifest());
    }
    let mut report = Report { console, failed: 0, json: json!({}) };
    let bench = Workbench::of(&args.path, |_| ()).await?;
    report.play(&bench, &cases, args.update).await?;
    report.hostile(&hostile::survive(&bench).await?)?;
    drop(bench);
    report.needs(&needs::find_out(&args.path, &cases).await?)?;
    if console.json {
        report.json["failed"] = json!(report.failed);
        print_json(&report.json)?;
    }
    match report.failed {
        0 => Ok(()),
        count => Err(Failure::new(Class::Invalid, "TEST_FAILED", format!("{count} tests failed."))),
    }
}

fn find_cases(args: &Args) -> Result<Vec<Case>, Failure> {
    match &args.cases {
        Some(folder) if !folder.is_dir() => Err(misused(format!("There is no directory {}.", folder.display()))),
        Some(folder) => cases::find(folder),
        None => cases::find(&beside(&args.path).join("cases")),
    }
}

/// The directory itself, or the one that the file is in.
fn beside(path: &Path) -> PathBuf {
    if path.is_dir() { path.to_owned() } else { path.parent().unwrap_or(Path::new(".")).to_owned() }
}

struct Report<'a> {
    console: &'a Console,
    failed: usize,
    json: Value,
}

impl Report<'_> {
    fn say(&self, line: &str) -> Result<(), Failure> {
        if self.console.json || self.console.quiet { Ok(()) } else { print(&shown(line)) }
    }

    async fn play(&mut self, bench: &Workbench, cases: &[Case], update: bool) -> Result<(), Failure> {
        let mut results = Vec::new();
        for case in cases {
            let verdict = case.play(bench, update).await?;
            let passed = verdict.differences.is_empty();
            self.failed += usize::from(!passed);
            let word = if verdict.blessed {
                "written"
            } else if passed {
                "ok"
            } else {
                "FAILED"
            };
            self.say(&format!("case {}/{}: {word}\n", case.tool, case.name))?;
            for difference in &verdict.differences {
                self.say(&format!("    {difference}\n"))?;
            }
            results.push(json!({"tool": case.tool, "case": case.name, "result": word, "differences": verdict.differences}));
        }
        if cases.is_empty() {
            self.say(
                "cases: none. A folder cases/<tool>/<case> with arguments.json and before/ is one; --update fills in the rest.\n",
            )?;
        }
        self.json["cases"] = json!(results);
        Ok(())
    }

    fn hostile(&mut self, survived: &Survived) -> Result<(), Failure> {
        let calls = survived.answered + survived.refused + survived.kept_away + survived.broken.len();
        self.say(&format!(
            "hostile arguments: {calls} calls; {} answered, {} refused by the tools, {} kept away by their schemas, {} broke down\n",
            survived.answered,
            survived.refused,
            survived.kept_away,
            survived.broken.len()
        ))?;
        for broken in &survived.broken {
            let arguments: String = json!(broken.arguments).to_string().chars().take(300).collect();
            self.say(&format!("    {} {arguments}\n      {}\n", broken.tool, broken.failure.message))?;
        }
        self.failed += survived.broken.len();
        let broken = |broken: &hostile::Broken| json!({"tool": broken.tool, "arguments": broken.arguments, "code": broken.failure.code, "message": broken.failure.message});
        self.json["hostile"] = json!({
            "calls": calls, "answered": survived.answered, "refused": survived.refused, "kept_away": survived.kept_away,
            "broken": survived.broken.iter().map(broken).collect::<Vec<_>>(),
        });
        Ok(())
    }

    fn needs(&mut self, needs: &Needs) -> Result<(), Failure> {
        self.say(&format!("with nothing granted ({} calls):\n", needs.calls))?;
        for (tool, need) in &needs.tools {
            let others: Vec<String> = need.others.iter().map(describe).collect();
            let others = if others.is_empty() { String::new() } else { format!(", {}", others.join(", ")) };
            let more = if need.declared > need.workspace { format!(" (declares {})", word(need.declared)) } else { String::new() };
            self.say(&format!("    {tool}: workspace {}{others}{more}\n", word(need.workspace)))?;
        }
        let workspace = needs.workspace();
        if needs.asked > workspace {
            self.say(&format!(
                "    plugin.toml asks for workspace \"{}\"; these calls tried \"{}\". The smallest: zipfs plugin test --propose\n",
                word(needs.asked),
                word(workspace)
            ))?;
        }
        let tools = needs.tools.iter().map(|(tool, need)| {
            json!({"tool": tool, "declared": word(need.declared), "workspace": word(need.workspace),
                   "tried": need.others.iter().map(describe).collect::<Vec<_>>()})
        });
        self.json["needs"] = json!({"calls": needs.calls, "tools": tools.collect::<Vec<_>>(), "manifest": needs.manifest()});
        Ok(())
    }
}

fn describe(reach: &Reach) -> String {
    match reach {
        Reach::Read => "read".into(),
        Reach::Write => "write".into(),
        Reach::Capability(name) => (*name).into(),
        Reach::Named(kind, name) => format!("{kind} {name}"),
    }
}
