"""Queries headless Chromium for report_page.py: the document of a page, the positions of its texts, and the painted
colours. Standard library only."""
import html
import json
import os
import re
import shutil
import struct
import subprocess
import zlib

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = (390, 768, 1280, 1440, 1920, 2560)
WHOLE = 80  # letters of a name
LEAST_FILLED = 0.9  # of the width of a window, or of a section, where charts are; from 1280 pixels on
SECONDS = 60
# Colours of report.css: the page's background, and the bars.
LIGHT, DARK = ("#f6f7f9", "#1f6feb"), ("#10141b", "#6ca8ff")

MEASURE = """
const box = e => e.getBoundingClientRect();
const within = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const common = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
const overlap = (a, b) => common(a, b, 'left', 'right') > 1 && common(a, b, 'top', 'bottom') > 3;

// Of a text, not of the element that it has to itself.
function textBox(element) {
  const range = element.ownerDocument.createRange();
  range.selectNodeContents(element);
  return element.ownerSVGElement ? box(element) : range.getBoundingClientRect();
}

// Texts do not leave their drawing and are not over each other.
function checkTexts(drawing, texts, wrong) {
  const boxes = texts.map(textBox);
  texts.forEach((text, i) => {
    if (!text.textContent) return;
    if (boxes[i].width === 0) wrong.push('not drawn: ' + text.textContent);
    if (!within(boxes[i], box(drawing))) wrong.push('leaves its drawing: ' + text.textContent);
    texts.slice(i + 1).forEach((other, j) => {
      if (overlap(boxes[i], boxes[i + 1 + j]))
        wrong.push('one over the other: ' + text.textContent + ' | ' + other.textContent);
    });
  });
  return texts.length;
}

// Boxes of trees hold their texts and are over nothing else.
function checkTree(tree, wrong) {
  const boxes = [...tree.children].filter(e => !e.classList.contains('branch'));
  const labels = [...tree.querySelectorAll('.branch span')];
  boxes.forEach((node, i) => {
    for (const text of node.querySelectorAll('b, small'))
      if (!within(textBox(text), box(node))) wrong.push('leaves its box: ' + text.textContent);
    for (const other of [...boxes.slice(i + 1), ...labels])
      if (overlap(box(node), box(other))) wrong.push('one over the other: ' + node.textContent + ' | ' + other.textContent);
  });
  for (const branch of tree.querySelectorAll('.branch')) {
    const b = box(branch), end = branch.classList.contains('up') ? b.top : b.bottom;
    if (!boxes.map(box).some(n => Math.abs((n.top + n.bottom) / 2 - end) < 2 && Math.abs(n.left - b.right) < 2))
      wrong.push('ends at no box: the branch ' + branch.textContent);
  }
}

// Nothing is wider than the page, or than the element that it is in, but for what can be scrolled.
function checkOverflow(page, width, wrong) {
  if (page.documentElement.scrollWidth > width) wrong.push('the page is ' + page.documentElement.scrollWidth + ' wide');
  for (const element of page.body.querySelectorAll('*')) {
    if (element.ownerSVGElement || element.tagName === 'svg') continue;
    const what = element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 40);
    const scroller = element.parentElement.closest('.scroll');
    if (!scroller && (box(element).left < -1 || box(element).right > width + 1)) wrong.push('leaves the page: ' + what);
    if (!element.classList.contains('scroll') && element.clientWidth && element.scrollWidth > element.clientWidth + 1)
      wrong.push('overflows by ' + (element.scrollWidth - element.clientWidth) + ': ' + what);
  }
}

function padding(element) {
  const style = element.ownerDocument.defaultView.getComputedStyle(element);
  return {left: parseFloat(style.paddingLeft), right: parseFloat(style.paddingRight)};
}

// Of a chart, and the room that its axes' labels have beside it.
function withLabels(chart) {
  const b = box(chart), room = padding(chart.closest('.plot') || chart);
  return {left: b.left - room.left, right: b.right + room.right, top: b.top, bottom: b.bottom};
}

// The share of [left, right] that the boxes cover.
function covered(boxes, left, right) {
  let sum = 0, end = left;
  for (const b of boxes.sort((a, b) => a.left - b.left)) {
    sum += Math.max(0, Math.min(b.right, right) - Math.max(b.left, end));
    end = Math.max(end, b.right);
  }
  return sum / (right - left);
}

// Charts and what is beside them fill their section; sections fill the window.
function checkFilled(page, width, wrong) {
  const besides = (all, one) => all.filter(b => common(b, one, 'top', 'bottom') > 0);
  const complain = (share, what) => {
    if (share < LEAST_FILLED) wrong.push(what + ' fills ' + Math.round(100 * share) + ' % of the width');
  };
  for (const section of page.querySelectorAll('section')) {
    const charts = [...section.querySelectorAll('svg.chart, .drawn')].map(withLabels);
    const filled = [...charts, ...[...section.querySelectorAll('table')].map(box)];
    const all = [...page.querySelectorAll('section')].map(box), own = padding(section);
    for (const chart of charts)
      complain(covered(besides(filled, chart), box(section).left + own.left, box(section).right - own.right),
               'the chart of "' + section.id + '"');
    complain(covered(besides(all, box(section)), 0, width), 'the section "' + section.id + '"');
  }
}

// Of a split drawn: the text before its threshold, and what is said of it in full.
function splits(page) {
  return [...page.querySelectorAll('.tree .node')].map(node => {
    const owner = node.tagName === 'rect' ? node.parentNode : node;
    const said = owner.getAttribute('title') || owner.querySelector('title').textContent;
    return [said, owner.querySelector('b, text').textContent.split(' \u2264 ')[0]];
  });
}

function measure(frame, width) {
  frame.style.width = width + 'px';
  const page = frame.contentDocument, wrong = [];
  if (width >= 1280) checkFilled(page, width, wrong); // as it is opened
  for (const part of page.querySelectorAll('details')) part.open = true;
  let n = 0;
  checkOverflow(page, width, wrong);
  for (const plot of page.querySelectorAll('.plot'))
    n += checkTexts(plot, [...plot.querySelectorAll('text, p.axis, .slots span')], wrong);
  for (const tree of page.querySelectorAll('.drawn')) {
    checkTree(tree, wrong);
    n += checkTexts(tree, [...tree.querySelectorAll('b, small, .branch span')], wrong);
  }
  for (const part of page.querySelectorAll('details')) part.open = false;
  return {width: width, n: n, wrong: wrong, splits: splits(page)};
}
function measureAll(frame) {
  document.getElementById('found').textContent = JSON.stringify(WIDTHS.map(w => measure(frame, w)));
}
"""


