"""The patterns by which a sentence shows that it tells a fact (cdx-10).

They are data: how a sentence goes on behind its subject, which words beside a name say who somebody is, where a clause
begins. The longer lists of words are in `text/words/event_words.txt` and `deed_words.txt`.
"""

from __future__ import annotations

import re

from fabula.text.stemmer import stem
from fabula.text.word_list import load_word_lists

UNSPACED = re.compile("[\u2e80-\u9fff]")
QUOTES = re.compile("[“”\"「」『』‘]|(?<![^\\W_])['’]|[曰道说问][：:]")
BROKEN = re.compile("[?\ufffd]")  # in a Chinese sentence: characters that were lost
TALE = re.compile("\\s*[“「][^”」]*\\Z")  # a speech that goes on in the next paragraph tells a story
TELLER = re.compile(r"\b(?:I|my|me|we|us|our)\b")
SPEECH_BEGIN = re.compile('[曰道说问云][：:]|[：:]?[“「『"]')
SPEECH_MARK = re.compile('[“”「」『』"]')
ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|M|Mme|Mlle|Capt|Col|Rev|Prof|Lieut|Gen|[A-Z])\.\s+\Z")
ADDRESSED = re.compile(r"\b(?:you|your|thou|thee|thy|ye)\b|[我你您咱吾汝尔某]|在下")
TITLE = re.compile(
    r"(?:(?:The|Old|Young|Little|Poor|Captain|Prince|Princess|Count|Countess|Mr\.|Mrs\.|Dr\.|Father|Mother|General|"
    r"Lieutenant|Colonel|King|Queen|Lady|Lord|Sir|Emperor|Empress|Uncle|Aunt|Now|Though) ?)+,?"
)
CLAUSE_END = re.compile("[;；]")
CONJUNCTION = re.compile(r",(?= (?:and|but|for|so|while|which|because|as|when|where|though|although|whom) )")
BLANK = re.compile(r"\s+")
KIN = (
    "father|mother|wife|husband|son|daughter|brother|sister|uncle|aunt|nephew|niece|cousin|parents?|children|family|"
    "grandfather|grandmother|stepfather|stepmother|father-in-law|mother-in-law|son-in-law|brother-in-law"
)
# how a sentence goes on behind its subject: the pattern, how telling it must be, and what the pattern itself is worth
ENGLISH_PATTERNS = tuple(
    (re.compile(pattern), minimum, worth)
    for pattern, minimum, worth in (
        (
            r",? (?:was|is|had been|became|had become) (?:by nature |always |also |not |himself |herself |still )?"
            rf"(?:an? (?!little|moment|bit|few|long time|good deal)|one of (?!the first\b)|(?:the|his|her|their) "
            rf"(?:\w+ )?(?:{KIN}|heir|owner|chief|head|master|commander|governor|captain|friend|favorite|favourite)\b|"
            r"born|known|called (?!to\b|out\b|away\b|back\b|in\b|up\b)|famous|fond|married|in love|"
            r"related|descended|engaged to|accustomed|wont|in the habit|afraid of)",
            0.0,
            0.8,
        ),
        (
            rf", (?:an? |the (?:\w+ )?(?:{KIN}|owner|head|chief)\b|(?:his|her|their) (?:\w+ )?(?:{KIN})\b|whose )",
            0.0,
            0.6,
        ),
        (
            r", who (?:had (?:never|always|long|once|formerly)|was an?|always|never|lived|loved|hated|owned)\b",
            0.25,
            0.5,
        ),
        (r" (?:always|never|often|usually|seldom|generally|invariably) \w+", 0.25, 0.6),
        (
            r" (?:used to|would (?:often|always|never)|could (?:not|never) (?:bear|abide|endure|read|write|swim))\b",
            0.0,
            0.7,
        ),
        (r" had (?:never|always|long|once|often) ", 0.5, 0.6),
        (
            r" had (?:been (?:born|educated|brought up|raised|wounded|married|engaged|promised|banished|exiled|"
            r"appointed|made|a |an )|an? (?:son|daughter|brother|sister|wife|scar|wound|habit|horror|dread|passion|"
            r"house|estate|fortune|gift|way of|nephew|niece|cousin|debt|secret)|"
            r"no (?:son|daughter|family|children|wife|fear)|"
            r"(?:lost|married|inherited|promised|sworn|vowed|owed|lent|borrowed|killed|served|fought|lived|loved|hated|"
            r"studied|sailed|spent|left|given|bought|sold|buried|saved|betrayed|deserted|stolen|forgiven|quarrelled|"
            r"quarreled)\b)",
            0.25,
            0.6,
        ),
        (
            r" (?:loved|hated|feared|despised|admired|lived|owned|wore|belonged|possessed|resembled|served|married|"
            r"inherited|swore (?!at\b)|owed|died|bought|sold|believed in|prided|lay buried|was (?:killed|wounded|"
            r"buried|lame|blind|deaf|bald))\b",
            0.25,
            0.5,
        ),
        (
            r",? (?:was|had been) (?:\w+ly )?(?:killed|wounded|captured|taken prisoner|arrested|promoted|appointed|"
            r"dismissed|buried|betrothed|elected|exiled|hanged|drowned|married|shot|crippled|ruined|disinherited|adopted|orphaned|"
            r"widowed|baptized|knighted)\b",
            0.0,
            0.4,
        ),
        (
            r" (?:had )?(?:died|married|inherited|surrendered|resigned|retired (?:from|to)|proposed to|fallen in love|"
            r"fell in love|given birth|gave birth|confessed|betrayed|killed|rescued|saved|"
            r"lost (?:his|her|a|an|all|\w+ thousand)|bought|sold|borrowed|joined the|"
            r"entered the (?:service|army|order)|swore|vowed|deserted|"
            r"enlisted|eloped|stole|stolen|received the (?:[Oo]rder|[Cc]ross|rank|command))\b",
            0.0,
            0.35,
        ),
        (
            r" had been (?:staying|living|serving|working|suffering|ill\b|in love|in the habit|at war|abroad|absent)",
            0.0,
            0.5,
        ),
        (
            r" had (?:an?|no|two|three|four|five|six|ten|twenty|many|several|few|\w+ thousand) "
            r"(?!time\b|idea|sooner|doubt|longer|wish|need|chance|reason to|look|feeling|right|moment)\w+",
            0.25,
            0.4,
        ),
        (
            r" spent (?:half|most|much|all|the (?:winter|summer|autumn|spring|year|rest)|whole|several|two|three|many|"
            r"an? (?:year|month|week))",
            0.0,
            0.5,
        ),
        (
            r" (?:knew|spoke|understood|wrote|played|read|sang|danced) (?:French|Russian|German|English|Latin|Italian|"
            r"exquisitely|the violin|the piano)",
            0.0,
            0.5,
        ),
        (
            r" (?:did not|never) (?:like|love|know how to|believe in|drink|smoke|speak (?:French|Russian|German|"
            r"English))",
            0.0,
            0.5,
        ),
        (
            r" (?:liked|disliked|preferred|prided|enjoyed (?:the|a) (?:reputation|confidence|favou?r)|valued|"
            r"considered (?:himself|herself)|regarded (?:himself|herself))\b",
            0.0,
            0.4,
        ),
        (
            r" (?:was|were|had been) (?:\w+ ){0,3}(?:years old|years of age|by birth|by profession|by nature|"
            r"in command|in charge of|in debt|in love|in mourning|on leave)\b",
            0.0,
            0.7,
        ),
        (
            r"['’]s? (?:\w+ )?(?:wish|plan|merit|aim|object|opinion|character|reputation|fortune|estate|health|"
            r"profession|affairs|position|ambition|dream|faith|religion|income|debts) (?:was|were|is|lay|consisted|"
            r"had)\b",
            0.0,
            0.5,
        ),
        (
            r" (?:did not|could not|would not) (?:yet )?(?:consider (?!or\b)|admit|believe in|approve of|forgive|"
            r"forget|trust|understand why|agree to|recognize)\b",
            0.0,
            0.4,
        ),
        (r" (?:belonged to|consisted of|came of an?|(?:was )?descended from)\b", 0.0, 0.5),
        (r", (?:now|once|formerly|that|this) (?!same)(?:\w+ ){1,6}(?:who|whom|of|in|on|with)\b", 0.25, 0.5),
        (
            rf"['’]s? (?:\w+ )?(?:{KIN})\b[^,]{{0,40}} (?:(?:was|were) (?!\w+ing\b|also\b|now\b)|had |lived |died )",
            0.25,
            0.5,
        ),
    )
)
CHINESE_KIN = "父|母|妻|子|女|兄|弟|姊|姐|妹|侄|孙|叔|舅|婿|甥|嫂|妾|媳|儿子|女儿"
CHINESE_PATTERNS = tuple(
    (re.compile(pattern), minimum, worth)
    for pattern, minimum, worth in (
        (
            "，?(?:本是(?![想要欲来])|原是(?![想要欲来和])|原系|本系|表字|字|本姓|年方|年约|年已|年纪|生得|身长|面如|为人|秉性|本性|自幼|从小|自小|生来)",
            0.0,
            0.8,
        ),
        (
            f"，?(?:乃|系|是|即)[^，。．；了]{{0,14}}(?:人也|之(?:{CHINESE_KIN}|后|臣|将)|人氏|(?:{CHINESE_KIN})也)",
            0.0,
            0.8,
        ),
        ("，?(?:是|原)(?:个|一个)[^，。了]{2,12}[，。．；]", 0.0, 0.6),
        (
            "，?(?:平生|平日|平素|素日|素习|素来|素(?![知服衣日])|向来|一向|从来|常(?!侍)|每每|每年|最(?:是|怕|爱|喜|恨|胆|好))",
            0.25,
            0.6,
        ),
        (
            "，?(?:曾(?!经?见)|尝(?!不)|早年|当年|昔日|旧日|自从[^，]{2,14}[，后]|自[^己然此思觉知言引是在送为][^，。]{1,10}(?:后|以来|之后)[，,])",
            0.25,
            0.5,
        ),
        ("，?(?:每日|日日|天天|常常|时常|终日|每逢|每到|每年|整日|镇日)", 0.0, 0.5),
        (
            "，?(?:专好|专爱|只知|惟知|不喜(?![，。])|不爱|不惯|最不|深恨|深爱|酷爱|酷喜|偏爱|偏好|好(?=[饮酒色赌读学道佛武勇]))",
            0.0,
            0.6,
        ),
        ("，?(?:名唤|唤作|小名|乳名|本名|绰号|人称|混名|号称|别号|道号|法名|年将|今年|时年|现年)", 0.0, 0.7),
        ("，?(?:有(?:一个|一[女子妹弟兄]|两个|三[个子])|并无|无(?:子|后|嗣|父|母|依)|家(?:道|资|住))", 0.0, 0.4),
        ("，?(?:本|原)(?:非|不|无|有|与|好|爱|嫌|来)", 0.25, 0.4),
        (f"(?:之(?:{CHINESE_KIN})|有(?:一|二|三|两)?个?(?:{CHINESE_KIN}))[，名唤叫曰早乃亦]", 0.25, 0.4),
        (
            "[^，。．；闻知见因将便以]{0,6}(?:结为|结拜|过继|许配|聘|娶|嫁|生了|生得一|生下|所生|遗腹|立誓|发誓|病故|病死|去世|病亡|病卒|夭亡)",
            0.25,
            0.5,
        ),
    )
)
INTRODUCTION = re.compile(
    r"[^,;]{1,40},|But|And|Yet|For|So|Now|Besides|Indeed|though |"
    r"(?:After|Since|During|Before)(?: [a-z0-9'’-]+){1,6}"
)
CLAUSE_EDGE, UNSPACED_CLAUSE_EDGE = re.compile("[,;:—–(]"), re.compile("[，,；;：]")
CONNECTIVES = re.compile(
    rf"(?i:(?:(?:and|but|for|so|yet|because|though|although|meanwhile|"
    rf"now|then|besides|indeed|also|even|it was|here)\s+)*)(?:{TITLE.pattern})?\s*"
)
UNSPACED_CONNECTIVES = re.compile(
    "\\s*(?:却说|且说|话说|再说|只见|忽见|早有|原来|于是|时|遂|那|这|但|而|又|因|谁知|幸得|幸|恰好|偏|当下|当日|次日|此时|随后|背后|"
    "忽|却|便|乃|及|比及|一面|连|正是|乃是|就是|不料|不想|只有|惟|唯)*"
)
EXPLANATION = re.compile("(?:原来|原是|且说|却说|于是|时|遂)\\Z")
NARRATION = re.compile("原来|且说|却说|话说|不言|这里|谁知|于是")
NO_SHORT_NAMES = "人氏家儿们妈娘姐妹爷"  # last characters of names that are words by themselves
SHORT_NAME_START = re.compile("\\s*(?:却说|且说|话说|于是|原来)?")
EVENT_WORDS = load_word_lists("event_words")


