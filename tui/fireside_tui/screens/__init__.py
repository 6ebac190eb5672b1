"""The screens: the main one, and those that stand over it to ask or to show."""
