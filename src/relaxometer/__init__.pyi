from relaxometer import csgraph
from relaxometer.core.errors import UserError as GraphError
from relaxometer.library.answers import Answer, WrongAnswer
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import Prepared, prepare

__version__: str
__all__ = ["Answer", "Graph", "GraphError", "Prepared", "WrongAnswer", "csgraph", "prepare"]
