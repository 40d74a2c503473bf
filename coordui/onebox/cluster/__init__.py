"""A Kubernetes API server and Job runner in one process, for a machine without a cluster.

It speaks the real API over TLS to the official client and to kubectl. All truth lies in one SQLite file; all writes
happen in one thread with no await between read and write, and that is the compare-and-swap.

    http/      the API: paths, formats, lists, watches, tables, discovery
    access/    who asks, and whether they may: tokens, accounts, roles
    bodies/    from bytes to an object that the schema allows
    writes/    create, update, patch, apply, delete, and what follows from them
    kinds/     the rules of each kind
    storage/   the objects, their history, and how they are found
    runner/    Job controller, scheduler, the node's processes and their logs
    faults     what is to go wrong on purpose
    server     puts it together; `python -m coordui.onebox.cluster` runs it
    inprocess  the same API without sockets, threads or a loop, for simulations
"""
