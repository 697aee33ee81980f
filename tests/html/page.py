"""Reads an HTML report of opcheck-c with html5lib, which is strict: each error of the markup is an exception.

On import, exits with 77 and the reason if html5lib is missing.
"""
import json
import re
import sys

try:
    import html5lib
except ImportError:
    print("SKIP: this Python has no html5lib; scripts/setup --full installs it")
    sys.exit(77)


def clean(text):
    """As the page shows it: terminal sequences are gone, control characters are visible. """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"\x1b\][^\x07\n]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[0-~]", "", text)
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", text)
    return re.sub("[\ufffe\uffff\u202a-\u202e\u2066-\u2069]", lambda found: f"\\u{ord(found[0]):04X}", text)


def is_shown(shown, text):
    """Whether `shown` is the text without its backticks, or its beginning and how much was left out."""
    cut, wanted, shown = re.fullmatch(r"(.*)… \(\d+ bytes more\)", shown, re.S), clean(text).replace("`", ""), shown.replace("`", "")
    return wanted.startswith(cut[1].replace("`", "")) and len(cut[1]) > 100 if cut else shown == wanted


def text_of(element):
    return "".join(element.itertext())


class Page:
    def __init__(self, data):
        self.root = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), strict=True, namespaceHTMLElements=False).parse(data)
        self.ids = {element.get("id"): element for element in self.root.iter() if element.get("id")}
        loads = [element for element in self.root.iter() if element.get("src") or (element.get("href") or "#")[:1] != "#" and element.get("href") != "data:,"]
        assert not loads, f"the page loads or links something: {loads[0].attrib}"

    def text(self, name):
        return text_of(self.ids[name] if name in self.ids else next(self.root.iter(name)))

    def verdict(self):
        return next(text_of(element) for element in self.root.iter("span") if element.get("class") == "verdict")

    def lead(self):
        return next(text_of(element) for element in self.root.iter("p") if element.get("class") == "lead")

    def bars(self):
        """{title: {word: count}} of the first screen."""
        bars = [element for element in self.root.iter("div") if element.get("class") == "bar"]
        return {text_of(bar.find("h2")): {item.find("b").tail.strip(): int(text_of(item.find("b"))) for item in bar.iter("li") if item.find("b") is not None}
                for bar in bars}

    def problems(self):
        return [self._problem(element) for element in self.ids["problem-list"].iter("details") if (element.get("class") or "").startswith("problem")]

    @staticmethod
    def _problem(element):
        parts = {part.get("class"): part for part in element.iter() if part.get("class")}
        facts = {part.get("data-fact"): part for part in element.iter("dd") if part.get("data-fact")}
        advice = {text_of(part.find("h4")): text_of(part.find("p")) for part in (parts["advice"].iter("div") if "advice" in parts else ()) if part.find("h4") is not None}
        operators = [text_of(code) for code in facts["operators"].iter("code")] if "operators" in facts else [text_of(parts["op"])]
        return {"id": element.get("id").removeprefix("problem-"), "rule": element.get("data-rule"), "severity": element.get("data-severity"), "kind": element.get("data-kind"),
                "count": int(element.get("data-count")), "operators": operators, "message": text_of(parts["message"]),
                "repro": text_of(parts["copy"].find("pre")) if "copy" in parts else "", "why": advice.get("Why it matters"), "fix": advice.get("How to fix it"),
                "facts": {name: text_of(part) for name, part in facts.items()}, "parts": parts}

    def cases(self):
        """Every case, in the order of the page: {"case", "outcome", "message"}."""
        found = []
        for script in self.root.iter("script"):
            if script.get("class") == "cases":
                data = json.loads(script.text)
                for row in data["rows"]:
                    check, device, dtype, sample, outcome, message, *variants = (data["words"][number] for number in row)
                    for variant in variants:
                        case = "/".join([script.get("data-operator")] + [part or "-" for part in (check, device, dtype, sample, variant)])
                        found.append({"case": case, "outcome": outcome, "message": message})
        return found

    def check_counts(self):
        """The sums of the table of checks: {"pass": 3, …}."""
        table = next(element for element in self.root.iter("table") if element.get("class") == "checks")
        names = [text_of(cell) for cell in table.iter("th") if cell.get("scope") == "col"][1:]
        rows = [[int(text_of(cell)) for cell in row.iter("td")] for row in table.find("tbody")]
        return {name: sum(row[i] for row in rows) for i, name in enumerate(names)}

    def matrix(self):
        """{operator: {column: word}}"""
        table = next(element for element in self.root.iter("table") if element.get("class") == "matrix")
        columns = [text_of(cell) for cell in table.find("thead").iter("th") if cell.find("span") is not None]
        return {text_of(row.find("th")): dict(zip(columns, (text_of(cell) for cell in row.iter("td")))) for row in table.find("tbody")}
