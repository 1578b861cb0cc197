"""A project in a store: copied from a sample, assembled, and asked why."""

import tempfile

from fabula import Workspace
from fabula.workspace import read_view

with tempfile.TemporaryDirectory() as folder, Workspace.open(folder) as workspace:
    project = workspace.copy_project(read_view("sample:lantern_coast"), title="The Lantern Coast")
    request = project.request(document_id="ch-03", model="gpt-4o", window=8192)

    first = project.assemble(request)
    project.report_answer(first.assembly_id)  # the prompt was sent, or its answer recorded
    second = project.assemble(request)
    print(f"{second.token_count} tokens, the same cacheable beginning: {second.stable_prefix_unchanged}")

    for verdict in project.inspect(request).explain("The Dark Hour"):
        print(f"{verdict.title}: {'in' if verdict.included else 'out'}, {verdict.sentence}")
