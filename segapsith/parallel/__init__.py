"""Work that other processes and other machines can do: tasks by name, values as plain bytes.

`Executor.map(task, items)` yields the results of a registered task in the order of the items. The
same result comes from one process, from several, and from a Dask cluster.
"""
