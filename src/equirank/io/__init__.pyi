"""The public list of readers and writers."""

from .delimited import read_csv as read_csv
from .excel import read_excel as read_excel
from .letor import read_letor as read_letor
from .letor import write_letor as write_letor
from .pair_files import read_pairs as read_pairs
from .parquet import read_parquet as read_parquet
from .table_file import read_file as read_file
from .trec import from_ranx as from_ranx
from .trec import read_trec as read_trec
from .trec import to_ir_measures as to_ir_measures
from .trec import to_ranx as to_ranx
from .trec import write_trec as write_trec
