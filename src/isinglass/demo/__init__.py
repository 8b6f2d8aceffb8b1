"""The whole story on generated flights: three airlines, one miner, and what each could see."""
