//! `zipfs token`: who may call over HTTP is decided here, by a person.

use serde_json::{Value, json};

use super::columns;
use super::console::{Console, misused};
use super::output::{print, print_json, shown};
use crate::audit::Act;
use crate::config::PrincipalLimits;
use crate::failure::Failure;
use crate::gate::scopes::Scopes;
use crate::plugins::Role;
use crate::server::auth::{Claims, Secret, StoredToken, Tokens};
use crate::workspace::metadata::now;
use crate::workspace::reach::OpenRoot;

#[derive(Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it. It is kept as a hash only, and cannot be shown again.
    #[command(after_help = "Example: zipfs token add ci --role operator --open-root inbox=/srv/inbox")]
    Add(Add),
    /// List the tokens.
    #[command(after_help = "Example: zipfs token list --json")]
    List,
    /// Remove a token. It is refused at once, by running servers too.
    #[command(after_help = "Example: zipfs token remove ci")]
    Remove {
        /// Name of the token.
        name: String,
    },
    /// Sign a token (JWT) with the secret of this installation. It is kept nowhere, and good until it expires.
    #[command(after_help = "Example: zipfs token mint --scope 'read:/ write:/notes/' --expires 1h")]
    Mint(Mint),
}

#[derive(Debug, clap::Args)]
pub struct Add {
    /// Name of the token. Sessions belong to the name: a later token of the same name has them again.
    pub name: String,
    /// viewer, operator or admin.
    #[arg(long, default_value = "operator", value_parser = role)]
    pub role: Role,
    /// Path scopes, as in 'read:/ write:/notes/'; without any, all paths.
    #[arg(long, value_name = "SCOPES")]
    pub scope: Option<String>,
    /// Archives that may be opened and synced: NAME=/DIRECTORY, or NAME=/DIRECTORY:read. They are called /NAME/… then.
    #[arg(long = "open-root", value_name = "NAME=DIRECTORY")]
    pub open_roots: Vec<String>,
    /// When it stops being good: 30d, 12h. Without this, when it is removed.
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
    /// Sessions that may be open at once.
    #[arg(long)]
    pub sessions: Option<u64>,
    /// Bytes that all its sessions may hold.
    #[arg(long, value_name = "BYTES")]
    pub disk: Option<u64>,
    /// Calls that may run at once.
    #[arg(long)]
    pub concurrent: Option<u32>,
    /// Requests in a minute.
    #[arg(long)]
    pub rate: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct Mint {
    /// Path scopes, as in 'read:/ write:/notes/'. May be given several times.
    #[arg(long, value_name = "SCOPES")]
    pub scope: Vec<String>,
    /// When it stops being good.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub expires: String,
    /// Whom it is for.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// viewer, operator or admin. Without this, operator if a scope is for writing, else viewer.
    #[arg(long, value_parser = role)]
    pub role: Option<Role>,
}

pub fn run(console: &Console, command: &TokenCommand) -> Result<(), Failure> {
    console.config.data.secure()?;
    let tokens = Tokens::of(&console.config.data);
    match act(command) {
        Some(act) => {
            let acting = act.begin(&console.config)?;
            acting.end(carry_out(console, &tokens, command))
        }
        None => carry_out(console, &tokens, command),
    }
}

/// What the audit log says of it.
fn act(command: &TokenCommand) -> Option<Act> {
    let act = |what| Act::new("local", "cli", what);
    Some(match command {
        TokenCommand::Add(added) => act("token-add")
            .about("token", added.name.as_str())
            .about("role", added.role.name())
            .about("scopes", json!(added.scope))
            .about("open_roots", json!(added.open_roots)),
        TokenCommand::Remove { name } => act("token-remove").about("token", name.as_str()),
        TokenCommand::Mint(minted) => act("token-mint")
            .about("user", json!(minted.user))
            .about("role", json!(minted.role.map(Role::name)))
            .about("scopes", json!(minted.scope))
            .about("expires", minted.expires.as_str()),
        TokenCommand::List => return None,
    })
}

fn carry_out(console: &Console, tokens: &Tokens, command: &TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Add(command) => add(console, tokens, command),
        TokenCommand::List => list(console, tokens),
        TokenCommand::Remove { name } => {
            tokens.remove(name)?;
            console.confirm(&json!({"removed": name}), |_| format!("Removed {name}.\n"))
        }
        TokenCommand::Mint(command) => mint(console, command),
    }
}

