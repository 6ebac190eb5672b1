"""What can go wrong with the Messages API, as the library's exceptions, in words that a person can act on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fireside.errors import AuthError, ContextTooLongError, OverloadedError, ProviderError, RateLimitError

if TYPE_CHECKING:
    import anthropic

HOW_TO_GIVE_A_KEY = (
    "set ANTHROPIC_API_KEY, or pass api_key=…; without a key, the model 'demo' works offline, and so does a local "
    "server given as base_url"
)
_TOO_LONG = ("prompt is too long", "exceed context limit", "context window", "maximum context length")


def as_provider_error(error: Exception, *, model: str, host: str, idle: float) -> ProviderError:
    """The library's exception for what the SDK or its HTTP client raised. The caller raises it `from` that one."""
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        return _refused(error, model, host)
    if isinstance(error, anthropic.APITimeoutError | httpx2.ReadTimeout):
        if isinstance(error.__cause__, httpx2.ConnectTimeout):
            return ProviderError(f"{host} could not be reached in time; check the network", retryable=True)
        return ProviderError(f"no data from {host} for {idle:g} s; asking again may help", retryable=True)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
        return _not_reached(error, host)
    if isinstance(error, anthropic.CredentialsError):
        return AuthError(f"the credentials could not be read ({error}); {HOW_TO_GIVE_A_KEY}")
    if isinstance(error, TypeError) and "authentication" in str(error):
        return AuthError(f"no API key was found; {HOW_TO_GIVE_A_KEY}")
    if isinstance(error, ValueError):  # also half a character, or JSON that is none
        return ProviderError(f"the answer from {host} could not be read; asking again may help", retryable=True)
    return ProviderError(f"the request to {host} failed ({type(error).__name__})")


def _refused(error: anthropic.APIStatusError, model: str, host: str) -> ProviderError:
    kind: str | None = error.type
    status, request_id = error.status_code, error.request_id or _id_in_body(error.body)
    said = error.api_message or f"status {status}"
    if status == 401 or kind == "authentication_error":
        return AuthError(f"{host} refused the credentials ({said}); {HOW_TO_GIVE_A_KEY}", request_id=request_id)
    if status == 403 or kind == "permission_error":
        return AuthError(f"this key may not do that at {host} ({said})", request_id=request_id)
    if status == 429 or kind == "rate_limit_error":
        after = _retry_after(error)
        wait = "wait a moment" if after is None else f"wait {after:g} s"
        return RateLimitError(
            f"too many requests or tokens; {wait} ({said})", request_id=request_id, retryable=True, retry_after=after
        )
    if status == 529 or kind == "overloaded_error":
        return OverloadedError(
            f"{host} is overloaded at the moment; try again in a while",
            request_id=request_id,
            retryable=True,
            retry_after=_retry_after(error),
        )
    if status == 413 or kind == "request_too_large" or any(words in said.lower() for words in _TOO_LONG):
        return ContextTooLongError(
            f"the conversation is too long for the model; compact it, or edit the last message ({said})",
            request_id=request_id,
        )
    if status == 404 or kind == "not_found_error":
        return ProviderError(f"{host} does not know the model {model!r} ({said})", request_id=request_id)
    if status in (408, 409) or status >= 500 or kind in ("api_error", "timeout_error"):
        return ProviderError(
            f"{host} failed ({said}); asking again may help",
            request_id=request_id,
            retryable=True,
            retry_after=_retry_after(error),
        )
    return ProviderError(f"{host} did not take the request: {said}", request_id=request_id)


def _not_reached(error: Exception, host: str) -> ProviderError:
    import httpx2

    cause = error if isinstance(error, httpx2.HTTPError) else error.__cause__
    if isinstance(cause, httpx2.LocalProtocolError):  # its words may hold what was sent
        return ProviderError(f"the request to {host} could not be written; is there a line break in a header or a key?")
    if isinstance(cause, httpx2.ProxyError):
        return ProviderError(f"the proxy on the way to {host} refused; check HTTPS_PROXY and NO_PROXY", retryable=True)
    if isinstance(cause, httpx2.RemoteProtocolError | httpx2.ReadError):
        return ProviderError(f"the connection to {host} broke off; asking again may help", retryable=True)
    return ProviderError(f"{host} could not be reached; check the network and the address", retryable=True)


def _id_in_body(body: object) -> str | None:
    """The request id of an error that came in the middle of a stream."""
    found = body.get("request_id") if isinstance(body, dict) else None
    return found if isinstance(found, str) else None


def _retry_after(error: anthropic.APIStatusError) -> float | None:
    headers = error.response.headers
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        after = headers.get("retry-after")
        return None if after is None else max(0.0, float(after))
    except ValueError:
        pass
    import email.utils

    try:
        return max(0.0, email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError):
        return None
