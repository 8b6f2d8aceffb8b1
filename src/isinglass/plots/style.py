"""How a report looks: on paper, on a phone, by day and by night."""

STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #55626f; --line: #d8dee6; --bg: #f6f8fa;
  --card: #ffffff; --bad: #a63a00; --mid: #8a5a00; --calm: #00557f; --code: #eef2f6; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ink: #e8edf2;
  --soft: #a3b0bd; --line: #38444f; --bg: #12181e; --card: #1c242c; --bad: #ff9d66;
  --mid: #f0c05a; --calm: #7cc4f0; --code: #27313b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.15rem; font-weight: 600; color: var(--soft); margin: 0; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 2.6rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .3rem; }
p, ul { margin: .5rem 0; }
p, li { max-width: 46rem; }
ul { padding-left: 1.2rem; }
a { color: var(--calm); }
.soft { color: var(--soft); font-size: .9rem; }
.edition { display: inline-block; border: 1px solid currentColor; border-radius: 3px;
  padding: .05rem .5rem; font-size: .85rem; margin: .5rem 0 0; }
.internal { color: var(--bad); font-weight: 600; }
.verdict { background: var(--card); border: 1px solid var(--line); border-left: .5rem solid;
  border-radius: 4px; padding: 1rem 1.2rem; margin: 1rem 0; }
.verdict p { font-size: 1.15rem; line-height: 1.5; color: var(--ink); }
.verdict .word { font-size: 1.6rem; font-weight: 700; line-height: 1.2; margin: 0 0 .5rem;
  color: inherit; }
.bad { color: var(--bad); } .mid { color: var(--mid); } .calm { color: var(--calm); }
.void { color: var(--soft); }
.verdict .refused { border-top: 1px solid var(--line); padding-top: .5rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; color: var(--soft); padding: .2rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
th, td { overflow-wrap: break-word; }
thead th { overflow-wrap: normal; }
td { font-variant-numeric: tabular-nums; }
tbody th { color: var(--ink); }
.scroll { overflow-x: auto; }
.scroll table { width: auto; min-width: 50%; }
.scroll td, .scroll th { min-width: 4.5rem; max-width: 18rem; }
figure { margin: 1rem 0; background: var(--card); border: 1px solid var(--line);
  border-radius: 4px; padding: .8rem; }
figcaption { font-weight: 600; }
figure .picture { overflow-x: auto; }
figure img { display: block; width: min(100%, var(--own)); height: auto; margin: .3rem auto; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--calm); }
code, pre { font-family: ui-monospace, monospace; font-size: .88rem; }
pre { background: var(--code); padding: .7rem .9rem; border-radius: 4px; overflow-x: auto;
  white-space: pre-wrap; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem;
  margin: 1rem 0; padding: 0; list-style: none; }
.facts li { background: var(--card); border: 1px solid var(--line); border-radius: 4px;
  padding: .5rem .8rem; font-size: .88rem; color: var(--soft); }
.facts b { display: block; font-size: 1.25rem; color: var(--ink); }
@media screen and (max-width: 44rem) {
  .verdict p { font-size: 1.05rem; }
  figure { padding: .6rem .4rem; }
  figure .wide img { width: var(--own); }
  table.stack thead { display: none; }
  table.stack tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  table.stack th, table.stack td { display: block; border: 0; padding: .08rem 0; }
  table.stack td { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .5rem;
    overflow-wrap: anywhere; }
  table.stack td.none { display: none; }
  table.stack td::before { content: attr(data-label); color: var(--soft); }
}
@media print {
  body { background: #fff; font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  figure, .verdict, .facts li, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  figure img, figure .wide img { width: auto; max-width: 15cm; max-height: 21cm; }
  .scroll, figure .picture { overflow: visible; }
  @page { margin: 1.6cm; }
}
"""
