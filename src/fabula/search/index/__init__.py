"""The index of passages: how texts are cut, counted, kept on disk and looked up."""

from fabula.search.index.disk_cache import cache_folder, delete_index_file
from fabula.search.index.index import SearchIndex
from fabula.search.index.passages import DocumentText

__all__ = ["DocumentText", "SearchIndex", "cache_folder", "delete_index_file"]
