"""Audits of models: can somebody tell which records a model was trained on?"""
