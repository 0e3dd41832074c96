"""Real controllers, real faults: network namespaces, links in user space, disks that fail, clocks that jump."""
