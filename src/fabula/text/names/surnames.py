"""Chinese surnames of one and two characters, and which of them are ordinary words as well."""

from __future__ import annotations

from fabula.text.word_list import make_word_set

SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方俞任袁柳"
    "酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵湛汪祁毛禹狄米贝明臧计伏成戴谈宋茅庞熊"
    "纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯昝管卢莫经房裘缪干解应宗丁宣贲邓郁"
    "单杭洪包诸左石崔吉钮龚程嵇邢滑裴陆荣翁荀羊惠甄曲家封芮羿储靳汲邴糜松井段富巫乌焦巴弓牧隗山谷车侯宓蓬全郗班仰秋仲伊宫宁仇"
    "栾暴甘厉戎祖武符刘景詹束龙叶幸司韶郜黎蓟薄印宿白怀蒲邰从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍双闻莘党翟谭贡劳逄姬申扶堵冉宰郦雍"
    "桑桂濮牛寿通边扈燕冀郏浦尚农温别庄晏柴瞿阎充慕连茹习宦艾鱼容向古易慎戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东欧沃利蔚越隆"
    "师巩聂晁勾敖融冷辛那简饶空曾沙养鞠须丰巢关蒯相查荆红游竺权盖益桓公肖代仝闫佟覃邸逯涂阚岳楚帅缑亢况海麦肇鄢亓佘"
    "趙錢孫吳鄭馮陳衛蔣韓楊許呂張嚴華陶謝鄒竇雲蘇潘範魯韋馬鳳鮑費賀湯羅畢鄔樂時齊顧黃蕭貝計談龐紀項閔賈婁顏鍾鐘駱萬盧繆應賁鄧"
    "單諸龔榮閻連習魚聶闕東歐師鞏龍蒼雙莊廣祿關豐紅遊權蓋劉葉陸塗嶽帥況麥鄺"
)
DOUBLE_SURNAMES = make_word_set(
    "欧阳 太史 端木 上官 司马 东方 独孤 南宫 万俟 闻人 夏侯 诸葛 尉迟 公羊 赫连 澹台 皇甫 "
    "宗政 濮阳 公冶 太叔 申屠 公孙 慕容 仲孙 钟离 长孙 宇文 鲜于 闾丘 子车 亓官 巫马 公西 "
    "颛孙 壤驷 公良 漆雕 乐正 宰父 谷梁 拓跋 夹谷 轩辕 令狐 段干 百里 呼延 东郭 南门 羊舌 "
    "微生 公户 公玉 梁丘 左丘 东门 西门 完颜 纳兰 耶律 爱新觉罗 第五 "
    "歐陽 諸葛 司馬 東方 獨孤 南宮 尉遲 公孫 鍾離 長孫 東郭 完顏"
)
SURNAMES_THAT_ARE_WORDS = frozenset(
    "雲時應連東師廣紅遊雙云元和于向时那都相后从应能经连公国平安常明成强通解别利满空须家水山方任何计代文红全双海闻莫古高施越益弓车尚伏言危终"
)
UNAMBIGUOUS_SURNAMES = SURNAMES - SURNAMES_THAT_ARE_WORDS  # each of them shows by itself that a name begins


def surname_of(word: str) -> str:
    """The surname a word begins with, if a given name follows it."""
    if word[:2] in DOUBLE_SURNAMES:
        return word[:2] if len(word) > 2 else ""
    return word[0] if word[0] in SURNAMES and len(word) > 1 else ""
