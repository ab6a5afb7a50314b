"""The load generators: the one of this lab, and those of the articles that this lab goes after."""

from .ab import Ab
from .generator import Generator, Load, Outcome
from .siege import Siege
from .tank import Tank
from .wrk import Wrk

__all__ = ["GENERATORS", "Generator", "Load", "Outcome"]

GENERATORS: dict[str, Generator] = {each.name: each for each in (Tank(), Ab(), Siege(), Wrk())}
