//! What the program says of itself.

use crate::support::Zipfs;

/// Every command, those below others and hidden ones included, as words.
fn commands(zipfs: &Zipfs<'_>) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for word in proposed(zipfs, &[""]).into_iter().chain(["man".to_owned(), "complete".to_owned()]) {
        if word == "help" {
            continue;
        }
        if ["plugin", "audit", "token"].contains(&word.as_str()) {
            all.extend(
                proposed(zipfs, &[&word, ""]).into_iter().filter(|below| below != "help").map(|below| vec![word.clone(), below]),
            );
        }
        all.push(vec![word]);
    }
    all
}

fn proposed(zipfs: &Zipfs<'_>, words: &[&str]) -> Vec<String> {
    let listed = zipfs.ok(&[&["complete", "--"], words].concat());
    listed.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

#[test]
fn every_help_has_an_example_that_can_be_typed() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let all = commands(&zipfs);
    assert!(all.len() > 24, "{all:?}");
    for words in all {
        let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = zipfs.ok(&arguments);
        let examples: Vec<&str> = help.lines().skip_while(|line| !line.starts_with("Example")).collect();
        assert!(!examples.is_empty(), "no example in zipfs {}", arguments.join(" "));
        assert!(examples.join(" ").contains(&format!("zipfs {}", words.join(" "))), "{examples:?}");
    }
    assert!(zipfs.ok(&["--help"]).contains("Example: zipfs open"));
}

#[test]
fn every_command_has_a_manual_page() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    assert!(zipfs.ok(&["man"]).contains(".TH zipfs 1"));
    let pages = data.path().join("man");
    zipfs.ok(&["man", pages.to_str().unwrap()]);
    for words in commands(&zipfs).into_iter().filter(|words| !["man", "complete"].contains(&words[0].as_str())) {
        let page = pages.join(format!("zipfs-{}.1", words.join("-")));
        assert!(std::fs::read_to_string(&page).is_ok_and(|text| text.contains("Example")), "{}", page.display());
    }
}
