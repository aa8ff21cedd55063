//! Asks whatever address it is told to, with a secret that it does not know.

use zipfs_guests::web::send;
use zipfs_sdk::{About, Plugin, Role, Tool};

struct WebSecret;

impl Plugin for WebSecret {
    fn about() -> About {
        About::new("web-secret", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let tool = |name, about| Tool::new(name, about, send).uses("http").role(Role::Operator).open_world(true);
        vec![
            tool("web_secret", "Sends a request. Returns {status, headers, body}.").uses("secret"),
            tool("web_secret_undeclared", "The same, without declaring the secret."),
            zipfs_guests::harmless("web_secret_ok"),
        ]
    }
}

zipfs_sdk::export!(WebSecret);
