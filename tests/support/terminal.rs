//! A program at a terminal: util-linux's `script` holds the other end.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::have;

/// Nothing at a terminal takes longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    shown: Receiver<Vec<u8>>,
    /// Everything that was shown so far.
    pub screen: String,
    /// How much of it was waited for.
    seen: usize,
}

impl Terminal {
    /// Runs a command line at a terminal of its own, in an environment like `like`'s. `None`, and said so, without `script`.
    pub fn start(like: &Command, line: &str) -> Option<Terminal> {
        if !have("script", "terminals are treated well") {
            return None;
        }
        let mut command = Command::new("script");
        command.args(["-qfec", line, "/dev/null"]).env_clear();
        for (name, value) in like.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        if let Some(directory) = like.get_current_dir() {
            command.current_dir(directory);
        }
        command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("script can be run");
        let keys = child.stdin.take();
        let mut output = child.stdout.take().expect("a pipe");
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Some(Terminal { child, keys, shown, screen: String::new(), seen: 0 })
    }

    pub fn type_keys(&mut self, keys: &str) {
        let input = self.keys.as_mut().expect("the terminal is open");
        input.write_all(keys.as_bytes()).and_then(|()| input.flush()).expect("the terminal takes keys");
    }

    /// Waits until something is shown that was not waited for yet.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen += &String::from_utf8_lossy(&bytes),
                Err(error) => panic!("waited in vain for {text:?} ({error}); on the screen: {:?}", self.screen),
            }
        }
    }

    /// Waits for the end, and returns the exit code. The screen holds all that was shown.
    #[track_caller]
    pub fn end(mut self) -> (i32, String) {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not end; on the screen: {:?}", self.screen),
            }
        }
        drop(self.keys.take());
        let code = self.child.wait().expect("script ends").code().expect("an exit code");
        (code, std::mem::take(&mut self.screen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
