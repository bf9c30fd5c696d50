"""What people see of an answer: text, HTML, plots."""
