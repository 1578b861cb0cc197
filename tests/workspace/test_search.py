"""Search by hand through an open project."""

from __future__ import annotations

from fabula.search.embeddings.choice import EmbeddingChoice
from fabula.search.embeddings.semantic_search import SemanticSearch
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.search import describe_search
from fabula.workspace.search import search_project
from tests.search.embedders import Letters


def test_a_rebuilt_index_and_words_alone_find_the_same_passages(coast: ProjectHandle) -> None:
    found = coast.search("the weight of the clock", limit=5)
    assert found
    assert coast.search("the weight of the clock", limit=5, rebuild=True, by_meaning=False) == found


def test_nothing_is_found_beyond_the_named_chapter(coast: ProjectHandle) -> None:
    near = coast.search("Mara Grace lamp log", until="ch-02", limit=50)
    far = coast.search("Mara Grace lamp log", until="ch-02", everything=True, limit=50)
    assert {one.document_id for one in near} <= {"ch-01", "ch-02"}
    assert {one.document_id for one in far} - {"ch-01", "ch-02"}


def test_a_chapter_is_found_by_the_words_of_its_title_alone(coast: ProjectHandle) -> None:
    """None of these words stand in the text of their chapter; others were found, or none."""
    project = coast
    project.chapters.add("第九十五回 马谡拒谏失街亭 武侯弹琴退仲达", "孔明登城而望，果然尘土冲天。")
    project.chapters.add("第九十六回 孔明挥泪斩马谡", "武侯升帐，弹琴者退，仲达未到。")
    project.chapters.add("CHAPTER CXIX. The Candles", "The yard-arms were tipped with a pallid fire.")
    for words, begins in (("武侯弹琴退仲达", "孔明登城"), ("the candles", "The yard-arms"), ("马谡失街亭", "孔明登城")):
        found = project.search(words, limit=3)
        assert found[0].passage.text.startswith(begins)
        assert len({one.passage.source for one in found}) == len(found) <= 3
    titles = [one for one in project.search("武侯弹琴退仲达", until="ch-02", limit=3) if "孔明" in one.passage.text]
    assert not titles  # it lies beyond that chapter


def test_a_passage_says_why_it_was_found(coast: ProjectHandle) -> None:
    coast.chapters.add("The Zephyrine Door", "Nobody went there.")
    coast.chapters.add("Elsewhere", "Miss Venn lit three lamps by the quay.")

    def explain(words: str) -> dict[str, tuple[str, ...]]:
        report = describe_search(coast.view, words, coast.search(words), [])
        assert not report.by_meaning
        return {one.text: one.reasons for one in report.passages}

    assert explain("zephyrine door")["Nobody went there."] == ("the title of its chapter has these words",)
    assert explain("the lamp of Mara at the quay")["Miss Venn lit three lamps by the quay."] == (
        "it has lamps, quay",
        "it names Miss Venn",
    )


def test_a_passage_that_is_near_in_meaning_says_so(coast: ProjectHandle) -> None:
    coast.chapters.add("Elsewhere", "Zzyzx zzyzx.")
    embedding = EmbeddingChoice(SemanticSearch(Letters()))
    found = search_project(coast.view, "zyzzx", embedding, coast.principal, make_vectors=True)
    report = describe_search(coast.view, "zyzzx", found, [])
    assert report.by_meaning
    assert (report.passages[0].text, report.passages[0].reasons) == ("Zzyzx zzyzx.", ("it is near in meaning",))
    embedding.close()


def test_what_was_said_is_found_with_its_conversation_and_message(coast: ProjectHandle) -> None:
    talk = coast.chat.start(["Mara Venn"]).record.id
    message = coast.conversations.record(talk, "The zephyrine kettle sang.", speaker="Mara Venn")
    coast.participant_texts.add("prompt", "Mara Venn", "Never mention the zephyrine teapot.")
    coast.chapters.add("Elsewhere", "A zephyrine jug.")
    report = describe_search(coast.view, "zephyrine", coast.search("zephyrine", everything=True, until="ch-01"), [])
    found = {one.text: one for one in report.passages}
    said = found["The zephyrine kettle sang."]
    assert (said.document_id, said.conversation_id, said.message_id) == (None, talk, message.id)
    assert said.participant_id is None
    prompt = found["Never mention the zephyrine teapot."]
    assert (prompt.document_id, prompt.conversation_id, prompt.message_id) == (None, None, None)
    assert prompt.participant_id == coast.participants.get("Mara Venn").id
    chapter = found["A zephyrine jug."]
    assert (chapter.conversation_id, chapter.message_id, chapter.participant_id) == (None, None, None)
