"""Reader of heap dumps of Java and Android (HPROF), as `jmap`, a HotSpotDiagnosticMXBean and `am` write them.

The file is mapped into memory, not read: one pass lists the objects, a second one the references, once the
fields of all classes are known. A vertex "(roots)" stands before the objects; it leads to all roots of the
file.

- References are those of fields, elements and static fields, of an object to its class, and of a class to its
  superclass and its loader. The referent of a `java.lang.ref.Reference` (weak, soft, phantom and final
  references) does not keep its object alive, as for Shark and VisualVM. Objects that are left without any
  reference, as they lie in a heap between two collections, are the root's.
- Sizes are those of the virtual machine, which HotSpot does not write: a header of 12 bytes, with the length
  of an array 16, and fields or elements, where a reference has 4 bytes if all addresses are below 32 GiB
  (compressed, by default), rounded up to 8 bytes; 16, 24 and 8 bytes in larger heaps. With ids of 4 bytes, as
  Android writes, that of an instance is in the file. A class has the size of an instance of java.lang.Class
  and of its static fields.

References
----------
OpenJDK, "HPROF Agent: binary dump format"; Android, ``hprof.h`` of ART for the tags from 0x89.
"""

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError
from relaxometer.datasets.parameters import NoParameters
from relaxometer.datasets.readers.heaps import heap_graph
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph, offsets_of

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

UTF8, LOAD_CLASS, HEAP_DUMP, HEAP_DUMP_SEGMENT = 0x01, 0x02, 0x0C, 0x1C
CLASS, INSTANCE, OBJECTS, PRIMITIVES, PRIMITIVES_NODATA = 0x20, 0x21, 0x22, 0x23, 0xC3
HEAP_INFO, UNREACHABLE = 0xFE, 0x90

TYPES = ("(roots)", "class", "instance", "object array", "primitive array")
TYPE_OF = {CLASS: 1, INSTANCE: 2, OBJECTS: 3, PRIMITIVES: 4, PRIMITIVES_NODATA: 4}

