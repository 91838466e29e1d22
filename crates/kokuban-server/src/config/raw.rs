//! A value before it is known what it should be.
//!
//! **Invariant**: what a getter refuses, it names with what would be right. A value is shown only where no
//! secret can stand.
//! Not known here: keys.

use super::flaw::{nearest, shown};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    Text(String),
    Boolean(bool),
    Number(String),
    List(Vec<String>),
    /// A list with something else than texts in it, a table, a date.
    Other(&'static str),
    /// From a variable or a flag, where everything is text.
    Plain(String),
}

impl Raw {
    /// A value that a configuration has.
    pub(super) fn of(value: &toml::Value) -> Self {
        match value {
            toml::Value::String(text) => Self::Text(text.clone()),
            toml::Value::Boolean(value) => Self::Boolean(*value),
            toml::Value::Integer(number) => Self::Number(number.to_string()),
            toml::Value::Array(items) => {
                Self::List(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
            }
            toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => Self::Other("no setting"),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Plain(_) => "a text",
            Self::Boolean(_) => "true or false",
            Self::Number(_) => "a number",
            Self::List(_) => "a list",
            Self::Other(kind) => kind,
        }
    }

    fn wrong<T>(&self, wanted: &str) -> Result<T, String> {
        Err(format!("must be {wanted}, not {}", self.kind()))
    }

    pub(super) fn text(&self) -> Result<&str, String> {
        match self {
            Self::Text(text) | Self::Plain(text) => Ok(text),
            _ => self.wrong("a text"),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, String> {
        match self {
            Self::Boolean(value) => Ok(*value),
            Self::Plain(text) => match text.as_str() {
                "true" | "1" => Ok(true),
                "false" | "0" => Ok(false),
                _ => Err("must be true or false".into()),
            },
            _ => self.wrong("true or false"),
        }
    }

    pub(super) fn number(&self, min: u64, max: u64) -> Result<u64, String> {
        let (Self::Number(text) | Self::Plain(text)) = self else { return self.wrong("a whole number") };
        let range = || format!("must be a whole number from {min} to {max}");
        let number: u64 = text.replace('_', "").parse().map_err(|_| range())?;
        if (min..=max).contains(&number) { Ok(number) } else { Err(range()) }
    }

    pub(super) fn count(&self, min: u64, max: u64) -> Result<usize, String> {
        usize::try_from(self.number(min, max)?).map_err(|_| format!("must be at most {}", usize::MAX))
    }

    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, String> {
        let text = self.text()?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(*value);
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        let near = nearest(text, choices.iter().map(|(name, _)| *name));
        let hint = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Err(format!("must be {}, not `{}`{hint}", names.join(" or "), shown(text)))
    }

    /// Every member of a list; in a variable or flag they are separated by commas.
    pub(super) fn each<T>(&self, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
        match self {
            Self::List(items) => items.iter().map(|item| read(item)).collect(),
            Self::Plain(text) => text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(read).collect(),
            _ => self.wrong("a list of texts"),
        }
    }
}
