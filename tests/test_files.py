"""Files that are whole or not there, and where they may be put."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from brai.runtime.atomic_files import replace, write_text
from brai.runtime.lock import NAME, FolderInUseError, claimed

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes differ")


@posix
def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "file", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "real" / "other")
    write_text(dangling, "new")
    assert dangling.is_symlink()
    assert (tmp_path / "real" / "other").read_text() == "new"


@posix
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "link to a pipe"])
def test_what_is_no_plain_file_is_not_replaced(kind, tmp_path):
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    before = os.lstat(path)
    with pytest.raises(OSError, match="give another name") as error:
        write_text(path, "new")
    assert str(path) in str(error.value)
    assert os.lstat(path).st_ino == before.st_ino
    assert not list(tmp_path.glob(".*"))


@posix
def test_a_device_stays_a_device():
    with pytest.raises(OSError, match="not a regular file"):
        write_text(__import__("pathlib").Path("/dev/null"), "x")
    assert not os.path.isfile("/dev/null")


def test_a_full_disk_names_the_file(tmp_path):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as error:
        replace(tmp_path / "x.txt", full)
    assert str(tmp_path / "x.txt") in str(error.value)
    assert error.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_holder(tmp_path):
    """A process that is killed leaves the file behind, and not the lock."""
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom brai.runtime.lock import claimed\n"
        "with claimed(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline().strip() == b"held"
        with pytest.raises(FolderInUseError, match=f"process {child.pid}"), claimed(tmp_path):
            pass
        child.kill()
    assert (tmp_path / NAME).exists()
    with claimed(tmp_path):
        pass
    if sys.platform != "win32":
        assert list(tmp_path.iterdir()) == []
