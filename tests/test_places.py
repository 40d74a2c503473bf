"""Where the work store is: what an address means, what is refused, who sees it and by which credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from submits.work import WorkError, WorkStore, identity, unshared


@pytest.mark.parametrize("url", ["relative/dir", "file://host/dir", "", "ftp://host/x", "s3://", "az:///x"])
def test_an_address_of_another_kind_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(WorkError, match="COORDUI_WORK_URL"):
        WorkStore(url)


@pytest.mark.parametrize("name", ["a#b", "a?b", "%41", "é #?%"])
def test_a_path_is_a_path_whatever_it_is_made_of(tmp_path: Path, name: str) -> None:
    WorkStore(f"{tmp_path}/{name}").put("x", b"y")
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name / "x").read_bytes() == b"y"


@pytest.mark.parametrize("end", ["#b", "?b", "?", "#"])
def test_the_address_of_a_directory_has_no_query_and_no_fragment(tmp_path: Path, end: str) -> None:
    with pytest.raises(WorkError, match="write %3F for"):
        WorkStore(f"file://{tmp_path}/a{end}")


@pytest.mark.parametrize("url", ["s3://known:hidden@bucket/x", "az://box/x?sig=hidden", "gs://box/x#hidden"])
def test_an_address_with_a_credential_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(WorkError, match="credentials come from the environment") as refused:
        WorkStore(url)
    assert "hidden" not in str(refused.value)


def test_a_client_gets_its_own_part_of_the_environment() -> None:
    shell = {"AWS_PROFILE": "p", "AZURE_CLIENT_ID": "c", "GOOGLE_APPLICATION_CREDENTIALS": "g", "SECRET_KEY": "hidden"}
    assert identity("/work", shell) == {}
    assert identity("s3://b/x", shell) == {"AWS_PROFILE": "p"}
    assert identity("az://b/x", shell) == {"AZURE_CLIENT_ID": "c"}
    assert identity("gs://b/x", shell) == {"GOOGLE_APPLICATION_CREDENTIALS": "g"}


def test_who_sees_a_directory() -> None:
    assert unshared("/work", "embedded", claim="", shared=False) == ""
    assert unshared("/work", "kubeconfig", claim="coordui-work", shared=False) == ""
    assert unshared("/work", "incluster", claim="", shared=True) == ""
    assert unshared("s3://b/x", "kubeconfig", claim="", shared=False) == ""
    assert "/work on this machine" in unshared("file:///work", "kubeconfig", claim="", shared=False)
