"""The signs around a name by which a sentence is weighed (cdx-10).

They are data: what stands before a name, behind it, or anywhere in its sentence. In a Chinese sentence every name is
hidden behind a sign (〇), so that no part of a name is read as a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabula.codex.facts.patterns import KIN, ROLES

Signs = Mapping[str, re.Pattern[str]]


def _compile(patterns: Mapping[str, str]) -> Signs:
    return {name: re.compile(pattern) for name, pattern in patterns.items()}


_TITLES = (
    r"(?:(?:the|old|young|little|poor|dear|Captain|Prince|Princess|Count|Countess|Mr\.|Mrs\.|Miss|Dr\.|Father|Mother|"
    r"General|Lieutenant|Colonel|Major|Marshal|King|Queen|Lady|Lord|Sir|Emperor|Empress|Uncle|Aunt|Mademoiselle|Madame|"
    r"Monsieur) ?)*"
)
_TIES = (
    r"love|loved|loves|engagement|engaged|married|marry|marrying|marriage|proposed|proposal|betrothed|betrothal|friend|"
    r"friends|friendship|intimate|enemy|enemies|rival|adherents?|followers?|servant|protégé|pupil|successor|hatred|hated|"
    r"contempt|admiration|admired|affection|devotion|devoted|attached|grateful|jealous|fond|indebted|duel|quarrel|"
    r"quarreled|quarrelled|reconciled|faithful|loyal|related|relation|owed|debt|afraid|fear|despised|adored|worshipped|"
    r"killed|wounded|betrayed|saved|rescued|adopted"
)
_PLACES = (
    "estate|village|town|city|port|island|fortress|castle|palace|house|inn|ship|river|capital|street|country|camp|sea"
)
ENGLISH_BEFORE = _compile(
    {
        "tie": rf"\b(?:{_TIES}|{KIN}|{ROLES})(?: (?:of|to|with|for|by|toward|towards|against|between))? {_TITLES}\Z",
        "battle": r"\b(?:battle|campaign|retreat|siege|burning|fall|capture|fire|affair|defence|defense|peace) "
        r"(?:of|from|at) \Z",
        "head": r"\b(?:governor|king|emperor|queen|commander|owner|lord|minister|ruler|native|inhabitants?) of "
        r"(?:the )?\Z",
        "lived": r"\b(?:live[ds]?|living|settled|settle|stay(?:ed|ing)|house|home|spent|born|educated|built|quartered|"
        r"resided|dwelt|estate|property|society|life)\b[^,.;]{0,30}\b(?:in|at|near|of) (?:the )?\Z",
        "when": rf"\b(?:when|while|as|as soon as|after|before|until|where|whom|which|that|what|how) {_TITLES}\Z",
        "within": r"\b(?:in|at|on) (?:the )?\Z",
    }
)
ENGLISH_BEFORE_PLACE = _compile(
    {
        "direction": r"\b(?:to|toward|towards|from|into|through|for|near|beyond|round|via|before|after) (?:the )?\Z",
        "kind of place": rf"\b(?:{_PLACES})(?:,| of| called| named) {_TITLES}\Z",
    }
)
ENGLISH_BEHIND = _compile(
    {
        "aside": r", (?:an?|the|his|her|their|now|once|formerly|one of|whose|himself|herself) ",
        "kin of": rf"['’]s? (?:\w+ ){{0,2}}"
        rf"(?:{KIN}|{ROLES}|friends?|estate|house|property|fortune|marriage|engagement|death)\b",
        "kind of person": r".{0,60}\b(?:one of (?:those|the)|a (?:\w+ ){0,3}(?:man|woman|girl|boy|lad|fellow|person|"
        r"creature|officer|general|peasant|soldier)|the (?:\w+ )?(?:sort|kind|type) of|by nature|in (?:his|her) heart|"
        r"as usual|on principle|in general)\b",
        "habit": r".{0,50}\b(?:always|never|often|usually|generally|seldom|ever|every (?:day|evening|morning|year|one)|"
        r"used to|would often|constantly|continually|invariably|accustomed)\b",
    }
)
ENGLISH_ANYWHERE = _compile(
    {
        "narrator": r"\b(?:I|my|me|we|us|our)\b",
        "moment": r"\b(?:at that moment|just then|suddenly|at once|at this|a moment|next day|that day|that evening|"
        r"that morning|the next|an hour later|minutes later|this time|immediately)\b",
        "supposing": r"\b(?:if|would have|might have|could have|as if|as though|perhaps|whether)\b",
        "latter": r"\b(?:the latter|the former|the other|another|the others)\b",
    }
)

_CHINESE_KIN = (
    "父亲?|母亲?|妻子?|子|女儿?|兄弟?|弟|姊妹?|姐姐?|妹妹?|侄儿?女?|孙女?|叔|舅|婿|甥|嫂|妾|媳妇?|儿子|丈夫|哥哥|"
    "夫人|祖母?|乳母|奶母|姨妈|姑母|后人?|丫头|丫鬟|小厮|奶妈|书童|心腹|部将|副将|旧交|故人|好友|徒弟|师父|"
    "门客"
)
CHINESE_BEFORE = _compile(
    {
        "named": "(?:字|名唤|名叫|唤作|取名|改名|小名|名曰|叫作|叫做|表字|号|唤名|一名|名为|人称|绰号|名)\\Z",
        "kin before": f"(?:[之的]|〇|长|次|幼|三|四)(?:{_CHINESE_KIN})(?:名唤|名叫)?\\Z",
        "overcomes": "(?:斩|杀|擒|捉|缚|诛|射|刺|砍|害|囚|执|获|败|逐|责|骂|打|贬|封|拜|加|升|赏|赐|赠|葬|祭|救|释|"
        "放|收|养|娶|纳|嫁|聘|立|废|表|荐|举|用|任|宠|爱|恨|怨|忌|疑|怕|敬|畏|惧|嫌|念|思|想|伏侍|服侍|伺候|欺负|"
        "害死|杀死|刺死|射死|打死|生擒|活捉|收服|招降)[了着死住伤]?\\Z",
        "meets": "(?:见|遇|迎|接|问|报知?|告诉?|谓|辞|拜|看|瞧|瞧见|望见|撞见|寻|找|来见|回|对|向|劝)了?\\Z",
    }
)
CHINESE_BEFORE_PLACE = _compile(
    {
        "takes": "(?:取|得|夺|占|破|围|袭|克|攻|伐|犯|图|收|失|弃|献|平|下|救|保|守|据|镇|领|屯|住|居|治|幸|都|徙)"
        "[了住取守于入得兵破]?\\Z",
    }
)
CHINESE_BEHIND = _compile(
    {
        "becomes": "[^，。；〇]{0,8}(?:为|做|作|任|领|拜|封|升|迁|授|掌|总督|总领|继|袭|即|登|称|辅政|受)",
        "nature": "[^，。；〇]{0,6}(?:素|本(?![部军寨阵营])|原(?![来野])|生得|为人|一向|向来|最(?!后)|平生|平日|自幼|"
        "惯|每每|时常|常(?!侍)|只知|是个|乃是?个?|系|一心|满心|从不|从来|终日|每日|天天|自来|生性|天生|年方|身长|虽)",
        "suffers": "[^，。；]{0,6}(?:病|死|亡|伤|卒|薨|殁|中箭|被擒|被执|被困|大败|兵败|降|出家|自刎|自尽|下狱|怀孕)",
        "moved": "[^，。；〇]{0,4}(?:惊|怒|喜|笑|哭|慌|面如土色|满面|不悦|默然|羞惭|点头|答应|领命|领计|受计|依计|"
        "领诺|应诺|听了|听罢|听说|闻言|见说|见了|看了|看时|视之|看罢|听得|一听|一见)",
        "speaks": "[^，。；〇]{0,6}(?:说|道|曰|问|答|叫|喝|骂|喊|告|奏|谏|劝|请|求|商议|计议|分付|吩咐|传令|下令)",
        "others behind": "等|、|，〇|〇|并〇|[二三四][人将]",
        "kin behind": f"(?:[之的]|长|次|幼|三)(?:{_CHINESE_KIN})(?:〇|也|[，。；．]|\\Z|名)",
        "men of": "[部之的]?(?:军|兵|将|寨|营|马|船|众|人马)",
    }
)
CHINESE_BEHIND_SUBJECT = _compile(
    {
        "goes": "[^，。；〇]{0,6}(?:来|去|到|至|入|出|回|进|走|往|奔|赶|退|坐|立|站|上马|下马|起身|辞|起程)",
        "described": "(?:乃|城|百姓|之民|之地|之众|一带|地面|地方|失|陷|平|已|被|空虚|有|无|贼|大|诸郡|人民|军民|"
        "周围|东|西|南|北|中|里|内|上下)",
    }
)
CHINESE_BEHIND_PLACE = _compile({"place last": "[，。；．]|\\Z"})
CHINESE_ANYWHERE = _compile(
    {
        "verse": "\\A(?:正是|后人|有诗|诗曰|赞曰|却早|未知|不知|毕竟)|分解|且听|且看",
        "appears": "(?:视之|看时|看那|为首|前面|当先|一军|一彪|一将|拦路|截住|来到|只见|但见)[^。；]{0,14}乃",
        "dies": "(?:死|亡|卒|薨|殁|崩|自刎|自尽|自缢|身故|归天|气绝|夭折|丧命|病故)[^，。；〇]{0,4}(?:[，。；．]|\\Z)",
        "captive": "生擒|活捉|擒住|擒了|捉住|拿住|拿下|执缚|所擒|所获|被执|被擒|就擒|俘|缚|绑|下狱|囚|拘",
        "origin": "姓[^，]{1,2}，名|人也|人氏|之后|出身|祖籍|原籍|字[^，。；]{1,3}[，。；]",
        "date": "[一二三四五六七八九十元]年[春夏秋冬，正二三四五六七八九十]|岁",
    }
)
CHINESE_OWN = _compile(
    {
        "terms": "亲厚|交厚|不睦|不和|有隙|有仇|相识|相好|友善|契合|投意|结怨|结为|莫逆|有情|和睦|反目|相契|厚密|"
        "旧恩|之恩|情分|世交|知己|结义|结拜|疼爱|爱惜|宠|器重|冷淡",
        "home": "住了|住在|居住|住着|寓居|居于|隐居|安身|同住|住处|所居|移居|迁居|寄居",
    }
)
