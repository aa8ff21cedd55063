//! A component with a function that no JSON can call: it hands out a resource.

wit_bindgen::generate!({
    inline: r#"
        package tests:handles;

        interface store {
            resource entry { name: func() -> string; }
            find: func(name: string) -> entry;
        }

        world handles {
            export store;
        }
    "#,
});

use exports::tests::handles::store;

struct Handles;

export!(Handles);

struct Entry(String);

impl store::GuestEntry for Entry {
    fn name(&self) -> String {
        self.0.clone()
    }
}

impl store::Guest for Handles {
    type Entry = Entry;

    fn find(name: String) -> store::Entry {
        store::Entry::new(Entry(name))
    }
}
