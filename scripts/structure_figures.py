#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of the structure of src/, and fails if one is above its limit.

Tests are never counted. The limits are a ratchet: each is what held when it was last changed, and
is lowered in the commit that makes a figure better. Beside it stands the goal. A list of names is
an object and those that are to take its place: the first one that is there is measured.
"""

import re
import sys
import textwrap
from collections import namedtuple
from pathlib import Path

sys.dont_write_bytecode = True
import check_layers  # noqa: E402

# --- what is measured ---------------------------------------------------------------------------

CONNECTION_MODULE = ["core/connection/connection", "core/connection/session"]
PEER_CLASS = ["pipe_peer"]
PIPE_END_CLASS = ["pipe_end"]
MAX_FIELDS = 40
MAX_PUBLIC_FUNCTIONS = 25
MAX_COMPLEXITY = 15
COMPLEXITY_FOLDERS = ["core/connection", "core/pipe"]

# The places that decide whether messages are a stream or a dialogue: a file, and a name in it.
DETECTORS = [
    ("core/pace/cadence.hpp", "class sending_cadence"),
    ("core/pace/cadence.hpp", "class receiving_cadence"),
    ("core/connection/writer.cpp", "min_messages_per_round"),
    ("core/socket/socket_waiting.cpp", "max_messages_in_dialogue"),
    ("core/pace/fan_out_writes.hpp", "pause_of_stream"),
    ("base/pace/reader_back_off.hpp", "reads_in_window"),
    ("core/pipe/pipe_input.cpp", "max_parts_scanned"),
]

# Fields in which it is stored who writes to a connection, besides the one that is to remain.
WRITER_FIELDS = ["deferred_", "handed_over_", "owns_writing_", "retired_", "retired_out_"]

# The files that a small message of PUSH goes through when its connection over tcp is idle, in the
# order of the calls, each with the function that is entered there. It is checked that the function
# is in the file, and that a file before it in the list names it.
FIRST_SEND = [
    ("api/transfer.cpp", "zmq_send"),
    ("api/objects.hpp", "with_socket"),
    ("api/handle.hpp", "get"),
    ("core/socket/socket.hpp", "put"),
    ("base/wait/mailbox.hpp", "has_mail"),
    ("core/socket/fast_path.hpp", "put"),
    ("core/pipe/pipe_output.hpp", "put"),
    ("base/queue/channel.hpp", "has_room_at_hand"),
    ("base/queue/queue_producer.hpp", "reserve"),
    ("engine/codec/zmtp3.hpp", "encode_header"),
    ("core/pipe/pipe_output.cpp", "tell_readable"),
    ("core/connection/link.cpp", "committed"),
    ("core/pace/flush_list.cpp", "of_this_thread"),
    ("base/memory/thread_own.hpp", "find_or_make"),
    ("core/pace/fan_out_writes.hpp", "of_message"),
    ("core/pace/flush_list.hpp", "next_cadence"),
    ("core/pace/cadence.hpp", "next"),
    ("core/pace/write_plan.hpp", "next_writer"),
    ("core/connection/writer.cpp", "write_queued"),
    ("engine/traffic/outgoing.cpp", "next"),
    ("engine/traffic/queue_source.cpp", "next"),
    ("base/queue/byte_queue.cpp", "gather"),
    ("transport/socket_stream.cpp", "write_some"),
]

# figure: (limit, goal)
LIMITS = {
    "lines of the connection's module": (740, 600),
    "modules that it includes": (11, 12),
    "classes with too many fields": (0, 0),
    "classes with too many public functions": (1, 0),
    "virtual functions of the pipe's peer": (3, 5),
    "flags of a pipe end": (5, 8),
    "detectors of stream or dialogue": (5, 2),
    "fields of who writes that are to go": (0, 0),
    "numeric constants": (244, 250),
    "files on the way of a first send": (23, 14),
    "functions that are too complex": (0, 0),
    "lines of core": (14676, 13444),
    "include cycles": (0, 0),
}

# --- reading C++ --------------------------------------------------------------------------------

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/
  | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
  | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
  | [A-Za-z_]\w* | (?:0[xX][\da-fA-F']+|\.?\d[\w.']*)
  | ::|->\*?|&&|\|\||<<=|<=>|<=|>=|==|!=|\+\+|--|[-+*/%&|^]=|\[\[|\]\]|\.\.\.|\S
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*$")
CLOSING = {"(": ")", "[": "]", "{": "}", "[[": "]]"}

Function = namedtuple("Function", "name complexity file line")


class Class:
    def __init__(self, name, file):
        self.name, self.file = name, file
        self.fields, self.flags, self.public_functions, self.virtuals = [], [], [], []


def tokens_of(text):
    """The tokens with their lines, without comments, preprocessor lines and literals' contents."""
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        token = match[0]
        if token.startswith(("//", "/*")) or token.lstrip().startswith("#"):
            continue
        found.append(('""' if token[0] in "\"'" or token.startswith('R"') else token, line))
    return found