def fail(text):
    raise SystemExit(f"report_page.py: {text}")


class Browser:
    def __init__(self, program, folder):
        self.program, self.folder, self.version = program, folder, None

    def run(self, *options):
        command = [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--hide-scrollbars", "--no-first-run", "--user-data-dir=" + os.path.join(self.folder, "profile"),
                   *options]
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        return done.stdout.decode("utf-8", "replace")


def find(folder):
    """A Chromium that starts, or None."""
    blank = os.path.join(folder, "blank.html")
    with open(blank, "w", encoding="utf-8") as file:
        file.write("<!DOCTYPE html><p>here</p>")
    for name in NAMES:
        program = shutil.which(name)
        if not program:
            continue
        browser = Browser(program, folder)
        try:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False)
            browser.version = " ".join(said.stdout.split()[:2])
            if "here" in browser.run("--dump-dom", "file://" + blank):
                return browser
        except (OSError, subprocess.TimeoutExpired):
            continue
    return None


def dom(browser, path):
    return browser.run("--dump-dom", "file://" + path)


def check_layout(browser, text, folder, names):
    """The page without its policy, in a frame that a script may look into. names: of features, by id. Returns how many
    texts were drawn."""
    text = re.sub(r"<meta http-equiv=.*\n", "", text)
    frame = os.path.join(folder, "frame.html")
    with open(frame, "w", encoding="utf-8") as file:
        file.write(f"<!DOCTYPE html><meta charset=\"utf-8\"><script>const WIDTHS = {list(WIDTHS)}, LEAST_FILLED = "
                   f"{LEAST_FILLED};{MEASURE}</script><pre id=\"found\"></pre>"
                   "<iframe style=\"height:900px;border:0\" onload=\"measureAll(this)\" srcdoc=\"" + html.escape(text) +
                   "\"></iframe>")
    said = browser.run("--window-size=2600,1000", "--virtual-time-budget=5000", "--dump-dom", "file://" + frame)
    found = re.search(r'<pre id="found">(.*?)</pre>', said, re.S)
    if not found or not found.group(1):
        fail("the browser measured nothing")
    results = json.loads(html.unescape(found.group(1)))
    for result in results:
        check_names(result["splits"], names)
        if result["wrong"]:
            fail(f"{result['width']} pixels wide: " + "; ".join(result["wrong"][:5]))
        if result["n"] < 60:
            fail(f"only {result['n']} texts are drawn")
    return results[0]["n"]


