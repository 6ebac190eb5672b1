"""The strict API for the models' tests, and an environment without credentials."""

from tests.support.fixtures import api, clean_environment

__all__ = ["api", "clean_environment"]
