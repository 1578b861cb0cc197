"""Names proposed from real novels: how many main characters are found, and how much is junk.

For the novels below the twenty people mentioned most are known, by all they are called. The benchmark
says how many of them are proposed at all and among the first thirty characters, and which share of
these is junk: whatever is neither one of the twenty nor listed as another name of that novel. Kinds are
listed side by side, so it also says how many kinds are among the first forty proposals.

    python -m benchmarks.extract --data chapters.jsonl [--json]
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from benchmarks.figures import arguments, report, show
from fabula.text.extraction.model import ProposedEntry
from fabula.text.extraction.propose import propose_entries
from fabula.text.offsets import normalise

FIRST = 30
LISTED = 40  # proposals that `fabula extract` shows


class KnownPeople(Struct, frozen=True):
    """The people of a novel: the twenty mentioned most, as `name/other name`, and further names."""

    most_mentioned: str
    others: str

    @property
    def twenty(self) -> list[set[str]]:
        """All names of each of the twenty."""
        return [set(one.split("/")) for one in self.most_mentioned.split(", ")]

    @property
    def names(self) -> set[str]:
        """Every name that is not junk."""
        return set().union(*self.twenty, *(one.split("/") for one in self.others.split(", ")))


NOVELS: Mapping[str, KnownPeople] = {
    "moby_dick": KnownPeople(
        "Ahab/Captain Ahab, Stubb/Mr. Stubb, Queequeg, Starbuck/Mr. Starbuck, Flask/Mr. Flask/King-Post, Jonah, "
        "Moby Dick, Bildad/Captain Bildad, Pip, Peleg/Captain Peleg, Tashtego, Steelkilt/Lakeman, Daggoo, "
        "Fedallah/Parsee, Radney, Gabriel, Ishmael, Mrs. Hussey/Hussey/Hosea Hussey, Perth, Dough-Boy",
        "Elijah, Bunger/Dr. Bunger, Yojo, Fleece, Cuvier, Derick, John/John Leo, Manxman, Scoresby, Don Sebastian, "
        "Father Mapple/Mapple, Peter/Peter Coffin, Quohog, Mayhew/Captain Mayhew, Aunt Charity, Owen/Owen Chace, "
        "Bulkington, Boomer/Captain Boomer, Macey, Garnery, Beale, Perseus, Jove, Solomon, Don Pedro, Tranquo",
    ),
    "war_and_peace": KnownPeople(
        "Pierre/Bezúkhov, Natásha, Andréy/Prince Andréy/Bolkónski, Rostóv/Nikoláy, Márya/Princess Márya, "
        "Napoleon/Bonaparte, Kutúzov, Sónya, Denísov, Dólokhov, Borís/Drubetskóy, Anatole/Kurágin, Pétya, "
        "Vasíli/Prince Vasíli, Bagratión, Elèn, Anna Pávlovna, Alpátych, Anna Mikháylovna, Alexander",
        "Mademoiselle Bourienne/Bourienne, Rostopchín, Balashëv, Márya Dmítrievna, Berg, Tíkhon, Karatáev/Platón, "
        "Bennigsen, Túshin, Julie, Speránski, Nesvítski, Véra, Bilíbin, Dron, Ippolit, Barclay, Murat, Dolgorúkov",
    ),
    "三国演义": KnownPeople(
        "玄德/刘备/刘玄德/先主, 孔明/诸葛亮, 关公/云长/关羽/关云长, 曹操/孟德, 张飞/翼德, 赵云/子龙, 孙权/吴侯, 吕布, "
        "魏延, 司马懿, 周瑜/公瑾, 姜维, 袁绍, 后主/刘禅/阿斗, 马超, 鲁肃/子敬, 黄忠, 张郃, 邓艾, 孟获",
        "曹仁, 张辽, 徐晃, 庞德, 马岱, 刘表, 董卓, 许褚, 孙策, 夏侯惇, 关兴, 王平, 庞统, 袁术, 夏侯渊, 司马昭, 甘宁, "
        "吕蒙, 陆逊, 张苞, 曹丕, 廖化, 钟会, 孙乾, 曹真, 刘璋, 郭淮, 孟达, 曹洪, 关平, 于禁, 程普, 张鲁, 张翼, 李典",
    ),
    "红楼梦": KnownPeople(
        "宝玉/贾宝玉, 贾母, 凤姐/熙凤/王熙凤, 黛玉/林黛玉, 袭人, 王夫人, 宝钗/薛宝钗, 贾政, 贾琏, 平儿, 薛姨妈, 探春, "
        "鸳鸯, 紫鹃, 湘云/史湘云, 贾珍, 李纨, 尤氏, 晴雯, 刘姥姥",
        "薛蟠, 邢夫人, 麝月, 贾蓉, 香菱, 惜春, 贾芸, 雨村/贾雨村, 妙玉, 金桂, 贾赦, 贾环, 芳官, 雪雁, 赵姨娘, 莺儿, "
        "宝蟾, 迎春, 秦钟, 薛蝌, 秋纹, 宝琴, 周瑞家的, 尤二姐",
    ),
}


def read_novels(data: Path) -> dict[str, list[tuple[str, str]]]:
    """The chapters of every novel of a file, or of every such file in a folder."""
    found: dict[str, list[tuple[str, str]]] = {}
    for file in [data] if data.is_file() else sorted(data.rglob("chapters.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found.setdefault(row["novel"], []).append((str(row["n"]), normalise(row["text"])))
    return found


def guess_language(texts: list[tuple[str, str]]) -> str:
    """Chinese or English, as the first pages look."""
    taste = "".join(text[:2000] for _, text in texts[:5])
    return "zh" if sum("\u4e00" <= c <= "\u9fff" for c in taste) * 3 > len(taste) else "en"


def judge_proposals(novel: str, people: KnownPeople, proposals: list[ProposedEntry]) -> dict[str, float]:
    """How many of the twenty are there, and how much of the first thirty characters is junk."""
    characters = [one for one in proposals if one.kind == "character"]
    first = characters[:FIRST]

    def count_known(among: list[ProposedEntry]) -> int:
        called = {name for one in among for name in one.names}
        return sum(not one.isdisjoint(called) for one in people.twenty)

    junk = [one.name for one in first if people.names.isdisjoint(one.names)]
    if junk:
        show(f"{novel}: among the first {FIRST} characters and not known", ("name",), [(name,) for name in junk])
    return {
        f"{novel}_found": count_known(characters),
        f"{novel}_found_in_first": count_known(first),
        f"{novel}_junk": len(junk) / max(len(first), 1),
        f"{novel}_kinds": len({one.kind for one in proposals[:LISTED]}),
    }


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    if options.data is None:
        raise SystemExit("Name a file of novels: --data chapters.jsonl")
    figures: dict[str, float] = {}
    for novel, texts in read_novels(options.data).items():
        length = sum(len(text) for _, text in texts)
        start = time.perf_counter()
        proposals = propose_entries(texts, language=guess_language(texts))
        seconds = time.perf_counter() - start
        people = NOVELS.get(novel)
        if not options.json:
            show(
                f"{novel}: {length:,} characters in {seconds:.2f} s",
                ("name", "kind", "mentions", "score", "also called"),
                [(p.name, p.kind, p.mentions, p.score, ", ".join(p.aliases)) for p in proposals[:LISTED]],
            )
        if people is not None:
            figures |= judge_proposals(novel, people, proposals)
        figures[f"{novel}_seconds"] = seconds
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