fn add(console: &Console, tokens: &Tokens, command: &Add) -> Result<(), Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !(1..=64).contains(&command.name.len()) || !command.name.bytes().all(plain) {
        return Err(misused("The name of a token has 1 to 64 letters, digits, `-`, `_` and `.`."));
    }
    let scope = command.scope.as_deref().map(understood).transpose()?;
    let open_roots = command.open_roots.iter().map(|text| OpenRoot::parse(text)).collect::<Result<Vec<_>, _>>()?;
    for root in &open_roots {
        if !root.path.is_dir() {
            return Err(misused(format!("{} is no directory.", root.path.display())));
        }
    }
    let usual = console.config.settings.http.limits;
    let limits = PrincipalLimits {
        sessions: command.sessions.unwrap_or(usual.sessions),
        disk_bytes: command.disk.unwrap_or(usual.disk_bytes),
        concurrent_calls: command.concurrent.unwrap_or(usual.concurrent_calls),
        requests_per_minute: command.rate.unwrap_or(usual.requests_per_minute),
    };
    let token = tokens.add(StoredToken {
        name: command.name.clone(),
        sha256: String::new(),
        role: command.role,
        scope,
        created_at: now(),
        expires_at: command.expires.as_deref().map(after).transpose()?.map(|end| end.to_string()),
        limits: (limits != usual).then_some(limits),
        open_roots,
    })?;
    console.remark("Keep it safe: it cannot be shown again.");
    console.show(&json!({"name": command.name, "token": token}), |_| format!("{token}\n"))
}

fn list(console: &Console, tokens: &Tokens) -> Result<(), Failure> {
    let all = tokens.all()?;
    if console.json {
        let each = all.iter().map(|token| {
            json!({"name": token.name, "role": token.role, "scope": token.scope, "created_at": token.created_at,
                   "expires_at": token.expires_at, "open_roots": token.open_roots, "limits": token.limits})
        });
        return print_json(&Value::Array(each.collect()));
    }
    if all.is_empty() {
        return print("There is no token. Make one: zipfs token add NAME\n");
    }
    let header = ["NAME", "ROLE", "SCOPE", "EXPIRES", "OPENS"].map(str::to_owned);
    let row = |token: &StoredToken| {
        let roots: Vec<String> = token.open_roots.iter().map(|root| format!("/{}", root.name)).collect();
        [
            shown(&token.name).into_owned(),
            token.role.name().to_owned(),
            token.scope.clone().unwrap_or_else(|| "all paths".to_owned()),
            token.expires_at.clone().unwrap_or_else(|| "never".to_owned()),
            if roots.is_empty() { "nothing".to_owned() } else { roots.join(" ") },
        ]
    };
    print(&columns::align(std::iter::once(header).chain(all.iter().map(row))))
}

fn mint(console: &Console, command: &Mint) -> Result<(), Failure> {
    let scope = understood(&command.scope.join(" "))?;
    let login = || std::env::var("USER").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "local-user".to_owned());
    let (end, begin) = (after(&command.expires)?.as_second(), jiff::Timestamp::now().as_second());
    let mut others = serde_json::Map::new();
    if let Some(role) = command.role {
        others.insert("role".to_owned(), json!(role));
    }
    let claims = Claims {
        iss: None,
        sub: command.user.clone().unwrap_or_else(login),
        aud: None,
        exp: end.max(0) as u64,
        nbf: None,
        iat: Some(begin.max(0) as u64),
        scope: (!scope.is_empty()).then_some(scope),
        others,
    };
    let token = claims.sign(&Secret::of(&console.config.data))?;
    console.show(&json!({"token": token}), |_| format!("{token}\n"))
}

/// Scopes as they will be understood: a slip here would be a door that is open or shut without anybody knowing.
fn understood(words: &str) -> Result<String, Failure> {
    for word in words.split_ascii_whitespace() {
        if Scopes::parse(word).is_empty() {
            return Err(misused(format!(
                "{word:?} is no path scope. Write read:/PATH/ or write:/PATH/, or /PATH/* for one level."
            )));
        }
    }
    Ok(Scopes::parse(words).to_string())
}

fn after(text: &str) -> Result<jiff::Timestamp, Failure> {
    let wrong = || misused(format!("{text:?} is no time. Write 30m, 12h or 30d."));
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    let time = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    if !time.is_positive() {
        return Err(wrong());
    }
    jiff::Timestamp::now().checked_add(time).map_err(|_| wrong())
}

fn role(text: &str) -> Result<Role, String> {
    Role::by_name(text).ok_or_else(|| "write viewer, operator or admin".to_owned())
}
