"""The words of the built-in language pair, an invented source language and plain English, and how they are inflected.

A word is written `source=target`. A bar joins interchangeable forms (`lunla|kela=house`, `tinra=street|road`), the
usual one first. A source form with two targets is an ambiguous word, and its neighbours show which is meant: verbs and
adjectives go only with certain classes of nouns. An underscore joins the words of a target that has several.
"""

from __future__ import annotations

from dataclasses import dataclass

# By class, most frequent first, rare ones after the tilde. The postposition `em` is `in`, or the word after the slash.
_NOUNS = {
    "person": "desa=sailor belba|drumo=baker panro=child|kid falra=teacher spanra|sulmo=farmer nirka=woman namro=man"
    " lolka=doctor|physician fifo=king glarvo=painter ronro=soldier"
    " kota=friend kuso=neighbour hinbo=hunter|huntsman gonba=girl temmo=boy|lad fommo=merchant|trader"
    " ~ nelro=daughter zolorda=judge keskengo=weaver zulerta=shepherd zumalko=blacksmith fesulba=poet"
    " kuraba=nurse",
    "animal": "sillo|karma=dog|hound krorno=horse ginto=cat furba=bird tulbo=cow tispo=goat gupo=wolf vesva=mouse"
    " vemgo=donkey ~ bagurgo=fox tigerka=owl nusiva=hen dofonvo=goose",
    "food": "tono=apple tesfa=cake brero=egg fuspa=pie hapa=onion gerbo=pear gulo=sausage ~ lilba=carrot"
    " zeloto=plum hupunbo=pancake rakrunta=melon",
    "drink": "glulpo=water humba=wine vapo=milk folla=tea pusvo=soup ~ guhervo=cider",
    "document": "mola|berfo=letter|message desso=book siso=paper kimfo=poem parva=map gamo=newspaper zefo=ticket ~"
    " misalto=diary tromillo=contract dadango=novel",
    "tool": "fiva=key himma=knife rolto=basket sonto=lamp vema=hammer nelro=rope sanvo=bucket gaka=box|chest ~"
    " lukulda=ladder gafengo=needle gifilga=anvil",
    "vehicle": "bunpa=boat|vessel/on holdo=cart/on zospo=train/on gisga=carriage|coach berba=bicycle/on ~"
    " hifolvo=sled/on tifika=raft/on",
    "building": "lunla|kela=house doka=school/at baka=church lunfo=bank/at bobo=mill/at dunpa=tower"
    " vusmo=castle fista=inn|tavern/at tuso=bakery/at"
    " ~ vuvunla=barn rekibo=theatre/at paseko=prison|jail",
    "place": "dupa|toska=harbour/at temgo=market/at dorso=garden flemda|goska=village tinra=street|road/on"
    " nisa=island/on nisto=forest|wood varpa=bridge/on"
    " honbo=station/at ~ zumelda=beach/on fufurvo=valley tihonka=square/on",
    "plant": "kromo|tevla=tree/on tosla=flower siso=leaf/on limma=rose hiko=bush|shrub ~ vumiva=root/on bikonlo=fern",
    "land": "vobo=river talbo=mountain/on firna=stone|rock/on krollo=hill/on sonto=star/on tinma=lake"
    " sonda=wall/on ~ denilvo=cliff/at pesunbo=glacier/on",
    "furniture": "vuga|limpa=table/on mosta=chair/on varno=door/at fulpa=window/at lunfo=bench/on gomo=bed"
    " zarfa=shelf/on ~ vovulvo=stool/on gadranvo=carpet/on",
    "clothing": "bava=coat|jacket bifo=hat talda=shoe renmo=shirt parva=scarf bapo=glove ~ kigunda=boot tikrobo=cloak",
    "instrument": "higo=violin tolo=drum ruda=flute lilba=trumpet ~ giginvo=harp",
}
_GROUPS = {
    "any": tuple(_NOUNS),
    "living": ("person", "animal"),
    "thing": tuple(kind for kind in _NOUNS if kind not in ("person", "animal", "place", "land", "building")),
    "site": ("building", "place", "land"),
}
# Verbs with the classes of their objects. A stem in -i has the same form for a singular and a plural subject.
_TRANSITIVE = """
    nufe=see                     any
    salri=find|discover          any
    nerfu=open                   furniture tool
    nerfu=read                   document
    benbu=buy|purchase           thing animal
    piku=eat                     food
    piku=drink                   drink
    tanfi=repair|fix             vehicle furniture tool building
    targe=build                  building vehicle furniture
    targe=write                  document
    tilte=love|adore             living place
    morpe=drive                  vehicle
    morpe=lead                   living
    lefu=sell                    thing animal
    nuse=wear                    clothing
    nuse=carry                   tool food document
    glolli=know                  person place document
    skike=play                   instrument
    skike=throw|toss             tool food land
    darde=help|assist            living
    hapi=watch|observe           any
    murku=cut                    plant food
    murku=break                  tool furniture instrument
    vinve=visit                  person place building
    ronfe=cook                   food drink
    ronfe=burn                   plant document
    krelu=paint                  site furniture
    tolbi=follow                 living vehicle
    solbe=lose                   thing
    vaki=hide|conceal            thing
    hunle=draw                   site animal plant
    rarki=steal                  thing animal
    kartu=bring                  thing
    nani=clean|wash              clothing furniture building vehicle
    milme=admire                 any
    fanvi=describe               any
    verre=forget                 thing place
"""
# Adjectives with the classes of nouns they go with. They take the ending of their noun.
_ADJECTIVES = """
    gelt=old                     living building vehicle furniture document clothing place
    gelt=stale                   food drink
    lirk=big|large               animal building vehicle tool furniture place land
    kir=young                    living
    kir=fresh                    food drink plant
    kir=new                      vehicle clothing tool instrument document building
    kal=small|little             any
    mik=red                      thing
    burv=heavy                   tool furniture vehicle instrument
    burv=strong                  living drink
    dorv=beautiful|pretty        any
    poll=high                    building land
    poll=tall                    person plant furniture
    golv=happy|glad              living
    denr=white                   thing animal building
    banv=quiet|calm              place person building
    banv=mild                    food drink
    kirr=expensive|costly        thing
    ged=clever|smart             living
    ged=bright                   tool land clothing
    rir=dirty|filthy             clothing vehicle furniture animal place
    telr=green                   plant clothing furniture land
    trek=poor                    person
    trek=thin                    clothing document animal tool
    bolk=broken                  tool furniture vehicle instrument
    foln=famous|renowned         person place document building
    fald=empty|vacant            building place tool
    hong=angry|furious           living
    ferv=ugly|hideous            any
"""

