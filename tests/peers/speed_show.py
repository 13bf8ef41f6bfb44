"""Prints the measurements of speed.py: tables and bars as text, and records. Standard library only."""
import statistics

from common import write_record


def median(values):
    return statistics.median(values)


def spread(values, width):
    return f"{median(values):{width}.2f} {min(values):9.2f} {max(values):9.2f}"


def ratio_text(figures):
    return f"{figures['ratio']:6.2f}" if figures["ratio"] else f"{'-':>6}"


def peak_text(figures):
    return f"{figures['peak_bytes'] / 1e6:8.0f}" if figures["peak_bytes"] else f"{'-':>8}"


class Show:
    """Tables as text; --records: also a JSON record a line."""

    def __init__(self, args):
        self.args, self.missed, self.table, self.what = args, 0, None, None
        self.barred = False

    def text(self, line):
        print(line, flush=True)

    def write(self, record):
        write_record(self.args.records, record)

    def begin(self, table, what, head):
        self.table, self.what, self.barred = table, what, False
        self.text(f"\n{table}: {what}")
        if head:
            self.text("  " + head)

    def row(self, who, figures, layout, **more):
        self.write({"table": self.table, "what": self.what, "who": who, **more, **figures})
        text = (f"not measured: {figures['reason']}" if "reason" in figures
                else layout({**figures, **more}))
        self.text(f"  {who:<24}{text}")

    def nothing(self, table, what, reason):
        self.begin(table, what, None)
        self.row("all", {"reason": reason}, None)

    def bar_line(self, what, must, aim, figure, met):
        if not self.barred:
            self.text(f"  {'bars':<56} {'must':>7} {'aim':>7} {'figure':>9}  met")
            self.barred = True
        self.text(f"  {what.split(': ', 1)[-1]:<56} {must:>7} {aim:>7} {figure:>9}  {met}")

    def bar(self, what, bar, figure, error=None, at_most=False, met=None):
        must, aim = bar
        reached = figure <= must if at_most else figure >= must
        met = met or ("-" if self.args.own_size else "yes" if reached else "no")
        record = {"must": must, "aim": aim, "figure": figure, "met": met}
        if error is not None:
            record["standard_error"] = error
        self.write({"table": "bars", "part": self.table, "what": what, **record})
        self.bar_line(what, f"{must:.3f}", "-" if aim is None else f"{aim:.3f}", f"{figure:.4f}",
                      met + (f" (standard error {error:.4f})" if error is not None else ""))
        self.missed += met == "no"

    def no_bar(self, what, reason):
        self.write({"table": "bars", "part": self.table, "what": what, "reason": reason})
        self.text(f"  {what}: not measured: {reason}")
        self.missed += 1
