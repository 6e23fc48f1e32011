//! Problems of a text that is not strict YAML, in words of our own: no message of a parser reaches
//! a user.

use actum_core::json::DEPTH_MAX;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::ErrorKind;

/// Problem of a text that is not strict YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum YamlProblem {
    /// A flow collection is not closed, or its values are not separated.
    #[error("a `[` or `{{` is not closed, or a `,` is missing between two of its values")]
    Brackets,
    /// A quoted string is not sound.
    #[error("a quoted string is not closed, or has an escape or a line that YAML does not allow")]
    Quoted,
    /// A tab indents.
    #[error("a tab stands where only blanks may indent")]
    Tab,
    /// The indentation fits nothing around it.
    #[error("the indentation, or the text behind the value before, fits no block around it")]
    Block,
    /// A mark stands where no entry can begin.
    #[error("no entry of a mapping or sequence can begin here; a value with `: ` needs quotes")]
    Entry,
    /// A comment begins without a blank before it.
    #[error("a comment needs a blank before its `#`, and may not interrupt a text")]
    Comment,
    /// A block scalar is not sound.
    #[error("a block scalar (`|` or `>`) has a header or an indentation that YAML does not allow")]
    BlockScalar,
    /// A tag, an anchor or a directive is not sound.
    #[error("a tag, an anchor, an alias or a directive is malformed")]
    Property,
    /// A character that YAML does not allow here.
    #[error("a character is here that YAML does not allow outside of quotes")]
    Character,
    /// An alias without an anchor.
    #[error("an alias refers to no anchor before it")]
    Alias,
    /// An alias within what it refers to.
    #[error("an alias refers to a value that it is part of")]
    Cycle,
    /// A key that stands twice.
    #[error("a key stands a second time in its mapping")]
    DuplicateKey,
    /// The text is nested too deeply.
    #[error("mappings and sequences are nested more than {DEPTH_MAX} deep here")]
    TooDeep,
    /// The text has too much of something.
    #[error("it has more values, aliases or anchors than are read")]
    TooMuch,
    /// Anything else.
    #[error("it does not read as YAML")]
    Other,
}

impl YamlProblem {
    /// The problem that the parser of events reports.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a library may add problems, and those without words of their own are alike"
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

    /// The problem that the strict reader has with a text that the parser of events takes.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a library may add problems, and those without words of their own are alike"
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
