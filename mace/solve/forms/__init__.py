"""The prover for distances that are sums of absolute values of linear forms, before trees and linear models."""
