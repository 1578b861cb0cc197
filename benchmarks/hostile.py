"""Read hostile manuscripts, lorebooks, cards and chats of at most 5 MB, each in a process of its own.

Every file must be refused with a code, or read, within 5 seconds and 500 MB. The command prints the worst of both.

    python -m benchmarks.hostile [--only NAME] [--json]
"""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import arguments, report, show
from fabula.core.errors import FabulaError
from fabula.formats.bounded_import import read_bounded
from fabula.formats.chats.files import read_chats
from fabula.formats.lore.files import read_lorebook
from fabula.formats.manuscripts.files import read_manuscript

MAX_BYTES = 5_000_000
_GIVE_UP = 60  # seconds
_WORD = '<w:document xmlns:w="http://w"><w:body>{}</w:body></w:document>'
_CONTAINER = (
    '<container><rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
_PACKAGE = (
    '<package><metadata/><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="a"/></spine></package>'
)


def make_zip(members: dict[str, bytes | str]) -> bytes:
    """Make an archive."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def make_docx(body: str, **members: str) -> bytes:
    """Make a Word document with this body."""
    return make_zip({"word/document.xml": _WORD.format(body), **members})


def make_epub(page: str) -> bytes:
    """Make an EPUB with one page."""
    return make_zip({"META-INF/container.xml": _CONTAINER, "book.opf": _PACKAGE, "a.xhtml": page})


def make_png(*chunks: tuple[bytes, bytes]) -> bytes:
    """Make a picture with these chunks."""
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, content in ((b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), *chunks, (b"IEND", b"")):
        parts += [struct.pack(">I", len(content)), kind, content, struct.pack(">I", zlib.crc32(kind + content))]
    return b"".join(parts)


def make_book(*entries: Mapping[str, object]) -> bytes:
    """Make a lorebook."""
    rows = {str(uid): {"uid": uid, "content": "x", **entry} for uid, entry in enumerate(entries)}
    return json.dumps({"entries": rows}).encode()


def _italics(count: int) -> str:
    pair = "<w:r><w:rPr><w:i/></w:rPr><w:t>a</w:t></w:r><w:r><w:t>b</w:t></w:r>"
    return f"<w:p>{pair * (count // 2)}</w:p>"


def _styles(count: int) -> str:
    rows = (f'<w:style w:styleId="s{n}"><w:basedOn w:val="s{n - 1}"/></w:style>' for n in range(count))
    return f'<w:styles xmlns:w="http://w">{"".join(rows)}</w:styles>'


def _entities(levels: int) -> str:
    lines = [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "boom"}">' for n in range(levels)]
    return f"<!DOCTYPE w [{''.join(lines)}]>" + _WORD.format(f"<w:p><w:r><w:t>&e{levels - 1};</w:t></w:r></w:p>")


CASES: dict[
    str, tuple[str, Callable[[int], bytes]]
] = {  # the ending of the file, and its bytes at a size from 1 to 100
    "docx italics": (".docx", lambda n: make_docx(_italics(n * 1_000))),
    "docx empty paragraphs": (".docx", lambda n: make_docx("<w:p/>" * (n * 10_000))),
    "docx short paragraphs": (".docx", lambda n: make_docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>" * (n * 1_500))),
    "docx bomb": (".docx", lambda n: make_docx("<w:p><w:r><w:t>" + "x" * (n * 2_000_000) + "</w:t></w:r></w:p>")),
    "docx depth": (".docx", lambda n: make_docx("<w:p>" * (n * 5_000) + "</w:p>" * (n * 5_000))),
    "docx entities": (".docx", lambda n: make_zip({"word/document.xml": _entities(min(n, 12) + 1)})),
    "docx attribute": (".docx", lambda n: make_docx(f'<w:p a="{"x" * (n * 400_000)}"><w:r><w:t>x</w:t></w:r></w:p>')),
    "docx attributes": (
        ".docx",
        lambda n: make_docx("<w:p " + " ".join(f'a{k}="1"' for k in range(n * 5_000)) + "><w:r/></w:p>"),
    ),
    "zip members": (".docx", lambda n: make_zip({f"{k}.md": "# a" for k in range(n * 400)})),
    "epub italics": (".epub", lambda n: make_epub(f"<html><body><p>{'<i>a</i>b' * (n * 1_000)}</p></body></html>")),
    "epub depth": (".epub", lambda n: make_epub("<html><body>" + "<div>" * (n * 5_000) + "x</body></html>")),
    "epub open tags": (".epub", lambda n: make_epub("<html><body>" + "<a href='" * (n * 5_000) + "</body></html>")),
    "epub bomb": (".epub", lambda n: make_epub("<html><body><p>" + "x" * (n * 600_000) + "</p></body></html>")),
    "epub headings": (".epub", lambda n: make_epub(f"<html><body>{'<h1>a</h1><p>b</p>' * (n * 2_400)}</body></html>")),
    "epub line breaks": (".epub", lambda n: make_epub(f"<html><body><p>{'a<br/>' * (n * 15_000)}</p></body></html>")),
    "epub closing tags": (
        ".epub",
        lambda n: make_epub(f"<html><body>{'<b>' * 40}{'</i>' * (n * 15_000)}</body></html>"),
    ),
    "docx tabs": (".docx", lambda n: make_docx(f"<w:p><w:r>{'<w:tab/><w:br/>' * (n * 6_000)}</w:r></w:p>")),
    "docx styles": (
        ".docx",
        lambda n: make_docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>", **{"word/styles.xml": _styles(n * 500)}),
    ),
    "rtf groups": (".rtf", lambda n: b"{\\rtf1 " + b"{" * (n * 9) + b"x" + b"}" * (n * 9) + b"}"),
    "rtf styles": (".rtf", lambda n: b"{\\rtf1 " + b"\\i a\\i0 b" * (n * 5_000) + b"}"),
    "text line": (".txt", lambda n: b"word " * (n * 10_000)),
    "text lines": (".txt", lambda n: b"x\n" * (n * 25_000)),
    "text headings": (".txt", lambda n: b"Chapter 1\n\nx\n\n" * (n * 1_000)),
    "text line ends": (".txt", lambda n: b"\r" * (n * 49_000)),
    "text tiny chapters": (".txt", lambda n: "第一章\n字\n".encode() * (n * 3_200)),
    "text title lines": (".txt", lambda n: "跋\n".encode() * (n * 12_000)),
    "text part lines": (".txt", lambda n: b"book one\n" * (n * 5_400)),
    "text numerals": (".txt", lambda n: b"I\n\n" * (n * 16_000)),
    "markdown marks": (".md", lambda n: b"*a **b " * (n * 7_000)),
    "markdown headings": (".md", lambda n: b"# a\n\nb\n\n" * (n * 1_000)),
    "markdown quotes": (".md", lambda n: (b">" * 500 + b" x\n") * (n * 90)),
    "markdown front matter": (".md", lambda n: b"---\n" + b"a: b\n" * (n * 9_000) + b"---\n# x\n\nx\n"),
    "json depth": (".json", lambda n: b"[" * (n * 49_000)),
    "json containers": (".json", lambda n: b'{"entries":[' + b"[]," * (n * 16_000) + b"[]]}"),
    "json number": (".json", lambda n: b'{"entries":{"0":{"uid":' + b"9" * (n * 49_000) + b"}}}"),
    "book of entries": (".json", lambda n: make_book(*({"key": [f"k{k}"]} for k in range(n * 300)))),
    "book of keys": (".json", lambda n: make_book({"key": [f"k{k}" for k in range(n * 4_600)]})),
    "book of patterns": (".json", lambda n: make_book({"key": [f"/a[b]{k}/" for k in range(n * 2_900)]})),
    "book of brackets": (".json", lambda n: make_book({"key": ["/" + "[" * (n * 49_000) + "/"]})),
    "book of decorators": (".json", lambda n: make_book({"constant": True, "content": "@@a\n" * (n * 9_000)})),
    "png chunks": (".png", lambda n: make_png(*[(b"tEXt", b"a\0b")] * (n * 3_000))),
    "png bomb": (
        ".png",
        lambda n: make_png((b"zTXt", b"chara\0\0" + zlib.compress(b"{" + b" " * (n * 4_000_000)))),
    ),
    "chat of lines": (".jsonl", lambda n: b'{"mes":"a"}\n' * (n * 990)),
    "chat of swipes": (
        ".jsonl",
        lambda n: b'{"mes":"","swipe_id":0,"swipes":[' + b'"",' * (n * 16_000) + b'""]}\n',
    ),
    "chat of many swipes": (
        ".jsonl",
        lambda n: (b'{"mes":"","swipe_id":0,"swipes":[' + b'"",' * 29 + b'""]}\n') * (n * 33),
    ),
    "chat of values": (".jsonl", lambda n: (b'{"mes":"a","extra":[' + b"[]," * 300 + b"[]]}\n") * (n * 50)),
    "chat of times": (".jsonl", lambda n: b'{"mes":"a","send_date":"2023-1-1 @' + b"1" * (n * 49_000) + b'h"}\n'),
    "chat of names": (".jsonl", lambda n: b"".join(b'{"mes":"a","name":"n%d"}\n' % k for k in range(n * 990))),
    "chat of blank lines": (".jsonl", lambda n: b'{"mes":"a"}' + (b" " * 45 + b"\n") * (n * 990)),
    "session of parents": (
        ".jsonl",
        lambda n: b"".join(
            b'{"id":"%d","role":"user","content":"a","parent_id":"%d"}\n' % (k, k // 2) for k in range(n * 700)
        ),
    ),
    "card of text": (
        ".json",
        lambda n: json.dumps(
            {"spec": "chara_card_v2", "data": {"name": "x", "description": "x" * (n * 49_000), "extensions": {}}}
        ).encode(),
    ),
}


def get_reader(path: Path) -> Callable[[Path], object]:
    """Return the reader of a hostile file."""
    if path.suffix == ".jsonl":
        return read_chats
    return read_lorebook if path.suffix in (".json", ".png") else read_manuscript


def read_hostile(path: Path) -> str:
    """Read a file as an import would; return the code of the refusal, or nothing."""
    try:
        read_bounded(get_reader(path), path)
    except FabulaError as error:
        return error.code.value
    return ""


def measure(path: Path) -> tuple[str, float, float]:
    """Read a file in a process of its own; return the code, its processor seconds and its megabytes."""
    command = [sys.executable, "-m", "benchmarks.hostile", "--read", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_GIVE_UP)
    except subprocess.TimeoutExpired:
        return "FAILED: too long", float(_GIVE_UP), 0.0
    if done.returncode:
        return f"FAILED: {done.stderr[-300:]}", 0.0, 0.0
    code, seconds, megabytes = json.loads(done.stdout)
    return code, seconds, megabytes


def print_reading(path: Path) -> None:
    """Read a file and print the code, the processor seconds and the megabytes of this process and its children."""
    begin = time.process_time()
    code = read_hostile(path)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() - begin + children.ru_utime + children.ru_stime
    lines = Path("/proc/self/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    print(json.dumps([code, seconds, max(own, children.ru_maxrss) / 1024]))


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--read", type=Path, help="read this file and print what became of it")
    options = parser.parse_args()
    if options.read is not None:
        print_reading(options.read)
        return
    rows = []
    with TemporaryDirectory() as folder:
        for name, (ending, make) in CASES.items():
            if options.only not in name:
                continue
            path = Path(folder) / f"{name}{ending}"
            data = make(100)
            assert len(data) <= MAX_BYTES * 1.05, name
            path.write_bytes(data)
            rows.append((name, len(data), *measure(path)))
            path.unlink()
    show("hostile files", ("file", "bytes", "code", "seconds", "MB"), rows)
    figures = {
        "files": len(rows),
        "uncoded": sum(code.startswith("FAILED") for _, _, code, _, _ in rows),
        "worst_seconds": max(seconds for *_, seconds, _ in rows),
        "worst_megabytes": max(megabytes for *_, megabytes in rows),
    }
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
