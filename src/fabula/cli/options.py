"""Arguments and options that many commands have."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

STORE_VARIABLE = "FABULA_STORE"
HOST_VARIABLE, PORT_VARIABLE = "FABULA_HOST", "FABULA_PORT"
STORE = Annotated[
    str | None, Option("--store", envvar=STORE_VARIABLE, help="A data folder, or the address of a PostgreSQL server.")
]
JSON = Annotated[bool, Option("--json", help="Everything as JSON.")]
PROJECT = Annotated[str, Argument(help="A project of the store, by its title, number or id.")]
ANY_PROJECT = Annotated[str, Argument(help="A project of the store, a folder, a text file, or sample:NAME.")]
SINCE = Annotated[str | None, Option("--since", help="From where on: CHAPTER, CHAPTER@OFFSET or CHAPTER:WORDS.")]
IDS = Annotated[bool, Option("--ids", help="Show ids as well.")]
OVERWRITE = Annotated[bool, Option("--overwrite", help="Replace what is there.")]