RARITY = 15.0
VOWELS = "aeiou"


@dataclass(frozen=True)
class Token:
    """A word and the part of the meaning it expresses; words with the same part on the two sides translate each other.

    The part is empty for a word without a counterpart on the other side.
    """

    text: str
    part: str = ""


@dataclass(frozen=True)
class Word:
    """A word with its interchangeable forms on either side, the usual one first."""

    source: tuple[str, ...]
    target: tuple[str, ...]


@dataclass(frozen=True)
class Noun(Word):
    """A noun of a class, the translation of `em` with it, and how often it is used."""

    kind: str
    preposition: str
    weight: float


@dataclass(frozen=True)
class Selecting(Word):
    """A verb or an adjective with the classes of nouns that it goes with."""

    kinds: frozenset[str]


def parse_words(text: str) -> list[Word]:
    """The words of a line of the lexicon; `_` in a target becomes a blank."""
    return [Word(*_forms(entry)) for entry in text.split()]


def _nouns(text: str, kind: str) -> list[Noun]:
    common, _, rare = (part.split() for part in text.partition("~"))
    nouns = []
    for rank, entry in enumerate(common + rare):
        names, _, preposition = entry.partition("/")
        share = 1.0 if rank < len(common) else 1 / RARITY
        nouns.append(Noun(*_forms(names), kind, preposition or "in", share / (rank + 2)))
    return nouns


def parse_selecting(text: str) -> list[Selecting]:
    """Verbs or adjectives, one per line, with the groups of classes they go with."""
    found = []
    for line in text.strip().splitlines():
        entry, *groups = line.split()
        kinds = frozenset(kind for group in groups for kind in _GROUPS.get(group, (group,)))
        found.append(Selecting(*_forms(entry), kinds))
    return found


