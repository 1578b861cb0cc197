"""Background work of the house: which kinds of jobs there are (`kinds`), and how each is done.

Nothing here is needed for an answer: a prompt tells chapters without a fresh synopsis in their own sentences, and
search makes its index when it is asked. Doing it beforehand only makes things better and quicker.
"""
