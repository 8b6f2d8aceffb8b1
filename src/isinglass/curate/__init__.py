"""The curator's side: answers about single records, each with its price and its guarantee."""
