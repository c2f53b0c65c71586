"""Identity of a program's instructions: nodes of the model's graph, with their modules and lines of Python.

An exporter writes a `ProgramGraph` beside each program. It is the only place where the numbers that a runtime reports
(instructions, operators of a delegate) meet the names of the model's author.
"""

from typing import Literal

from harness.core.values import Value


class SourceLine(Value):
    """Line of Python that called an operator.

    Attributes:
        file: Its file, relative to the folder of packages where it lies in one.
        line: Its 1-based number.
        code: Its text.
    """

    file: str
    line: int
    code: str = ""

    @property
    def place(self) -> str:
        """File and line, for example `torchvision/models/mobilenetv2.py:62`."""
        return f"{self.file}:{self.line}"


class GraphNode(Value):
    """Node of the graph that was lowered: one call of one operator.

    Attributes:
        name: Its name in the lowered graph (`.graph.txt`), for example `aten_convolution_default_1`; unique outside
            delegates and inside each of them.
        operator: The operator, for example `aten.convolution.default`; that of a built-in function is its name.
        handle: Debug handle. Nodes that were made from one operation of the exported program share it.
        module: Module that called it, for example `features.1.conv.0.0`; empty for the model itself, and for what a
            quantiser put between modules.
        module_type: Class of that module, for example `torch.nn.modules.conv.Conv2d`.
        exported: Its name in the program that `torch.export` returned, before any quantiser, for example `conv2d_1`.
        source: The line that called it; None where the graph does not know it.
        output: Type and shape of its output, for example `float32 [1, 32, 112, 112]`; several are separated by commas.
    """

    name: str
    operator: str
    handle: int | None = None
    module: str = ""
    module_type: str = ""
    exported: str = ""
    source: SourceLine | None = None
    output: str = ""


class DelegateOperator(Value):
    """Operator of a delegate's own program.

    Attributes:
        kind: What the delegate calls it, for example `XNNConv2d`.
        nodes: Places in `ProgramGraph.nodes` of those that it was made from; empty for what the delegate added itself.
    """

    kind: str
    nodes: tuple[int, ...] = ()


class Instruction(Value):
    """Instruction of the program: what a runtime executes, one after the other, and what its events refer to.

    Attributes:
        index: Its 0-based place, which runtimes report.
        kernel: The kernel that it calls, for example `aten::convolution.out`; None for a delegate call.
        delegate: The backend that it calls, for example `XnnpackBackend`; None for a kernel.
        nodes: Places in `ProgramGraph.nodes` of those that it executes; empty where the exporter does not know them.
        delegate_nodes: Places of the nodes by the identifiers with which the delegate reports its operators; empty
            where the delegate does not offer them, as XNNPACK does not.
        delegate_operators: Operators of the delegate's own program in order of execution, before it is optimised on the
            device; empty where that program cannot be read.
    """

    index: int
    kernel: str | None = None
    delegate: str | None = None
    nodes: tuple[int, ...] = ()
    delegate_nodes: dict[str, tuple[int, ...]] = {}
    delegate_operators: tuple[DelegateOperator, ...] = ()


class ProgramGraph(Value):
    """Nodes and instructions of one method of a program.

    Attributes:
        schema_version: Version of this format.
        method: The method.
        nodes: All nodes, those inside delegates too, in order of the graph.
        instructions: All instructions, in order of execution.
    """

    schema_version: Literal["1.0"] = "1.0"
    method: str = "forward"
    nodes: tuple[GraphNode, ...]
    instructions: tuple[Instruction, ...]

    def nodes_of(self, instruction: Instruction) -> tuple[GraphNode, ...]:
        """Return the nodes that an instruction executes."""
        return tuple(self.nodes[place] for place in instruction.nodes)


class OperatorIdentity(Value):
    """What an operator that a runtime timed is in the model.

    Attributes:
        name: The operator's name, the type of its metric, for example `convolution.out #2`.
        instruction: Instruction of the program that it is, or is inside of.
        delegate: Backend that executed it; empty for a kernel of the runtime.
        nodes: The nodes of the graph that it executes; empty where they cannot be told, and for what a delegate added.
        nodes_inside: Where its nodes cannot be told: the number of nodes that the whole call of the delegate executes.
    """

    name: str
    instruction: int
    delegate: str = ""
    nodes: tuple[GraphNode, ...] = ()
    nodes_inside: int | None = None

    @property
    def main_node(self) -> GraphNode | None:
        """The node that names it: the first that belongs to a module, else the first."""
        return next((node for node in self.nodes if node.module), self.nodes[0] if self.nodes else None)
