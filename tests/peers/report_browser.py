"""What report_page.py asks headless Chromium: the document that it makes of a page, where its texts come to stand, and
the colours that it paints. Standard library only."""
import html
import json
import os
import re
import shutil
import struct
import subprocess
import zlib

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = (400, 720, 1240)
SECONDS = 60
# Of report.css: behind the page, and the bars.
LIGHT, DARK = ("#f6f7f9", "#1f6feb"), ("#10141b", "#6ca8ff")

MEASURE = """
function measure(frame, width) {
  frame.style.width = width + 'px';
  const page = frame.contentDocument, wrong = [];
  let n = 0;
  for (const part of page.querySelectorAll('details')) part.open = true;
  const wide = page.documentElement.scrollWidth;
  if (wide > width) wrong.push('the page is ' + wide + ' wide');
  const box = e => e.getBoundingClientRect();
  const within = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  for (const svg of page.querySelectorAll('svg.chart')) {
    const texts = [...svg.querySelectorAll('text')];
    n += texts.length;
    texts.forEach((text, i) => {
      const a = box(text), rect = text.parentNode.querySelector(':scope > rect');
      if (a.width === 0) wrong.push('not drawn: ' + text.textContent);
      if (!within(a, box(svg))) wrong.push('leaves its drawing: ' + text.textContent);
      if (rect && text.parentNode.tagName === 'g' && !within(a, box(rect)))
        wrong.push('leaves its box: ' + text.textContent);
      for (const other of texts.slice(i + 1)) {
        const b = box(other);
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
          wrong.push('one over the other: ' + text.textContent + ' | ' + other.textContent);
      }
    });
  }
  return {width: width, n: n, wrong: wrong};
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


def check_layout(browser, text, folder):
    """The page without its policy, in a frame that a script may look into. Returns how many texts were drawn."""
    text = re.sub(r"<meta http-equiv=.*\n", "", text)
    frame = os.path.join(folder, "frame.html")
    with open(frame, "w", encoding="utf-8") as file:
        file.write(f"<!DOCTYPE html><meta charset=\"utf-8\"><script>const WIDTHS = {list(WIDTHS)};{MEASURE}</script>"
                   "<pre id=\"found\"></pre>"
                   "<iframe style=\"height:900px;border:0\" onload=\"measureAll(this)\" srcdoc=\"" + html.escape(text) +
                   "\"></iframe>")
    said = browser.run("--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom", "file://" + frame)
    found = re.search(r'<pre id="found">(.*?)</pre>', said, re.S)
    if not found or not found.group(1):
        fail("the browser measured nothing")
    results = json.loads(html.unescape(found.group(1)))
    for result in results:
        if result["wrong"]:
            fail(f"{result['width']} pixels wide: " + "; ".join(result["wrong"][:5]))
        if result["n"] < 100:
            fail(f"only {result['n']} texts are drawn")
    return results[0]["n"]


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
