"""Heights with quick sums (a Fenwick tree): which line is item n on, and which item is on line n."""

from __future__ import annotations

from collections.abc import Iterable


class Sums:
    """A list of heights; `set`, `append`, `before` and `find` take O(log n)."""

    __slots__ = ("total", "tree", "values")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.values = list(values)
        self.total = sum(self.values)
        self.tree = tree = [0, *self.values]
        for i in range(1, len(tree)):
            if (j := i + (i & -i)) < len(tree):
                tree[j] += tree[i]

    def append(self, value: int) -> None:
        """One more height."""
        self.values.append(value)
        self.total += value
        i = len(self.values)
        j, low = i - 1, i - (i & -i)
        while j > low:
            value += self.tree[j]
            j -= j & -j
        self.tree.append(value)

    def pop(self) -> None:
        """Takes the last height away."""
        self.total -= self.values.pop()
        self.tree.pop()

    def set(self, i: int, value: int) -> None:
        """Another height for entry `i`."""
        if delta := value - self.values[i]:
            self.values[i] = value
            self.total += delta
            i += 1
            while i < len(self.tree):
                self.tree[i] += delta
                i += i & -i

    def before(self, i: int) -> int:
        """The sum of the first `i` heights."""
        total = 0
        while i > 0:
            total += self.tree[i]
            i -= i & -i
        return total

    def find(self, y: int) -> tuple[int, int]:
        """Index of the entry that line `y` is in, and the line's offset in it; past the end: the last entry."""
        pos, step, size = 0, 1 << len(self.tree).bit_length(), len(self.tree)
        while step:
            if pos + step < size and self.tree[pos + step] <= y:
                pos += step
                y -= self.tree[pos]
            step >>= 1
        if pos < len(self.values):
            return pos, max(0, y)
        return max(0, len(self.values) - 1), max(0, self.values[-1] - 1) if self.values else 0
