"""The public list of readers, generators and data sets."""

from .adult import load_adult as load_adult
from .compas import load_compas as load_compas
from .delimited import read_csv as read_csv
from .engineering_students import load_engineering_students as load_engineering_students
from .folds import Fold as Fold
from .german import load_german as load_german
from .german_lists import make_german_lists as make_german_lists
from .hiring import hiring_path as hiring_path
from .hiring import load_hiring as load_hiring
from .law import load_law as load_law
from .letor import read_letor as read_letor
from .letor import write_letor as write_letor
from .letor_folds import load_letor_folds as load_letor_folds
from .libras import load_libras as load_libras
from .movielens import load_movielens as load_movielens
from .mq2008 import load_mq2008 as load_mq2008
from .mslr import load_mslr as load_mslr
from .pair_files import Pairs as Pairs
from .pair_files import read_pairs as read_pairs
from .parquet import read_parquet as read_parquet
from .synthetic import make_fairness_probability as make_fairness_probability
from .synthetic import make_ranking as make_ranking
from .w3c_experts import load_w3c_experts as load_w3c_experts
from .wiki_talk import load_wiki_talk as load_wiki_talk
from .yahoo_like import load_yahoo_like as load_yahoo_like
