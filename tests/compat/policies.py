"""Policy files, by name: every section there is, the first ones ever, and one about keys."""

POLICIES = {
    "every.toml": """\
[detection]
minimum = 0.8

[attacks]
attacker = "acquainted"
maximum_gain = 0.2
maximum_column_gain = 0.4
maximum_outlier_gain = 0.3
required = ["naive", "known_input"]

[attacks.maximum]
known_input = 0.3
stolen_key = 1.0

[release]
maximum_verbatim = 0.01
maximum_unique = 0.02
origin = "any"

[linkage]
minimum_level = 5
quantile = 0.05

[attackers]
outsider = 0.1
key_holder = 0.9

[risks]
attacker = "outsider"
maximum_reidentification = 0.09
maximum_singling_out = 0.05
maximum_inference = 0.15
maximum_membership = 0.6

[promise]
allowed = ["heuristic", "audited", "guaranteed"]
""",
    # As the first version of the policies' page showed it.
    "first.toml": """\
[detection]
minimum = 0.8            # of the strongest outliers are found again

[attacks]
maximum_gain = 0.2       # that any attack may get over its baseline

[attacks.maximum]
known_input = 0.3        # another limit for this one

[linkage]
minimum_level = 5        # records that fit as well as the true one
quantile = 0.01          # for all but this share of the records

[promise]
allowed = ["heuristic", "audited"]
""",
    # Met only where the key shows how a file was made.
    "origin.toml": """\
[attacks]
attacker = "outsider"
required = ["naive"]

[release]
origin = "known"
""",
}