def end_of_group(tokens, at):
    """The index behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        token = tokens[at][0]
        if token in CLOSING:
            depth += 1
        elif token in CLOSING.values():
            depth -= 1
        at += 1
        if depth == 0:
            break
    return at


def end_of_angle(words, at):
    """The index behind the `>` that closes the `<` at `at`, or None if that is no bracket."""
    depth = 0
    while at < len(words):
        word = words[at]
        if word == "<":
            depth += 1
        elif word == ">":
            depth -= 1
            if depth == 0:
                return at + 1
        elif word == "(":
            at = end_of_group([(each, 0) for each in words], at)
            continue
        elif word in (";", "{", "}"):
            return None
        at += 1
    return None


def simplified(words):
    """A declaration without template arguments, attributes, alignas() and the like."""
    out, at = [], 0
    while at < len(words):
        word = words[at]
        if word in ("alignas", "decltype", "__attribute__", "noexcept", "explicit", "requires") and \
                at + 1 < len(words) and words[at + 1] == "(":
            at = end_of_group([(each, 0) for each in words], at + 1)
            out.append(word)
        elif word == "[[":
            at = end_of_group([(each, 0) for each in words], at)
        elif word == "<" and out and out[-1] != "operator" and "=" not in out and \
                (IDENTIFIER.match(out[-1]) or out[-1] == "template"):
            end = end_of_angle(words, at)
            if end is None:
                out.append(word)
                at += 1
            else:
                at = end
        else:
            out.append(word)
            at += 1
    return [word for word in out if word != "template"]


def kind_of(words):
    """What a declaration declares: namespace, enum, class, function, other; and its name."""
    if "namespace" in words[:2] or words[:2] == ["extern", '""']:
        return "namespace", None
    if words[:1] == ["enum"] or words[:2] == ["typedef", "enum"]:
        return "enum", None
    if "friend" in words[:1] or words[:1] in (["using"], ["typedef"], ["static_assert"]):
        return "other", None
    equals = words.index("=") if "=" in words else len(words)
    if "operator" in words[:equals + 1]:
        return "function", "operator"
    if "(" in words[:equals] and words.index("(") + 1 < len(words) and \
            words[words.index("(") + 1] != "*":
        before = words[words.index("(") - 1] if words.index("(") else ""
        if IDENTIFIER.match(before) and before not in ("alignas",):
            tilde = words.index("(") >= 2 and words[words.index("(") - 2] == "~"
            return "function", ("~" if tilde else "") + before
    if any(word in ("class", "struct", "union") for word in words[:2]):
        colon = words.index(":") if ":" in words else len(words)
        names = [word for word in words[:colon] if IDENTIFIER.match(word) and
                 word not in ("class", "struct", "union", "final", "alignas", "static")]
        return "class", names[-1] if names else ""
    return "other", None


def field_names(words):
    """The names in the declaration of a field, or of several."""
    names, name, at, in_value = [], None, 0, False
    while at < len(words):
        word = words[at]
        if word in CLOSING:
            end = end_of_group([(each, 0) for each in words], at)
            if words[at:at + 2] == ["(", "*"]:
                name = words[at + 2]
            at = end
            continue
        if word == ",":
            names.append(name)
            in_value = False
        elif word == "=":
            in_value = True
        elif IDENTIFIER.match(word) and not in_value:
            name = word
        at += 1
    return names + [name]


def is_initialiser(words, before):
    """Does a brace here begin a value rather than a body?"""
    if "=" in words and "operator" not in words:
        return True
    kind, _ = kind_of(words)
    if kind in ("namespace", "enum", "class"):
        return False
    if kind != "function":
        return True
    behind = words[words.index("("):]
    depth, colon = 0, False
    for word in behind:
        depth += (word == "(") - (word == ")")
        colon = colon or (depth == 0 and word == ":")
    return colon and bool(IDENTIFIER.match(before) or before == ">")


BRANCHES = {"if", "for", "while", "catch", "case", "&&", "||", "?"}


class Reader:
    """Finds the classes and functions of one file."""

    def __init__(self, file, text, classes, functions):
        self.file, self.tokens = file, tokens_of(text)
        self.classes, self.functions = classes, functions
        self.scope(0, None)

    def scope(self, at, owner):
        """Reads declarations from `at` to the end of the block, and returns what is behind it."""
        tokens = self.tokens
        is_public = owner is None or owner.starts_public
        begin = at
        while at < len(tokens):
            token = tokens[at][0]
            words = [each[0] for each in tokens[begin:at]]
            if token == "}":
                return at + 1
            if token in ("public", "protected", "private") and tokens[at + 1][0] == ":" and \
                    not words:
                is_public = token == "public"
                at += 2
                begin = at
            elif token in ("(", "[", "[["):
                at = end_of_group(tokens, at)
            elif token == ";":
                self.declared(words, owner, is_public)
                at += 1
                begin = at
            elif token == "{":
                plain = simplified(words)
                if is_initialiser(plain, tokens[at - 1][0]):
                    at = end_of_group(tokens, at)
                    continue
                kind, name = kind_of(plain)
                if kind == "namespace":
                    at = self.scope(at + 1, None)
                elif kind == "class":
                    inner = Class(name, self.file)
                    inner.starts_public = "class" not in plain
                    self.classes.append(inner)
                    at = self.scope(at + 1, inner)
                    # What is declared together with a class is a field.
                    rest = at
                    while tokens[rest][0] != ";":
                        rest += 1
                    if rest > at and owner:
                        owner.fields.append(tokens[at][0])
                    at = rest + 1
                elif kind == "enum":
                    at = end_of_group(tokens, at)
                    continue
                else:
                    self.declared(words, owner, is_public)
                    end = end_of_group(tokens, at)
                    self.body(name, at, end)
                    at = end
                begin = at
            else:
                at += 1
        return at

    def body(self, name, begin, end):
        branches = sum(token in BRANCHES for token, _ in self.tokens[begin:end])
        self.functions.append(Function(name, 1 + branches, self.file, self.tokens[begin][1]))

    def declared(self, all_words, owner, is_public):
        words = simplified(all_words)
        if not owner or not words:
            return
        kind, name = kind_of(words)
        if kind == "function":
            is_deleted = words[-2:] == ["=", "delete"]
            if is_public and not is_deleted:
                owner.public_functions.append(name)
            if ("virtual" in words) and not name.startswith("~"):
                owner.virtuals.append(name)
        elif kind == "enum" and (words[-1] == "}" or "{" not in words):
            pass
        elif kind in ("enum", "other") and "static" not in words[:3] and \
                words[0] not in ("using", "typedef", "friend", "static_assert"):
            names = field_names(words)
            owner.fields += names
            if "bool" in all_words:
                owner.flags += names


# --- the figures --------------------------------------------------------------------------------

# Durations, bytes (std::byte) and characters are not counted.
NUMBER = (r"(?:std::)?(?:size_t|ptrdiff_t|u?int(?:8|16|32|64)_t|u?intptr_t)|int|double|float"
          r"|(?:unsigned|long)(?: (?:int|long))*")
CONSTANT = re.compile(rf"\bconstexpr (?:const )?(?:{NUMBER})\s+(\w+)\s*[={{]")


class Sources:
    def __init__(self, root):
        self.root = root
        self.texts = {str(file.relative_to(root)): file.read_text()
                      for file in sorted(root.glob("**/*.[ch]pp"))
                      if not check_layers.is_test(file)}
        self.classes, self.functions = [], []
        for file, text in self.texts.items():
            Reader(file, text, self.classes, self.functions)
        self.errors = []

    def class_of(self, names):
        for name in names:
            for each in self.classes:
                if each.name == name:
                    return each
        self.errors.append(f"none of these classes is there: {', '.join(names)}")
        return Class(names[0], "")

    def connection_module(self):
        for module in CONNECTION_MODULE:
            files = [f"{module}{end}" for end in (".hpp", ".cpp") if f"{module}{end}" in self.texts]
            if files:
                return module, files
        self.errors.append(f"none of these modules is there: {', '.join(CONNECTION_MODULE)}")
        return "", []

    def first_send(self):
        for index, (file, function) in enumerate(FIRST_SEND):
            call = re.compile(rf"\b{function}\b(?:<[^;(]*>)?\s*\(")
            if not call.search(self.texts.get(file, "")):
                self.errors.append(f"first send: {file} has no function {function}")
            module = file.rsplit(".", 1)[0]  # whose header declares it, and may call it as well
            called = any(len(call.findall(self.texts.get(each[0], ""))) >
                         (each[0].rsplit(".", 1)[0] == module) for each in FIRST_SEND[:index])
            if index and not called:
                self.errors.append(f"first send: no file before {file} calls {function}")
        return sorted({file for file, _ in FIRST_SEND})


SAMPLE = """
namespace sample {
template <class T, int most = (1 << 3)>
class alignas(64) box final : public base<T> {
public:
    explicit box(int size) : a_{size}, b_(size) { if (size && a_) { ++b_; } }
    box(const box&) = delete;
    virtual ~box() = default;
    virtual bool open() const noexcept { return a_ ? true : false; } // if (never)
    auto find(std::string_view text) -> iterator;
private:
    virtual void close() = 0;
    static constexpr std::size_t limit = 64;
    std::function<void(int)> on_close_;
    int a_{0}, b_ = 1;
    std::atomic<bool> flag_{false};
    enum class state { opened, closed } state_ = state::opened;
    struct part { int x; } part_;
    void (*function_)(int);
};
}
"""


def check_reader():
    """Does the reader of C++ find what there is in a sample?"""
    classes, functions = [], []
    Reader("sample", SAMPLE, classes, functions)
    box = classes[0]
    found = (box.name, box.fields, len(box.flags), box.public_functions, box.virtuals,
             [(each.name, each.complexity) for each in functions])
    expected = ("box", ["on_close_", "a_", "b_", "flag_", "state_", "part_", "function_"], 1,
                ["box", "~box", "open", "find"], ["open", "close"], [("box", 3), ("open", 2)])
    return [] if found == expected else [f"the reader of C++ is wrong: {found}"]


def lines(text):
    return text.count("\n")


def measure(sources):
    """Each figure with what it is made of, in words."""
    texts = sources.texts
    figures = {}
    module, files = sources.connection_module()
    included = set()
    for file in files:
        for line in texts[file].splitlines():
            other = check_layers.included_module(sources.root, sources.root / file, line)
            if other and other != module:
                included.add(other)
    figures["lines of the connection's module"] = (sum(lines(texts[each]) for each in files),
                                                   [module])
    figures["modules that it includes"] = (len(included), sorted(included))

    def listed(key, most):
        big = [(len(key(each)), each) for each in sources.classes if len(key(each)) > most]
        big.sort(key=lambda each: (-each[0], each[1].name))
        return len(big), [f"{each.name} {count}" for count, each in big]

    figures["classes with too many fields"] = listed(lambda each: each.fields, MAX_FIELDS)
    figures["classes with too many public functions"] = listed(
        lambda each: each.public_functions, MAX_PUBLIC_FUNCTIONS)
    peer = sources.class_of(PEER_CLASS)
    figures["virtual functions of the pipe's peer"] = (len(peer.virtuals), [peer.name])
    end = sources.class_of(PIPE_END_CLASS)
    figures["flags of a pipe end"] = (len(end.flags), [])
    detectors = [f"{file} {name}" for file, name in DETECTORS
                 if re.search(rf"\b{name}\b", texts.get(file, ""))]
    figures["detectors of stream or dialogue"] = (len(detectors), detectors)
    fields = [name for name in WRITER_FIELDS
              if any(re.search(rf"\b{name}\b", text) for text in texts.values())]
    figures["fields of who writes that are to go"] = (len(fields), fields)
    constants = {}
    for file, text in texts.items():
        code = re.sub(r"//.*", "", text)
        constants[file] = len(CONSTANT.findall(code))
    figures["numeric constants"] = (sum(constants.values()), [])
    walk = sources.first_send()
    figures["files on the way of a first send"] = (len(walk), [])
    complex_ones = [each for each in sources.functions
                    if each.complexity > MAX_COMPLEXITY and
                    any(each.file.startswith(folder + "/") for folder in COMPLEXITY_FOLDERS)]
    complex_ones.sort(key=lambda each: -each.complexity)
    figures["functions that are too complex"] = (
        len(complex_ones), [f"{each.name} {each.complexity} ({each.file}:{each.line})"
                            for each in complex_ones])
    figures["lines of core"] = (sum(lines(text) for file, text in texts.items()
                                    if file.startswith("core/")), [])
    includes = {}
    for file, text in texts.items():
        seen = includes.setdefault(file.rsplit(".", 1)[0], set())
        for line in text.splitlines():
            seen.add(check_layers.included_module(sources.root, sources.root / file, line))
    for of, others in includes.items():
        includes[of] = {each for each in others if each in includes and each != of}
    cycles = check_layers.circles(includes)
    figures["include cycles"] = (len(cycles), [" ".join(each) for each in cycles])
    return figures


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "src").resolve()
    sources = Sources(root)
    sources.errors += check_reader()
    figures = measure(sources)
    print(f"{'figure':<42}{'now':>7}{'limit':>8}{'goal':>7}")
    for name, (value, parts) in figures.items():
        limit, goal = LIMITS[name]
        mark = ""
        if value > limit:
            mark = "  above its limit"
            sources.errors.append(f"{name}: {value}, and was {limit}")
        elif value < limit:
            mark = "  lower the limit"
        print(f"{name:<42}{value:>7}{limit:>8}{goal:>7}{mark}")
        if parts and len(parts) <= 40:
            print(textwrap.fill(", ".join(parts), 100, initial_indent="    ",
                                subsequent_indent="    ", break_on_hyphens=False))
    for error in sources.errors:
        print(error)
    return 1 if sources.errors else 0


if __name__ == "__main__":
    sys.exit(main())
