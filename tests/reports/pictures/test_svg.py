"""matplotlib's document becomes a flat list of shapes: nothing in it refers to anything, and it draws the same."""

from xml.etree import ElementTree as ET

from ln_audit.reports.pictures.svg import slim

WRITTEN = """<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/x.dtd">
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 20" width="10pt">
<metadata>today</metadata><defs><style type="text/css">*{x: y}</style><path id="m1" d="M 0 0 L 0.04 3.456" style="stroke: #111111"/></defs>
<g id="axes"><path d="M 1 2 z" style="fill: none"/>
<g clip-path="url(#c)"><use xlink:href="#m1" x="1.26" y="2" style="fill: #222222; stroke: #111111; stroke-linejoin: miter"/></g>
<text style="font-size: 9px; font-family: 'X'; text-anchor: end" x="1.111" y="2" transform="rotate(-0 1 2)">a &lt; b</text>
<text style="font-size: 9px" x="1" y="2" transform="rotate(-90 1.23 2)">t</text>
<image xlink:href="data:image/png;base64,
AA
BB" transform="matrix(4.38542 0 0 2.7 1 2)" width="3" height="4" style="image-rendering: pixelated"/></g>
<defs><clipPath id="c"><rect x="0" y="0" width="1" height="1"/></clipPath></defs></svg>"""


def test_shapes_are_written_out_and_rounded_and_styles_become_attributes():
    made = slim(WRITTEN, {"#111111": "var(--a)"}, "what it is")
    assert ET.canonicalize(made) == ET.canonicalize(
        '<svg viewBox="0 0 10 20" role="img" aria-label="what it is">'
        '<path transform="translate(1.3 2)" d="M0 0L0 3.5" fill="#222222" stroke="var(--a)"/>'
        '<text x="1.1" y="2" font-size="9" text-anchor="end">a &lt; b</text>'
        '<text x="1" y="2" transform="rotate(-90 1.2 2)" font-size="9">t</text>'
        '<image width="3" height="4" transform="matrix(4.3854 0 0 2.7 1 2)" href="data:image/png;base64,AABB"'
        ' preserveAspectRatio="none" image-rendering="pixelated"/></svg>'
    )


def test_nothing_of_it_has_a_name_or_a_style_or_leads_outside():
    made = slim(WRITTEN, {}, "x")
    assert not {"id=", "style", "url(", "http", "xlink", "metadata", "today"} & {
        word for word in ("id=", "style", "url(", "http", "xlink", "metadata", "today") if word in made
    }


def test_the_name_is_text_whatever_it_holds():
    made = slim(WRITTEN, {}, '"><script>alert(1)</script>\x00\u202e\ud800')
    assert ET.fromstring(made).attrib["aria-label"] == '"><script>alert(1)</script>\\x00\\u202e\\ud800'
    assert "<script" not in made
