"""Record what a writer asked for in a document, and the answers, in the document's own conversation (cnv-1).

An answer has the id of its run. Variants and further tries are alternatives under one instruction. The active path has
the accepted one, else the newest; a rejected one leaves it. What is on the path is the history of the next request in
that document, so that "go on in that direction" works. An accepted answer is in the manuscript, so prompts show only
how it begins and ends. Undoing the acceptance shows it in full again, and takes nothing off the record.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement

from fabula.context.request import Request
from fabula.conversation import edits
from fabula.conversation.documents import get_document_id, make_document_conversation_id
from fabula.conversation.model import CLEANED_TEXT, Message, MessageKind
from fabula.conversation.tables import conversations, messages
from fabula.core.ids import current_timestamp
from fabula.core.messages import message
from fabula.core.view import Language, View
from fabula.llm.runs import GenerationRun
from fabula.llm.tables import runs
from fabula.manuscript.tables import documents
from fabula.skills.files import Skills, load_built_in
from fabula.skills.insertion import read_insertion_point
from fabula.skills.model import AnswerAction, Skill
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.store.undo import unrecorded

RUN = "run"  # among the extras of a reply: the run that it is the answer of
_CHAT_SKILL = "chat"
_SHOWN = 60  # characters of the beginning and of the end of an accepted answer


class Instruction(Struct):
    """What a writer asks for in a document, and the message that says so, once it is recorded."""

    conversation_id: str
    text: str
    message_id: str = ""


def make_instruction(request: Request, skill: Skill, language: Language) -> Instruction | None:
    """Return what is recorded of a request; None where it is no writer's in a document.

    A request that names a conversation is recorded by whoever made it, and answers that are data are no conversation.
    """
    conversation_id = make_document_conversation_id(request.document_id)
    is_own = request.conversation_id in ("", conversation_id) and not request.speaker_id
    granted = request.principal.grants.conversations
    if not conversation_id or not is_own or not _is_recorded_skill(skill):
        return None
    if granted is not None and conversation_id not in granted:
        return None
    return Instruction(conversation_id, request.additional_input.strip() or skill.title_in(language))


def record_answer(tx: WriteTransaction, instruction: Instruction, run: GenerationRun, text: str) -> None:
    """Record an answer under its instruction, which is recorded with the first answer; a failed one is not final."""
    ident = instruction.conversation_id
    document = tx.row(documents, id=get_document_id(ident))
    if document is None or not text.strip():
        return
    row = tx.row(conversations, id=ident)
    if row is None:
        edits.start_conversation(tx, ident, title=document.title)
    elif row.title != document.title.strip():
        edits.update_conversation(tx, ident, {"title": document.title.strip()})
    if not instruction.message_id:
        instruction.message_id = _record_instruction(tx, instruction, run)
    reply = Message(
        id=run.id,
        role="assistant",
        content=text,
        kind=MessageKind.REPLY,
        final=run.outcome != "failed",
        skill_id=run.skill_id,
        parent_id=instruction.message_id,
        extra={RUN: run.id, "model": run.model, "tokenCount": run.usage.output_tokens},
    )
    edits.add_message(tx, ident, reply)


def accept_answer(tx: WriteTransaction, view: View, run: GenerationRun, text: str) -> None:
    """Put an accepted answer on the active path; of one that went into the text, prompts show beginning and end."""
    language = view.project.language
    with unrecorded(tx):  # undoing the acceptance leaves the conversation as it went on
        if tx.row(messages, id=run.id) is None and not run.answer.strip():
            _record_pasted(tx, view, run, text)
        reply = tx.row(messages, id=run.id)
        if reply is None:
            return
        _put_on_path(tx, edits.get_message(tx, run.id), reply.conversation_id)
    if not read_insertion_point(run.assembly_summary).answer_action.is_prose:
        return
    words = " ".join(text.split())
    if len(words) > 2 * _SHOWN:
        words = f"{words[:_SHOWN].rstrip()} … {words[-_SHOWN:].lstrip()}"
    shown = message("[This went into the text: “{words}”]", words=words).render(language)
    _update_message(tx, run.id, reply.conversation_id, {"extra": {**reply.extra, CLEANED_TEXT: shown}, "final": 1})


def take_off_path(tx: WriteTransaction, run_id: str) -> None:
    """Let a rejected answer leave the active path; the newest alternative that is not rejected takes its place."""
    row = tx.row(messages, id=run_id)
    if row is None or not get_document_id(row.conversation_id):
        return
    with unrecorded(tx):
        leaf = tx.require(conversations, id=row.conversation_id).leaf_id
        tx.update_rows(messages, {"parent_id": row.parent_id}, *_children(row.conversation_id, run_id))
        if leaf == run_id:
            edits.select_branch(tx, row.conversation_id, _find_alternative(tx, row.conversation_id, row.parent_id))
        else:
            edits.select_branch(tx, row.conversation_id, leaf)


def find_answer(reading: ReadTransaction, run_id: str) -> Message | None:
    """Return the message that records the answer of a run in the conversation of its document."""
    row = reading.row(messages, id=run_id)
    return edits.get_message(reading, run_id) if row is not None and get_document_id(row.conversation_id) else None


def _is_recorded_skill(skill: Skill) -> bool:
    return skill.id != _CHAT_SKILL and skill.answer_action is not AnswerAction.ENTRIES


def _record_instruction(tx: WriteTransaction, instruction: Instruction, run: GenerationRun) -> str:
    """Record an instruction; one that stands unanswered at the end of the path in the same words is the same one."""
    ident = instruction.conversation_id
    leaf_id = tx.require(conversations, id=ident).leaf_id
    leaf = edits.get_message(tx, leaf_id) if leaf_id is not None else None
    if leaf is not None and leaf.kind is MessageKind.USER and leaf.content == instruction.text:
        return leaf.id
    new = Message(id="", role="user", content=instruction.text, kind=MessageKind.USER, skill_id=run.skill_id)
    return edits.add_message(tx, ident, new).id


def _record_pasted(tx: WriteTransaction, view: View, run: GenerationRun, text: str) -> None:
    """Record an answer that was written elsewhere, and is first known when it is accepted."""
    conversation_id = make_document_conversation_id(run.document_id)
    skill = (view.snapshot(Skills) or load_built_in()).skills.get(run.skill_id)
    if not conversation_id or run.conversation_id not in ("", conversation_id):
        return
    if skill is None or not _is_recorded_skill(skill):
        return
    words = read_insertion_point(run.assembly_summary).instruction.strip() or skill.title_in(view.project.language)
    record_answer(tx, Instruction(conversation_id, words), replace(run, outcome="open"), text)


def _put_on_path(tx: WriteTransaction, reply: Message, ident: str) -> None:
    """Make an answer part of the active path; what followed on an alternative of it follows on from it."""
    leaf = tx.require(conversations, id=ident).leaf_id
    path_id, below = leaf, None  # below: the message of the path that stands where the answer belongs
    while path_id is not None and path_id not in (reply.id, reply.parent_id):
        below = tx.require(messages, id=path_id)
        path_id = below.parent_id
    if path_id != reply.parent_id or path_id is None:
        return  # it is on the path, or belongs to another branch
    if below is None or (below.id == leaf and below.kind == MessageKind.REPLY.value):
        edits.select_branch(tx, ident, reply.id)
        return
    is_instruction = below.kind == MessageKind.USER.value
    moved = (messages.c.id == below.id,) if is_instruction else _children(ident, below.id)
    is_later = messages.c.number > (reply.number or 0)  # a message follows on from an earlier one
    tx.update_rows(messages, {"parent_id": reply.id}, *moved, is_later)
    edits.select_branch(tx, ident, leaf)


def _find_alternative(reading: ReadTransaction, ident: str, parent_id: str) -> str:
    """Return the newest answer to an instruction that is not rejected; else the instruction."""
    rows = reading.rows(messages, *_children(ident, parent_id), order=(messages.c.number.desc(),), only=("id", "kind"))
    for row in rows:
        run = reading.row(runs, id=row.id) if row.kind == MessageKind.REPLY.value else None
        if run is not None and run.outcome not in ("rejected", "retried"):
            return str(row.id)
    return parent_id


def _children(ident: str, message_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return messages.c.conversation_id == ident, messages.c.parent_id == message_id


def _update_message(tx: WriteTransaction, message_id: str, ident: str, values: dict[str, object]) -> None:
    tx.update_row(messages, {"id": message_id}, values)
    tx.update_row(conversations, {"id": ident}, {"changed": current_timestamp()})
