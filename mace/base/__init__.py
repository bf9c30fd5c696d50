"""What everything stands on: exact numbers and float ranks, files written whole, deadlines, safe text."""
