"""A Kubernetes API server and Job runner in one process, for a machine without a cluster.

It speaks the real API over TLS to the official client and to kubectl. All truth lies in one SQLite file; all writes
happen in one thread with no await between read and write, and that is the compare-and-swap.

    http      api, requests, watches, tables, discovery, faults
    verbs     registry (create, get, list, update, patch, delete), patches, managed, kinds
    truth     store, selectors, resources, objects
    runner/   Job controller, scheduler, the node's processes and their logs
    garbage   dependents of deleted owners, content of deleted namespaces
    server    puts it together; `python -m coordui.onebox.cluster` runs it
"""
