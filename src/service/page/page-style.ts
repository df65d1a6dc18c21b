/** Light and dark as the system wants it; tables scroll in themselves, so that the page fits 360 px. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5b6570; --paper: #fff; --panel: #f3f5f7;
  --line: #d3d9df; --good: #12723c; --bad: #b3261e; --accent: #1653b5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaee; --dim: #a3adb8; --paper: #14171b; --panel: #1e2329; --line: #38404a;
    --good: #5cc98a; --bad: #ff8f85; --accent: #8db8ff; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; padding: .6rem 1rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.1rem; margin: 0; } h2 { font-size: 1rem; margin: 1rem 0 .3rem; overflow-wrap: anywhere; }
#state, .hint { color: var(--dim); margin: .3rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .3rem; padding: .5rem 1rem; }
main, #sign-in { padding: .2rem 1rem 2rem; max-width: 72rem; }
button, input, select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line);
  border-radius: .4rem; padding: .35rem .7rem; max-width: 100%; }
button { cursor: pointer; }
button[aria-current] { background: var(--accent); border-color: var(--accent); color: var(--paper); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
form { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: end; margin: .6rem 0; }
form p { flex-basis: 100%; margin: 0; }
label { display: grid; gap: .15rem; color: var(--dim); font-size: .9rem; }
label.check { display: flex; gap: .4rem; align-items: center; padding: .35rem 0; }
#phone-events { list-style: none; padding: 0; margin: .6rem 0 0; max-height: 12rem; overflow: auto; color: var(--dim); overflow-wrap: anywhere; }
label.wide { max-width: 26rem; margin: .5rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--dim); font-weight: 600; font-size: .85rem; white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
td.text { overflow-wrap: anywhere; min-width: 9rem; }
td button { padding: .1rem .5rem; }
td:has(> button:not(.link)) { position: sticky; right: 0; background: var(--paper); white-space: nowrap; }
.link { border: 0; background: none; color: var(--accent); padding: 0; text-align: left; overflow-wrap: anywhere; }
td .link { min-width: 8rem; padding: 0; }
.good { color: var(--good); } .bad { color: var(--bad); }
article { border: 1px solid var(--line); border-radius: .5rem; padding: 0 1rem 1rem; margin-top: .8rem; }
dl { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr; gap: .15rem .8rem; margin: 0; }
dt { color: var(--dim); overflow-wrap: anywhere; } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--panel); padding: .6rem; overflow: auto; max-height: 24rem; white-space: pre-wrap; overflow-wrap: anywhere; }
figure { margin: .5rem 0; color: var(--dim); }
figure svg { width: 100%; height: 9rem; } rect.bar { fill: var(--accent); }
svg.dot { width: 1.3rem; height: 1.3rem; margin: 0; vertical-align: middle; }
.gates { display: block; max-width: 30rem; width: 100%; margin-bottom: .4rem; } .gates text { font-size: 11px; fill: currentColor; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } .gates text { font-size: 13px; } }
`;
