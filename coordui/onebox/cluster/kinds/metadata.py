"""What holds for every object's metadata."""

from __future__ import annotations

from ..errors import Cause
from ..storage.names import label_problems, qualified_problem
from ..storage.objects import Obj

_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
ANNOTATION_BYTES = 256 * 1024


def metadata_problems(meta: Obj) -> list[Cause]:
    """The name is checked where it is given."""
    found = label_problems(meta.get("labels") or {}, "metadata.labels")
    size = 0
    for key, value in (meta.get("annotations") or {}).items():
        size += len(key.encode()) + len(value.encode())
        if problem := qualified_problem(key.lower()):
            found.append(Cause("metadata.annotations", f'Invalid value: "{key}": {problem}'))
    if size > ANNOTATION_BYTES:
        words = f"Too long: may not be more than {ANNOTATION_BYTES} bytes"
        found.append(Cause("metadata.annotations", words, "FieldValueTooLong"))
    for index, name in enumerate(meta.get("finalizers") or ()):
        if problem := qualified_problem(name):
            found.append(Cause("metadata.finalizers", f'Invalid value: "{name}": {problem}'))
        elif "/" not in name and name not in _STANDARD_FINALIZERS:
            words = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(Cause(f"metadata.finalizers[{index}]", f'Invalid value: "{name}": {words}'))
    controllers = [owner for owner in meta.get("ownerReferences") or () if owner.get("controller")]
    if len(controllers) > 1:
        words = f'Invalid value: "{controllers[1].get("name")}": Only one reference can have Controller set to true.'
        found.append(Cause("metadata.ownerReferences", words))
    return found
