"""Count tokens exactly, with the vocabulary of the target model (bud-2)."""

from fabula.text.tokens.models import Model, find_model, is_known
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import Tokenizer, TokenizerError, load_encoding

__all__ = ["Model", "Paragraphs", "Tokenizer", "TokenizerError", "find_model", "is_known", "load_encoding"]
