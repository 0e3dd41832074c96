"""State machine equality: every image that a replica publishes equals the image of the committed log at that offset.

A leader's image comes from records that it never encoded, a follower's from bytes, a restarted node's from its files.
The reference is one replay of the committed batches. The whole image is compared, provenance included.
"""

from __future__ import annotations

from metadata_log.image import MetadataImage
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference


def check_image(node_id: int, image: MetadataImage, reference: Reference) -> None:
    """Check an image that a replica has published."""
    offset = image.offset_and_epoch.offset
    expected = reference.image_at(offset)
    if expected is None:
        raise InvariantFailure(
            "image_equality", f"node {node_id} publishes an image of offset {offset}; {reference.end} is committed"
        )
    if image == expected:
        return
    parts = [name for name in image.__struct_fields__ if getattr(image, name) != getattr(expected, name)]
    shown = "; ".join(f"{name} {getattr(image, name)} instead of {getattr(expected, name)}" for name in parts)
    raise InvariantFailure("image_equality", f"node {node_id} at offset {offset} differs in {shown[:600]}")