def any_of(name: str) -> str:
    """A pattern for the words of a list, the longest first."""
    return "|".join(sorted(EVENT_WORDS[name], key=len, reverse=True))


ROLES = any_of("english_role")
ENGLISH_EVENTS, ENGLISH_SUFFERED, ENGLISH_DONE, ENGLISH_TRAITS = (
    frozenset(map(stem, EVENT_WORDS[f"english_{name}"])) for name in ("event", "suffered", "done", "trait")
)
SKIPPED, MODAL = EVENT_WORDS["english_skipped"], EVENT_WORDS["english_modal"]
PASSIVE = frozenset({"was", "were", "been"})
PARENTHESIS = re.compile(r",[^,;:—]{3,90},(?= (?:was|is|had|became|lived|loved|always|never|often)\b)")
PREDICATE = re.compile(r" [a-z].{0,80}")
NAME_BEHIND = re.compile(r" [A-ZÀ-Ý][a-zà-ÿ]")
WORD = re.compile(r"[A-Za-zÀ-ÿ]+")
LAST_WORD = re.compile(r"(?<!\bher )(?<!\bhis )(?<!\bthe )(?<!\btheir )(?<!\ba )(?<!\ban )\b([a-z]+) (?:the )?\Z")
OPEN_OBJECT = re.compile(
    r" (?:him|it|them|this|that|these|those|so|there|here|up|down|back|out|away|at him|at her|himself|"
    r"herself|her(?= (?:and|to|with|in|for|from|by|at|on|of|as|that)\b|[,.;]))\b"
)
OPEN_END = re.compile(r"\b(?:him|her|it|them|so|there)[.;]?\Z")
APPOSITION = re.compile(
    rf", (?:(?:an?|one of the) (?!little|moment|bit|few|long time|good deal)(?:(?! (?:was|were|had|is) )[^,.;])*[,.;]|"
    rf"the (?:\w+ )?(?:{KIN}|{ROLES}|owner|head|chief)\b(?!,? and\b|, the\b)|"
    rf"(?:his|her|their) (?:\w+ )?(?:{KIN}|{ROLES})\b|"
    rf"whose (?:\w+ )?(?:{KIN}|name|estate|house|regiment)\b)"
)
ROLE_BEFORE = re.compile(rf"\b(?:the|an?|his|her|their|[A-Z][\w’']+[’']s?) (?:\w+ ){{0,2}}(?:{ROLES}) \Z")
KIN_BEFORE = re.compile(rf"\b(?:his|her|their|[A-Z][\w’']+[’']s?) (?:\w+ )?(?:{KIN}),? \Z")
LISTED_BEFORE = re.compile(r"[A-ZÀ-Ý]\w*(?:,| and|, and) \Z")
PART_OF = re.compile(r" of (?:the |an? )?(?:\w+ )?\Z")
RELATIVE = re.compile(r",? who(?= )")
PRONOUN = re.compile(r"(?:He|She)(?= )|[他她](?!们)")
OTHER_PRONOUNS = {  # what a sentence may not hold whose subject the next one calls so
    "He": re.compile(r"\b(?:she|her|hers|herself)\b", re.IGNORECASE),
    "She": re.compile(r"\b(?:he|his|him|himself)\b", re.IGNORECASE),
    "他": re.compile("[她他]"),
    "她": re.compile("[她他]"),
}