def _forms(entry: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    source, _, target = entry.partition("=")
    return tuple(source.split("|")), tuple(target.replace("_", " ").split("|"))


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


NOUNS = {kind: _nouns(text, kind) for kind, text in _NOUNS.items()}
BY_TARGET = {noun.target[0]: noun for nouns in NOUNS.values() for noun in nouns}
TRANSITIVE = parse_selecting(_TRANSITIVE)
COPULA = Word(("as",), ("be",))
ADJECTIVES = {kind: [word for word in parse_selecting(_ADJECTIVES) if kind in word.kinds] for kind in NOUNS}
RESTING = parse_words(
    "nirvu=sleep megi=wait dolpu=work zarde=sing moti=live|dwell kolnu=dance zanvi=sit rirle=rest|relax nerge=stand"
    " hungi=laugh"
)
MOVING = parse_words("perpu=walk|stroll donbe=run zeni=travel rerde=hurry|rush zungi=return zenu=climb sardu=ride")
FREQUENCY = parse_words(
    "ket=often|frequently fal=always mon=never nil=sometimes|occasionally rol=usually|normally vun=still"
)
# Time expressions, by the tense they go with.
TIMES = {
    "past": parse_words("gusma=yesterday rembo=last_week talfa=last_year"),
    "present": parse_words("gaspa=today dosro=every_morning vilso=every_evening"),
    "future": parse_words("monso=tomorrow farbo=next_week vurvo=next_summer"),
}
# Singular and plural determiners. They take the ending of their noun.
DETERMINERS = {
    False: parse_words("s=this t=that fos=my dan=every lor=your dot=her"),
    True: parse_words("s=these t=those fos=my tel=many lor=your dot=her mel=two dul=three"),
}
# As subject and as object.
PRONOUNS = {False: parse_words("ken=he/him dit=she/her"), True: parse_words("ges=they/them zin=we/us")}
# Any of the first with any of the second is a compound, such as `stone bridge`, which is one word in the source.
MODIFIERS = "stone river garden apple horse church market school forest village mountain star"
HEADS = "boat house bridge cart key door coat book cake knife table map tower hat lamp"
# Those with a single translation; that of `em`, `dor` and `ani` depends on the noun.
PLAIN_POSTPOSITIONS = {"lur": "near", "ner": "behind"}
# Names are the same in both languages.
NAME_BEGINNINGS = "Bel Tor Mar Kal Ed Sil Ran Vel Os Jun Har Pol Im Dag Fen Lor Tam Ur Nev Gis Rok Wen Asp Dor"
PERSON_ENDINGS = "dan ka mira win o ela rik sa bert ina mund ja gar essa lin fred usk atha"
PLACE_ENDINGS = "stad moor vik ham dale mouth ford holm burg wick"

# Forms that the rules for English endings do not give.
IRREGULAR_PLURALS = _pairs(
    "child=children woman=women man=men wolf=wolves mouse=mice goose=geese knife=knives leaf=leaves shelf=shelves"
    " scarf=scarves huntsman=huntsmen"
)
IRREGULAR_PASTS = _pairs(
    "see=saw find=found read=read buy=bought eat=ate drink=drank build=built write=wrote drive=drove lead=led sell=sold"
    " wear=wore know=knew throw=threw cut=cut break=broke burn=burnt lose=lost hide=hid draw=drew steal=stole"
    " travel=travelled bring=brought forget=forgot sleep=slept sing=sang dwell=dwelt sit=sat stand=stood run=ran"
    " ride=rode"
)


def agree(stem: str, noun: str, plural: bool) -> str:
    """A source adjective or determiner with the ending of a source noun in the singular (`-a`, `-o`)."""
    return stem + noun[-1] + ("n" if plural else "")


def with_s(word: str) -> str:
    """The regular plural of an English noun, or the third person singular of a verb: `carries`."""
    if ends_in_y(word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def ends_in_y(word: str) -> bool:
    """Whether an English word ends in a consonant and y."""
    return word.endswith("y") and word[-2] not in VOWELS
