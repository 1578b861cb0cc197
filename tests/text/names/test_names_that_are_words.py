"""Names that are also words: sentences with the person and sentences with the word, in English and Chinese.

The sentences were written before the rules, and are a sample of what a novel holds. So a share must hold, not each
of them: a word must not be taken for the person for certain, and the person must be found.
"""

from __future__ import annotations

import pytest

from fabula.context.nearby import Nearby
from fabula.text.names.matcher import NameMatch, NameMatcher, NameRules
from fabula.text.segmenter import load_segmenter

PERSON = NameRules(is_person=True)

ENGLISH_PERSONS = """
Mark|Mark said nothing.
Mark|The Marks were at home.
Mark|She had invited the Marks for dinner.
Rose|Rose's hands were cold.
Rose|Rose walked to the window.
Rose|“Rose, come here!”
Grace|Grace laughed and shut the door.
Hope|Hope was late again.
Faith|Faith nodded.
Faith|Then Faith sat down.
Joy|Joy told him everything.
Frank|Frank hated the rain.
Rich|Rich and his brother left early.
Hazel|Hazel looked up from her book.
Hazel|He could not forget Hazel.
Violet|Violet never answered.
Ivy|Ivy smiled at him.
Jack|Jack of the lower farm?” “No, Jack from the mill.”
Bill|Bill put down his cup.
Page|Page shook his head.
Baker|Baker turned to the sergeant.
Stone|Stone asked for the file.
Snow|Snow drew his sword.
Young|Young replied at once.
Brown|Brown, who had heard it, came closer.
Hunter|Hunter ran down the stairs.
Dawn|Dawn said she would come.
Summer|Summer opened her eyes.
Robin|Robin quickly hid the letter.
Cliff|Cliff had lost his keys.
Lily|Lily's mother called.
Wells|Wells thought about it.
Chase|Chase followed her out.
Will|Will is my brother.
Drew|Drew took the money.
"""

ENGLISH_WORDS = """
Mark|Marks of age covered the table.
Rose|Roses are red.
Rose|Rose petals lay on the floor.
Grace|Grace under pressure is rare.
Hope|Hope of rescue was gone.
Hope|Hope for the best!
Faith|Faith in the law was not his strength.
Joy|Joy filled the room.
Frank|Frank words were spoken that night.
Rich|Rich men seldom wait.
Hazel|Hazel eyes met hers.
Violet|Violet light fell through the glass.
Ivy|Ivy covered the walls.
Jack|Jacks of all trades are useful.
Bill|Bills lay on the desk.
Page|Pages of the book were missing.
Baker|Bakers rise early.
Stone|Stone walls do not make a prison.
Snow|Snow fell all night.
Young|Young people laughed outside.
Brown|Brown leaves blew across the road.
Hunter|Hunters came down from the hills.
Dawn|Dawn broke over the hills.
Summer|Summer came early that year.
Robin|Robins sang in the hedge.
Cliff|Cliffs rose on both sides.
Lily|Lilies stood in the vase.
Lily|Lily pads floated on the pond.
Chase|Chase after him!
Will|Will John come tomorrow?
Pat|Pat the dog.
Carol|Carols were sung in the square.
Amber|Amber lamps lit the road.
Pearl|Pearls are expensive.
Rusty|Rusty hinges creaked.
"""

CHINESE_PERSONS = """
张开|张开走了过来。
张开|张开说他不去。
张开|她看见张开站在门口。
张开|我和张开是同学。
张开|老师叫张开回答问题。
张开|张开的手很冷。
方正|方正点了点头。
方正|“方正，你来一下。”
方正|大家都在等方正。
方正|方正把门关上了。
高兴|高兴问我去不去。
高兴|我给高兴打了电话。
黎明|黎明笑了笑。
黎明|黎明和他的妻子住在城里。
白雪|白雪推开门走进来。
白雪|他一直喜欢白雪。
杨柳|杨柳低下头，没有说话。
杨柳|医生杨柳也来了。
江山|江山先生不在家。
江山|那天晚上江山喝醉了。
许可|许可站起来，看着窗外。
许可|对许可来说，这不重要。
康复|康复的妈妈是医生。
高远|高远忽然停下脚步。
高远|他问高远为什么不来。
雷鸣|雷鸣拿起电话。
雷鸣|雷鸣队长下了命令。
文静|文静哭了一夜。
文静|你认识文静吗？
严明|严明坐在沙发上。
严明|他把信交给严明。
明月|明月答应了他。
常青|常青已经走了。
宁静|宁静抬起头来。
成功|成功回到家里。
温柔|温柔告诉我，她要走了。
田中|田中先生来了。
林远|林远比他高。
"""

