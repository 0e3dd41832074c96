"""An SVG of this package as a PNG, by resvg, a single wheel without system libraries.

Decides: the size, and that the text is visible, in this machine's fonts. Must not know: the picture.
"""

from __future__ import annotations

from typing import Final

import resvg_py

from metadata_log.errors import WrongUseError

_ZOOM: Final = 2.0
"""For high-resolution screens and print: 2400 pixels wide."""
_FONTS: Final = "svg { font-family: sans-serif, 'DejaVu Sans', 'Liberation Sans', 'Noto Sans' }"
"""resvg replaces the first one by Arial, which few Linux machines have."""
_PROBE: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'


class NoFontError(WrongUseError):
    """No font is installed on this machine, so the picture would have no text."""


def png_of(svg: str) -> bytes:
    """Return the picture, on white.

    Raises:
        NoFontError: no font is installed.
        ValueError: it is not an SVG.
    """
    if _png(_PROBE.format('<text x="2" y="15">Kg</text>')) == _png(_PROBE.format("")):
        raise NoFontError("no font is installed here, so that a PNG would have no words: take .svg, or install one")
    return _png(svg)


def _png(svg: str) -> bytes:
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, style_sheet=_FONTS, background="#ffffff", zoom=_ZOOM))
