//! The components that are part of the binary: built, compiled and embedded by the build script.

use std::sync::Arc;

use super::cache::Cache;
use super::manifest::Manifest;
use crate::failure::Failure;
use crate::sandbox::{Compiled, Sandbox};

/// One embedded component.
pub struct Bundled {
    pub name: &'static str,
    /// SHA-256 of the component.
    pub digest: &'static str,
    pub manifest: &'static str,
    /// The component itself, for machines that its code does not fit.
    pub wasm: &'static [u8],
    /// Its code, at a page boundary.
    pub code: &'static [u8],
}

/// A boundary that code can be made executable at.
#[repr(C, align(65536))]
struct Pages<T: ?Sized>(T);

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

impl Bundled {
    /// The code in the binary; on a machine that it does not fit, code that is made now and kept.
    pub fn load(&self, sandbox: &Sandbox, cache: &Cache) -> Result<Arc<Compiled>, Failure> {
        match sandbox.load_embedded(self.code) {
            Some(compiled) => Ok(Arc::new(compiled)),
            None => cache.obtain(sandbox, self.digest, || Ok(self.wasm.to_vec())),
        }
    }

    pub fn manifest(&self) -> Result<Manifest, Failure> {
        Manifest::parse(self.manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CallLimits, DataDir};
    use crate::sandbox::Shape;

    /// Page-aligned, as real code is, and nothing that could be run.
    static NONSENSE: Pages<[u8; 4096]> = Pages([0x5a; 4096]);

    #[tokio::test]
    async fn code_that_does_not_fit_is_compiled_once_and_kept() {
        let data = tempfile::tempdir().unwrap();
        let cache = Cache::new(&DataDir::at(data.path()), Arc::default());
        let sandbox = Sandbox::new(Shape::Command, &CallLimits::default()).unwrap();
        let good = BUNDLED.iter().find(|bundled| bundled.name == "zipfs").unwrap();
        assert!(sandbox.load_embedded(good.code).is_some(), "the embedded code fits the machine it was built on");
        let bad = Bundled { code: &NONSENSE.0, ..*good };
        assert!(bad.load(&sandbox, &cache).unwrap().tools.is_some());
        let kept = || {
            let entries = std::fs::read_dir(data.path().join("cache")).unwrap().flatten();
            entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "cwasm")).count()
        };
        assert_eq!(kept(), 1);
        let began = std::time::Instant::now();
        bad.load(&sandbox, &cache).unwrap();
        assert!(began.elapsed().as_millis() < 50, "the second load comes from the cache");
        assert_eq!(kept(), 1);
    }
}
