/** The page at `/`: what a person sees of the service. Everything in it comes from this service alone. */
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
  <p id="state" role="status">asks for the passcode</p>
</header>
<form id="sign-in">
  <label>Account <input name="account" autocomplete="username" required></label>
  <label>Passcode <input name="passcode" type="password" autocomplete="current-password" required></label>
  <button>Open</button>
  <p class="hint"><code>engagectl serve</code> shows where the passcode is; on a terminal, a link that has it.</p>
</form>
<div id="rooms" hidden>
  <nav aria-label="Views">
    <button data-view="users">Users</button>
    <button data-view="events">Events</button>
    <button data-view="requests">Requests</button>
    <button data-view="cursors">Cursors</button>
    <button data-view="faults">Faults</button>
    <button data-view="snapshots">Snapshots</button>
    <button data-view="calls" id="calls-tab">Calls</button>
  </nav>
  <main>
    <section id="users" aria-label="Users">
      <label class="wide">Search by identity, email or objectId
        <input id="search" type="search" placeholder="begins with …  ( / )"></label>
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
      <div class="scroll"><table><thead><tr><th>Time</th><th>Request</th><th>Answer</th><th>Takes</th><th>Bytes</th><th>Fault</th></tr></thead>
        <tbody id="request-rows"></tbody></table></div>
      <p id="no-requests" class="hint">None yet. They appear here as they come.</p>
      <button id="clear-requests">Clear the list</button>
      <pre id="body" tabindex="0" hidden></pre>
    </section>
    <section id="cursors" aria-label="Cursors" hidden>
      <div class="scroll"><table><thead><tr><th>Opened</th><th>Export of</th><th>From (UTC)</th><th>Before</th><th>A page</th><th>Used</th><th>Expires</th></tr></thead>
        <tbody id="cursor-rows"></tbody></table></div>
      <p id="no-cursors" class="hint">None is open. An export opens one.</p>
    </section>
    <section id="faults" aria-label="Faults" hidden>
      <form id="fault">
        <label>What happens <select name="what"></select></label>
        <label>To <select name="endpoint"></select></label>
        <label>That holds <input name="match" placeholder="any request"></label>
        <label>After <input name="after" type="number" min="0" value="0"></label>
        <label>Times <input name="times" type="number" min="1" placeholder="until deleted"></label>
        <label>Delay, ms <input name="delayMs" type="number" min="0" max="600000"></label>
        <button>Set the fault</button>
        <p id="fault-error" role="alert" class="bad"></p>
      </form>
      <div class="scroll"><table><thead><tr><th>Rule</th><th>Seen</th><th>Played</th><th></th></tr></thead>
        <tbody id="fault-rows"></tbody></table></div>
    </section>
    <section id="snapshots" aria-label="Snapshots" hidden>
      <form id="snapshot">
        <label>Name <input name="name" required pattern="[A-Za-z0-9_\\-]{1,64}" title="letters, digits, - and _"></label>
        <button>Keep the data as it is</button>
      </form>
      <div class="scroll"><table><thead><tr><th>Snapshot</th><th>Made</th><th>Bytes</th><th></th></tr></thead>
        <tbody id="snapshot-rows"></tbody></table></div>
      <button id="reset">Reset everything to the seed</button>
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
