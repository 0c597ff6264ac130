"""The configuration file: what it may say, and errors that name file, table and key."""

import pytest
from sklearn.linear_model import Ridge

from equirank.costs import GroupPairCost
from equirank.rankers import FairReduction, RankBoost
from equirank.recipes.config import SplitTable, read_config
from equirank.recipes.config_objects import ConfigError
from equirank.recipes.new_file import read_new_file
from equirank.rerankers import DetGreedy, FAStarIR, Reranked

PEOPLE = "query,sex,age,home,relevance\n1,f,30,own,1\n1,m,40,rent,0\n2,f,50,own,0\n2,m,20,own,2\n"
DATA = '[data]\npath = "people.csv"\n'
MODEL = '[[models]]\nclass = "RankBoost"\n'


@pytest.fixture
def write(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)

    def write(text):
        path = tmp_path / "c.toml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def fails(write):
    def fails(text, read=False):
        path = write(text)
        work = (lambda: read_config(path).read_data()) if read else (lambda: read_config(path))
        with pytest.raises(ConfigError) as caught:
            work()
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        return message.removeprefix(f"{path}: ")

    return fails


def test_a_whole_file(write, tmp_path):
    config = read_config(
        write(
            'metrics = ["NDCG@10", "RND(step=5)@50"]\n'
            '[data]\npath = "people.csv"\nquery = "query"\nrelevance = "relevance"\n'
            'sensitive = "sex"\nfeatures = ["home", "age"]\n'
            '[split]\nby = "item"\nfolds = 3\nseed = [4, 2]\n'
            '[[models]]\nname = "a"\nclass = "RankBoost"\nparams = { n_estimators = 7 }\n'
            '[[models]]\nname = "b"\nclass = "RankBoost"\nrerank = "DetGreedy"\n'
        )
    )
    assert [str(metric) for metric in config.metrics] == ["NDCG@10", "RND(step=5)@50"]
    assert config.split == SplitTable("item", None, 3, (4, 2))
    assert config.split.seed == 4
    assert config.data.path == str(tmp_path / "people.csv")
    assert config.data.sensitive == ("sex",)
    assert list(config.estimators) == ["a", "b"]
    assert config.model("a").estimator.n_estimators == 7
    assert config.model(None).name == "a"
    assert isinstance(config.estimators["b"].reranker, DetGreedy)


def test_what_is_left_out_has_a_default(write):
    config = read_config(write(DATA + MODEL))
    assert config.metrics == ()
    assert config.split == SplitTable("query", None, None, (0,))
    assert list(config.estimators) == ["RankBoost"]
    assert config.data.features is None
    assert config.data.encoding == "onehot"


def test_objects_inside_params(write):
    text = DATA + (
        '[[models]]\nname = "fair"\nclass = "FairReduction"\n'
        '[models.params.estimator]\nclass = "RankBoost"\n'
        "[models.params.estimator.params]\nn_estimators = 5\n"
        'pair_cost = { class = "GroupPairCost", params = { matrix = [[1.0, 2.0], [1.0, 1.0]] } }\n'
        '[[models]]\nname = "both"\nclass = "Reranked"\n'
        'params = { estimator = { class = "Ridge", params = { alpha = 2.0 } }, '
        'reranker = { class = "FAStarIR", params = { p = { f = 0.3, x = 0.1 } } } }\n'
    )
    fair, both = read_config(write(text)).estimators.values()
    assert isinstance(fair, FairReduction)
    assert isinstance(fair.estimator, RankBoost)
    assert fair.estimator.n_estimators == 5
    assert isinstance(fair.estimator.pair_cost, GroupPairCost)
    assert isinstance(both.estimator, Ridge)
    assert both.estimator.alpha == 2.0
    assert both.reranker.p == {"f": 0.3, "x": 0.1}


