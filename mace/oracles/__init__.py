"""Answers to one question: is there a counterfactual within this radius?"""
