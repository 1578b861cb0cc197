"""Job handlers: what each kind of job does (`job_kinds` lists them).

No answer depends on a job. Without a stored synopsis a prompt gets an extract of the chapter, and a search builds its
index when it is needed. A job does this in advance, which is faster and, with a model, better.
"""

__all__ = ["job_kinds"]
