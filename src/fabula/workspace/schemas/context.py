"""Schemas of assembling, inspecting and explaining a prompt (ctx-2, ctx-9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, Raw, UnsetType, field
from msgspec.json import Encoder
from msgspec.structs import asdict

from fabula.context.recipes.preset import Preset
from fabula.context.request import Attachment, Principal, Request
from fabula.context.result import Result
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Layer
from fabula.core.messages import ENGLISH, message
from fabula.core.story import Perspective
from fabula.skills.source import choose_skill
from fabula.text.offsets import map_to_normalised, normalise, utf16_to_code_points
from fabula.text.windows import BLOCK_SEPARATOR
from fabula.workspace.schemas.schema import Schema, decode, describe

_OWNER = Principal()
_encode = Encoder().encode  # the function of the module makes an encoder for each value
_SEPARATOR = _encode(BLOCK_SEPARATOR)[1:-1]


class AttachmentSent(Schema):
    """An image or a file that comes with a request. `reference` is the id of an upload, or a `data:` URL."""

    id: str
    kind: Literal["image", "file"]
    name: str = ""
    description: str = ""
    text: str = ""
    reference: str = ""
    tokens: int = 1100


class AssembleRequest(Schema):
    """A request for a prompt. Cursor and selection count UTF-16 units of the text as sent.

    Without a skill it is `chat` for a speaker or a chat's recipe, else `continue`; an empty one is none. Where the
    address names the project, `projectId` can be left out.
    """

    project_id: str = ""
    document_id: str = ""
    cursor_position: int | None = None
    skill_id: str | None = None
    additional_input: str = ""
    model: str = "gpt-4o"
    window: int | None = None
    encoding: str | None = None
    reply_tokens: int | None = None
    recipe: str = ""
    preset: Preset | None = None
    selection: tuple[int, int] | None = None
    conversation_id: str = ""
    with_history: bool = True
    mode: str = ""
    speaker_id: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    revision: int | None = None
    unsaved_text: str | None = None
    perspective: Perspective | None = field(name="eyes", default=None)
    character: str | None = None
    late_joiners: bool | None = None
    session: dict[str, str] = field(default_factory=dict)
    attachments: tuple[AttachmentSent, ...] = ()


class ExplainRequest(AssembleRequest, kw_only=True):
    """A request for a prompt, and the name of what should be in it."""

    name: str


class MessageSent(Schema):
    """One message of a prompt, as it is sent to the model."""

    role: str
    content: str
    attachments: tuple[str, ...] | UnsetType = UNSET


class TokenShare(Schema):
    """How many tokens one part of the prompt takes."""

    tokens: int


class LayerShare(Schema):
    """What one layer takes of the prompt; `chunks` counts the fragments of the retrieved layer."""

    tokens: int
    truncated: bool
    chunks: int | UnsetType = UNSET


class BudgetShare(Schema):
    """The window, the reserve for the answer, and what is left in all and for the layers."""

    window: int
    reply: int
    total: int
    layers: int


class AssembledPrompt(Schema):
    """An assembled prompt with its sums."""

    prompt: str
    messages: tuple[MessageSent, ...]
    token_count: int
    tokens_exact: bool
    stable_prefix_hash: str
    stable_prefix_unchanged: bool
    layers: dict[Layer, LayerShare]
    preset: TokenShare
    identity: TokenShare
    attachments: TokenShare
    overhead: int
    budget: BudgetShare
    model: str
    vantage: str
    warnings: tuple[str, ...]
    assembly_id: str | UnsetType = UNSET


class FragmentVerdict(Schema):
    """What became of one fragment, and why."""

    source: str
    title: str
    layer: str
    included: bool
    reason: str
    why: str
    token_count: int
    score: float
    text: str


class InspectedPrompt(AssembledPrompt, kw_only=True):
    """An assembled prompt with a verdict for every fragment."""

    fragments: tuple[FragmentVerdict, ...]


class Explanation(Schema):
    """Everything a prompt says of one name."""

    name: str
    verdicts: tuple[FragmentVerdict, ...]


def read_request(
    data: bytes | str | AssembleRequest,
    text_of: Callable[[str], str | None],
    uploads: Mapping[str, str] | None = None,
    *,
    principal: Principal = _OWNER,
) -> Request:
    """Read a request from JSON, or from what was decoded already, on behalf of a principal.

    `text_of` returns a document's stored text, to count units in. `uploads` has the files that attachments may refer
    to, by id.
    """
    wire = data if isinstance(data, AssembleRequest) else decode(data, AssembleRequest, what=message("request"))
    fields = asdict(wire)
    del fields["cursor_position"]
    if wire.skill_id is None:
        fields["skill_id"] = choose_skill(wire.recipe, wire.speaker_id)
    stored = text_of(wire.document_id) if wire.unsaved_text is None else None

    def to_offset(units: int) -> int:
        if wire.unsaved_text is not None:
            return map_to_normalised(wire.unsaved_text, utf16_to_code_points(wire.unsaved_text, units))
        return units if stored is None else utf16_to_code_points(stored, units)  # which is normalised already

    if wire.cursor_position is not None:
        fields["cursor"] = to_offset(wire.cursor_position)
    if wire.selection is not None:
        fields["selection"] = (to_offset(wire.selection[0]), to_offset(wire.selection[1]))
    if wire.unsaved_text is not None:
        fields["unsaved_text"] = normalise(wire.unsaved_text)
    if wire.attachments:
        fields["attachments"] = tuple(_read_attachment(one, uploads or {}) for one in wire.attachments)
    return Request(**fields, principal=principal)


def _read_attachment(sent: AttachmentSent, uploads: Mapping[str, str]) -> Attachment:
    """Read an attachment; a reference that is neither data nor an upload, such as a path, is refused."""
    reference = sent.reference
    if reference and not reference.startswith("data:"):
        if reference not in uploads:
            raise FabulaError(
                Code.NOT_ALLOWED,
                message(
                    "The attachment {name} must be uploaded first, and then be named by the id of the upload. "
                    "Nothing was changed.",
                    name=sent.name or sent.id,
                ),
            )
        reference = uploads[reference]
    tokens = sent.tokens
    if reference and tokens >= 0:  # it may be said to cost more than it looks, but not less: a prompt fits its window
        from fabula.llm.providers.attachments import count_attachment_tokens

        tokens = max(tokens, count_attachment_tokens(reference))
    return Attachment(
        id=sent.id,
        kind=sent.kind,
        name=sent.name,
        description=sent.description,
        text=sent.text,
        reference=reference,
        tokens=tokens,
    )


def describe_prompt(result: Result) -> AssembledPrompt:
    """Describe an assembled prompt, whose warnings are in the language of the project."""
    return AssembledPrompt(**_prompt_fields(result))


def encode_prompt(result: Result) -> bytes:
    """Encode an assembled prompt, as `describe_prompt` describes it.

    Each text is in the answer twice, as a message and in the whole prompt, and is encoded once.
    """
    contents = [_encode(one.content) for one in result.rendered.messages]
    prompt = b'"%b"' % _SEPARATOR.join([one[1:-1] for one in contents])
    return _encode(AssembledPrompt(**_prompt_fields(result, (Raw(prompt), [Raw(one) for one in contents]))))


def describe_inspection(result: Result, language: str = ENGLISH) -> InspectedPrompt:
    """Describe an inspected prompt, every fragment with its verdict."""
    verdicts = tuple(describe_verdict(verdict, language) for verdict in result.trace)
    return InspectedPrompt(**_prompt_fields(result), fragments=verdicts)


def describe_explanation(name: str, verdicts: Iterable[Verdict], language: str = ENGLISH) -> Explanation:
    """Describe why something of that name is, or is not, in the prompt."""
    return Explanation(name=name, verdicts=tuple(describe_verdict(verdict, language) for verdict in verdicts))


def describe_verdict(verdict: Verdict, language: str = ENGLISH) -> FragmentVerdict:
    """Describe what became of one fragment."""
    return describe(
        FragmentVerdict,
        verdict,
        language,
        layer=verdict.layer if verdict.layer is not None else "preset",
        why=verdict.message,
        token_count=verdict.tokens,
        score=round(verdict.score, 4),
    )


def _prompt_fields(result: Result, texts: tuple[Any, Sequence[Any]] | None = None) -> dict[str, Any]:
    """The fields of an assembled prompt, by hand: `describe` would take a tenth of the time of a warm assembly.

    `texts` are the whole prompt and the contents of its messages, where they are encoded already.
    """
    budget, rendered = result.budget, result.rendered
    prompt, contents = texts or (rendered.prompt, [one.content for one in rendered.messages])
    return {
        "prompt": prompt,
        "messages": tuple(
            [
                MessageSent(role=one.role, content=content, attachments=one.attachments or UNSET)
                for one, content in zip(rendered.messages, contents, strict=True)
            ]
        ),
        "token_count": rendered.tokens,
        "tokens_exact": result.exact,
        "stable_prefix_hash": rendered.prefix_hash,
        "stable_prefix_unchanged": result.stable_prefix_unchanged,
        "layers": {
            layer: LayerShare(
                tokens=rendered.tokens_of(layer),
                truncated=layer in result.truncated_layers,
                chunks=result.retrieved_count if layer is Layer.RETRIEVED else UNSET,
            )
            for layer in LAYERS
        },
        "preset": TokenShare(tokens=result.preset_tokens),
        "identity": TokenShare(tokens=result.identity_tokens),
        "attachments": TokenShare(tokens=rendered.attachment_tokens),
        "overhead": rendered.overhead,
        "budget": BudgetShare(window=budget.window, reply=budget.reply, total=budget.total, layers=budget.layer_tokens),
        "model": result.model.name,
        "vantage": result.vantage.name,
        "warnings": result.warnings,
        "assembly_id": result.assembly_id or UNSET,
    }
