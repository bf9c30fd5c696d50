module mace-check

go 1.19
