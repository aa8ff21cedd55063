//! A tool's question, asked at the terminal.

use std::io::{IsTerminal, Write};

use serde_json::{Map, Value, json};

use super::output::remark;
use crate::failure::{Class, Failure};
use crate::gate::Question;
use crate::sandbox::bindings::types::{Elicitation, InputAnswer, InputRequest, Resumption};

/// Whether somebody is there to be asked.
pub fn can_be_shown() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks everything that the tool wants to know.
pub fn fill_in(question: Question) -> Result<Resumption, Failure> {
    let mut answers = Vec::new();
    for (name, request) in question.requests {
        let InputRequest::Elicit(form) = request else {
            return Err(cannot("The tool asks for a model or for directories, which the command line does not have."));
        };
        if !can_be_shown() {
            return Err(cannot("The tool asks for input, which can only be given at a terminal."));
        }
        answers.push(InputAnswer { name, value: ask(&form)?.to_string() });
    }
    Ok(Resumption { answers, state: question.state })
}

fn cannot(message: &str) -> Failure {
    Failure::new(Class::Invalid, "INPUT_REQUIRED", message).suggest("Call it from an agent, or at a terminal.")
}

/// One form, field by field. Nothing typed leaves a field out; the end of input leaves the form.
fn ask(form: &Elicitation) -> Result<Value, Failure> {
    remark(&form.message);
    let schema: Value = serde_json::from_str(&form.schema)
        .map_err(|error| Failure::internal(format!("The tool's question is not well-formed: {error}.")))?;
    let mut content = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        loop {
            let Some(line) = read_line(&prompt(name, field))? else { return Ok(json!({"action": "cancel"})) };
            match typed(&line, field) {
                Ok(None) => break,
                Ok(Some(value)) => {
                    content.insert(name.clone(), value);
                    break;
                }
                Err(expected) => remark(&format!("That is not {expected}.")),
            }
        }
    }
    Ok(json!({"action": "accept", "content": content}))
}

fn prompt(name: &str, field: &Value) -> String {
    let about = field["description"].as_str().map(|about| format!(" ({about})")).unwrap_or_default();
    let choices: Vec<&str> = field["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match choices.is_empty() {
        true => format!("{name}{about}: "),
        false => format!("{name}{about} [{}]: ", choices.join("/")),
    }
}

/// The line as the kind of value that the field wants.
fn typed(line: &str, field: &Value) -> Result<Option<Value>, &'static str> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(field.get("default").cloned());
    }
    Ok(Some(match field["type"].as_str() {
        Some("boolean") => match line.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => json!(true),
            "n" | "no" | "false" => json!(false),
            _ => return Err("yes or no"),
        },
        Some("integer") => json!(line.parse::<i64>().map_err(|_| "a whole number")?),
        Some("number") => json!(line.parse::<f64>().map_err(|_| "a number")?),
        _ => json!(line),
    }))
}

fn read_line(prompt: &str) -> Result<Option<String>, Failure> {
    let mut err = std::io::stderr().lock();
    let safe: String = prompt.chars().filter(|c| !c.is_control()).collect();
    let _ = write!(err, "{safe}").and_then(|()| err.flush());
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).map_err(|error| Failure::internal(format!("No answer: {error}.")))?;
    Ok((read > 0).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_what_the_field_wants() {
        assert_eq!(typed("7\n", &json!({"type": "integer"})), Ok(Some(json!(7))));
        assert_eq!(typed("7\n", &json!({"type": "string"})), Ok(Some(json!("7"))));
        assert_eq!(typed("yes", &json!({"type": "boolean"})), Ok(Some(json!(true))));
        assert_eq!(typed("maybe", &json!({"type": "boolean"})), Err("yes or no"));
        assert_eq!(typed(" \n", &json!({"type": "string"})), Ok(None));
        assert_eq!(typed("\n", &json!({"type": "integer", "default": 3})), Ok(Some(json!(3))));
    }
}
