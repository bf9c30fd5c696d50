"""A whole pipeline on the raw Adult table: impute, scale, one-hot, then boosting; the answer is in raw columns.

Needs adult.csv.gz in the folder that MACE_DATA names (or network access to OpenML).
"""

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mace

adult = mace.datasets.load("adult")
numbers = [feature.name for feature in adult.space.features if feature.numeric]
others = [name for name in adult.space.names if name not in numbers]
columns = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        ("others", OneHotEncoder(sparse_output=False), others),
    ]
)
pipeline = Pipeline([("columns", columns), ("model", HistGradientBoostingClassifier(random_state=0))])
pipeline.fit(adult.X, adult.y)

person = adult.X[pipeline.predict(adult.X) == 0].iloc[0]
answer = mace.explain(pipeline, adult.space, person, goal=1, background=adult.X)
print(answer)
print("certificate:", answer.certificate.check())
