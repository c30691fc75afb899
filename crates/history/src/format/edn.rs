//! A reader for the part of EDN that Jepsen histories are written in.
//!
//! Role         `elle` calls it. Knows maps, vectors, lists, keywords, integers, `nil`, strings,
//!              symbols; skips commas, comments and tags (`#jepsen.history.Op{...}` reads as the
//!              map behind it). No floats, no sets, no characters: histories hold none.

use crate::Error;

/// A value with the byte offset where it began, for error messages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub offset: usize,
    pub value: Value,
}

/// An EDN value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Nil,
    Integer(i128),
    /// A keyword, without its colon.
    Keyword(String),
    /// A string or symbol.
    Text(String),
    /// A vector or list.
    Sequence(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// An error at this node.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::Edn { offset: self.offset, what: what.into() }
    }

    /// The value under a keyword, if this is a map that has it.
    pub fn get(&self, keyword: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        let is_it = |key: &Node| matches!(&key.value, Value::Keyword(name) if name == keyword);
        entries.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
    }
}

/// Nesting deeper than this is refused: histories need 4, and the reader is recursive.
const DEPTH_MAX: usize = 64;

/// Reads all values of a text.
pub(super) fn read(text: &str) -> Result<Vec<Node>, Error> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let mut nodes = Vec::new();
    while let Some(node) = reader.node()? {
        nodes.push(node);
    }
    match reader.peek() {
        None => Ok(nodes),
        Some(close) => Err(reader.error(format!("unexpected '{}'", close as char))),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn error(&self, what: impl Into<String>) -> Error {
        Error::Edn { offset: self.at, what: what.into() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks, commas, comments and tags.
    fn skip(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b';' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                b',' => self.at += 1,
                b'#' => {
                    self.at += 1;
                    self.token();
                }
                blank if blank.is_ascii_whitespace() => self.at += 1,
                _ => return,
            }
        }
    }

    /// The next value; `None` at the end of the text or before a closing bracket.
    fn node(&mut self) -> Result<Option<Node>, Error> {
        self.skip();
        let offset = self.at;
        let Some(byte) = self.peek() else { return Ok(None) };
        let value = match byte {
            b'}' | b']' | b')' => return Ok(None),
            b'{' => self.map()?,
            b'[' => Value::Sequence(self.sequence(b']')?),
            b'(' => Value::Sequence(self.sequence(b')')?),
            b'"' => self.string()?,
            b':' => {
                self.at += 1;
                Value::Keyword(self.token().to_owned())
            }
            _ => self.atom()?,
        };
        Ok(Some(Node { offset, value }))
    }

    fn sequence(&mut self, close: u8) -> Result<Vec<Node>, Error> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error("nested too deeply"));
        }
        let mut nodes = Vec::new();
        while let Some(node) = self.node()? {
            nodes.push(node);
        }
        if self.peek() != Some(close) {
            return Err(self.error(format!("'{}' expected", close as char)));
        }
        self.at += 1;
        self.depth -= 1;
        Ok(nodes)
    }

    fn map(&mut self) -> Result<Value, Error> {
        let nodes = self.sequence(b'}')?;
        if nodes.len() % 2 != 0 {
            return Err(self.error("a map has a key without a value"));
        }
        let mut entries = Vec::with_capacity(nodes.len() / 2);
        let mut nodes = nodes.into_iter();
        while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
            entries.push((key, value));
        }
        Ok(Value::Map(entries))
    }

    fn string(&mut self) -> Result<Value, Error> {
        let start = self.at + 1;
        let mut escaped = false;
        for (place, char) in self.text[start..].char_indices() {
            match char {
                '"' if !escaped => {
                    self.at = start + place + 1;
                    return Ok(Value::Text(self.text[start..start + place].to_owned()));
                }
                _ => escaped = char == '\\' && !escaped,
            }
        }
        Err(self.error("a string does not end"))
    }

    /// The characters up to the next blank, bracket, quote or comma.
    fn token(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let ends = |char: char| char.is_whitespace() || "{}[]()\",;".contains(char);
        let length = rest.find(ends).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn atom(&mut self) -> Result<Value, Error> {
        let token = self.token().to_owned();
        if token.is_empty() {
            return Err(self.error("a blank that EDN does not know"));
        }
        if token == "nil" {
            return Ok(Value::Nil);
        }
        let digits = token.trim_end_matches('N');
        let number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        match digits.parse() {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) if number && token != "-" => Err(self.error(format!("'{token}' is no integer"))),
            Err(_) => Ok(Value::Text(token)),
        }
    }
}
