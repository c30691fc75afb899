//! VARIADIC before a parameter or an argument, which the parser does not know: it is brought into
//! the form of a name that no parameter has.

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of an argument that VARIADIC stands before. No parameter can be declared so: a blank is
/// its last character, and the word is a reserved one.
pub(crate) const MARK: &str = "variadic ";

/// VARIADIC behind a bracket or comma as a name and `=>`; none: it is another token.
pub(crate) fn marks(before: Option<&TokenWithSpan>, token: &TokenWithSpan) -> Option<[Token; 2]> {
    let begins = before.is_some_and(|t| matches!(t.token, Token::LParen | Token::Comma));
    let is_it =
        |word: &Word| word.quote_style.is_none() && word.value.eq_ignore_ascii_case("variadic");
    let is_it = begins && matches!(&token.token, Token::Word(word) if is_it(word));
    is_it.then(|| [Token::make_word(MARK, Some('"')), Token::RArrow])
}
