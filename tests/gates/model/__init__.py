"""The gates' protocol as a small state machine whose every interleaving is searched.

`party` is what a state is made of, `v2` and `v1` what a party does next, `around` what happens to it, `together` puts
parties beside each other; `split` is a split search, `turns` the line, which drives the product's own functions.
"""