def check_names(splits, names):
    """Names of up to 80 letters are whole; no two features look the same."""
    shown = {}
    for said, text in splits:
        feature = int(re.search(r"feature (\d+)", said).group(1))
        name = names.get(feature, "") or f"feature {feature}"
        if text != name and sum(1 + (ord(letter) >= 0x3000) for letter in name) <= WHOLE:
            fail(f"a node of a tree is of '{name}', shown as '{text}'")
        if names.get(feature, "") not in said:
            fail(f"'{name}' is nowhere in '{said}'")
        if shown.setdefault(text, feature) != feature:
            fail(f"features {shown[text]} and {feature} are both shown as '{text}'")
    if len(splits) < 3:
        fail(f"{len(splits)} splits are drawn")


def pixels(path):
    """Counts of colours, '#rrggbb', and the first one, of a PNG as Chromium writes it: 8 bits, not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    n = {2: 3, 6: 4}.get(colour, 0)
    if depth != 8 or not n:
        fail("a picture of another kind")
    raw, stride = zlib.decompress(packed), width * n
    before, counts, first = bytearray(stride), {}, None
    for start in range(0, len(raw), stride + 1):
        line = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], line, before, n)
        for i in range(0, stride, n):
            pixel = bytes(line[i:i + 3])
            counts[pixel] = counts.get(pixel, 0) + 1
        first = first or bytes(line[:3])
        before = line
    return {"#" + colour.hex(): count for colour, count in counts.items()}, "#" + first.hex()


def unfilter(kind, line, before, n):
    """PNG's specification, section 9."""
    for i in range(len(line)) if kind else ():
        left = line[i - n] if i >= n else 0
        up, corner = before[i], before[i - n] if i >= n else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            by = left + up - corner
            guess = min((left, up, corner), key=lambda x: abs(by - x))
        line[i] = (line[i] + guess) & 255


def check_colours(browser, text, folder):
    """The chart of queries, alone, as it is painted."""
    alone = os.path.join(folder, "alone.html")
    with open(alone, "w", encoding="utf-8") as file:
        file.write(text.replace("</style>", "header, section:not(#queries) { display: none }</style>"))
    for name, (behind, bars), more in (("light", LIGHT, []), ("dark", DARK, ["--blink-settings=preferredColorScheme=0"])):
        picture = os.path.join(folder, name + ".png")
        browser.run("--window-size=700,500", "--screenshot=" + picture, *more, "file://" + alone)
        if not os.path.exists(picture):
            fail(f"the browser painted no {name} page")
        counts, corner = pixels(picture)
        if corner != behind:
            fail(f"the {name} page is {corner}, expected {behind}")
        if counts.get(bars, 0) < 1000:
            fail(f"the {name} page has {counts.get(bars, 0)} pixels of bars ({bars})")
