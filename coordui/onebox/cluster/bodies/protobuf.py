"""Bodies in protobuf: what kubectl's typed `create` commands send. Only those kinds; anything else is a 415.

The numbers are those of the API's generated.proto files, which never change.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import unsupported_media
from ..storage.objects import Obj

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"


@dataclass(frozen=True)
class Field:
    name: str
    kind: str  # "string", "int", "bool", "skip", one of _MAPS, or a message's name
    repeated: bool = False


def _fields(text: str) -> dict[int, Field]:
    """`1 name string` a field; a star after the kind: repeated."""
    found = {}
    for entry in text.split(","):
        number, name, kind = entry.split()
        found[int(number)] = Field(name, kind.rstrip("*"), kind.endswith("*"))
    return found


_META = "1 metadata ObjectMeta"
_MESSAGES = {
    "ObjectMeta": _fields(
        "1 name string,2 generateName string,3 namespace string,4 selfLink string,5 uid string,"
        "6 resourceVersion string,7 generation skip,8 creationTimestamp skip,11 labels strings,12 annotations strings,"
        "13 ownerReferences OwnerReference*,14 finalizers string*"
    ),
    "OwnerReference": _fields(
        "1 kind string,3 name string,4 uid string,5 apiVersion string,6 controller bool,7 blockOwnerDeletion bool"
    ),
    "ConfigMap": _fields(f"{_META},2 data strings,3 binaryData blobs,4 immutable bool"),
    "Secret": _fields(f"{_META},2 data blobs,3 type string,4 stringData strings,5 immutable bool"),
    "Namespace": _fields(f"{_META},2 spec skip,3 status skip"),
    "ServiceAccount": _fields(_META),
    "Role": _fields(f"{_META},2 rules PolicyRule*"),
    "ClusterRole": _fields(f"{_META},2 rules PolicyRule*,3 aggregationRule skip"),
    "PolicyRule": _fields(
        "1 verbs string*,2 apiGroups string*,3 resources string*,4 resourceNames string*,5 nonResourceURLs string*"
    ),
    "RoleBinding": _fields(f"{_META},2 subjects Subject*,3 roleRef RoleRef"),
    "ClusterRoleBinding": _fields(f"{_META},2 subjects Subject*,3 roleRef RoleRef"),
    "Subject": _fields("1 kind string,2 apiGroup string,3 name string,4 namespace string"),
    "RoleRef": _fields("1 apiGroup string,2 kind string,3 name string"),
    "ResourceQuota": _fields(f"{_META},2 spec ResourceQuotaSpec,3 status skip"),
    "ResourceQuotaSpec": _fields("1 hard quantities,2 scopes string*"),
    "TokenRequest": _fields(f"{_META},2 spec TokenRequestSpec,3 status skip"),
    "TokenRequestSpec": _fields("1 audiences string*,3 boundObjectRef BoundObjectReference,4 expirationSeconds int"),
    "BoundObjectReference": _fields("1 kind string,2 apiVersion string,3 name string,4 uid string"),
    "SelfSubjectReview": _fields(f"{_META},2 status skip"),
    "SelfSubjectRulesReview": _fields(f"{_META},2 spec SelfSubjectRulesReviewSpec,3 status skip"),
    "SelfSubjectRulesReviewSpec": _fields("1 namespace string"),
    "SelfSubjectAccessReview": _fields(f"{_META},2 spec SelfSubjectAccessReviewSpec,3 status skip"),
    "SelfSubjectAccessReviewSpec": _fields(
        "1 resourceAttributes ResourceAttributes,2 nonResourceAttributes NonResourceAttributes"
    ),
    "ResourceAttributes": _fields(
        "1 namespace string,2 verb string,3 group string,4 version string,5 resource string,6 subresource string,"
        "7 name string"
    ),
    "NonResourceAttributes": _fields("1 path string,2 verb string"),
    "Job": _fields(f"{_META},2 spec JobSpec,3 status skip"),
    "JobSpec": _fields(
        "1 parallelism int,2 completions int,3 activeDeadlineSeconds int,6 template PodTemplateSpec,7 backoffLimit int,"
        "8 ttlSecondsAfterFinished int,9 completionMode string,10 suspend bool"
    ),
    "PodTemplateSpec": _fields(f"{_META},2 spec PodSpec"),
    "PodSpec": _fields(
        "2 containers Container*,3 restartPolicy string,4 terminationGracePeriodSeconds int,6 dnsPolicy string,"
        "8 serviceAccountName string,9 serviceAccount string,10 nodeName string,11 hostNetwork skip,12 hostPID skip,"
        "13 hostIPC skip,14 securityContext skip,16 hostname string,17 subdomain string,19 schedulerName string,"
        "24 priorityClassName string"
    ),
    "Container": _fields(
        "1 name string,2 image string,3 command string*,4 args string*,5 workingDir string,7 env EnvVar*,"
        "8 resources skip,13 terminationMessagePath string,14 imagePullPolicy string,16 stdin skip,17 stdinOnce skip,"
        "18 tty skip,20 terminationMessagePolicy string"
    ),
    "EnvVar": _fields("1 name string,2 value string"),
}


def decode(data: bytes) -> Obj:
    """The object in an envelope (magic, runtime.Unknown)."""
    try:
        if not data.startswith(_MAGIC):
            raise ValueError("no magic number")
        envelope = dict(_wire(data[len(_MAGIC) :]))
        about = {number: value.decode() for number, value in _wire(envelope[1])}
        kind = about.get(2, "")
        if kind not in _MESSAGES:
            raise ValueError(f"kind {kind}")
        return {"apiVersion": about.get(1, ""), "kind": kind, **_message(kind, envelope.get(2, b""))}
    except (ValueError, IndexError, KeyError, AttributeError) as why:
        raise unsupported_media(f"{MEDIA_TYPE}: {why}", "application/json, application/yaml") from None


# Maps, by what their values are. A Quantity is a message with a string in it.
_MAPS: dict[str, Callable[[bytes], str]] = {
    "strings": bytes.decode,
    "blobs": lambda data: base64.b64encode(data).decode(),
    "quantities": lambda data: dict(_wire(data)).get(1, b"").decode(),
}


def _message(kind: str, data: bytes) -> Obj:
    found: Obj = {}
    for number, value in _wire(data):
        field = _MESSAGES[kind].get(number)
        if field is None:
            if value:
                raise ValueError(f"field {number} of {kind} is not understood here")
            continue
        if field.kind == "skip" or (value == b"" and not field.repeated):
            continue
        if field.kind in _MAPS:
            pair = dict(_wire(value))
            found.setdefault(field.name, {})[pair.get(1, b"").decode()] = _MAPS[field.kind](pair.get(2, b""))
        elif field.repeated:
            found.setdefault(field.name, []).append(_value(field.kind, value))
        else:
            found[field.name] = _value(field.kind, value)
    return found


def _value(kind: str, value: Any) -> Any:
    if kind == "string":
        return value.decode()
    if kind == "bool":
        return bool(value)
    return value if kind == "int" else _message(kind, value)


def _wire(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, integer or bytes); Kubernetes uses varints and length-delimited fields only."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        if key & 7 == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
        elif key & 7 == 2:
            length, position = _varint(data, position)
            if position + length > len(data):
                raise ValueError("it is cut off")
            yield key >> 3, data[position : position + length]
            position += length
        else:
            raise ValueError(f"wire type {key & 7}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position
