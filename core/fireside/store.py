"""The contract of a store, for who writes one: `from fireside.store import Record, Store`."""

from fireside.stores.base import Lock, Store
from fireside.stores.record import Record, SavedState

__all__ = ["Lock", "Record", "SavedState", "Store"]
