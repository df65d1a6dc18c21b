/** Markup of the page at `/`. It loads nothing from other hosts. */
export const pageMarkup = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>engagectl: the local service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/style.css">
<header>
  <h1>Local service</h1>
  <p id="state" role="status">Enter account and passcode</p>
</header>
<form id="sign-in">
  <label>Account <input name="account" autocomplete="username" required></label>
  <label>Passcode <input name="passcode" type="password" autocomplete="current-password" required></label>
  <button>Open</button>
  <p class="hint"><code>engagectl serve</code> prints where the passcode is and, on a terminal, a sign-in link.</p>
</form>
<div id="rooms" hidden>
  <nav aria-label="Views">
    <button data-view="users">Users</button>
    <button data-view="events">Events</button>
    <button data-view="requests">Requests</button>
    <button data-view="cursors">Cursors</button>
    <button data-view="faults">Faults</button>
    <button data-view="settings">Settings</button>
    <button data-view="snapshots">Snapshots</button>
    <button data-view="calls" id="calls-tab">Calls</button>
  </nav>
  <main>
    <section id="users" aria-label="Users">
      <label class="wide">Search by identity, email or objectId
        <input id="search" type="search" placeholder="prefix …  ( / )"></label>
      <div class="scroll"><table><thead><tr><th>User</th><th>Email</th><th>By SMS</th><th>By WhatsApp</th><th>By email</th></tr></thead>
        <tbody id="user-rows"></tbody></table></div>
      <button id="more-users" hidden>More users</button>
      <article id="user" aria-live="polite" hidden></article>
    </section>
    <section id="events" aria-label="Events" hidden>
      <label class="wide">Event <select id="event-name"></select></label>
      <figure id="days"></figure>
      <div class="scroll"><table><thead><tr><th>Time (UTC)</th><th>Event</th><th>User</th><th>Properties</th></tr></thead>
        <tbody id="event-rows"></tbody></table></div>
      <button id="more-events" hidden>Older events</button>
    </section>
    <section id="requests" aria-label="Requests" hidden>
      <div class="scroll"><table><thead><tr><th>Time</th><th>Request</th><th>Answer</th><th>Reason</th><th>Takes</th><th>Bytes</th></tr></thead>
        <tbody id="request-rows"></tbody></table></div>
      <p id="no-requests" class="hint">No requests yet. They appear here as they arrive.</p>
      <button id="clear-requests">Clear the list</button>
      <article id="body" tabindex="0" aria-label="Request" hidden></article>
    </section>
    <section id="cursors" aria-label="Cursors" hidden>
      <div class="scroll"><table><thead><tr><th>Opened</th><th>Export of</th><th>From (UTC)</th><th>Before</th><th>A page</th><th>Used</th><th>Expires</th></tr></thead>
        <tbody id="cursor-rows"></tbody></table></div>
      <p id="no-cursors" class="hint">No open cursors. An export opens one.</p>
    </section>
    <section id="faults" aria-label="Faults" hidden>
      <form id="fault">
        <label>Action <select name="what"></select></label>
        <label>Endpoint <select name="endpoint"></select></label>
        <label>Match <input name="match" placeholder="any request"></label>
        <label>After <input name="after" type="number" min="0" value="0"></label>
        <label>Times <input name="times" type="number" min="1" placeholder="until deleted"></label>
        <label>Delay, ms <input name="delayMs" type="number" min="0" max="600000"></label>
        <button>Add rule</button>
        <p id="fault-error" role="alert" class="bad"></p>
      </form>
      <div class="scroll"><table><thead><tr><th>Rule</th><th>Seen</th><th>Played</th><th></th></tr></thead>
        <tbody id="fault-rows"></tbody></table></div>
    </section>
    <section id="settings" aria-label="Settings" hidden>
      <form id="setting">
        <label>Latency, ms <input name="latencyMs" type="number" min="0" max="600000" required></label>
        <label>Pending polls <input name="pendingPolls" type="number" min="0" required></label>
        <label>Fail rate <input name="failRate" type="number" min="0" max="1" step="any" required></label>
        <label>Seed of failures <input name="failSeed" type="number" min="0" placeholder="random"></label>
        <label>Uploads in flight <input name="upload" type="number" min="1" required></label>
        <label>Others in flight <input name="other" type="number" min="1" required></label>
        <label class="check"><input name="strict" type="checkbox"> Strict mode</label>
        <button>Apply</button>
        <p id="settings-state" role="status" class="hint"></p>
      </form>
    </section>
    <section id="snapshots" aria-label="Snapshots" hidden>
      <form id="snapshot">
        <label>Name <input name="name" required pattern="[A-Za-z0-9_\\-]{1,64}" title="letters, digits, - and _"></label>
        <button>Save snapshot</button>
      </form>
      <div class="scroll"><table><thead><tr><th>Snapshot</th><th>Made</th><th>Bytes</th><th></th></tr></thead>
        <tbody id="snapshot-rows"></tbody></table></div>
      <button id="reset">Reset to the seed</button>
      <p id="done" role="status" class="hint"></p>
    </section>
    <section id="calls" aria-label="Calls" hidden>
      <form id="phone-in" aria-label="Softphone">
        <label>Your cuid <input name="cuid" required autocomplete="off" placeholder="ann_1"></label>
        <label class="check"><input name="voice" type="checkbox"> Voice, if the other side has it, too</label>
        <button>Register</button>
      </form>
      <article id="phone" aria-label="Softphone" hidden>
        <h2 id="phone-state" role="status"></h2>
        <form id="dial">
          <label>Call <input name="to" required autocomplete="off" placeholder="bob_1"></label>
          <label>About <input name="about" required maxlength="64"></label>
          <button>Call</button>
        </form>
        <button id="take">Take</button>
        <button id="decline">Decline</button>
        <button id="hang-up">Hang up</button>
        <button id="phone-out">Log out</button>
        <ol id="phone-events" role="log" aria-label="What the phone says" tabindex="0"></ol>
      </article>
      <p id="phone-error" role="alert" class="bad"></p>
      <div class="scroll"><table><thead><tr><th>Placed</th><th>From</th><th>To</th><th>About</th><th>State</th></tr></thead>
        <tbody id="call-rows"></tbody></table></div>
      <p id="no-calls" class="hint">No calls so far.</p>
    </section>
  </main>
</div>
<script src="/page/script.js"></script>
</html>
`;

/** Style of the page: light or dark by system setting; wide tables scroll, so that the page fits 360 px. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5b6570; --paper: #fff; --panel: #f3f5f7;
  --line: #d3d9df; --good: #12723c; --partial: #8a5a00; --bad: #b3261e; --accent: #1653b5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaee; --dim: #a3adb8; --paper: #14171b; --panel: #1e2329; --line: #38404a;
    --good: #5cc98a; --partial: #e0b050; --bad: #ff8f85; --accent: #8db8ff; }
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
.good { color: var(--good); } .partial { color: var(--partial); font-weight: 600; } .bad { color: var(--bad); }
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
