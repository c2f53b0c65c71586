"""Style sheet of a page for bright, dark and narrow screens and for paper."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5d6772; --line: #dde2e7; --paper: #fff; --card: #f7f9fa;
  --regression: #c22f22; --improvement: #1f7f45; --undecided: #96690a; --no-change: #5d6772; --failed: #c22f22;
  --skipped: #5d6772; --mean: #2f6fb3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #98a3ae; --line: #333b43; --paper: #14181c;
  --card: #1b2126; --regression: #ff7b6e; --improvement: #5fcf8b; --undecided: #e0b44c; --no-change: #98a3ae;
  --failed: #ff7b6e; --skipped: #98a3ae; --mean: #6fb0f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .4rem 0; }
a { color: inherit; text-decoration-color: var(--line); text-underline-offset: .2em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: baseline; }
th { color: var(--soft); font-weight: 500; font-size: .85rem; border-bottom: 1px solid var(--line); }
td { border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
.right { text-align: right; white-space: nowrap; }
.wide { overflow-x: auto; }
.wide table { width: 100%; }
.wide td { overflow-wrap: normal; }
code, pre { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem;
  margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .9rem; }
.notice { border-left: 4px solid var(--undecided); padding: .4rem .9rem; background: var(--card); }
.remarks { list-style: none; padding: 0; margin: .75rem 0; font-size: .9rem; overflow-wrap: anywhere; }
.badge { display: inline-block; border-radius: 1rem; padding: 0 .6rem; font-size: .85rem; font-weight: 600;
  white-space: nowrap; color: var(--tone); border: 1px solid var(--tone); }
.value { color: var(--tone); font-weight: 600; }
.regression { --tone: var(--regression); } .improvement { --tone: var(--improvement); }
.undecided { --tone: var(--undecided); } .no-change { --tone: var(--no-change); }
.failed { --tone: var(--failed); } .skipped { --tone: var(--skipped); }
article { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--tone);
  border-radius: 6px; padding: .9rem 1.1rem; margin: 1rem 0; break-inside: avoid; }
article header { display: flex; flex-wrap: wrap; gap: .3rem .75rem; align-items: baseline; }
article pre { background: var(--paper); }
.numbers { display: flex; flex-wrap: wrap; gap: .5rem 3rem; font-size: .9rem; }
.numbers table { display: block; max-width: 100%; overflow-x: auto; } .numbers td { overflow-wrap: normal; }
svg { display: block; width: 100%; height: auto; margin: .5rem 0; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); } svg .zero { stroke: var(--soft); }
svg .margin { stroke: var(--soft); stroke-dasharray: 3 4; }
svg .band { fill: var(--tone); opacity: .16; } svg .estimate { fill: none; stroke: var(--tone); stroke-width: 2; }
svg .first { fill: var(--mean); } svg .second { fill: var(--card); stroke: var(--mean); stroke-width: 1.4; }
svg.span { width: 9rem; height: 1rem; margin: 0; display: inline-block; vertical-align: middle; }
svg.span .whole { stroke: var(--tone); stroke-width: 3; } svg.span .mid { fill: var(--tone); }
@media print { :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --card: #fff; --regression: #a8150a;
    --improvement: #0b6b33; --undecided: #7a5300; --no-change: #444; --failed: #a8150a; --skipped: #444;
    --mean: #1d5fa3; }
  body { padding: 0; max-width: none; font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  a { text-decoration: none; } h2, h3 { break-after: avoid; } }
"""
"""Colours are custom properties; `--tone` is that of a benchmark's verdict."""
