"""A rule for the first sentence of a docstring: its object is named by a noun in the first six words, articles apart.

Without a library of language: closed lists of the words that are no nouns, so that any other word counts as one.
Participles and adverbs are known by their endings. A verb after a determiner is a noun ("the draw", "its start").
"""

from __future__ import annotations

import re


def _listed(words):
    return frozenset(words.split())


# Interrogatives, pronouns, prepositions and conjunctions that leave a reader without an object.
BEGINNINGS = _listed(
    """what how of that those these this such which as it its where when who whom whose why if than then so because
    while although they them he she we you i with from for by to in on at into within without over under between among
    behind beside beyond before after until since during through across against about along per is are was were be has
    have had and or but nor not nobody nothing something everything anything somebody"""
)
QUANTITIES = _listed("none one all each any some many most several more both every few two three")
BEHIND_QUANTITIES = _listed("of for that who which in by with")
PARTICLES = _listed(
    """a an the no her his us our ones oneself itself themselves their theirs anybody either neither other others
    another much fewer less least only also too even still yet again once twice ever never always here there now first
    last next own same alone anew together apart onto above below around up down out off like can could may might must
    shall should will would do does did being been am far near long soon often just rather quite very enough well"""
)
VERBS = _listed(
    """go goes gone going get gets let lets make makes made take takes took taken give gives gave given say says said
    tell tells find finds keep keeps kept hold holds held see sees saw seen know knows known need needs show shows shown
    stand stands stood begin begins leave leaves left want wants draw drawn spend spends spent read reads write
    writes written mean means meant bring brings lie lies lay differ differs follow follows depend depends
    remain remains become becomes choose chooses chose chosen come comes came having done
    accept add apply ask call charge check close collect compare compute contract convert count demand describe divide
    drop encode end enter estimate fill fit forget grow hand improve iterate learn list load lock look lower maximise
    measure merge minimise move note observe open pack pass pick point predict print project put raise receive refuse
    release repeat replace restore return run save score select send set settle shrink skip solve split stack start
    subsample sum sweep test try turn undo update use vote wait warn work yield"""
)
# Nouns that end like participles and adverbs, and words that need no noun.
NOUNS = _listed("seed need speed feed bed family anomaly assembly supply reply nothing none")
ARTICLES = _listed("a an the")
DETERMINERS = ARTICLES | _listed("its their no each every one least first last next own other another")
EARLY = 6  # words
_WORD = re.compile(r"``[^`]+``|:\w+:`[^`]+`|`[^`]+`|[^\W_][\w'’.-]*[^\W_]|[^\W_]")


def first_words(text):
    """Return the words of the first sentence or clause, with the words in front of them; articles are left out."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    words = _WORD.findall(re.split(r"(?<=[.:;!?])\s", paragraph)[0])
    pairs = zip(words, ["", *words], strict=False)
    return [(word, before) for word, before in pairs if word.lower() not in ARTICLES][:EARLY]


def is_noun(word, before):
    """Return whether a word names something, `before` being the word in front of it."""
    lowered = word.lower()
    if word[0] in "`:" or lowered in NOUNS:
        return True
    if lowered in VERBS:
        return before.lower() in DETERMINERS
    return lowered not in BEGINNINGS | QUANTITIES | PARTICLES and not lowered.endswith(("ed", "ly"))


def complaint(text):
    """Return what is wrong with the first sentence of a docstring; empty where nothing is."""
    words = first_words(text)
    first, second = [word.lower() for word, _ in (*words, ("", ""), ("", ""))[:2]]
    if first in BEGINNINGS:
        return f"begins with {words[0][0]}"
    if first in QUANTITIES and second in BEHIND_QUANTITIES:
        return f"begins with {words[0][0]} {words[1][0]}"
    if not any(is_noun(word, before) for word, before in words):
        return f"no noun in the first {EARLY} words"
    return ""
