"""English word lists for name extraction, all in lower case.

The lists hold what statistics of one book cannot tell: that March is a month, that Captain is a title and that "said"
is something people do.
"""

from __future__ import annotations

from fabula.text.word_list import load_word_lists

_LISTS = load_word_lists("english_names")
MEN_TITLES = _LISTS["men_titles"]
WIVES_TITLES = _LISTS["wives_titles"]
UNMARRIED_TITLES = _LISTS["unmarried_titles"]
WOMEN_TITLES = _LISTS["women_titles"]
TITLES = MEN_TITLES | WIVES_TITLES | UNMARRIED_TITLES | WOMEN_TITLES | _LISTS["neutral_titles"]
ABBREVIATED_TITLES = _LISTS["abbreviated_titles"]
NAME_PARTICLES = _LISTS["name_particles"]
CAPITALISED_WORDS = _LISTS["capitalised_words"]
WORDS_THAT_ARE_NAMES = _LISTS["words_that_are_names"]  # of the capitalised words, those that are names as well
SPEECH_VERBS = _LISTS["speech_verbs"]
ACTION_WORDS = _LISTS["action_words"]
POSSESSIONS = _LISTS["possessions"]
AUXILIARIES = _LISTS["auxiliaries"]
PLACE_PREPOSITIONS = _LISTS["place_prepositions"]
DIRECTION_PREPOSITIONS = _LISTS["direction_prepositions"]
DETERMINERS = _LISTS["determiners"]
PLACE_NOUNS = _LISTS["place_nouns"]
GROUP_NOUNS = _LISTS["group_nouns"]
