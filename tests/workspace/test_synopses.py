"""Synopses: read, made, written by hand and removed."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.workspace.project import ProjectHandle


def test_a_removed_synopsis_is_derived_and_can_be_made_or_written(coast: ProjectHandle) -> None:
    synopses = coast.synopses
    assert synopses.remove("The Weight").state == "fresh"
    assert synopses.remove("ch-02").state == "missing"
    (derived,) = synopses.read(["ch-02"])
    assert derived.origin is None
    assert derived.text
    assert [one.document_id for one in synopses.make().created] == ["ch-02"]
    assert synopses.make().created == []
    written = synopses.write("ch-02", "Somebody climbs.")
    assert (written.origin, written.state, written.text) == ("hand", "fresh", "Somebody climbs.")
    assert written.missing_characters
    assert next(one for one in synopses.list_synopses() if one.document_id == "ch-02").text == "Somebody climbs."


def test_bad_input_is_refused(coast: ProjectHandle, read_only_coast: ProjectHandle) -> None:
    with pytest.raises(FabulaError, match="The Weight") as unknown:
        coast.synopses.write("The Wieght", "x")
    assert unknown.value.code is Code.DOCUMENT_UNKNOWN
    with pytest.raises(FabulaError) as empty:
        coast.synopses.write("ch-02", " ")
    assert empty.value.code is Code.TEXT_INVALID
    assert read_only_coast.synopses.read(["ch-02"])[0].text
    for change in (read_only_coast.synopses.make, lambda: read_only_coast.synopses.write("ch-02", "x")):
        with pytest.raises(FabulaError) as refusal:
            change()
        assert refusal.value.code is Code.PROJECT_READ_ONLY