def test_several_rerankers_follow_in_order(write):
    text = DATA + MODEL + 'rerank = ["DetGreedy", { class = "FAStarIR", params = { p = 0.4 } }]\n'
    (model,) = read_config(write(text)).estimators.values()
    assert isinstance(model, Reranked)
    assert isinstance(model.reranker, FAStarIR)
    assert isinstance(model.estimator.reranker, DetGreedy)
    assert isinstance(model.estimator.estimator, RankBoost)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[data\n", "must be TOML: "),
        ("a = " + "[" * 100_000, "must be TOML: it is nested too deeply"),
        ("a = " + "9" * 5000, "must be TOML: "),
        (MODEL, "data: is missing; it must be a table"),
        (DATA, "models: is missing; it must be an array"),
        ("data = 3\n" + MODEL, "data: must be a table, got 3"),
        ("models = []\n" + DATA, "[[models]]: must contain at least one model"),
        ("modles = 1\n" + DATA + MODEL, "modles: is not a known key; did you mean 'models'?"),
        ("[data]\n" + MODEL, "[data] path: is missing; it must be a text"),
        ('[data]\npath = ""\n' + MODEL, "[data] path: must not be empty"),
        ('[data]\npath = "none.csv"\n' + MODEL, "[data] path: file "),
        (DATA + "relevence = 3\n" + MODEL, "[data] relevence: is not a known key; did you mean "
         "'relevance'?"),
        (DATA + "relevance = 3\n" + MODEL, "[data] relevance: must be a text, got 3"),
        (DATA + "sensitive = 3\n" + MODEL, "[data] sensitive: must be a text or an array of texts"),
        (DATA + 'sensitive = ["a", 3]\n' + MODEL, "[data] sensitive[2]: must be a text, got 3"),
        (DATA + 'sensitive = ["a", "a"]\n' + MODEL, '[data] sensitive[2]: must be unique, got '
         '"a" again'),
        (DATA + "features = []\n" + MODEL, "[data] features: must name a column"),
        (DATA + 'format = "xls"\n' + MODEL, '[data] format: must be one of "csv", "tsv"'),
        (DATA + 'encoding = "onehott"\n' + MODEL, '[data] encoding: must be one of "onehot", '
         '"ordinal", "category", got "onehott"; did you mean \'onehot\'?'),
        (DATA + '[split]\nby = "person"\n' + MODEL, '[split] by: must be one of "query", "item"'),
        (DATA + "[split]\ntest = 1.5\n" + MODEL, "[split] test: must be a share between 0 and 1"),
        (DATA + "[split]\ntest = true\n" + MODEL, "[split] test: must be a number, got true"),
        (DATA + "[split]\nfolds = 2.5\n" + MODEL, "[split] folds: must be a whole number, got 2.5"),
        (DATA + "[split]\nfolds = 1\n" + MODEL, "[split] folds: must be at least 2, got 1"),
        (DATA + "[split]\nfolds = 2\ntest = 0.5\n" + MODEL, "[split] folds: must be omitted"),
        (DATA + "[split]\nseed = -1\n" + MODEL, "[split] seed: must be whole numbers of at least"),
        (DATA + "[split]\nseed = [1, 1]\n" + MODEL, "[split] seed: must be a number or different"),
        (DATA + "[[models]]\nname = 'a'\n", "[[models]] 1 class: is missing; it must be a text"),
        (DATA + MODEL + "parms = {}\n", "[[models]] 1 parms: is not a known key; did you mean "
         "'params'?"),
        (DATA + MODEL + "metrics = ['NDCG']\n", "[[models]] 1 metrics: is not a known key; it must "
         "precede the first table"),
        (DATA + MODEL + MODEL, '[[models]] 2 ("RankBoost") name: must be unique'),
        (DATA + "[[models]]\nclass = 'RankBost'\n", '[[models]] 1 ("RankBost") class: must be the '
         "name of a ranker, got \"RankBost\"; did you mean 'RankBoost'?"),
        (DATA + "[[models]]\nclass = 'os.system'\n", '[[models]] 1 ("os.system") class: must be'),
        (DATA + "[[models]]\nclass = 'FAStarIR'\n", '[[models]] 1 ("FAStarIR") class: must be the'),
        (DATA + MODEL + "params = 3\n", '[[models]] 1 ("RankBoost") params: must be a table'),
        (DATA + MODEL + "params = { n_estimatrs = 3 }\n", '[[models]] 1 ("RankBoost") '
         "params.n_estimatrs: RankBoost has no parameter 'n_estimatrs'; did you mean "
         "'n_estimators'?"),
        (DATA + MODEL + "params = { n_estimators = -3 }\n", '[[models]] 1 ("RankBoost") '
         "params.n_estimators: n_estimators of RankBoost must be an integer >= 1, got -3"),
        (DATA + MODEL + "params = { pair_cost = { class = 'GroupPairCost' } }\n",
         '[[models]] 1 ("RankBoost") params.pair_cost.params.matrix: is missing; '
         "GroupPairCost needs it"),
        (DATA + MODEL + "params = { pair_cost = { class = 'GroupPairCst' } }\n",
         '[[models]] 1 ("RankBoost") params.pair_cost.class: must be the name of a class, '
         "got \"GroupPairCst\"; did you mean 'GroupPairCost'?"),
        (DATA + MODEL + "rerank = 3\n", '[[models]] 1 ("RankBoost") rerank: must be the name'),
        (DATA + MODEL + "rerank = 'DetGredy'\n", '[[models]] 1 ("RankBoost") rerank.class: must be '
         "the name of a re-ranker, got \"DetGredy\"; did you mean 'DetGreedy'?"),
        (DATA + MODEL + "rerank = ['DetGreedy', { class = 'FAStarIR', params = { q = 1 } }]\n",
         '[[models]] 1 ("RankBoost") rerank[2].params.q: FAStarIR has no parameter'),
        ("metrics = ['NDCG@10', 'NDGC@5']\n" + DATA + MODEL, "metrics[2]: metric 'NDGC@5' is not "
         "known; did you mean 'NDCG'?"),
        ("metrics = 3\n" + DATA + MODEL, "metrics: must be a text or an array of texts, got 3"),
        ("metrics = []\n" + DATA + MODEL, "metrics: metrics must name at least one"),
    ],
)  # fmt: skip
def test_errors_name_file_table_and_key(fails, text, said):
    assert fails(text).startswith(said)


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"c\.toml: must be text in UTF-8"):
        read_config(str(path))


