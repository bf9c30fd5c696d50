"""The reader of OptBinning's scorecards."""
