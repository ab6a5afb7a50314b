"""The workloads, and the sites that answer them: `with prepare(folder) as site`."""

from .catalogue import WORKLOADS, Workload
from .site import Site, VirtualHost, prepare

__all__ = ["WORKLOADS", "Site", "VirtualHost", "Workload", "prepare"]
