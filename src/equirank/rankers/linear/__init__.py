"""Linear and pointwise rankers: RankSVM, PRank, AdaRank, and any scikit-learn model."""
