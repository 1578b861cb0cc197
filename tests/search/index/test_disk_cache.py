"""The cache folder: never needed, never trusted, and never in the way."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

from fabula.core.errors import Code
from fabula.core.view import View
from fabula.search.corpus import Corpus
from fabula.search.index import disk_cache as cache
from fabula.search.index.index import SearchIndex
from fabula.search.index.inverted_index import count_postings
from fabula.search.index.passages import DocumentText, cut_into_passages
from fabula.search.model import Passage, Query, SearchDocument
from fabula.workspace.read_only import open_view
from tests.manuscript.stories import PROJECT, ask, chapter, filler, story

TEXTS = [
    DocumentText(f"ch-{n}", f"Chapter {n}", filler(400, f"tide{n}") + f"\n\nThe relic{n} lay there.") for n in range(5)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of our own."""
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def built(texts: list[DocumentText] = TEXTS) -> tuple[SearchIndex, int]:
    """An index as a large project would get it, and how many times something was counted for it."""
    counted: list[int] = []
    found = Corpus("p", texts, immediate_characters=100).build_index(lambda done, total: counted.append(done))
    return found, len(counted)


def answers(found: SearchIndex) -> list[tuple[str, float]]:
    hits = found.search(Query(parts=(("relic3 tide stones", 1.0),)), limit=5)
    return [(found.passages[hit.passage_number].source, hit.score) for hit in hits]


def test_what_was_counted_once_is_not_counted_again(folder: Path) -> None:
    first, counted = built()
    assert counted == 5
    assert [path.suffix for path in (folder / "search").iterdir()] == [".index"]
    second, counted = built()
    assert counted == 0
    assert answers(second) == answers(first)
    assert (first.cache_error, second.cache_error) == ("", "")


def test_only_what_changed_is_counted() -> None:
    built()
    changed = [*TEXTS[:4], DocumentText("ch-4", "Chapter 4", "Something else entirely. " * 20)]
    found, counted = built(changed)
    assert counted == 1
    assert answers(found)


def test_a_folder_that_was_deleted_is_made_anew(folder: Path) -> None:
    first, _ = built()
    for path in (folder / "search").iterdir():
        path.unlink()
    (folder / "search").rmdir()
    again, counted = built()
    assert counted == 5
    assert answers(again) == answers(first)
    assert cache.index_file("p").exists()


def test_a_small_project_leaves_nothing_in_it(folder: Path) -> None:
    Corpus("p", TEXTS).build_index()
    assert not folder.exists()


def _garbage(data: bytes) -> bytes:
    return os.urandom(len(data))


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _nothing(data: bytes) -> bytes:
    return b""