def test_an_unknown_model_is_named(write):
    config = read_config(write(DATA + MODEL))
    with pytest.raises(
        ConfigError, match=r"\[\[models\]\]: must contain the model \"RankBost\"; did"
    ):
        config.model("RankBost")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('query = "qury"\n', '[data] query: {folder}people.csv has no column "qury"; did you mean '
         "'query'? (it has query, sex, age, home, relevance)"),
        ('features = ["age", "hme"]\n', '[data] features: {folder}people.csv has no column "hme"; '
         "did you mean 'home'?"),
        ('sensitive = ["sx"]\n', '[data] sensitive: {folder}people.csv has no column "sx"'),
        ('relevance = "relevance"\nfeatures = ["relevance"]\n',
         '[data] features: must not contain the relevance "relevance"'),
        ('relevance = "home"\n', "[data]: {folder}people.csv, line 2: relevance ('home') must be a "
         "number, got 'own'"),
        ('sensitive = ["sex"]\nquery = "sex"\n', "[data]: {folder}people.csv: column 'sex' must "
         "have one role"),
    ],
)  # fmt: skip
def test_errors_of_the_data_name_the_key(fails, tmp_path, keys, said):
    message = fails(DATA + keys + MODEL, read=True)
    assert message.startswith(said.format(folder=f"{tmp_path}/"))


def test_a_file_without_relevance_or_features(fails, tmp_path):
    (tmp_path / "other.csv").write_text("query,word\n1,a\n1,b\n")
    other = '[data]\npath = "other.csv"\n'
    assert fails(other + MODEL, read=True).startswith("[data] relevance: is missing: no column of")
    (tmp_path / "other.csv").write_text("relevance,word\n1,a\n1,b\n")
    assert fails(other + MODEL, read=True).startswith(
        "[data] features: is missing, and no other column"
    )
    (tmp_path / "other.dump").write_text("relevance,word\n1,a\n1,b\n")
    text = '[data]\npath = "other.dump"\n' + MODEL
    assert fails(text, read=True).startswith("[data] format: is missing, and the extension of")


def test_categories_that_differ_in_spaces_or_case_are_noted(write, tmp_path):
    config = write(DATA + 'features = ["age", "home"]\n' + MODEL)
    (tmp_path / "people.csv").write_text(PEOPLE.replace("20,own", "20,Own "))
    (note,) = read_config(config).read_data()[1].notes
    assert note.endswith("only in case or spaces, and count as different ones: 'Own ', 'own'")


def test_a_column_of_names_is_refused_unless_allowed(write, fails, tmp_path):
    rows = "".join(f"1,n{j},{j},own,{j % 2}\n" for j in range(30))
    path = tmp_path / "people.csv"
    allowed = DATA + 'sensitive = "sex"\nmax_groups = 30\n' + MODEL
    assert "max_groups" in fails(DATA + "max_groups = 0\n" + MODEL)
    write("")
    path.write_text(PEOPLE.splitlines()[0] + "\n" + rows)
    config = tmp_path / "d.toml"
    config.write_text(DATA + 'sensitive = "sex"\n' + MODEL)
    with pytest.raises(ConfigError, match=r"'sex'.* got 30 different values in 30 rows"):
        read_config(str(config)).read_data()
    config.write_text(allowed)
    data, columns = read_config(str(config)).read_data()
    assert len(data.attribute().categories) == 30
    # a new file may be shorter
    assert len(read_new_file(str(path), None, columns, sensitive=True).data) == 30
