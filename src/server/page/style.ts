/** Inline, so that the page needs one request. Contrast of at least 4.5 in both colour schemes. */
export const style = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1c1f;--soft:#50565e;--line:#c9ced6;--link:#0b57b0;--bad:#a3160b;--good:#14602e;
--bar:#2b78c2;--s0:#f1f3f5;--s1:#cfe3f7;--s2:#8fc0ee;--s3:#276fb4;--s4:#0b4a86;--on:#fff}
@media (prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e8eaed;--soft:#aab1bb;--line:#3d444d;--link:#8ab8f5;--bad:#ff9a90;
--good:#7fd69a;--bar:#4c98dd;--s0:#22262c;--s1:#1d3a57;--s2:#24598c;--s3:#74b2ea;--s4:#b9dcfb;--on:#10151b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--bg);color:var(--fg);font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
a{color:var(--link)}p{max-width:45rem}.soft{color:var(--soft)}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;background:var(--bg)}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.scroll{overflow-x:auto;position:relative}table{border-collapse:collapse}
.scroll th,.scroll td{text-align:left;white-space:nowrap;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.scroll .text{display:inline-block;min-width:9rem;white-space:normal;overflow-wrap:anywhere}.well{color:var(--good);font-weight:600}.issues{padding-left:1.2rem}.issues strong,.failed,.incomplete{color:var(--bad)}
.done{color:var(--good)}.issues li{margin:.4rem 0;overflow-wrap:anywhere}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.months{display:grid;align-items:start;margin-bottom:1rem;grid-template-columns:repeat(auto-fill,minmax(15.5rem,1fr));gap:1rem}
.month{table-layout:fixed;border-spacing:2px;border-collapse:separate;width:15rem}.month caption{text-align:left;font-weight:600}
.month th{font-weight:400;color:var(--soft);font-size:.8rem}.month td{text-align:center;font-size:.8rem;height:1.7rem;position:relative;border-radius:3px}
.month abbr{text-decoration:none}.outside{color:var(--soft)}
.s0{background:var(--s0)}.s1{background:var(--s1)}.s2{background:var(--s2);color:var(--fg)}.s3{background:var(--s3);color:var(--on)}.s4{background:var(--s4);color:var(--on)}
.hole{outline:2px dashed var(--bad);outline-offset:-2px;font-weight:700}
h1 a{color:inherit;text-decoration:none}
.charts{display:grid;gap:0 2.5rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr))}
figure{display:grid;grid-row:span 3;grid-template-rows:subgrid;row-gap:0;margin:0 0 1rem}figure>*{min-width:0}
h3{font-size:1rem;margin:.6rem 0 .1rem}figcaption p{margin:0 0 .4rem;color:var(--soft);font-size:.9rem}
figure>svg{width:100%;display:block}text{font-size:12px;fill:var(--soft)}line{stroke:var(--line);shape-rendering:crispEdges}
.bar{fill:var(--bar)}.room{fill:transparent}g:hover .room{fill:var(--s0)}.no-run{fill:var(--line);opacity:.55;shape-rendering:crispEdges}
summary{cursor:pointer;padding:.15rem 0;width:max-content;color:var(--link)}
.progress{list-style:none;padding:0}.progress li{margin:.6rem 0}progress{width:min(100%,20rem);vertical-align:middle;accent-color:var(--link)}
code,h2{overflow-wrap:anywhere}
`;