def _one_bit(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _signed(body: bytes) -> bytes:
    return body + blake2b(body, digest_size=32).digest()


def _wild_numbers(data: bytes) -> bytes:
    """A file that somebody made on purpose: sound on the outside, its last numbers far too large."""
    return _signed(data[:-32][:-40] + b"\xff\xff\xff\x7f" * 10)


def _negative(data: bytes) -> bytes:
    return _signed(data[:-32][:-40] + b"\xff\xff\xff\xff" * 10)


def _lying_head(data: bytes) -> bytes:
    return _signed(data[:-32][: len(data) // 2])


def _huge_head(data: bytes) -> bytes:
    at = len(b"FABULA-INDEX-3\n")
    return _signed(data[:at] + b"\xdd\xff\xff\xff\xff" + data[at + 5 : -32])


@pytest.mark.parametrize(
    "spoil", [_garbage, _half, _nothing, _one_bit, _wild_numbers, _negative, _lying_head, _huge_head]
)
def test_a_damaged_file_is_made_anew_with_a_warning(spoil: Callable[[bytes], bytes]) -> None:
    first, _ = built()
    path = cache.index_file("p")
    path.write_bytes(spoil(path.read_bytes()))
    again, counted = built()
    assert counted == 5
    assert answers(again) == answers(first)
    assert again.cache_error
    _, counted = built()
    assert counted == 0, "it was replaced by a good one"


def test_a_pickle_is_never_opened(folder: Path) -> None:
    import pickle

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(folder / "sprung"),)

    (folder / "search").mkdir(parents=True)
    cache.index_file("p").write_bytes(pickle.dumps(Trap()))
    built()
    assert not (folder / "sprung").exists()


def test_a_file_of_other_rules_for_words_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    monkeypatch.setattr(cache, "_terms_version", lambda: "other rules")
    found, counted = built()
    assert counted == 5
    assert found.cache_error == ""


def test_a_file_of_an_earlier_version_is_made_anew_without_a_warning() -> None:
    built()
    path = cache.index_file("p")
    path.write_bytes(b"FABULA-INDEX-2\n" + path.read_bytes()[15:])
    found, counted = built()
    assert (counted, found.cache_error) == (5, "")
    _, counted = built()
    assert counted == 0


def test_reading_and_writing_the_file_give_way_after_each_document() -> None:
    documents = [cut_into_passages(text) for text in TEXTS]
    postings = {document.id: count_postings(document) for document in documents}
    ways: list[str] = []
    assert cache.write_postings("p", documents, postings, lambda: ways.append("written")) == ""
    known, _ = cache.read_postings("p", documents, lambda: ways.append("read"))
    assert [*known] == [document.id for document in documents]
    assert ways.count("written") > len(documents)
    assert ways.count("read") >= len(documents)


def test_the_digest_of_a_long_conversation_sets_off_no_collection_of_cycles() -> None:
    passages = tuple(Passage(f"history:{number}", f"Message {number}.", "") for number in range(20_000))
    document = SearchDocument("talk:long", passages)
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    assert len(cache._digest(document)) == 32
    assert gc.get_stats()[0]["collections"] - before <= 1


def _file_instead_of_folder(folder: Path) -> None:
    folder.write_text("I am a file.")


def _file_instead_of_subfolder(folder: Path) -> None:
    folder.mkdir()
    (folder / "search").write_text("I am a file.")


def _folder_instead_of_file(folder: Path) -> None:
    (cache.index_file("p") / "inside").mkdir(parents=True)


@pytest.mark.parametrize("obstruct", [_file_instead_of_folder, _file_instead_of_subfolder, _folder_instead_of_file])
def test_a_folder_that_cannot_be_written_to_is_done_without(folder: Path, obstruct: Callable[[Path], None]) -> None:
    expected = answers(Corpus("p", TEXTS).build_index())
    obstruct(folder)
    found, counted = built()
    assert counted == 5
    assert answers(found) == expected
    assert found.cache_error


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow beyond a thousand bytes, which to whoever writes is a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_no_half_written_file(folder: Path) -> None:
    found, counted = built()
    assert counted == 5
    assert found.cache_error
    assert answers(found)
    assert list((folder / "search").iterdir()) == []


_HOLD = """
import fcntl, sys
with open(sys.argv[1], "rb+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_that_another_process_holds_stops_nobody() -> None:
    first, _ = built()
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(cache.index_file("p"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        again, counted = built()
        assert (counted, again.cache_error) == (0, "")
        _, counted = built([DocumentText("ch-0", "Chapter 0", "All of it is new now. " * 40)])
        assert counted == 1
        holder.stdin.close()
    assert answers(again) == answers(first)


_WRITE = """
import sys
from fabula.search.index.passages import DocumentText
from fabula.search.corpus import Corpus
for round in range(6):
    texts = [DocumentText(f"ch-{n}", "A", f"Round {round} of {sys.argv[1]}, line {n}. " * 60) for n in range(5)]
    found = Corpus("p", texts, immediate_characters=100).build_index()
    assert len(found.passages) > 5 and found.cache_error == "", found.cache_error
"""


def test_several_processes_share_a_folder_and_tear_nothing(folder: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITE, str(n)]) for n in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(list((folder / "search").iterdir())) == 1
    assert built()[0].cache_error == ""


def test_what_nobody_needs_any_more_is_swept_away(folder: Path) -> None:
    (folder / "search").mkdir(parents=True)
    for name, age in (("old.index", cache.MAX_AGE + 9), ("writing-1", 9999), ("young.index", 0), ("writing-2", 0)):
        path = folder / "search" / name
        path.write_bytes(b"")
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    built()
    assert {path.name for path in (folder / "search").iterdir()} == {
        "young.index",
        "writing-2",
        cache.index_file("p").name,
    }


def test_an_assembly_goes_on_without_the_cache_and_says_so(folder: Path) -> None:
    fabula = story(chapter(1, "The astrolabe lay on the table.\n\n" + filler(900)), chapter(2, filler(900)))
    _file_instead_of_folder(folder)
    project_corpus = fabula.view.snapshot(Corpus)
    assert project_corpus is not None
    large = Corpus(PROJECT, project_corpus.texts, immediate_characters=100)
    large.build_index()
    rooms = dict(fabula.view.snapshots) | {Corpus: large}
    fabula = open_view(View(fabula.view.project, fabula.view.timeline, rooms))
    result = ask(fabula, additional_input="Where is the astrolabe?")
    assert "The astrolabe lay" in result.prompt
    assert [w.partition(":")[0] for w in result.warnings] == [Code.RETRIEVAL_CACHE.value]


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert cache.cache_folder() == folder
    monkeypatch.delenv(cache.CACHE_VARIABLE)
    assert cache.cache_folder().name == "fabula"
