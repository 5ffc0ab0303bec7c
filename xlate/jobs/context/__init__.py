"""Jobs of classifiers that predict translations in context."""
