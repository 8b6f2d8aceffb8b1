"""Available memory: the machine's, or what a container's limit leaves."""

import pytest

from isinglass.memory import available_bytes, format_bytes

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


@pytest.mark.parametrize("stat", [None, "", "inactive_file\n", "\xff\n\ninactive_file many\n"])
def test_a_limit_holds_without_statistics(machine, stat):
    add_group(machine, 2, "box", 3 * GIB, GIB)
    path = machine / "sys/fs/cgroup/box/memory.stat"
    path.unlink()
    if stat is not None:
        path.write_bytes(stat.encode("latin-1"))
    assert available_bytes(machine) == 2 * GIB


def test_no_more_is_left_than_the_limit(machine):
    add_group(machine, 2, "box", GIB, GIB // 2, cached=5 * GIB)
    assert available_bytes(machine) == GIB


def test_another_kind_of_group_is_none_for_memory(machine):
    add_group(machine, 1, "box", GIB, 0)
    write(machine / "proc/self/cgroup", "4:memory_of_else,cpu:/box\n")
    assert available_bytes(machine) == 8 * GIB


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"0\n", b"0:\n", b"\xff\xfe::/\n", b"0::/a\x0bb\n", b"4:memory:/\x00\n"]
)
def test_odd_lines_of_groups_are_passed_over(machine, text):
    (machine / "proc/self").mkdir(parents=True)
    (machine / "proc/self/cgroup").write_bytes(text)
    assert available_bytes(machine) == 8 * GIB


def test_a_path_cannot_lead_out(machine):
    write(machine / "proc/self/cgroup", "0::/../b\n")
    for folder in ("sys/fs", "sys/b", "sys/fs/b"):
        write(machine / folder / "memory.max", "5\n")
        write(machine / folder / "memory.current", "0\n")
    assert available_bytes(machine) == 8 * GIB


@pytest.mark.parametrize("limit", ["-1", "", "many"])
def test_what_is_no_limit(machine, limit):
    add_group(machine, 2, "box", limit, GIB)
    assert available_bytes(machine) == 8 * GIB


@pytest.mark.parametrize("text", ["MemAvailable:\n", "MemAvailable: many kB\n", "MemAvailable\n"])
def test_a_machine_that_does_not_say(tmp_path, text):
    write(tmp_path / "proc/meminfo", text)
    assert available_bytes(tmp_path) > 1 << 20


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
def test_sizes_are_written_in_binary_units(size, text):
    assert format_bytes(size) == text
