"""Search with Optuna for rankers that no other one beats in both NDCG and exposure.

Needs ``pip install optuna``. Both objectives are measured on lists that were not trained on. The
best trials of a search look better than they are, so `equirank.search.search_alternatives` keeps
a part of the lists for certified numbers; measure the chosen trial on lists of its own likewise.
"""

import optuna

from equirank import evaluate, query_train_test_split
from equirank.datasets import make_ranking
from equirank.rankers import FairLambdaMART

METRICS = ["NDCG@10", "ExposureGap"]
train, valid = query_train_test_split(
    make_ranking(n_queries=60, feature_bias=1.0, random_state=0), random_state=0
)


def objective(trial: optuna.Trial) -> tuple[float, ...]:
    """Return NDCG@10 and the exposure gap of one setting."""
    model = FairLambdaMART(
        alpha=trial.suggest_float("alpha", 0.0, 1.0),
        n_estimators=trial.suggest_int("n_estimators", 5, 30),
        num_leaves=trial.suggest_int("num_leaves", 4, 15),
        random_state=0,
    )
    ranking = model.fit(train).rank(valid)
    measured = evaluate(ranking, METRICS, n_boot=0, n_permutations=0)
    return tuple(measured[name] for name in METRICS)


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(
    directions=["maximize", "minimize"], sampler=optuna.samplers.TPESampler(seed=0)
)
study.optimize(objective, n_trials=5)
for trial in study.best_trials:
    print(trial.params, trial.values)
