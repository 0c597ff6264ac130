"""The public list of generators and data sets."""

from .adult import load_adult as load_adult
from .compas import load_compas as load_compas
from .engineering_students import load_engineering_students as load_engineering_students
from .german import load_german as load_german
from .german import make_german_lists as make_german_lists
from .hiring import hiring_path as hiring_path
from .hiring import load_hiring as load_hiring
from .law import load_law as load_law
from .letor_folds import load_letor_folds as load_letor_folds
from .letor_folds import load_mq2008 as load_mq2008
from .libras import load_libras as load_libras
from .movielens import load_movielens as load_movielens
from .mslr import load_mslr as load_mslr
from .synthetic import make_item_costs as make_item_costs
from .synthetic import make_ranking as make_ranking
from .w3c_experts import load_w3c_experts as load_w3c_experts
from .wiki_talk import load_wiki_talk as load_wiki_talk
from .yahoo_like import make_yahoo_like as make_yahoo_like
