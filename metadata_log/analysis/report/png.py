"""An SVG of ours as a PNG, by resvg, which is one wheel without a library beside it.

Decides: how large, and that its words must be seen: they are drawn with this machine's fonts. Must not know: what is
drawn.
"""

from __future__ import annotations

from typing import Final

import resvg_py

from metadata_log.errors import WrongUseError

_ZOOM: Final = 2.0
"""For screens of today, and for print: 2400 pixels across."""
_FONTS: Final = "svg { font-family: sans-serif, 'DejaVu Sans', 'Liberation Sans', 'Noto Sans' }"
"""resvg takes the first for Arial, which few Linux machines have."""
_PROBE: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'


class NoFontError(WrongUseError):
    """There is no font on this machine, and the picture would be without a word."""


def png_of(svg: str) -> bytes:
    """The picture, on white.

    Raises:
        NoFontError: see there.
        ValueError: it is no SVG.
    """
    if _png(_PROBE.format('<text x="2" y="15">Kg</text>')) == _png(_PROBE.format("")):
        raise NoFontError("no font is installed here, so that a PNG would have no words: take .svg, or install one")
    return _png(svg)


def _png(svg: str) -> bytes:
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, style_sheet=_FONTS, background="#ffffff", zoom=_ZOOM))
