"""From a place to the provider that speaks its language."""

from __future__ import annotations

from fabula.llm.anthropic_style import AnthropicStyle
from fabula.llm.clipboard import Clipboard
from fabula.llm.local import Local
from fabula.llm.model import Provider
from fabula.llm.openai_style import OpenAIStyle
from fabula.llm.places import Place


def provider_at(place: Place) -> Provider:
    """Whoever answers at this place. Nothing is loaded or connected before the first call."""
    match place.speaks:
        case "openai":
            return OpenAIStyle(place)
        case "anthropic":
            return AnthropicStyle(place)
        case "local":
            return Local()
        case "clipboard":
            return Clipboard()
