//! YAML syntax errors. Parser errors are mapped to actum's own messages, so that users never see the messages of a
//! parser library.

use actum_core::json::DEPTH_MAX;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::ErrorKind;

/// Syntax error in a YAML text, or a limit that the text exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum YamlProblem {
    /// A flow collection is not closed, or a separator between its values is missing.
    #[error("a `[` or `{{` is not closed, or a `,` is missing between two of its values")]
    Brackets,
    /// A quoted string is invalid.
    #[error("a quoted string is not closed, or contains an invalid escape or line break")]
    Quoted,
    /// A tab is used for indentation.
    #[error("a tab is used for indentation, where only spaces are allowed")]
    Tab,
    /// The indentation or the text after a value does not match any enclosing block.
    #[error(
        "the indentation does not match any enclosing block, or text follows the previous value"
    )]
    Block,
    /// An entry indicator such as `: ` or `- ` is at a position where no entry can begin.
    #[error("a mapping or sequence entry cannot begin here; quote a value that contains `: `")]
    Entry,
    /// A comment has no space before it, or interrupts a scalar.
    #[error("a comment needs a space before its `#` and cannot interrupt a scalar")]
    Comment,
    /// A block scalar is invalid.
    #[error("a block scalar (`|` or `>`) has an invalid header or indentation")]
    BlockScalar,
    /// A tag, anchor, alias or directive is malformed.
    #[error("a tag, an anchor, an alias or a directive is malformed")]
    Property,
    /// A character is not allowed at this position.
    #[error("YAML does not allow this character outside of quotes")]
    Character,
    /// An alias refers to an undefined anchor.
    #[error("an alias refers to an anchor that is not defined before it")]
    Alias,
    /// An alias is inside the value that it refers to.
    #[error("an alias refers to a value that contains it")]
    Cycle,
    /// A mapping has a duplicate key.
    #[error("this key is already in the mapping")]
    DuplicateKey,
    /// The text is nested too deeply.
    #[error("mappings and sequences are nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    /// The text exceeds a limit of the parser.
    #[error("the text has too many values, aliases or anchors")]
    TooMuch,
    /// Any other error of a parser library.
    #[error("the syntax is invalid")]
    Other,
}

impl YamlProblem {
    /// Converts an error of the event parser.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library may add variants, and all variants without their own message are handled alike"
    )]
    pub(super) fn from_kind(kind: &ErrorKind) -> Self {
        use ErrorKind as Kind;
        match kind {
            Kind::UnexpectedEofFlowSequence
            | Kind::UnexpectedEofFlowMapping
            | Kind::UnexpectedEofImplicitFlowMapping
            | Kind::ExpectedFlowMappingSeparator
            | Kind::ExpectedFlowSequenceSeparator
            | Kind::MisplacedFlowCollectionEnd
            | Kind::MismatchedFlowCollectionEnd { .. }
            | Kind::UnclosedFlowCollection { .. } => Self::Brackets,
            Kind::UnclosedQuotedScalar
            | Kind::DocumentIndicatorInQuotedScalar
            | Kind::InvalidQuotedScalarIndent
            | Kind::InvalidTrailingSingleQuotedScalar
            | Kind::InvalidTrailingDoubleQuotedScalar
            | Kind::UnknownQuotedScalarEscape
            | Kind::InvalidQuotedScalarHexEscape
            | Kind::InvalidLowSurrogateHexEscape
            | Kind::InvalidLowSurrogate
            | Kind::MissingLowSurrogate
            | Kind::UnpairedLowSurrogate
            | Kind::InvalidUnicodeEscape => Self::Quoted,
            Kind::TabNotAllowed
            | Kind::TabInBlockIndentation
            | Kind::TabInIndentation
            | Kind::TabAtBlockScalarStart
            | Kind::TabInPlainScalar => Self::Tab,
            Kind::InvalidIndentation
            | Kind::UnexpectedEofBlockSequence
            | Kind::UnexpectedEofBlockMapping
            | Kind::ExpectedBlockMappingKey
            | Kind::ExpectedBlockSequenceEntry
            | Kind::ExpectedDocumentStart
            | Kind::SimpleKeyExpected
            | Kind::InvalidFlowScalarIndent
            | Kind::UnexpectedEndOfPlainScalar => Self::Block,
            Kind::InvalidSimpleKey
            | Kind::MappingKeyNotAllowed
            | Kind::MappingValueNotAllowed
            | Kind::InvalidMappingValueWhitespace
            | Kind::InvalidColonPlacement
            | Kind::FlowMappingValueAdjacentCollection
            | Kind::BlockEntryInFlowCollection
            | Kind::BlockSequenceEntryNotAllowed
            | Kind::InvalidBlockEntryWhitespace
            | Kind::PlainScalarStartsWithDashFlowIndicator
            | Kind::ExpectedNodeContent => Self::Entry,
            Kind::CommentInterceptedScalar | Kind::CommentNotSeparated => Self::Comment,
            Kind::ZeroBlockScalarIndent
            | Kind::InvalidBlockScalarHeader
            | Kind::InvalidBlockScalarIndent => Self::BlockScalar,
            Kind::UnknownAnchor => Self::Alias,
            Kind::UnexpectedCharacter { .. } | Kind::BomInsideDocument => Self::Character,
            Kind::RecursionLimitExceeded => Self::TooDeep,
            Kind::TooManyComments | Kind::AnchorCountOverflow => Self::TooMuch,
            Kind::DuplicateVersionDirective
            | Kind::UnsupportedYamlMajorVersion
            | Kind::DuplicateTagDirective
            | Kind::MissingDocumentEndBeforeDirective
            | Kind::UndeclaredTagHandle
            | Kind::ExpectedTagBang
            | Kind::ExpectedTagDirectiveBang
            | Kind::InvalidGlobalTagCharacter
            | Kind::InvalidDirectiveTerminator
            | Kind::MissingYamlVersionSeparator
            | Kind::MissingDirectiveName
            | Kind::InvalidDirectiveName
            | Kind::YamlVersionTooLong
            | Kind::MissingYamlVersion
            | Kind::InvalidTagDirectiveTerminator
            | Kind::InvalidTagTerminator
            | Kind::MissingTagUri
            | Kind::UnclosedVerbatimTag
            | Kind::InvalidTagEscape
            | Kind::MissingAnchorOrAliasName => Self::Property,
            _ => Self::Other,
        }
    }

    /// Converts an error of the strict parser for a text that the event parser accepts.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library may add variants, and all variants without their own message are handled alike"
    )]
    pub(super) fn from_reader(error: &Error) -> Self {
        match error.without_snippet() {
            Error::DuplicateMappingKey { .. } => Self::DuplicateKey,
            Error::UnknownAnchor { .. } => Self::Alias,
            Error::RecursiveReferencesRequireWeakTypes { .. } => Self::Cycle,
            Error::AliasError { error, .. } => Self::from_reader(error),
            Error::Budget { breach: BudgetBreach::Depth { .. }, .. }
            | Error::AliasReplayStackDepthExceeded { .. } => Self::TooDeep,
            Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayCounterOverflow { .. } => Self::TooMuch,
            _ => Self::Other,
        }
    }
}
