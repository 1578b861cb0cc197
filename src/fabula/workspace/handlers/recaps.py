"""The job that makes recaps of a conversation, by the model that works for the house."""

from __future__ import annotations

from fabula.conversation.recaps.model import Material
from fabula.core.view import Language
from fabula.jobs import recap_job as recapping
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Outcome
from fabula.workspace.handlers.background_model import assistant_for
from fabula.workspace.views import Library

_SAYS: dict[Language, tuple[str, str]] = {
    "en": ("At most {length} characters.", "What was recorded before, for you to follow on from, not to repeat:"),
    "zh": ("不超过{length}个字符。", "此前的记录，供衔接，不要重复："),
}


def recap(library: Library, job: Job, stop: Stop) -> Outcome:
    """Make what is due of a conversation's summaries and recaps."""
    assistant = assistant_for(library, job.project_id, stop)
    language = library.view(job.project_id).project.language
    if assistant is None:
        return recapping.run(library.store, job, stop, digest=None, language=language)
    conversation = str(job.work.get("conversation", ""))

    def digest(material: Material) -> str:
        return assistant.answer(
            "recap", _asked(material), conversation_id=conversation, seconds=material.seconds
        ).strip()

    return recapping.run(library.store, job, stop, digest=digest, language=language)


def _asked(material: Material) -> str:
    """The lines, how long the record may be, and what it follows on from."""
    how, before = _SAYS[material.language]
    earlier = f"\n\n{before}\n{material.earlier}" if material.earlier else ""
    return f"{how.format(length=material.length)}{earlier}\n\n{material.text}"
