"""The prover for distances that are sums of absolute values of linear forms, over trees and linear models."""
