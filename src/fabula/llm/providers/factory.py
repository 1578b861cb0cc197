"""From a place to the provider that speaks its language."""

from __future__ import annotations

from fabula.llm.model import Provider
from fabula.llm.provider_config import Place
from fabula.llm.providers.anthropic import AnthropicStyle
from fabula.llm.providers.clipboard import Clipboard
from fabula.llm.providers.local import Local
from fabula.llm.providers.openai_compatible import OpenAIStyle


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
