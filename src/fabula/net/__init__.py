"""Outbound network access: address guard, proxies, and the one HTTP client (`client`, which imports httpx2)."""

from fabula.net.addresses import find_url_problem, is_loopback
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError

__all__ = ["AddressRefusedError", "AnswerRefusedError", "ProxyRefusedError", "find_url_problem", "is_loopback"]
