"""Log a ranker with its metrics, intervals and model card to MLflow.

Needs ``pip install "equirank[mlflow,lightgbm,report]"``. The model is logged as a ``pyfunc`` model
without pickle, so that any service which loads MLflow models can use it.
"""

import mlflow

from equirank import evaluate, log_mlflow, query_train_test_split
from equirank.datasets import make_ranking
from equirank.rankers import LambdaMART

train, test = query_train_test_split(make_ranking(n_queries=40, random_state=0), random_state=0)
ranker = LambdaMART(n_estimators=10, random_state=0).fit(train)
with mlflow.start_run():
    info = log_mlflow(ranker, evaluate(ranker.rank(test), ["NDCG@10", "ExposureGap"], n_boot=100))
print(info.model_uri)