PRIMITIVE = {4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int", 11: "long"}
WIDTHS = np.array([0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8] + [0] * 244)
"""Bytes of a value by its type; 0 for an unknown one. That of a reference is the file's."""

REFERENCE = 2

ROOT_WORDS = np.full(256, -1)
ROOT_WORDS[[0xFF, 0x05, 0x07, 0x89, 0x8A, 0x8B, 0x8C, 0x8D]] = 0
ROOT_WORDS[[0x04, 0x06]] = 4
ROOT_WORDS[[0x02, 0x03, 0x08, 0x8E]] = 8
ROOT_WORDS[0x01] = -2
"""Bytes after the id of a root by its tag; -1: no root, -2: another id."""

COMPRESSED = 1 << 35
"""Bound of the addresses that HotSpot keeps in 32 bits."""

CHUNK = 1 << 16
"""Parts of a heap that are listed at a time."""


class Objects(NamedTuple):
    """Of each object: tag, id, class or type of elements, number of bytes or elements, and their place."""

    tag: Ints
    id: Ints
    of: Ints
    size: Ints
    place: Ints


class ClassDump(NamedTuple):
    """A class: the one above, what it refers to, and the sizes of the fields and static fields that it adds.

    `references` are superclass, loader and the values of static fields; `size` is that of an instance, as the
    file says. `fields` are the places of references among its own fields, without those that are weak.
    `length` and `pointers` are the bytes of the fields that it adds, in the file, and how many of them are
    references, `statics` and `static_pointers` those of static fields.
    """

    above: int
    references: list[int]
    size: int
    fields: list[int]
    length: int
    pointers: int
    statics: int
    static_pointers: int


def build(name: str, dataset: Dataset[NoParameters], file: Path) -> Graph:
    """Make the graph of a dump; see :data:`relaxometer.datasets.build.Reader`."""
    try:
        data = np.memmap(file, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: not readable as a heap dump ({error})") from None
    return _Dump(file, data).graph(name)


class _Dump:
    """One file."""

    def __init__(self, path: Path, data: Bytes) -> None:
        self._path, self._data, self._view = path, data, data.data
        begin = bytes(data[:32])
        end = begin.find(b"\0")
        if not begin.startswith(b"JAVA PROFILE 1.0.") or len(data) < end + 13 or end < 0:
            raise self._damage("it does not begin as a heap dump of Java; unpack it if it is compressed")
        (self._id_size,) = struct.unpack_from(">I", self._view, end + 1)
        if self._id_size not in (4, 8):
            raise self._damage(f"ids of {self._id_size} bytes; expected 4 or 8")
        self._first = end + 13
        self._id = ">q" if self._id_size == 8 else ">I"

    def _damage(self, what: str) -> UserError:
        return UserError(f"{self._path}: not a whole heap dump of Java: {what}")

    def _ids(self, at: int, count: int = 1) -> list[int]:
        found: list[int] = np.frombuffer(self._data, np.dtype(self._id), count, at).astype(np.int64).tolist()
        return found

    def graph(self, name: str) -> Graph:
        """Read the file."""
        strings, names, rows = self._records()
        classes = self._classes(rows[rows[:, 0] == CLASS], strings, names)
        is_root = ROOT_WORDS[rows[:, 0]] != -1
        roots = np.unique(rows[is_root, 1])
        objects = Objects(*rows[~is_root & ~np.isin(rows[:, 0], (HEAP_INFO, UNREACHABLE))].T)
        by_id = np.array([*classes], np.int64)
        of_class = _looked_up(by_id, np.where(objects.tag == CLASS, objects.id, objects.of))
        if (of_class[objects.tag == INSTANCE] < 0).any():
            raise self._damage("an instance of a class that is not in the file")
        offsets, ends = self._references(objects, of_class, classes, roots)
        found = _looked_up(objects.id, ends)
        keeps = found >= 0
        heads = np.where(keeps, found + 1, 0).astype(np.uint32)
        columns = self._columns(objects, of_class, classes, names)
        return heap_graph(name, (offsets, heads), keeps, columns, {"roots": len(roots)})

    def _references(
        self, objects: Objects, of_class: Ints, classes: dict[int, ClassDump], roots: Ints
    ) -> tuple[Ints, Ints]:
        """Return the ids that each object refers to, the roots first, as offsets and ids."""
        tag = objects.tag
        fields = [self._fields(classes, one) for one in classes]
        starts = offsets_of(np.array([len(one) for one in fields], np.int64))
        of_instance = np.append(np.diff(starts), 0)[of_class] + 1
        own = np.array([*(len(one.references) for one in classes.values()), 0], np.int64)
        degrees = np.where(tag == INSTANCE, of_instance, np.where(tag == OBJECTS, objects.size + 1, 0))
        degrees = np.where(tag == CLASS, own[of_class], degrees)
        offsets = offsets_of(np.append(len(roots), degrees))
        ends = np.empty(offsets[-1], np.int64)
        ends[: len(roots)] = roots
        for v in np.flatnonzero(tag == CLASS).tolist():
            ends[offsets[v + 1] : offsets[v + 2]] = classes[int(objects.id[v])].references
        flat = np.array([place for one in fields for place in one], np.int64)
        fields_of = of_class, starts, flat
        wrong = _read_references(self._data, self._id_size, objects, fields_of, offsets[1:], ends)
        if wrong >= 0:
            raise self._damage(f"the fields of instance {wrong} are shorter than its class says")
        return offsets, ends

    def _columns(
        self, objects: Objects, of_class: Ints, classes: dict[int, ClassDump], names: dict[int, str]
    ) -> dict[str, Any]:
        """Return the columns of the table of objects, with the vertex of the roots first."""
        tag, kind = objects.tag, objects.of & 15
        is_wide = self._id_size == 8 and objects.id.max(initial=0) >= COMPRESSED
        saved = 4 if self._id_size == 8 and not is_wide else 0
        sizes = {one: self._instance_size(classes, one, is_wide, saved) for one in classes}
        of_classes = sizes.get(next((one for one in classes if names.get(one) == "java.lang.Class"), 0), 0)
        statics = [of_classes + one.statics - saved * one.static_pointers for one in classes.values()]
        before = 24 if is_wide else 16 if self._id_size == 8 else 12
        width = np.where(tag == OBJECTS, self._id_size - saved, WIDTHS[kind])
        own = np.where(tag == CLASS, np.array([*statics, 0])[of_class], before + objects.size * width)
        own = np.where(tag == INSTANCE, np.array([*sizes.values(), 0])[of_class], own)
        called = [names.get(one, "(unknown class)") for one in classes]
        called += [*(f"{one}[]" for one in PRIMITIVE.values()), "(unknown class)", "(roots)"]
        number = np.where(tag >= PRIMITIVES, len(classes) + kind - 4, of_class)
        number = np.where(number < 0, len(called) - 2, number)
        kinds = np.array([TYPE_OF.get(one, 0) for one in range(256)], np.int8)[tag]
        numbers = np.append(len(called) - 1, number).astype(np.int32)
        return {
            "object": np.append(0, objects.id).astype(np.uint64),
            "type": pa.DictionaryArray.from_arrays(np.append(np.int8(0), kinds), pa.array(TYPES)),
            "name": pa.DictionaryArray.from_arrays(numbers, pa.array(called)),
            "size": np.append(0, (own + 7) // 8 * 8).astype(np.uint64),
        }

    def _records(self) -> tuple[dict[int, str], dict[int, str], Ints]:
        """Return the strings, the names of the classes, and a row for each part of the heap."""
        strings, loaded = {}, {}
        parts = [np.empty((0, 5), np.int64)]
        at, size = self._first, len(self._data)
        while at < size:
            if at + 9 > size:
                raise self._damage("the file ends early")
            tag, _, length = struct.unpack_from(">BII", self._view, at)
            at, end = at + 9, at + 9 + length
            if end > size:
                raise self._damage("the file ends early")
            if tag == UTF8 and length >= self._id_size:
                content = bytes(self._data[at + self._id_size : end])
                strings[self._ids(at)[0]] = content.decode("utf-8", "replace")
            elif tag == LOAD_CLASS and length == 8 + 2 * self._id_size:
                loaded[self._ids(at + 4)[0]] = self._ids(at + 8 + self._id_size)[0]
            elif tag in (HEAP_DUMP, HEAP_DUMP_SEGMENT):
                parts += self._parts(at, end)
            at = end
        names = {one: _readable(strings.get(text, "")) for one, text in loaded.items()}
        return strings, names, np.concatenate(parts)

    def _parts(self, at: int, end: int) -> list[Ints]:
        """Return a row for each part of a dump: tag, id, class or type, number of elements, and place."""
        found = []
        while at < end:
            rows = np.empty((CHUNK, 5), np.int64)
            count, stop, is_sound = _walk(self._data, at, end, self._id_size, WIDTHS, ROOT_WORDS, rows)
            if not is_sound:
                raise self._damage(f"an unknown or cut part of the heap at byte {stop}")
            found.append(rows[:count].copy())
            at = stop
        return found

    def _classes(self, rows: Ints, strings: dict[int, str], names: dict[int, str]) -> dict[int, ClassDump]:
        """Return the classes by id."""
        size = self._id_size
        found = {}
        for _, one, _, _, at in rows.tolist():
            above, loader = self._ids(at + 4, 2)
            references, statics = [above, loader], 0
            at += 4 + 6 * size
            (instance,) = struct.unpack_from(">I", self._view, at)
            at += 4
            for with_name in (False, True):
                (count,) = struct.unpack_from(">H", self._view, at)
                at += 2
                for _ in range(count):
                    at += size if with_name else 2
                    kind = int(self._data[at])
                    at += 1
                    if kind == REFERENCE:
                        references += self._ids(at)
                    width = size if kind == REFERENCE else int(WIDTHS[kind])
                    statics, at = statics + width * with_name, at + width
            (count,) = struct.unpack_from(">H", self._view, at)
            at += 2
            fields, length, pointers = [], 0, 0
            is_reference = names.get(one) == "java.lang.ref.Reference"
            for _ in range(count):
                kind = int(self._data[at + size])
                if kind == REFERENCE and not (is_reference and strings.get(self._ids(at)[0]) == "referent"):
                    fields.append(length)
                pointers += kind == REFERENCE
                length += size if kind == REFERENCE else int(WIDTHS[kind])
                at += size + 1
            own = length, pointers, statics, len(references) - 2
            found[one] = ClassDump(above, references, instance, fields, *own)
        return found

    def _instance_size(self, classes: dict[int, ClassDump], one: int, is_wide: bool, saved: int) -> int:
        """Return the size of the instances of a class; `saved` bytes per reference are not in memory."""
        if self._id_size == 4:
            return classes[one].size
        chain = [classes[each] for each in _chain(classes, one)]
        header = 16 if is_wide else 12
        return header + sum(each.length - saved * each.pointers for each in chain)

    def _fields(self, classes: dict[int, ClassDump], one: int) -> list[int]:
        """Return the places of references in the instances of a class, its own fields first."""
        places, before = [], 0
        for each in _chain(classes, one):
            places += [before + place for place in classes[each].fields]
            before += classes[each].length
        return places


def _chain(classes: dict[int, ClassDump], one: int) -> list[int]:
    """Return a class and those above it, up to one that is not in the file."""
    chain: list[int] = []
    while one in classes and one not in chain:
        chain.append(one)
        one = classes[one].above
    return chain


def _readable(name: str) -> str:
    """Return the name of a class as Java programs write it."""
    element = name.lstrip("[")
    depth = len(name) - len(element)
    if depth and element.startswith("L"):
        element = element[1:].rstrip(";")
    elif depth:
        element = dict(zip("ZCFDBSIJ", PRIMITIVE.values(), strict=True)).get(element, element)
    return element.replace("/", ".") + "[]" * depth


def _looked_up(known: Ints, wanted: Ints) -> Ints:
    """Return where each id stands among those known, -1 for others."""
    order = np.argsort(known, kind="stable")
    ranks = np.searchsorted(known, wanted, sorter=order)
    found = order[np.minimum(ranks, len(known) - 1)] if len(known) else np.zeros(len(wanted), np.int64)
    is_known = known[found] == wanted if len(known) else np.zeros(len(wanted), np.bool_)
    return np.where(is_known, found, -1)


@njit(cache=True)
def _number(data: Bytes, at: int, width: int) -> int:
    value = 0
    for i in range(at, at + width):
        value = value * 256 + data[i]
    return value


@njit(cache=True)
def _class_length(data: Bytes, at: int, end: int, id_size: int, widths: Ints) -> int:
    """Return the length of a class after its id; -1 if it is cut or has a value of an unknown type."""
    begin = at
    at += 8 + 6 * id_size
    for part in range(3):
        if at + 2 > end:
            return -1
        count = _number(data, at, 2)
        at += 2
        for _ in range(count):
            at += 2 if part == 0 else id_size
            if at + 1 > end:
                return -1
            width = id_size if data[at] == REFERENCE else widths[data[at]]
            if width == 0:
                return -1
            at += 1 if part == 2 else 1 + width
    return at - begin if at <= end else -1


@njit(cache=True)
def _walk(
    data: Bytes, at: int, end: int, id_size: int, widths: Ints, root_words: Ints, rows: np.ndarray
) -> tuple[int, int, bool]:
    """List parts of a heap; returns their number, where the next begins, and whether all were sound."""
    count = 0
    while at < end and count < len(rows):
        tag = data[at]
        body = at + 1 + id_size
        if tag == HEAP_INFO:
            body += 4
        if body > end:
            return count, at, False
        of = elements = 0
        place = body
        if tag == CLASS:
            length = _class_length(data, body, end, id_size, widths)
        elif tag in (HEAP_INFO, UNREACHABLE):
            length = 0
        elif root_words[tag] != -1:
            length = id_size if root_words[tag] == -2 else root_words[tag]
        elif tag == INSTANCE:
            place += 8 + id_size
            if place > end:
                return count, at, False
            of, elements = _number(data, body + 4, id_size), _number(data, place - 4, 4)
            length = place - body + elements
        elif tag in (OBJECTS, PRIMITIVES, PRIMITIVES_NODATA):
            place += 8 + (id_size if tag == OBJECTS else 1)
            if place > end:
                return count, at, False
            elements, of = _number(data, body + 4, 4), _number(data, body + 8, place - body - 8)
            width = id_size if tag == OBJECTS else widths[of]
            if width == 0:
                return count, at, False
            length = place - body + (0 if tag == PRIMITIVES_NODATA else elements * width)
        else:
            length = -1
        if length < 0 or body + length > end:
            return count, at, False
        row = rows[count]
        row[0], row[1], row[2], row[3], row[4] = tag, _number(data, at + 1, id_size), of, elements, place
        count += 1
        at = body + length
    return count, at, True


@njit(cache=True)
def _read_references(
    data: Bytes, id_size: int, objects: Objects, fields_of: Any, offsets: Ints, ends: Ints
) -> int:
    """Write the ids that instances and arrays refer to; returns an instance that is too short, or -1."""
    tag, _, of, counts, places = objects
    of_class, starts, fields = fields_of
    for v in range(len(tag)):
        if tag[v] != INSTANCE and tag[v] != OBJECTS:
            continue
        edge = offsets[v]
        ends[edge] = of[v]
        if tag[v] == OBJECTS:
            for i in range(counts[v]):
                ends[edge + 1 + i] = _number(data, places[v] + i * id_size, id_size)
            continue
        first = starts[of_class[v]]
        for i in range(first, starts[of_class[v] + 1]):
            if fields[i] + id_size > counts[v]:
                return v
            ends[edge + 1 + i - first] = _number(data, places[v] + fields[i], id_size)
    return -1