CHINESE_WORDS = """
张开|他张开双臂。
张开|翅膀张开了。
张开|她慢慢张开眼睛。
张开|张开嘴，医生说。
张开|一朵花正在张开。
方正|字迹方正。
方正|他为人方正，不肯低头。
方正|那是一张十分方正的脸。
高兴|孩子们高兴得跳了起来。
高兴|他高兴地笑了。
黎明|黎明前的天空一片漆黑。
黎明|黎明时分，他们出发了。
白雪|山顶覆盖着白雪。
白雪|屋顶上的白雪还没有化。
杨柳|河边的杨柳绿了。
杨柳|两岸杨柳依依。
江山|江山如画。
江山|他打下了一片江山。
许可|未经许可，不得入内。
许可|他得到了父亲的许可。
康复|她的身体康复了。
康复|病人已经康复。
高远|志向高远。
高远|秋天的天空格外高远。
雷鸣|外面电闪雷鸣。
雷鸣|掌声雷鸣般响起。
文静|她性格文静。
文静|那个文静的女孩又来了。
严明|这支军队纪律严明。
严明|他赏罚严明。
明月|一轮明月升起来了。
常青|四季常青。
宁静|湖面宁静得像一面镜子。
成功|他终于成功了。
温柔|她的声音很温柔。
田中|他在山田中学校读书。
林远|密林远比想象的深。
林远|这片林远不如那片。
"""


def read(block: str) -> list[tuple[str, str]]:
    return [(name, text) for name, _, text in (line.partition("|") for line in block.strip().splitlines())]


def find(name: str, text: str) -> list[NameMatch]:
    return list(NameMatcher({"it": [name]}, rules={"it": PERSON}).find(text))


def share(right: list[bool]) -> float:
    return sum(right) / len(right)


@pytest.mark.parametrize("block", [ENGLISH_PERSONS, CHINESE_PERSONS], ids=["en", "zh"])
def test_a_person_whose_name_is_also_a_word_is_found(block: str) -> None:
    sentences = read(block)
    assert share([bool(find(*sentence)) for sentence in sentences]) >= 0.95
    assert share([any(match.is_certain for match in find(*sentence)) for sentence in sentences]) >= 0.9


@pytest.mark.parametrize("block", [ENGLISH_WORDS, CHINESE_WORDS], ids=["en", "zh"])
def test_a_word_that_is_also_a_name_is_not_taken_for_the_person(block: str) -> None:
    sentences = read(block)
    assert share([not any(match.is_certain for match in find(*sentence)) for sentence in sentences]) >= 0.95
    assert share([not find(*sentence) for sentence in sentences]) >= 0.85


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("张开", "他张开双臂。"),
        ("张开", "翅膀张开了。"),
        ("方正", "字迹方正。"),
        ("林远", "密林远比想象的深。"),
        ("林远", "这片林远不如那片。"),
        ("田中", "山田中学校。"),
        ("Mark", "Marks of age."),
        ("Rose", "Roses are red."),
    ],
)
def test_a_name_is_not_found_where_the_word_is_meant(name: str, text: str) -> None:
    assert find(name, text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("张开", "张开走了过来。"),
        ("张开", "张开说。"),
        ("Mark", "Mark said so."),
        ("Rose", "It was Rose's."),
        ("Rose", "I met the Roses in town."),
        ("Mark", "That week the Marks were at home."),
    ],
)
def test_a_name_is_found_where_the_person_is_meant(name: str, text: str) -> None:
    assert [match.is_certain for match in find(name, text)] == [True]


def test_a_new_set_of_chinese_names_uses_the_one_segmenter(monkeypatch: pytest.MonkeyPatch) -> None:
    load_segmenter()

    def refuse() -> None:
        raise AssertionError("a second segmenter")

    monkeypatch.setattr("rjieba.Jieba", refuse)
    for given in "远明山":
        names = {given: [f"林{given}"]}
        assert [match.surface for match in NameMatcher(names).find(f"他看见林{given}站在门口。")] == [f"林{given}"]


def test_a_mention_that_may_be_a_word_is_at_the_far_edge_of_what_is_near() -> None:
    names = NameMatcher({"snow": ["白雪"], "willow": ["杨柳"]}, rules={"snow": PERSON, "willow": PERSON})
    text = "杨柳说话了。屋顶上的白雪还没有化。"
    nearness = Nearby(text, cursor=len(text)).nearest_mentions(names.find)
    assert nearness["snow"] == 0.0 < nearness["willow"]
    assert Nearby("白雪笑了。" + text, cursor=len(text)).nearest_mentions(names.find)["snow"] > 0.0
