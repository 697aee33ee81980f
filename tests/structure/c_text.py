"""Just enough of C and C++ to find comments, includes, and the names that a file declares or defines at its outermost level."""
import bisect
import re

_PIECES = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])*\'', re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
_TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|::|""|\S')
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*$")
_NOT_A_NAME = {"if", "for", "while", "switch", "return", "sizeof", "defined", "operator", "decltype", "void", "static_assert", "_Static_assert"}


class Lines:
    """Line numbers of offsets."""

    def __init__(self, text):
        self.ends = [match.start() for match in re.finditer("\n", text)]

    def __call__(self, offset):
        return bisect.bisect_left(self.ends, offset) + 1


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def comments(text):
    """(offset, text) of each comment."""
    return [(match.start(), match.group()) for match in _PIECES.finditer(text) if match.group().startswith(("//", "/*"))]


def without_comments(text):
    """The text with its comments blanked; offsets stay."""
    return _PIECES.sub(lambda match: _blank(match.group()) if match.group().startswith(("//", "/*")) else match.group(), text)


def includes(code):
    """(offset, '<' or '"', name) of each include that names a file; `code` is without comments."""
    return [(match.start(1), match.group(1), match.group(2)) for match in _INCLUDE.finditer(code)]


class Names:
    """types, declared, defined: {name: offset}, of what a file's outermost level has that other files can see.

    A name in a named namespace stands there with it; what is static, in an unnamed namespace, a template or a member is left out."""

    def __init__(self, code):
        self.types, self.declared, self.defined = {}, {}, {}
        code = _PIECES.sub(lambda match: '""' + " " * (len(match.group()) - 2) if match.group()[0] in "\"R" else "0" * len(match.group()), code)
        code = _DIRECTIVE.sub(lambda match: _blank(match.group()), code)
        self.tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(code)]
        self.spaces = []  # of each open namespace or extern "C": its name, "" for none to add, None for an unnamed one
        self._walk()

    def _skip(self, at, opening, closing):
        """The index behind the bracket that closes the one at `at`."""
        depth = 0
        while at < len(self.tokens):
            text = self.tokens[at][0]
            depth += (text == opening) - (text == closing)
            at += 1
            if depth == 0:
                break
        return at

    def _walk(self):
        at, statement, body = 0, [], None  # body: where in the statement its braces were
        while at < len(self.tokens):
            text = self.tokens[at][0]
            words = [token for token, _ in statement]
            if text == "{" and words[:1] == ["namespace"]:
                self.spaces.append("::".join(word for word in words[1:] if word != "::") or None)
                at, statement = at + 1, []
            elif text == "{" and words == ["extern", '""']:
                self.spaces.append("")
                at, statement = at + 1, []
            elif text == "}":
                if self.spaces:
                    self.spaces.pop()
                at, statement, body = at + 1, [], None
            elif text == "{":
                body = len(statement) if body is None else body
                at = self._skip(at, "{", "}")
                if self._is_function(words):
                    self._statement(statement, body)
                    statement, body = [], None
            elif text == ";":
                self._statement(statement, body)
                at, statement, body = at + 1, [], None
            elif text == "(" and len(statement) == 1 and self.tokens[at + 1:at + 2] and self.tokens[at + 1][0] != "*":
                # A macro's call, which needs no semicolon; void (*f(…))(…) is none.
                at, statement = self._skip(at, "(", ")"), []
            elif text == "(" and words[-1:] in (["__attribute__"], ["alignas"], ["_Alignas"], ["__declspec"]):
                statement.pop()
                at = self._skip(at, "(", ")")
            else:
                statement.append(self.tokens[at])
                at += 1

    @staticmethod
    def _is_function(words):
        return "(" in words and "=" not in words[:words.index("(")] and words[0] != "typedef"

    def _seen(self, table, name, offset):
        if None not in self.spaces:
            table.setdefault("::".join([space for space in self.spaces if space] + [name]), offset)

    def _statement(self, statement, body):
        words = [token for token, _ in statement]
        if not words or words[0] in ("template", "friend", "static_assert", "_Static_assert"):
            return
        if words[0] == "using":
            if "=" in words and words[1] != "namespace":
                self._seen(self.types, words[1], statement[1][1])
            return
        self._tag(words, statement, body)
        if words[0] == "typedef":
            self._typedef(words, statement)
        elif self._is_function(words) and "static" not in words[:words.index("(")]:
            self._function(words, statement, body)

    def _tag(self, words, statement, body):
        """struct NAME {…}, also within a typedef or with bases behind it."""
        start = 1 if words[0] == "typedef" else 0
        while start < len(words) and words[start] in ("static", "const", "extern"):
            start += 1
        if body is None or start >= body or words[start] not in ("struct", "enum", "union", "class"):
            return
        name = start + (2 if words[start:start + 2] in (["enum", "class"], ["enum", "struct"]) else 1)
        if name < body and _IDENTIFIER.match(words[name]) and (name + 1 == body or words[name + 1] in (":", "final")):
            self._seen(self.types, words[name], statement[name][1])

    def _typedef(self, words, statement):
        """typedef … NAME, typedef … NAME[N], typedef … NAME(…), typedef … (*NAME)(…)."""
        for at in range(len(words) - 2):
            if words[at] == "(" and words[at + 1] == "*" and _IDENTIFIER.match(words[at + 2]):
                return self._seen(self.types, words[at + 2], statement[at + 2][1])
        end = next((at for at, word in enumerate(words) if word in "[("), len(words))
        return self._seen(self.types, words[end - 1], statement[end - 1][1])

    def _function(self, words, statement, body):
        opening = words.index("(")
        if words[opening + 1:opening + 2] == ["*"]:  # a function that returns a function, or a pointer to one
            if len(words) <= opening + 3 or words[opening + 3] != "(":
                return
            at = opening + 2
        else:
            at = opening - 1
        if at < 1 or not _IDENTIFIER.match(words[at]) or words[at] in _NOT_A_NAME or "::" in words[at - 1:at] or "operator" in words[:at]:
            return
        self._seen(self.declared if body is None else self.defined, words[at], statement[at][1])
