"""The stores: one contract, three homes for conversations."""