CHINESE_EVENT = re.compile(
    f"，?(?:{any_of('chinese_adverb')}){{0,2}}(?:{any_of('chinese_event')}|赐(?![座坐茶酒宴饭])|"
    "杀(?![到入出来奔进散退败将得气牛条开]|了一阵)|降(?![下阶旨])|死(?![战守力命劝活]))"
)
CHINESE_EVENT_WORD = re.compile(any_of("chinese_event"))
CHINESE_ROLE_BEFORE = re.compile(f"(?:{any_of('chinese_role')})\\Z")
# behind a place: somebody of it
CHINESE_OFFICE = re.compile(f"(?:{any_of('chinese_role')}|侯|相|王|诸军|军|之?兵|人)")
CHINESE_PASSIVE = re.compile(
    "，?(?:已|又|却|遂|竟|早)?(?:被|为)[^，。；]{1,12}(?:杀|斩|擒|捉|射|刺|困|围|害|夺|逐|贬|抄|革|破|败)"
)
CHINESE_REPORT = re.compile("[说言称][^，。；]*\\Z")
CHINESE_DEED = re.compile("[^，。；]{0,6}(?:杀死|杀了(?!一)|斩|擒|射死|刺死|砍)")
# how a Chinese clause goes on behind somebody whom another sends, appoints or overcomes, by what stands before the name
CHINESE_OBJECTS = (
    (
        re.compile("(?:令|命|使|遣|差|拨|教|唤|着|封|拜|授|迁|加|表|以|留|用|召)\\Z"),
        re.compile("(?:为|守|屯|镇|统|督|代|掌|管)"),
    ),
    (
        re.compile("(?<![欲来要往去可恐若])(?:斩|杀了?|擒|镇守|把守|守|屯兵于?|投奔|占据|大破|攻破|夺了|弃|娶|嫁)\\Z"),
        re.compile(""),
    ),
    (
        re.compile("[把将]\\Z"),
        re.compile("[^，。；]{0,3}(?:[打杀斩逐撵绑缚捆囚锁革贬废卖许嫁配害骂赶休拿擒捉收葬救放]|送官)"),
    ),
)
