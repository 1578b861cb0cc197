"""Providers: one module for each API style, made by `make_provider`. Importing them imports no SDK."""

from __future__ import annotations

from fabula.llm.model import Provider
from fabula.llm.provider_config import ProviderConfig
from fabula.llm.providers.anthropic import AnthropicProvider
from fabula.llm.providers.attachments import make_attachment
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.llm.providers.demo import DemoProvider
from fabula.llm.providers.local import BUNDLED_MODEL, LocalProvider, find_model_file
from fabula.llm.providers.openai_compatible import OpenAICompatibleProvider

__all__ = ["BUNDLED_MODEL", "find_model_file", "make_attachment", "make_provider"]


def make_provider(config: ProviderConfig) -> Provider:
    """Make the provider for a configuration. It imports and connects nothing before the first call."""
    match config.api_style:
        case "openai":
            return OpenAICompatibleProvider(config)
        case "anthropic":
            return AnthropicProvider(config)
        case "local":
            return LocalProvider()
        case "clipboard":
            return ClipboardProvider()
        case "demo":
            return DemoProvider()
