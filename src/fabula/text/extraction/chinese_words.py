"""Chinese word lists and patterns for name extraction.

They describe what people do, words for persons in general, titles, and the function
characters that are hardly ever part of a name.
"""

from __future__ import annotations

import re

from fabula.text.word_list import load_word_lists

_LISTS = load_word_lists("chinese_names")
HAN = "\u4e00-\u9fff"
_MANNER = (
    "(?:大[怒喜惊笑叫呼哭骂]|冷笑|微笑|[笑忙又便亦乃因急叹泣答问说喝厉惊怒喜只即谓忽哭骂叫回再连也先都奏告应]"
    "|[轻低高淡沉缓嘻哈苦陪])"
)
ACTION = re.compile(
    rf"{_MANNER}{{0,3}}(?:曰|道|说|问|云|喊)|[听见闻看想知笑忙叹哭怒喝骂走坐站急慌跪拜谢躺跑转伸抬]|大[怒喜惊笑]|"
    r"[点摇低抬回转][头过身]|起[身来]|引[兵军]|[拍纵勒]马|出[马来]|心[中里下头]|自[己思]|"
    r"的(?:脸|眼|手|心|声音|目光|话|头|嘴)"
)
SPEAKER = re.compile(rf"(?<![{HAN}])([{HAN}]{{2,4}}?)(?={_MANNER}{{0,3}}[声着地]?(?:曰|道|说|问|云|喊))")

MEASURE_CHARACTERS = frozenset("一个这那众诸各其此些位名每某几两二三多")  # before persons in general: 一个…, 众…
PLACE_VERBS = frozenset("在至到往入赴奔离出取守攻据屯回过")
GENERIC_PERSONS, GENERIC_PLACES = _LISTS["generic_persons"], _LISTS["generic_places"]
TITLES = _LISTS["titles"]
# what somebody does or how: 操怒, 卓大喜, 厉声, 书略
DEED_ENDINGS = (
    "怒",
    "惊",
    "叹",
    "泣",
    "慌",
    "谏",
    "奏",
    "叱",
    "嘱",
    "喝",
    "哭",
    "闻",
    "急",
    "忖",
    "骂",
    "告",
    "略",
    "大喜",
    "声",
    "些",
    "勿",
)
VERBAL_TAGS = ("a", "ad", "c", "d", "m", "p", "r", "v", "vn", "zg")
POSSESSION_ENDINGS = frozenset("兵军将营寨城主王侯帝后家府宅门")  # what belongs to somebody, or what somebody is
PLACE_ENDINGS = frozenset("州城关山江河县郡国府院馆庵寺园阁楼殿宫寨谷岭村镇庄岛湖海桥街港口镇洞峰崖坡")
NEVER_IN_NAME = frozenset(
    "的了着过是在不也又就都还没很把被这那哪什么怎我你他她它们您咱吾汝其所以而乃若则且但因故此彼谁说曰问听见笑忙便遂亦皆只得请让给向"
    "与跟再已将欲可能会要想叫令使教报谓却"
)
NEVER_FIRST_IN_NAME = frozenset("俗一二两几众诸其有某各每又大前上下左右回入出来去如何人当正即忽却话次今昨明早晚")
NEVER_LAST_IN_NAME = frozenset("小道大之来去回出入上下里内中外前后时等辈")
