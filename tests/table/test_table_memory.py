"""Available memory: the machine's, or what a container's limit leaves."""

import pytest

from isinglass.table.memory import available_bytes, readable

GIB = 1 << 30
NAMES = {
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    2: ("sys/fs/cgroup", "memory.max", "memory.current"),
}


@pytest.fixture
def machine(tmp_path):
    """A root with 8 GiB available, to which groups can be added."""
    write(tmp_path / "proc/meminfo", f"MemTotal: 1 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_group(root, version, path, limit, used, cached=0):
    top, limit_name, used_name = NAMES[version]
    line = f"4:cpu,memory:/{path}\n3:pids:/else\n0::/\n" if version == 1 else f"0::/{path}\n"
    write(root / "proc/self/cgroup", line)
    folder = root / top / path
    write(folder / limit_name, f"{limit}\n")
    write(folder / used_name, f"{used}\n")
    name = "total_inactive_file" if version == 1 else "inactive_file"
    write(folder / "memory.stat", f"anon 5\n{name} {cached}\nslab 7\n")


def test_of_the_machine(machine):
    assert available_bytes(machine) == 8 * GIB


@pytest.mark.parametrize("version", NAMES)
def test_a_group_with_a_limit(machine, version):
    add_group(machine, version, "box", 3 * GIB, 2 * GIB, cached=GIB // 2)
    assert available_bytes(machine) == 3 * GIB // 2


@pytest.mark.parametrize("version", NAMES)
def test_a_limit_above_what_the_machine_has(machine, version):
    add_group(machine, version, "box", 9223372036854771712, GIB)
    assert available_bytes(machine) == 8 * GIB


@pytest.mark.parametrize("version", NAMES)
def test_the_limit_of_a_group_above(machine, version):
    add_group(machine, version, "outer", 4 * GIB, GIB)
    add_group(machine, version, "outer/inner", "max", GIB)
    assert available_bytes(machine) == 3 * GIB


@pytest.mark.parametrize("version", NAMES)
def test_a_path_that_is_not_mounted_counts_from_the_top(machine, version):
    add_group(machine, version, "", 2 * GIB, GIB)
    name = "4:memory" if version == 1 else "0:"
    write(machine / "proc/self/cgroup", f"{name}:/host/name/of/it\n")
    assert available_bytes(machine) == GIB


def test_more_used_than_allowed_is_none_left(machine):
    add_group(machine, 2, "box", GIB, 2 * GIB)
    assert available_bytes(machine) == 0


def test_no_limit(machine):
    add_group(machine, 2, "box", "max", GIB)
    assert available_bytes(machine) == 8 * GIB


def test_without_proc(tmp_path):
    assert available_bytes(tmp_path) > 1 << 20


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (10 * GIB, "10 GiB")],
)
def test_readable(size, text):
    assert readable(size) == text
