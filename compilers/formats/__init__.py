"""Model files as bytes: read within bounds, checked field by field, and written again for their library.

In:  the bytes of a model file that holds plain data.
Out: for each format its content as plain typed values, and a canonical file with that content.
Promise: no library's parser sees a byte of a file: it is given what is written here, from fields whose type, range and
length were checked; fields that prediction does not need are left out, those that are not known are refused by name.
Nothing is allocated that the file does not hold, and nesting is bounded.
"""
