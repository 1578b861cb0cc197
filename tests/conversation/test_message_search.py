"""Messages are searched through an index, and what is found is what a look at all of them finds."""

from __future__ import annotations

from random import Random

import pytest
from sqlalchemy import desc

from fabula.conversation import edits
from fabula.conversation.history import delete_message, search_messages
from fabula.conversation.model import Message
from fabula.conversation.tables import messages
from fabula.manuscript import projects
from fabula.store import text_index
from fabula.store.store import Store
from fabula.store.text_index import find_candidates

ALPHABET = 'abcAB "%_\\*林远青龙é'


def read_all(store: Store, project: str, words: str) -> list[str]:
    """What a look at every message finds."""
    with store.read(project=project) as reading:
        order = (desc(messages.c.at), desc(messages.c.number))
        return [
            row.id for row in reading.rows(messages, messages.c.content.icontains(words, autoescape=True), order=order)
        ]


def search(store: Store, project: str, words: str) -> list[str]:
    with store.read(project=project) as reading:
        return [one.message.id for one in search_messages(reading, words, limit=1000)]


@pytest.mark.parametrize("most", [0, 3, 5_000])
def test_the_index_finds_what_a_look_at_all_messages_finds(
    store: Store, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "MAX_CANDIDATES", most)
    random = Random(7)

    def make_text() -> str:
        return "x" + "".join(random.choices(ALPHABET, k=random.randint(1, 12)))

    for project in ("one", "two"):
        projects.create(store, project, project_id=project)
        with store.write(project=project) as tx:
            edits.start_conversation(tx, "talk")
            said = [
                edits.add_message(tx, "talk", Message(id="", role="assistant", content=make_text())) for _ in range(60)
            ]
            for one in random.sample(said, 15):
                edits.correct_message(tx, one.id, make_text())
            for one in random.sample(said, 15):
                delete_message(tx, one.id)
    projects.remove(store, "two")
    for _ in range(150):
        words = "".join(random.choices(ALPHABET, k=random.choice([1, 2, 2, 3, 4, 6])))
        assert search(store, "one", words) == read_all(store, "one", words), repr(words)
    assert search(store, "one", "x")


def test_a_rare_word_is_looked_up_and_no_other_message_is_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store.open(tmp_path_factory.mktemp("search"))
    projects.create(store, "Pier", project_id="p")
    with store.write(project="p") as tx:
        edits.start_conversation(tx, "talk")
        for number in range(300):
            edits.add_message(tx, "talk", Message(id=f"m{number}", role="assistant", content=f"Gull {number} 飞过."))
        edits.add_message(tx, "talk", Message(id="rare", role="assistant", content="The barometer fell, said 林远"))
    with store.engine.connect() as connection:
        for words in ("BAROMETER", "林远", "远"):
            assert len(find_candidates(connection, words) or ()) == 1
        assert find_candidates(connection, "nowhere") == []
    assert search(store, "p", "林远") == ["rare"]
    store.close()
