//! A component that was made for no host: plain typed functions of every kind, and none of our interfaces.

wit_bindgen::generate!({
    inline: r#"
        package tests:typed@0.2.0;

        interface geometry {
            record point { x: f64, y: f64 }
            variant shape { circle(f32), polygon(list<point>), nothing }
            enum unit { meter, foot }
            flags styles { bold, round, dashed }
            /// Everything that can be said.
            record everything {
                yes: bool,
                numbers: tuple<s8, u8, s16, u16, s32, u32, s64, u64>,
                ratio: f32,
                letter: char,
                raw: list<u8>,
                unit: unit,
                styles: styles,
                shapes: list<shape>,
                maybe: option<option<u8>>,
                outcome: result<u8, string>,
            }
            area: func(shape: shape) -> result<f64, string>;
            echo: func(value: everything) -> everything;
        }

        interface notes {
            enum trouble { not-found, too-large }
            write: func(path: string, text: string) -> result<u32, trouble>;
            read: func(path: string) -> result<string, trouble>;
        }

        world typed {
            export add: func(a: s32, b: s32) -> s32;
            export greet: func(name: option<string>) -> string;
            export nothing: func();
            export refuse: func(why: string) -> result<_, string>;
            export spin: func() -> u32;
            export bytes: func(count: u32) -> list<u8>;
            export quotient: func(a: f64, b: f64) -> f64;
            export geometry;
            export notes;
        }
    "#,
});

use exports::tests::typed::{geometry, notes};

struct Typed;

export!(Typed);

impl Guest for Typed {
    fn add(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }

    fn greet(name: Option<String>) -> String {
        format!("Hello {}!", name.as_deref().unwrap_or("you"))
    }

    fn nothing() {}

    fn refuse(why: String) -> Result<(), String> {
        Err(why)
    }

    fn spin() -> u32 {
        let mut count = 0u32;
        loop {
            count = std::hint::black_box(count.wrapping_add(1));
        }
    }

    fn bytes(count: u32) -> Vec<u8> {
        vec![7; count as usize]
    }

    fn quotient(a: f64, b: f64) -> f64 {
        a / b
    }
}

impl geometry::Guest for Typed {
    fn area(shape: geometry::Shape) -> Result<f64, String> {
        match shape {
            geometry::Shape::Circle(radius) => Ok(f64::from(radius * radius) * std::f64::consts::PI),
            geometry::Shape::Polygon(points) if points.len() < 3 => Err(format!("a polygon has no {} corners", points.len())),
            geometry::Shape::Polygon(points) => {
                let next = points.iter().cycle().skip(1);
                Ok(points.iter().zip(next).map(|(a, b)| a.x * b.y - b.x * a.y).sum::<f64>().abs() / 2.0)
            }
            geometry::Shape::Nothing => Ok(0.0),
        }
    }

    fn echo(value: geometry::Everything) -> geometry::Everything {
        value
    }
}

impl notes::Guest for Typed {
    fn write(path: String, text: String) -> Result<u32, notes::Trouble> {
        std::fs::write(format!("/workspace/{path}"), &text).map_err(|_| notes::Trouble::TooLarge)?;
        Ok(text.len() as u32)
    }

    fn read(path: String) -> Result<String, notes::Trouble> {
        std::fs::read_to_string(format!("/workspace/{path}")).map_err(|_| notes::Trouble::NotFound)
    }
}
