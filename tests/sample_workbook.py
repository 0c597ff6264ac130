"""Small workbooks, written part by part, so that a test can put anything into a cell."""

import io
import zipfile
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


class Raw(str):
    """The element of a cell as it is written; ``{at}`` is its name."""


def formula(text, value=None):
    stored = "" if value is None else f"<v>{value}</v>"
    return Raw(f'<c r="{{at}}"><f>{escape(text)}</f>{stored}</c>')


def error(word):
    return Raw(f'<c r="{{at}}" t="e"><v>{word}</v></c>')


def _cell(at, value):
    if value is None:
        return ""
    if isinstance(value, Raw):
        return value.format(at=at)
    if isinstance(value, bool):
        return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c r="{at}"><v>{value!r}</v></c>'
    text = f'<t xml:space="preserve">{escape(value)}</t>'
    return f'<c r="{at}" t="inlineStr"><is>{text}</is></c>'


def _sheet(rows, merged):
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = [_cell(f"{chr(65 + column)}{number}", cell) for column, cell in enumerate(row)]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    more = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
    more = f'<mergeCells count="{len(merged)}">{more}</mergeCells>' if merged else ""
    body = f"<sheetData>{''.join(lines)}</sheetData>{more}"
    return f'<worksheet xmlns="{MAIN}">{body}</worksheet>'


def xlsx(sheets, merged=()):
    """Return the bytes of a workbook; ``sheets`` maps names to rows of cells."""
    names = list(sheets)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = [f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>']
    parts += [
        f'<Override PartName="/xl/worksheets/s{at}.xml" ContentType="{kind}.worksheet+xml"/>'
        for at in range(len(names))
    ]
    rels = "application/vnd.openxmlformats-package.relationships+xml"
    default = f'<Default Extension="rels" ContentType="{rels}"/>'
    listed = [
        f'<sheet name={quoteattr(name)} sheetId="{at + 1}" r:id="r{at}"/>'
        for at, name in enumerate(names)
    ]
    links = [
        f'<Relationship Id="r{at}" Type="{LINK}/worksheet" Target="worksheets/s{at}.xml"/>'
        for at in range(len(names))
    ]
    files = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}">{default}{"".join(parts)}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="w" '
        f'Type="{LINK}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINK}"><sheets>{"".join(listed)}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{"".join(links)}'
        "</Relationships>",
    }
    for at, name in enumerate(names):
        files[f"xl/worksheets/s{at}.xml"] = _sheet(sheets[name], merged if at == 0 else ())
    return _packed(files)


def ods(rows, name="Data"):
    """Return the bytes of an OpenDocument workbook with one sheet, as `xlsx` does."""
    spaces = {
        "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
        "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
        "calcext": "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0",
    }

    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, Raw):
            return value
        if isinstance(value, (int, float)):
            number = f'office:value-type="float" office:value="{value}"'
            return f"<table:table-cell {number}><text:p>{value}</text:p></table:table-cell>"
        text = f"<text:p>{escape(value)}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'

    lines = [f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows]
    declared = " ".join(f'xmlns:{key}="{value}"' for key, value in spaces.items())
    content = (
        f"<office:document-content {declared}><office:body><office:spreadsheet>"
        f"<table:table table:name={quoteattr(name)}>{''.join(lines)}</table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    )
    files = {"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest}
    return _packed(files)


def _packed(files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return raw.getvalue()
