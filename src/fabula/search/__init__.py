"""Search: passages of the manuscript and of conversations, found by words, names, dates and meaning."""

from fabula.search.corpus import CONVERSATION_PREFIX, NO_CONVERSATIONS, ConversationTexts, Corpus
from fabula.search.find import FoundPassage, SearchScope, find_passages, make_search_mask
from fabula.search.index import DocumentText, SearchIndex
from fabula.search.model import Passage, Query, SearchDocument, SearchHit
from fabula.search.query import shorten_query_part
from fabula.search.source import SearchSource

__all__ = [
    "CONVERSATION_PREFIX",
    "NO_CONVERSATIONS",
    "ConversationTexts",
    "Corpus",
    "DocumentText",
    "FoundPassage",
    "Passage",
    "Query",
    "SearchDocument",
    "SearchHit",
    "SearchIndex",
    "SearchScope",
    "SearchSource",
    "find_passages",
    "make_search_mask",
    "shorten_query_part",
]
