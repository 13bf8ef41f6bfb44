"""What quality.py prints: rows in columns, as Markdown (--markdown) or as JSON (--json). Standard library only."""
import json

from common import TOP, write_record

HEAD = ("set            trainer   settings  ndcg@10 se(seeds) se(queries) to best       p  rounds "
        "seconds  parameters")
MARKDOWN_HEAD = (f"| set | trainer | settings | NDCG@{TOP} | 95 % | ± seeds | to the best, 95 %, p | trees |\n"
                 "|---|---|---|---|---|---|---|---|")
NAMES = {"rankwood": "Rankwood", "lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
WIDTH = 1.96 # standard errors to each side in 95 of 100 cases


def head(args):
    return MARKDOWN_HEAD if args.markdown else HEAD


def parameters(row):
    return row.get("constraint") or row.get("objective") or row["params"] or "; ".join(row.get("chosen", []))


def show(row):
    def number(name, text):
        return f"{row[name]:{text}}" if row.get(name) is not None else "-"

    return (f"{row['set']:<14} {row['trainer']:<9} {row['settings']:<8}  {row['ndcg@10']:.4f} "
            f"{number('se_seeds', '.4f'):>9} {number('se_queries', '.4f'):>11} "
            f"{number('to_best', '+.4f'):>7} {number('p', '.4f'):>7} {row['rounds']:>7.1f} "
            f"{row['seconds']:>7.1f}  {parameters(row)}"
            + (f", {number('to_plain', '+.4f')} to without, p {number('p_plain', '.4f')}" if "to_plain" in row else ""))


def short(value, text=".4f"):
    """Prints `.5062` for 0.5062, `-` for None."""
    return "-" if value is None else f"{value:{text}}".replace("0.", ".", 1)


def show_markdown(row):
    settings = row["settings"]
    own = parameters(row) if settings in ("own", "tuned") or row.get("objective") or row.get("constraint") else ""
    mean, se = row["ndcg@10"], row["se_queries"]
    interval = "-" if se is None else f"{short(mean - WIDTH * se)} to {short(mean + WIDTH * se)}"
    best = "best" if row.get("p") is None else (
        f"{short(row['to_best'], '+.4f')} ± {short(WIDTH * row['se_to_best'])}, p {short(row['p'])}")
    trainer = " ".join([NAMES[row["trainer"]], row.get("version") or ""]).strip()
    return (f"| {row['set']} | {trainer} | {settings}{f' `{own}`' if own else ''} | {short(mean)} | "
            f"{interval} | {short(row['se_seeds'])} | {best} | {row['rounds']:.0f} |")


def tell(args, row):
    row = {key: value for key, value in row.items() if key != "by_query"}
    if args.json:
        print(json.dumps(row), flush=True)
    else:
        print((show_markdown if args.markdown else show)(row), flush=True)
    write_record(args.records, {"table": "quality", **row})


def tell_not_measured(args, name, trainer, reason):
    """trainer '': all."""
    row = {"set": name, "trainer": trainer, "not_measured": reason}
    if args.json:
        print(json.dumps(row), flush=True)
    elif args.markdown:
        print(f"| {name} | {NAMES.get(trainer, 'all')} | not measured: {reason} | - | - | - | - | - |", flush=True)
    else:
        print(f"{name:<14} {trainer:<9} not measured: {reason}", flush=True)
    write_record(args.records, {"table": "quality", **row})
