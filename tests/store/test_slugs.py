"""Slugs of projects: each has one of its own, which stays when the title changes."""

from __future__ import annotations

import threading

from fabula.manuscript import projects
from fabula.manuscript.projects import find_by_slug, list_projects
from fabula.store.slugs import mark_slug
from fabula.store.store import Store


def read_slugs(store: Store) -> dict[str, str]:
    return {one.id: one.slug for one in list_projects(store)}


def test_projects_of_one_title_have_slugs_of_their_own(store: Store) -> None:
    titles = {"a": "The Lantern Coast", "b": "the lantern: coast!", "c": "The Lantern Coast", "d": "…", "e": "红楼梦"}
    for ident, title in titles.items():
        projects.create(store, title, project_id=ident)
    slugs = ["the-lantern-coast", "the-lantern-coast-2", "the-lantern-coast-3", "project", "红楼梦"]
    assert read_slugs(store) == dict(zip(titles, slugs, strict=True))
    assert [find_by_slug(store, slug) for slug in slugs] == [*titles]
    assert [find_by_slug(store, name) for name in ("c", "nothing", "")] == ["c", None, None]


def test_a_slug_stays_when_the_title_changes(store: Store) -> None:
    projects.create(store, "Untitled", project_id="a")
    with store.write(project="a") as tx:
        projects.rename(tx, "The Lantern Coast")
    projects.create(store, "The Lantern Coast", project_id="b")
    assert read_slugs(store) == {"a": "untitled", "b": "the-lantern-coast"}


def test_a_deleted_project_leaves_its_slug_to_others_and_has_it_again_if_it_is_free(store: Store) -> None:
    for ident in ("a", "b"):
        projects.create(store, "Party", project_id=ident)
        projects.remove(store, ident)
        projects.create(store, "Party", project_id=ident)  # as if it were restored
        assert read_slugs(store)[ident] == ("party" if ident == "a" else "party-2")
    projects.remove(store, "a")
    projects.create(store, "Party", project_id="c")
    projects.create(store, "Party", project_id="a")
    assert read_slugs(store) == {"b": "party-2", "c": "party", "a": "party-3"}
    assert find_by_slug(store, "party") == "c"


def test_projects_that_are_made_at_once_have_different_slugs(store: Store) -> None:
    failures: list[BaseException] = []

    def create(number: int) -> None:
        try:
            projects.create(store, "Party", project_id=f"p{number}")
        except BaseException as error:  # which the test shows
            failures.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(read_slugs(store).values()) == ["party", *(f"party-{number}" for number in range(2, 9))]


def test_a_slug_that_is_marked_does_not_tell_of_other_projects() -> None:
    assert mark_slug("Party", "0123456789abcdef") == "party-01234567"
    assert mark_slug("…", "0123456789abcdef") == "project-01234567"
