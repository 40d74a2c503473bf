"""A Kubernetes API server and Job runner in one process, for a machine without a cluster.

It speaks the real API over TLS to the official client and to kubectl. All truth lies in one SQLite file; all writes
happen in one thread with no await between read and write, and that is the compare-and-swap.

    server     puts it together; `python -m coordui.onebox.cluster` runs it
    inprocess  the same API without sockets, threads or a loop, for simulations
    runner/    Job controller, scheduler, the node's processes and their logs
    http/      the API: paths, formats, verbs, lists, watches, tables, discovery
    access/    who asks, and whether they may: tokens, accounts, roles
    core       the parts below, put together
    writes/    create, update, patch, apply, delete, and what follows from them
    bodies/    from bytes to an object that the schema allows
    kinds/     the rules of each kind
    storage/   the objects, their history, and how they are found
    authors    who writes, and how
    faults     what is to go wrong on purpose
"""
