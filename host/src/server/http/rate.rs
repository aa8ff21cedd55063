//! How often one principal may ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use tokio::time::Instant;

use super::reply::{self, Reply};
use crate::gate::Principal;

/// More principals than this at once, and those that have asked nothing for a minute are forgotten.
const MANY: usize = 1024;

/// What each principal has left, filled up again all the time.
#[derive(Debug, Default)]
pub struct Rates(Mutex<HashMap<Arc<str>, Bucket>>);

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// Takes one request from what the principal has left. A burst may use up a tenth of a minute's at once, so that a client that
    /// starts and lists everything is not held up. Test: `security::serve::principals::requests_are_bounded`.
    pub fn take(&self, principal: &Principal) -> Result<(), Reply> {
        let per_minute = principal.limits.requests_per_minute;
        if per_minute == u32::MAX {
            return Ok(());
        }
        let (most, per_second) = ((f64::from(per_minute) / 10.0).max(1.0), f64::from(per_minute) / 60.0);
        let now = Instant::now();
        let mut buckets = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if buckets.len() > MANY {
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs() < 60);
        }
        let bucket = buckets.entry(principal.id.clone()).or_insert(Bucket { left: most, at: now });
        bucket.left = (bucket.left + now.duration_since(bucket.at).as_secs_f64() * per_second).min(most);
        bucket.at = now;
        if per_minute > 0 && bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        let wait = if per_minute == 0 { 3600.0 } else { ((1.0 - bucket.left) / per_second).ceil().max(1.0) };
        let mut refused = reply::refuse(StatusCode::TOO_MANY_REQUESTS, "Too many requests; wait a little");
        refused.headers_mut().insert(RETRY_AFTER, (wait as u64).into());
        Err(refused)
    }
}
