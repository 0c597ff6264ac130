"""The public list of readers, generators and data sets."""

from .delimited import read_csv as read_csv
from .hiring import hiring_path as hiring_path
from .hiring import load_hiring as load_hiring
from .letor import read_letor as read_letor
from .letor import write_letor as write_letor
from .parquet import read_parquet as read_parquet
from .synthetic import make_fairness_probability as make_fairness_probability
from .synthetic import make_ranking as make_ranking
