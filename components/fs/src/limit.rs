//! How large a file may be to be read: a setting.

use zipfs_sdk::Error;

/// The variable that says it.
pub const SETTING: &str = "FS_MAX_FILE_BYTES";

/// Without the setting. As base64 it is still less than what a call may return.
pub const DEFAULT: u64 = 10 << 20;

/// The largest file that is read, in bytes.
pub fn max_file_bytes() -> Result<u64, Error> {
    parse(std::env::var(SETTING).ok().as_deref())
}

fn parse(setting: Option<&str>) -> Result<u64, Error> {
    let Some(text) = setting else { return Ok(DEFAULT) };
    text.trim().parse().map_err(|_| {
        Error::internal("ConfigurationError", format!("{SETTING} is {text:?}, which is not a number of bytes."))
            .suggest("Whoever runs this server has to correct it.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_no_number_is_not_no_limit() {
        assert_eq!(parse(None).unwrap(), 10_485_760);
        assert_eq!(parse(Some("1000")).unwrap(), 1000);
        for odd in ["", "ten", "-1", "1e6"] {
            assert_eq!(parse(Some(odd)).unwrap_err().code(), "ConfigurationError", "{odd:?}");
        }
    }
}
